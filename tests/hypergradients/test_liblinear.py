# SPDX-License-Identifier: BSD-3-Clause
"""liblinear as the first solver: the same solutions by an independent program."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import hinge_loss, make_scorer
from sklearn.svm import LinearSVC, LinearSVR

from accsmbo.hypergradients import (
    LinearSVCProblem,
    LinearSVRProblem,
    LogisticRegressionProblem,
    NotDifferentiableError,
    hypergradient,
)

X, y = make_classification(90, 6, random_state=0)
TARGET = X[:, 0] + 0.3 * X[:, 1] ** 2
TIGHT = {"tol": 1e-10, "max_iter": 100_000}


@pytest.fixture
def liblinear():
    return pytest.importorskip("liblinear.liblinearutil")


@pytest.mark.usefixtures("liblinear")
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("kind", "model"),
    [
        (LogisticRegressionProblem, LogisticRegression(C=0.3)),
        (LogisticRegressionProblem, LogisticRegression(C=0.3, fit_intercept=False)),
        (
            LogisticRegressionProblem,
            LogisticRegression(C=0.3, solver="liblinear", intercept_scaling=3.0),
        ),
        (LinearSVCProblem, LinearSVC(C=0.1)),
        (
            LinearSVRProblem,
            LinearSVR(loss="squared_epsilon_insensitive", C=0.1, epsilon=0.2),
        ),
    ],
)
def test_liblinear_agrees_with_newton(kind, model, container, first):
    order = np.argsort(y != first, kind="stable")  # which label comes first matters
    target = TARGET if kind is LinearSVRProblem else y
    problem = kind(model, container(X[order]), target[order])
    expected = problem.solve(model, tolerance=1e-10).w
    problem.solver = "liblinear"
    solution = problem.solve(model, tolerance=1e-6)
    assert solution.state["linear"].n_iter <= 1
    np.testing.assert_allclose(solution.w, expected, atol=1e-4)


@pytest.mark.usefixtures("liblinear")
def test_the_public_function_takes_it():
    options = {"cv": 3, "scoring": "neg_log_loss"}
    ours = hypergradient(LogisticRegression(), {"C": 0.3}, X, y, **options)
    theirs = hypergradient(
        LogisticRegression(), {"C": 0.3}, X, y, solver="liblinear", **options
    )
    assert theirs[0] == pytest.approx(ours[0], rel=1e-9)
    assert theirs[1]["C"] == pytest.approx(ours[1]["C"], rel=1e-6)


HINGE = make_scorer(
    hinge_loss, greater_is_better=False, response_method="decision_function"
)


@pytest.mark.parametrize(
    ("model", "params", "scoring", "weight", "message"),
    [
        (Ridge(), {"alpha": 1.0}, "r2", None, "its loss or its number"),
        (
            LogisticRegression(),
            {"C": 1.0},
            "neg_log_loss",
            np.arange(90) + 1.0,
            "weighted samples",
        ),
        (LogisticRegression(), {"C": np.inf}, "neg_log_loss", None, "no l2 penalty"),
        (LinearSVC(penalty="l1", dual=False), {"C": 1.0}, HINGE, None, "no l2 penalty"),
    ],
)
def test_what_liblinear_cannot_take(model, params, scoring, weight, message):
    with pytest.raises(NotDifferentiableError, match=message):
        hypergradient(
            model,
            params,
            X,
            y,
            cv=3,
            scoring=scoring,
            sample_weight=weight,
            solver="liblinear",
        )


def test_unknown_solver():
    with pytest.raises(ValueError, match="solver must be 'auto' or 'liblinear'"):
        hypergradient(Ridge(), {"alpha": 1.0}, X, y, solver="sag")


def test_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "liblinear.liblinearutil", None)
    with pytest.raises(ImportError, match=r'pip install "accsmbo\[liblinear\]"'):
        hypergradient(
            LogisticRegression(),
            {"C": 1.0},
            X,
            y,
            cv=3,
            scoring="neg_log_loss",
            solver="liblinear",
        )
