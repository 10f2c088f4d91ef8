# SPDX-License-Identifier: BSD-3-Clause
"""The default search answers what scikit-learn's own evaluation answers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import (
    LogisticRegression,
    Ridge,
    RidgeClassifier,
)
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    TimeSeriesSplit,
    train_test_split,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from accsmbo import AccSMBOSearchCV, Real
from accsmbo.linear_model import BilevelRidgeCV
from accsmbo.search import HOAGSearchCV
from tests._searches import assert_rows_are_plain, make_search, small_data

C = Real(1e-2, 1e2, log=True)
ALPHA = Real(1e-3, 1e4, log=True)


def check(cls, model, space, X, y, *, fit_params=None, **kwargs):
    """Fit a search, and check each of its rows."""
    kwargs = {"n_iter": 8, "cv": 3} | kwargs
    search = make_search(cls, model, space, **kwargs)
    search.fit(X, y, **(fit_params or {}))
    assert_rows_are_plain(search, X, y, fit_params=fit_params)
    return search


class SamplingPipeline(Pipeline):
    """Two steps: a sampler, applied to the training part only, and a model."""

    def fit(self, X, y):
        X, y = self.steps[0][1].fit_resample(X, y)
        self.steps[1][1].fit(X, y)
        return self

    def predict(self, X):
        return self.steps[1][1].predict(X)

    def predict_proba(self, X):
        return self.steps[1][1].predict_proba(X)

    @property
    def classes_(self):
        return self.steps[1][1].classes_

    def __sklearn_is_fitted__(self):
        return True


class Balancer(BaseEstimator):
    """Keeps as many rows of each class as the smallest has."""

    def fit(self, X, y):
        return self

    def fit_resample(self, X, y):
        n = np.bincount(y).min()
        rows = np.concatenate([np.flatnonzero(y == c)[:n] for c in (0, 1)])
        return X[rows], y[rows]

    def transform(self, X):
        raise AttributeError("a sampler does not transform")


def unbalanced():
    X, y = small_data(120)
    keep = np.flatnonzero((y == 0) | (np.arange(120) % 6 == 1))
    return X[keep], y[keep]


SAMPLED = [
    (LogisticRegression(), "C", C),
    (SVC(), "C", C),
    (LinearSVC(random_state=0), "C", C),
    (RidgeClassifier(), "alpha", ALPHA),
]


@pytest.mark.parametrize("scoring", ["f1", "accuracy"])
@pytest.mark.parametrize(("model", "name", "range_"), SAMPLED)
def test_a_sampler_before_the_model_sees_the_training_part_only(
    model, name, range_, scoring
):
    """Case 91: https://github.com/scikit-learn-contrib/imbalanced-learn/issues/1078."""
    pipeline = SamplingPipeline([("sampler", Balancer()), ("model", model)])
    space = {f"model__{name}": range_}
    check(AccSMBOSearchCV, pipeline, space, *unbalanced(), scoring=scoring)


@pytest.mark.parametrize("scoring", ["f1", "neg_log_loss"])
def test_a_pipeline_of_imbalanced_learn_is_searched(scoring):
    """Case 91: https://github.com/scikit-learn-contrib/imbalanced-learn/issues/162."""
    imblearn = pytest.importorskip("imblearn.pipeline")
    sampling = pytest.importorskip("imblearn.under_sampling")
    sampler = sampling.RandomUnderSampler(random_state=0)
    pipeline = imblearn.make_pipeline(sampler, LogisticRegression())
    space = {"logisticregression__C": C}
    check(AccSMBOSearchCV, pipeline, space, *unbalanced(), scoring=scoring)


