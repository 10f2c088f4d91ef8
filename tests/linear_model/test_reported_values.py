# SPDX-License-Identifier: BSD-3-Clause
"""What the self-tuning estimators report is true: scores, errors, weights, shapes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.preprocessing import scale

from accsmbo.hypergradients import NotDifferentiableError, squared_hinge_loss
from accsmbo.linear_model import (
    BilevelLinearSVCCV,
    BilevelLogisticRegressionCV,
    BilevelPoissonRegressorCV,
    BilevelRidgeCV,
)
from accsmbo.linear_model._one_fit import tune_penalties
from accsmbo.linear_model._row_space import RowSpace

ALL = [
    BilevelLogisticRegressionCV,
    BilevelLinearSVCCV,
    BilevelRidgeCV,
    BilevelPoissonRegressorCV,
]
X, LABELS = load_breast_cancer(return_X_y=True)
X, LABELS = scale(X)[::4], LABELS[::4]
COUNTS = np.random.default_rng(0).poisson(np.exp(0.5 * X[:, 0]))


def target(cls):
    classifies = cls in (BilevelLogisticRegressionCV, BilevelLinearSVCCV)
    return LABELS if classifies else COUNTS


def words(seed, n=330, p=4000):
    """Return sparse rows of few words out of many, and two topics."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    chances = 1 / np.arange(1, p + 1) * np.exp(0.7 * rng.normal(size=(2, p)))
    chances /= chances.sum(axis=1, keepdims=True)
    counts = np.log1p([rng.multinomial(100, chances[k]) for k in y])
    return sparse.csr_array(counts / np.linalg.norm(counts, axis=1)[:, None]), y


def wide(seed, n=60, p=300):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p))
    return rows, rows[:, :5].sum(axis=1) + 0.1 * rng.normal(size=n) + 3


@pytest.mark.parametrize("seed", range(6))
def test_the_true_loss_lies_within_the_error_estimate(seed):
    kind = seed % 3
    A, b = wide(seed) if kind == 0 else words(seed)
    ours = (BilevelRidgeCV, BilevelLinearSVCCV, BilevelLogisticRegressionCV)[kind]()
    ours.cv = KFold(3)
    ours.fit(A, b)
    truth = np.mean([loss(ours, A, b, *split) for split in KFold(3).split(b)])
    assert ours.converged_
    assert abs(-ours.best_score_ - truth) <= ours.score_error_estimate_
    assert ours.score_error_estimate_ < 5e-3 * truth


def loss(ours, A, b, train, test):
    """Return the validation loss of a tight fit in the span of all rows."""
    K = np.asarray((A @ A.T).toarray() if sparse.issparse(A) else A @ A.T)
    values, vectors = np.linalg.eigh(K)
    Z = vectors * np.sqrt(np.maximum(values, 0))
    if isinstance(ours, BilevelRidgeCV):
        fitted = Ridge(alpha=ours.alpha_, solver="cholesky").fit(Z[train], b[train])
        return np.mean((fitted.predict(Z[test]) - b[test]) ** 2)
    if isinstance(ours, BilevelLinearSVCCV):
        Z = np.column_stack([Z, np.ones(len(Z))])
        return squared_hinge_loss(b[test], Z[test] @ svc(Z[train], b[train], ours.C_))
    model = LogisticRegression(C=ours.C_, solver="newton-cholesky", tol=1e-10)
    f = model.fit(Z[train], b[train]).decision_function(Z[test])
    return np.logaddexp(0, np.where(b[test], -f, f)).mean()


def svc(A, b, C):
    """Return the coefficients of LinearSVC by Newton steps to the last digit."""
    signs, w = np.where(b, 1.0, -1.0), np.zeros(A.shape[1])

    def value(w):
        return 0.5 * w @ w + C * (np.maximum(1 - signs * (A @ w), 0) ** 2).sum()

    for _ in range(100):
        active = signs * (A @ w) < 1
        H = 2 * C * A[active].T @ A[active] + np.eye(len(w))
        step = np.linalg.solve(H, 2 * C * A[active].T @ signs[active]) - w
        t = 1.0
        while value(w + t * step) > value(w) and t > 1e-9:
            t /= 2
        w = w + t * step
    return w


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_span_of_the_rows_keeps_products_and_predictions(kind):
    A = wide(0, 20, 50)[0]
    A[3] = A[2]
    space = RowSpace(kind(A))
    np.testing.assert_allclose(space.rows @ space.rows.T, A @ A.T, atol=1e-10)
    c = np.random.default_rng(1).normal(size=space.rows.shape[1] + 1)
    w = space.expand(c)
    np.testing.assert_allclose(A @ w[:-1], space.rows @ c[:-1], atol=1e-10)
    assert w[-1] == c[-1]


@pytest.mark.parametrize("shape", [(60, 300), (80, 500)])
def test_wide_ridge_is_that_of_the_dense_formula(shape):
    A, b = wide(4, *shape)
    ours = BilevelRidgeCV((1e-6, 1e-2)).fit(A, b)
    centred = A - A.mean(axis=0)
    K = centred @ centred.T + ours.alpha_ * np.eye(len(b))
    coef = centred.T @ np.linalg.solve(K, b - b.mean())
    np.testing.assert_allclose(ours.coef_, coef, atol=1e-8)
    assert ours.score_error_estimate_ < 1e-6 * abs(ours.best_score_)


