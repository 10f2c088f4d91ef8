# SPDX-License-Identifier: BSD-3-Clause
"""The estimators that tune their own penalty: scikit-learn's contract and models."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import ShuffleSplit, cross_val_score
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from accsmbo.linear_model import (
    BilevelLinearSVCCV,
    BilevelLogisticRegressionCV,
    BilevelPoissonRegressorCV,
    BilevelRidgeCV,
)

X, Y = load_breast_cancer(return_X_y=True)
X, Y = scale(X)[::3], Y[::3]
DIABETES = load_diabetes(return_X_y=True)
COUNTS = np.random.default_rng(0).poisson(np.exp(0.5 * X[:, 0]))
TIGHT = {"tol": 1e-12}
# Of each estimator: scikit-learn's, its data, and the metric of the search.
PAIRS = {
    "logistic": (
        BilevelLogisticRegressionCV(),
        LogisticRegression(tol=1e-9, max_iter=10000),
        (X, Y),
        "neg_log_loss",
    ),
    "softmax": (
        BilevelLogisticRegressionCV(fit_intercept=False),
        LogisticRegression(tol=1e-9, max_iter=10000, fit_intercept=False),
        load_iris(return_X_y=True),
        "neg_log_loss",
    ),
    "svc": (
        BilevelLinearSVCCV(intercept_scaling=2.0),
        LinearSVC(tol=1e-10, max_iter=100000, dual=False, intercept_scaling=2.0),
        (X, Y),
        None,
    ),
    "ridge": (BilevelRidgeCV(), Ridge(tol=1e-10), DIABETES, "neg_mean_squared_error"),
    "poisson": (
        BilevelPoissonRegressorCV(),
        PoissonRegressor(tol=1e-10, max_iter=10000),
        (X, COUNTS),
        "neg_mean_poisson_deviance",
    ),
}


@parametrize_with_checks(
    [
        BilevelLogisticRegressionCV(cv=3, **TIGHT),
        BilevelLinearSVCCV(cv=3, **TIGHT),
        BilevelRidgeCV(cv=3, **TIGHT),
        BilevelPoissonRegressorCV(cv=3, **TIGHT),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("rows", ["dense", "csr"])
@pytest.mark.parametrize("name", list(PAIRS))
def test_it_is_the_model_of_scikit_learn_at_the_value_found(name, rows):
    ours, theirs, (A, b), metric = PAIRS[name]
    A = sparse.csr_array(A) if rows == "csr" else A
    penalty = ours._penalty_name
    ours.fit(A, b)
    theirs.set_params(**{penalty: getattr(ours, f"{penalty}_")}).fit(A, b)
    assert ours.score(A, b) == pytest.approx(theirs.score(A, b), abs=1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    if metric is not None:
        scores = cross_val_score(theirs, A, b, cv=5, scoring=metric)
        assert ours.best_score_ == pytest.approx(scores.mean(), rel=3e-3)


def test_what_the_search_saw_is_kept():
    model = BilevelLogisticRegressionCV(cv=3).fit(X, Y)
    assert model.Cs_[-1] == pytest.approx(model.C_)
    assert model.scores_path_.shape == (3, len(model.Cs_))
    assert model.scores_path_[:, -1].mean() == pytest.approx(model.best_score_)
    assert model.scan_["C"].shape == model.scan_["score"].shape
    assert 1e-4 <= model.scan_["C"].min() < model.scan_["C"].max() <= 1.0001e4
    assert len(model.local_maxima_) >= 1
    assert model.at_bound_ is None
    assert model.converged_
    assert model.score_error_estimate_ < 1e-2 * abs(model.best_score_)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (BilevelLogisticRegressionCV(cv=3), LogisticRegression(tol=1e-9)),
        (BilevelRidgeCV(cv=3), Ridge(tol=1e-12, solver="lsqr")),
        (
            BilevelPoissonRegressorCV(cv=3, alpha_bounds=(1e-3, 1.0)),
            PoissonRegressor(tol=1e-9),
        ),
    ],
    ids=["logistic", "ridge", "poisson"],
)
@pytest.mark.parametrize("many", [False, True], ids=["one output", "three classes"])
def test_the_final_fit_of_many_columns_is_that_of_scikit_learn(ours, theirs, many):
    wide = sparse.csr_array(sparse.random(240, 700, density=0.05, random_state=0))
    total = np.asarray(wide[:, :20].sum(axis=1)).ravel()
    labels = np.digitize(total, np.quantile(total, [0.3, 0.7] if many else [0.5]))
    ours.fit(wide, labels)
    theirs.set_params(max_iter=10000)
    theirs.set_params(**{ours._penalty_name: getattr(ours, f"{ours._penalty_name}_")})
    theirs.fit(wide, labels)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    assert ours.score(wide, labels) == pytest.approx(
        theirs.score(wide, labels), abs=1e-6
    )


def test_products_are_counted():
    wide = sparse.csr_array(sparse.random(500, 2000, density=0.05, random_state=0))
    labels = (wide.sum(axis=1) > np.median(wide.sum(axis=1))).astype(int)
    model = BilevelLogisticRegressionCV(cv=ShuffleSplit(1, random_state=0))
    n_products = model.fit(wide, labels).n_products_
    assert isinstance(n_products, int)
    assert 10 < n_products < 400


def test_weights_change_the_model_as_they_change_that_of_scikit_learn():
    weight = np.random.default_rng(0).random(len(Y))
    model = BilevelLogisticRegressionCV(cv=3).fit(X, Y, sample_weight=weight)
    theirs = LogisticRegression(C=model.C_, tol=1e-9, max_iter=10000)
    theirs.fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "bounds", [(0.0, 1.0), (2.0, 1.0), (1.0, np.inf), (1.0,), ("a", "b"), (1.0, None)]
)
def test_bounds_must_be_an_increasing_positive_pair(bounds):
    with pytest.raises(ValueError, match="C_bounds must hold two numbers"):
        BilevelLogisticRegressionCV(bounds).fit(X, Y)


CLASSIFIERS = [BilevelLogisticRegressionCV, BilevelLinearSVCCV]
REGRESSORS = [BilevelRidgeCV, BilevelPoissonRegressorCV]


def target(cls):
    return COUNTS if cls in REGRESSORS else Y


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_rows_that_are_not_finite_are_refused(cls, value, kind):
    broken = X.copy()
    broken[3, 3] = value
    with pytest.raises(ValueError, match="NaN" if np.isnan(value) else "infinity"):
        cls().fit(kind(broken), target(cls))


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_metrics_and_folds_that_cannot_be_used_are_refused(cls):
    with pytest.raises(ValueError, match="has no gradient"):
        cls(scoring="accuracy").fit(X, Y)
    ordered = np.argsort(Y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        cls(cv=[(ordered[:30], ordered[30:])]).fit(X, Y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        cls(cv=3).fit(X, Y, sample_weight=(Y == 1).astype(float))
    many = np.repeat([0, 1, 2], 60)
    with pytest.raises(ValueError, match=r"holds the class .*2.* training part lacks"):
        cls(cv=[(np.arange(120), np.arange(120, 180))]).fit(X[:180], many)


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_weights_that_cannot_be_used_are_refused(cls):
    weight = np.ones(len(X))
    weight[5] = -1.0
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        cls(cv=3).fit(X, target(cls), sample_weight=weight)
    rows = np.arange(len(X))
    weight = (rows < 60).astype(float)
    with pytest.raises(ValueError, match="got a fold with none"):
        cls(cv=[(rows[60:], rows[:60])]).fit(X, target(cls), sample_weight=weight)


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_columns_without_information_change_nothing(cls):
    plain = cls(cv=3).fit(X, target(cls))
    penalty = f"{plain._penalty_name}_"
    more = cls(cv=3).fit(np.c_[X, np.zeros(len(X))], target(cls))
    assert getattr(more, penalty) == pytest.approx(getattr(plain, penalty), rel=1e-3)
    assert abs(more.coef_.ravel()[-1]) < 1e-12
    if cls is not BilevelLinearSVCCV:  # it penalises the intercept, as liblinear does
        more = cls(cv=3).fit(np.c_[X, np.full(len(X), 3.0)], target(cls))
        assert more.best_score_ == pytest.approx(plain.best_score_, rel=1e-3)


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("shape", [(24, 60), (180, 1)], ids=["n < p", "p = 1"])
def test_extreme_shapes_are_those_of_a_grid(cls, shape):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=shape)
    signal = Z[:, 0] + rng.normal(size=shape[0])
    goal = np.round(np.exp(signal / 2)) if cls in REGRESSORS else signal > 0
    model = cls(cv=3).fit(Z, goal)
    name = model._penalty_name
    grid = []
    for value in np.geomspace(1e-4, 1e4, 9):
        # A range of next to no width is one value.
        ends = {f"{name}_bounds": (value, value * (1 + 1e-9))}
        grid.append(cls(cv=3, **ends).fit(Z, goal).best_score_)
    assert model.best_score_ >= max(grid) - 1e-3 * abs(max(grid))


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_a_range_without_the_optimum_is_reported(cls):
    best = cls(cv=3).fit(X, target(cls))
    assert best.at_bound_ is None
    name = best._penalty_name
    value = getattr(best, f"{name}_")
    for low, high, end in ((30, 1000, "low"), (1e-3, 1 / 30, "high")):
        ends = {f"{name}_bounds": (low * value, high * value)}
        model = cls(cv=3, **ends).fit(X, target(cls))
        assert model.at_bound_ == end
        right = ends[f"{name}_bounds"][end == "high"]
        assert getattr(model, f"{name}_") == pytest.approx(right)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_separable_classes_are_reported_at_the_weakest_penalty(cls):
    Z = np.random.default_rng(0).normal(size=(90, 1))
    model = cls(cv=3).fit(Z + np.sign(Z), Z[:, 0] > 0)
    assert model.at_bound_ == "high"
    assert pytest.approx(1e4) == model.C_