def negative_coefficients(n=60, n_features=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    w = rng.normal(size=n_features) - 1.0
    return X, X @ w + rng.normal(size=n)


@pytest.mark.parametrize("cls", [Ridge, RidgeClassifier])
def test_coefficients_that_must_be_positive_are(cls):
    """Case 93: https://github.com/scikit-learn/scikit-learn/issues/18369."""
    X, y = negative_coefficients()
    if cls is RidgeClassifier:
        y = (y > np.median(y)).astype(int)
    model = cls(positive=True)
    search = check(AccSMBOSearchCV, model, {"alpha": ALPHA}, X, y, n_iter=20)
    assert (search.best_estimator_.coef_ >= 0.0).all()


def test_a_gradient_descent_over_what_it_cannot_differentiate_says_so():
    """Case 93: https://github.com/scikit-learn/scikit-learn/issues/18369."""
    search = HOAGSearchCV(Ridge(positive=True), {"alpha": ALPHA}, cv=3)
    with pytest.raises(ValueError, match=r"differentia|gradient"):
        search.fit(*negative_coefficients())


@pytest.mark.parametrize("upper", [1e3, 1e12])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_at_weak_penalties_are_within_their_stated_error(upper):
    """Case 95: https://github.com/scikit-learn/scikit-learn/issues/24877."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model, space = LogisticRegression(max_iter=1000), {"C": Real(1e-3, upper, log=True)}
    check(AccSMBOSearchCV, model, space, X, y, scoring="neg_log_loss", cv=5)


@pytest.mark.parametrize(
    "cv", [TimeSeriesSplit(4), TimeSeriesSplit(4, gap=2, test_size=5)]
)
def test_rows_of_a_search_with_gradients_are_within_their_stated_error(cv):
    """Case 95, on the data of case 107: https://github.com/sktime/sktime/issues/5109."""
    X, _ = small_data(60)
    y = X @ [1.0, -2.0, 0.5] + np.sin(np.arange(60))
    check(AccSMBOSearchCV, SVR(), {"C": C}, X, y, cv=cv, n_iter=4)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy"])
@pytest.mark.parametrize("labels", ["permuted", "strings", "list", "array"])
def test_weights_are_taken_by_position(labels, scoring):
    """Case 97: https://github.com/microsoft/FLAML/issues/1396."""
    X, y = small_data(80)
    weights = pd.Series(np.random.default_rng(0).uniform(0.1, 5.0, size=80))
    X, _, y, _, weights, _ = train_test_split(X, y, weights, random_state=0)
    values = weights.to_numpy()
    if labels == "strings":
        weights.index = [f"row {i}" for i in weights.index]
    given = {"list": list(values), "array": values}.get(labels, weights)
    found = check(
        AccSMBOSearchCV,
        LogisticRegression(),
        {"C": C},
        X,
        y,
        fit_params={"sample_weight": given},
        scoring=scoring,
    )
    expected = make_search(
        AccSMBOSearchCV, LogisticRegression(), {"C": C}, n_iter=8, cv=3, scoring=scoring
    ).fit(X, y, sample_weight=values)
    assert found.best_params_ == expected.best_params_


@pytest.mark.parametrize("bounds", [(1e-19, 1e-14), (1e-50, 1e50), (1e-300, 1e300)])
def test_the_ends_of_the_number_range_are_inside_and_quiet(bounds):
    """Case 101: https://github.com/facebook/Ax/issues/2183."""
    X, y = load_diabetes(return_X_y=True)
    space = {"alpha": Real(*bounds, log=True)}
    search = make_search(AccSMBOSearchCV, Ridge(), space, n_iter=6, cv=3).fit(X, y)
    for params in search.cv_results_["params"]:
        assert bounds[0] <= params["alpha"] <= bounds[1]


ONE_ROW_FOLDS = [
    LeaveOneOut(),
    PredefinedSplit(np.arange(20)),
    KFold(20, shuffle=True, random_state=0),
]


@pytest.mark.parametrize("n_iter", [4, 20])
@pytest.mark.parametrize(
    "model", [Ridge(), SVR(), make_pipeline(StandardScaler(), SVR())]
)
@pytest.mark.parametrize("cv", ONE_ROW_FOLDS, ids=["loo", "predefined", "kfold"])
def test_a_metric_that_is_undefined_on_each_fold_is_nan(model, cv, n_iter):
    """Case 105: https://github.com/scikit-learn/scikit-learn/issues/11434."""
    X, y = small_data(20)
    y = y + X[:, 0]
    last = "svr__C" if isinstance(model, Pipeline) else "C"
    space = {"alpha": ALPHA} if isinstance(model, Ridge) else {last: C}
    search = make_search(
        AccSMBOSearchCV, model, space, n_iter=n_iter, cv=cv, scoring="r2"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    said = [str(w.message) for w in caught]
    n_rows = len(search.cv_results_["params"])
    assert np.isnan(search.cv_results_["mean_test_score"]).all()
    assert sum("test scores are non-finite" in text for text in said) == 1
    assert sum("R^2 score is not well-defined" in text for text in said) == 20 * n_rows


@pytest.mark.parametrize("n_iter", [4, 20])
def test_the_log_loss_of_one_row_is_nan(n_iter):
    """Case 105: https://github.com/scikit-learn/scikit-learn/issues/15900."""
    search = make_search(
        AccSMBOSearchCV,
        LogisticRegression(),
        {"C": C},
        n_iter=n_iter,
        cv=LeaveOneOut(),
        scoring="neg_log_loss",
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(*small_data(20))
    said = [str(w.message) for w in caught]
    assert np.isnan(search.cv_results_["mean_test_score"]).all()
    assert sum("test scores are non-finite" in text for text in said) == 1


@pytest.mark.parametrize(
    "alpha", [Real(1e-2, 1e2, log=True), Real(1e-6, 1e6, log=True)]
)
def test_a_column_vector_is_a_target_of_ridge(alpha):
    """Case 109: https://github.com/scikit-learn/scikit-learn/issues/9742."""
    X, y = small_data()
    column = pd.DataFrame({"y": y.astype(float)})
    check(AccSMBOSearchCV, Ridge(), {"alpha": alpha}, X, column, n_iter=3, cv=2)


def test_a_bilevel_ridge_has_the_shapes_of_ridge_for_a_column_vector():
    """Case 109: https://github.com/scikit-learn/scikit-learn/issues/9742."""
    X, y = small_data()
    column = y.astype(float)[:, None]
    plain, ours = Ridge().fit(X, column), BilevelRidgeCV().fit(X, column)
    assert np.shape(ours.coef_) == np.shape(plain.coef_)
    assert np.shape(ours.intercept_) == np.shape(plain.intercept_)
    assert ours.predict(X).shape == plain.predict(X).shape


class FailsOnOneFold(TransformerMixin, BaseEstimator):
    """Raises where the training part lacks the first row."""

    def __init__(self, error, first):
        self.error = error
        self.first = first

    def fit(self, X, y=None):
        if not (np.asarray(X) == self.first).all(axis=1).any():
            raise self.error("on one fold")
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
@pytest.mark.parametrize(
    "error",
    [
        ValueError,
        KeyError,
        RuntimeError,
        AttributeError,
        ZeroDivisionError,
        MemoryError,
    ],
)
def test_an_error_inside_one_fold_is_nan_there_and_the_search_goes_on(error, scoring):
    """Case 125: https://github.com/scikit-learn/scikit-learn/issues/16874."""
    X, y = small_data()
    model = make_pipeline(FailsOnOneFold(error, X[0]), LogisticRegression())
    search = make_search(
        AccSMBOSearchCV,
        model,
        {"logisticregression__C": C},
        n_iter=5,
        cv=KFold(4),
        scoring=scoring,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    results = search.cv_results_
    assert np.isnan(results["split0_test_score"]).all()
    for i in (1, 2, 3):
        assert np.isfinite(results[f"split{i}_test_score"]).all()
    assert any("5 fits failed out of a total of 20" in str(w.message) for w in caught)


@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_integer_weights_equal_repeated_rows_in_a_bilevel_ridge(scoring):
    """Case 127: https://github.com/scikit-learn/scikit-learn/issues/5364."""
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:200], y[:200]
    rng = np.random.default_rng(0)
    weights, part = rng.integers(1, 11, len(y)), np.arange(len(y)) % 5
    repeats = np.repeat(np.arange(len(y)), weights)

    def fitted(X, y, part, **kwargs):
        model = BilevelRidgeCV(cv=PredefinedSplit(part))
        if scoring is not None:
            model.set_params(scoring=scoring)
        return model.fit(X, y, **kwargs)

    weighted = fitted(X, y, part, sample_weight=weights.astype(float))
    repeated = fitted(X[repeats], y[repeats], part[repeats])
    assert weighted.alpha_ == pytest.approx(repeated.alpha_, rel=1e-2)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-2, atol=1.0)
    assert weighted.best_score_ == pytest.approx(repeated.best_score_, rel=1e-3)