def test_an_end_without_convergence_is_said_and_the_error_covers_it():
    A = sparse.csr_array(sparse.random(1100, 1500, density=0.02, random_state=0))
    b = np.asarray(A[:, :200].sum(axis=1)).ravel()
    ours = BilevelRidgeCV((1e-14, 1e-13), cv=KFold(2))
    with pytest.warns(ConvergenceWarning, match=r"^BilevelRidgeCV stopped at alpha=1"):
        ours.fit(A, b)
    assert not ours.converged_
    truth = [
        np.mean((b[test] - least_norm(A[train].toarray(), b[train], A[test])) ** 2)
        for train, test in KFold(2).split(b)
    ]
    assert abs(-ours.best_score_ - np.mean(truth)) <= ours.score_error_estimate_


def least_norm(A, b, V):
    w = np.linalg.pinv(A - A.mean(axis=0)) @ (b - b.mean())
    return V @ w - A.mean(axis=0) @ w + b.mean()


@pytest.mark.parametrize("cls", ALL)
def test_case_127_integer_weights_are_repeated_rows(cls):
    """See https://github.com/scikit-learn/scikit-learn/issues/5364."""
    y, n = target(cls), len(X)
    weight = np.random.default_rng(0).integers(0, 6, n)
    weight[:3] = 1
    row = np.repeat(np.arange(n), weight)
    fold = np.arange(n) % 3
    cv = [np.flatnonzero(fold == k) for k in range(3)]
    repeated = [np.flatnonzero(fold[row] == k) for k in range(3)]
    weighted = cls(cv=splits(n, cv)).fit(X, y, sample_weight=weight)
    plain = cls(cv=splits(len(row), repeated)).fit(X[row], y[row])
    name = f"{cls._penalty_name}_"
    assert getattr(weighted, name) == pytest.approx(getattr(plain, name), rel=1e-3)
    assert weighted.best_score_ == pytest.approx(plain.best_score_, rel=1e-6)
    np.testing.assert_allclose(weighted.coef_, plain.coef_, rtol=1e-2, atol=1e-4)


def splits(n, tests):
    return [(np.setdiff1d(np.arange(n), test), test) for test in tests]


def test_a_fold_that_no_weight_validates_is_refused():
    weight = (np.arange(len(X)) >= 40).astype(float)
    cv = splits(len(X), [np.arange(40), np.arange(40, 80)])
    with pytest.raises(ValueError, match="positive for some validation rows"):
        BilevelRidgeCV(cv=cv).fit(X, COUNTS, sample_weight=weight)


def test_case_97_weights_with_an_index_count_by_position():
    """See https://github.com/microsoft/FLAML/issues/1396."""
    rng = np.random.default_rng(0)
    weight = rng.random(len(X))
    series = pd.Series(weight, index=rng.permutation(len(X)))
    found = [
        tune_penalties(
            LogisticRegression(),
            {"C": (1e-3, 1e3)},
            X,
            LABELS,
            list(KFold(3).split(X)),
            scoring="neg_log_loss",
            sample_weight=weights,
            score_weight=weights,
        )
        for weights in (weight, series)
    ]
    assert found[0].params == found[1].params


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("end", [1e50, 1e300])
def test_case_101_the_ends_of_the_number_range_are_quiet(cls, end):
    """See https://github.com/facebook/Ax/issues/2183."""
    usual = cls((1e-6, 1e6), cv=3).fit(X, target(cls))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = cls((1 / end, end), cv=3).fit(X, target(cls))
    assert ours.best_score_ == pytest.approx(usual.best_score_, rel=1e-3)
    assert np.isfinite(ours.coef_).all()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_case_109_a_column_of_targets_has_the_shapes_of_ridge(fit_intercept):
    """See https://github.com/scikit-learn/scikit-learn/issues/9742."""
    A, b = load_diabetes(return_X_y=True)
    ours = BilevelRidgeCV(fit_intercept=fit_intercept).fit(A, b[:, None])
    theirs = Ridge(alpha=ours.alpha_, fit_intercept=fit_intercept).fit(A, b[:, None])
    for name in ("coef_", "intercept_"):
        assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name))
    assert ours.predict(A).shape == theirs.predict(A).shape
    np.testing.assert_allclose(ours.predict(A), theirs.predict(A), rtol=1e-6)


@pytest.mark.parametrize("cls", [BilevelRidgeCV, BilevelPoissonRegressorCV])
def test_case_105_r2_of_single_rows_is_refused(cls):
    """See https://github.com/scikit-learn/scikit-learn/issues/11434."""
    ours = cls(cv=LeaveOneOut(), scoring="r2")
    with pytest.raises(ValueError, match=r"scoring=.*r2.* undefined on fold 0.* 1 row"):
        ours.fit(X[:20], COUNTS[:20])
    with pytest.raises(NotDifferentiableError, match="a cv with more"):
        ours.fit(X[:20], COUNTS[:20])
