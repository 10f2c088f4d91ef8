# SPDX-License-Identifier: BSD-3-Clause
"""Default spaces of scikit-learn's transformers; class name -> space.

Not listed, for nothing is to be tuned: scalers, encoders, PowerTransformer. Not listed,
for a candidate may leave no feature at all: VarianceThreshold, SelectFpr, SelectFdr,
SelectFwe, and the ``min_df`` and ``max_df`` of the text vectorizers.
"""

from typing import Any

from accsmbo.default_spaces._intervals import ON_OFF, at_most_current
from accsmbo.default_spaces._registry import FoundSpace, SpaceSource
from accsmbo.space import Categorical, Integer, Real

__all__ = ["TRANSFORMERS"]

# Yogatama and Smith, EMNLP 2015, who found the weighting and n-grams to matter most.
WEIGHTING: FoundSpace = {"sublinear_tf": ON_OFF, "use_idf": ON_OFF}
WORD_NGRAMS = Categorical([(1, 1), (1, 2), (1, 3)], ordered=True)
CHARACTER_NGRAMS = Categorical([(2, 3), (2, 4), (2, 5)], ordered=True)


def _pca(params: dict[str, Any]) -> FoundSpace:
    # auto-sklearn: 0.5 .. 0.9999 of the variance; the other solvers only take counts.
    if params["svd_solver"] in {"auto", "full", "covariance_eigh"}:
        return {"n_components": Real(0.5, 0.999)}
    return at_most_current(params, "n_components")


def _count_of_components(params: dict[str, Any]) -> FoundSpace:
    return at_most_current(params, "n_components")


def _select_k_best(params: dict[str, Any]) -> FoundSpace:
    return at_most_current(params, "k")


def _ngrams(params: dict[str, Any]) -> FoundSpace:
    if params.get("vocabulary") is not None or not isinstance(params["analyzer"], str):
        return {}
    word = params["analyzer"] == "word"
    return {"ngram_range": WORD_NGRAMS if word else CHARACTER_NGRAMS}


def _counts(params: dict[str, Any]) -> FoundSpace:
    return {**_ngrams(params), "binary": ON_OFF}


def _tfidf(params: dict[str, Any]) -> FoundSpace:
    return {**_ngrams(params), **WEIGHTING}


def _polynomial(params: dict[str, Any]) -> FoundSpace:
    # The number of columns grows as n_features ** degree.
    degree = params["degree"]
    if not isinstance(degree, int):
        return {}
    return {"degree": Integer(1, max(degree, 2)), "interaction_only": ON_OFF}


def _imputer(params: dict[str, Any]) -> FoundSpace:
    # The other strategies may stand before strings.
    if params["strategy"] not in {"mean", "median"}:
        return {}
    return {"strategy": Categorical(["mean", "median", "most_frequent"])}


def _bins(params: dict[str, Any]) -> FoundSpace:
    return {"n_bins": Integer(2, 20)} if isinstance(params["n_bins"], int) else {}


def _splines(params: dict[str, Any]) -> FoundSpace:
    # Periodic splines need more knots than their degree.
    space = {"degree": Integer(1, 3)}
    if isinstance(params["knots"], str):
        return space | {"n_knots": Integer(4, 20, log=True)}
    return space


TRANSFORMERS: dict[str, SpaceSource] = {
    "CountVectorizer": _counts,
    "HashingVectorizer": _counts,
    "KBinsDiscretizer": _bins,
    "KNNImputer": {
        "n_neighbors": Integer(1, 30, log=True),
        "weights": Categorical(["uniform", "distance"]),
    },
    "PCA": _pca,
    "PLSRegression": _count_of_components,
    "PolynomialFeatures": _polynomial,
    "QuantileTransformer": {"output_distribution": Categorical(["uniform", "normal"])},
    # A quarter is at least one feature from four features on.
    "RFE": {"n_features_to_select": Real(0.25, 1.0)},
    # None of them can leave no feature.
    "SelectFromModel": {"threshold": Categorical(["0.5*mean", "mean", "median"])},
    "SelectKBest": _select_k_best,
    # auto-sklearn: 1 .. 99.
    "SelectPercentile": {"percentile": Integer(1, 100)},
    "SimpleImputer": _imputer,
    "SplineTransformer": _splines,
    "TfidfTransformer": WEIGHTING,
    "TfidfVectorizer": _tfidf,
    "TruncatedSVD": _count_of_components,
}
