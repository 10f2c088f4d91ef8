# SPDX-License-Identifier: BSD-3-Clause
"""What stands before a model, and what is searched of the whole."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from tests.oracle import _parts

__all__ = ["PIPELINES", "make_space"]

ERRORS = (ValueError, KeyError, RuntimeError, AttributeError, ZeroDivisionError)


@dataclass(frozen=True)
class Chain:
    """A way to build an estimator around a model.

    Parameters
    ----------
    make : callable
        ``make(model, recipe, X, folder)`` -> estimator and prefix of its parameters.
    weight : float
        How often it is drawn.
    kinds : tuple of str
        Kinds of models that it suits.
    """

    make: Callable[..., tuple[Any, str]]
    weight: float = 1.0
    kinds: tuple[str, ...] = ("classes", "numbers", "positive")

    def fits(self, model):
        """Tell whether the chain suits a model."""
        return model.kind in self.kinds


def _scaler(recipe):
    return StandardScaler(with_mean=recipe["X"] not in ("csr", "csc"))


def _before(make_step, pipeline=Pipeline, **options):
    """Return a maker of pipelines of one step and the model."""

    def make(final, recipe, X, folder):
        step = make_step(recipe, X)
        return pipeline([("step", step), ("model", final)], **options), "model__"

    return make


def _cached(final, recipe, X, folder):
    steps = [("step", _scaler(recipe)), ("pca", TruncatedSVD(2)), ("model", final)]
    steps[1][1].set_params(random_state=0)
    return Pipeline(steps, memory=str(folder / "cache")), "model__"


def _nested(final, recipe, X, folder):
    inner = Pipeline([("step", _scaler(recipe)), ("keep", VarianceThreshold())])
    outer = Pipeline([("again", MaxAbsScaler()), ("model", final)])
    return Pipeline([("step", inner), ("rest", outer)]), "rest__model__"


def _sampled(final, recipe, X, folder):
    if _parts.ResamplingPipeline is None:
        return _own_sampled(final, recipe, X, folder)
    steps = [
        ("step", _scaler(recipe)),
        ("sample", _parts.RandomUnderSampler(random_state=0)),
        ("model", final),
    ]
    return _parts.ResamplingPipeline(steps), "model__"


def _own_sampled(final, recipe, X, folder):
    return _before(lambda recipe, X: _parts.Halving(), _parts.SamplingPipeline)(
        final, recipe, X, folder
    )


def _columns(recipe, X):
    return ColumnTransformer(
        [("scale", _scaler(recipe), [0, 1]), ("rest", "passthrough", slice(2, None))]
    )


def _encoder(recipe, X):
    return ColumnTransformer(
        [("code", TargetEncoder(cv=2, random_state=0), [0])], remainder="passthrough"
    )


def _failing(recipe, X):
    error = ERRORS[recipe["seed"] % len(ERRORS)]
    value = round(3 * X[3, 0]) if recipe["X"] == "integers" else X[3, 0]
    return _parts.FailsOnOnePart(float(value), error)


def _union(recipe, X):
    return FeatureUnion([("one", _scaler(recipe)), ("two", SelectKBest(_first, k=1))])


def _first(X, y):
    return np.arange(X.shape[1], 0, -1.0)


def _quantiles(recipe, X):
    return QuantileTransformer(n_quantiles=5, random_state=0)


def masks(n_columns):
    """Return boolean masks that differ where long arrays are not printed."""
    result = np.zeros((3, n_columns), dtype=bool)
    result[:, :2] = True
    for k, row in enumerate(result):
        row[n_columns // 2 + 4 * k : n_columns // 2 + 4 * k + 3] = True
    return list(result)


def _masked(recipe, X):
    return _parts.Columns(masks(X.shape[1])[0])


CLASSES = ("classes",)
PIPELINES = {
    "none": Chain(lambda final, recipe, X, folder: (final, "")),
    "scaled": Chain(_before(lambda recipe, X: _scaler(recipe)), 4),
    "pandas output": Chain(
        _before(lambda recipe, X: _scaler(recipe).set_output(transform="pandas"))
    ),
    "nested": Chain(_nested, 2),
    "columns": Chain(_before(_columns), 2),
    "cached": Chain(_cached, 1),
    "sampler": Chain(_sampled, 2, CLASSES),
    "own sampler": Chain(_own_sampled, 2),
    "subclassed": Chain(
        _before(lambda recipe, X: MaxAbsScaler(), _parts.DoublingPipeline), 1
    ),
    "target_encoder": Chain(_before(_encoder), 1),
    "jitter": Chain(_before(lambda recipe, X: _parts.Jitter()), 1),
    "passthrough": Chain(_before(lambda recipe, X: "passthrough"), 1),
    "nothing": Chain(_before(lambda recipe, X: None), 0.5),
    "failing": Chain(_before(_failing), 1.5),
    "function": Chain(_before(lambda recipe, X: FunctionTransformer(_parts.cube)), 1),
    "select": Chain(_before(lambda recipe, X: SelectKBest(k=2)), 1.5, CLASSES),
    "pca": Chain(_before(lambda recipe, X: PCA(2, random_state=0)), 1),
    "union": Chain(_before(_union), 1),
    "quantiles": Chain(_before(_quantiles), 0.7),
    "polynomial": Chain(_before(lambda recipe, X: PolynomialFeatures(2)), 1),
    "mask": Chain(_before(_masked), 1),
}
# Parameters of the step before the model.
OF_STEP = {
    "pca": {"step__n_components": [1, 2, 3]},
    "select": {"step__k": randint(1, 4)},
    "columns": {"step__scale__with_std": [True, False]},
    "nested": {"step__keep__threshold": uniform(0.0, 0.5)},
    "polynomial": {"step__interaction_only": [True, False]},
    "quantiles": {"step__n_quantiles": randint(3, 9)},
    "target_encoder": {"step__code__smooth": loguniform(0.1, 10)},
    "union": {"step__transformer_weights": [None, {"one": 0.1}, {"two": 5.0}]},
    "function": {"step__func": [_parts.cube, _parts.identity]},
    "cached": {"pca__n_components": [1, 2]},
}
FAR = loguniform(1e-9, 1e9)


def make_space(recipe, model, estimator, prefix):
    """Return the space of a problem: distributions and lists, by full name.

    Parameters
    ----------
    recipe : dict
        What to make.
    model : Model
        Family of the last step.
    estimator : estimator
        The whole.
    prefix : str
        Of the parameters of the model.

    Returns
    -------
    dict or list of dict
        As scikit-learn's searches take it.
    """
    pick, kind = recipe["pick"], recipe["space"]
    penalties = _some(model.continuous, recipe["n_penalties"], pick, prefix)
    choices = _some(model.choices, 1, pick, prefix)
    integers = _some(model.integers, 1, pick, prefix)
    plain = penalties or choices or integers
    step = OF_STEP.get(recipe["pipeline"], {})
    spaces = {
        "penalties": plain,
        "mixed": plain | choices,
        "integers": integers or plain,
        "lists": _lists(penalties) | choices or _lists(integers),
        "dicts": [plain, _lists(penalties) | choices] if choices else [plain, plain],
        "transformer": plain | step,
        "steps": plain | _whole_steps(estimator, prefix, model, pick),
        "mask": {"step__mask": masks(recipe["n_columns"])} | penalties,
        "far": dict.fromkeys(penalties, FAR) or plain,
    }
    return spaces[kind]


def _some(table, n, pick, prefix):
    """Return n entries, the first of them by ``pick``."""
    names = list(table)
    start = pick % max(len(names), 1)
    return {prefix + name: table[name] for name in (names + names)[start : start + n]}


def _lists(distributions):
    return {
        name: np.asarray(d.ppf([0.1, 0.5, 0.9])).tolist()
        for name, d in distributions.items()
    }


def _whole_steps(estimator, prefix, model, pick):
    """Return steps as choices; none where there is no pipeline."""
    if not isinstance(estimator, Pipeline) or not prefix:
        return {}
    if pick % 2 and isinstance(estimator.named_steps["step"], StandardScaler):
        return {
            "step": [StandardScaler(with_mean=False), MaxAbsScaler(), "passthrough"]
        }
    final = estimator.get_params()[prefix.removesuffix("__")]
    other = clone(final)
    for name, values in model.choices.items():
        other.set_params(**{name: values[-1]})
        break
    return {prefix.removesuffix("__"): [clone(final), other]}
