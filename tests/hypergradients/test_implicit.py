# SPDX-License-Identifier: BSD-3-Clause
"""Implicit differentiation at inexact solutions, against the closed form of ridge."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Ridge

from accsmbo.hypergradients import (
    LogisticRegressionProblem,
    RidgeProblem,
    implicit_hypergradient,
    outer_loss,
)

rng = np.random.default_rng(0)
X, V = rng.standard_normal((30, 4)), rng.standard_normal((15, 4))
y, v = X[:, 0] + rng.standard_normal(30), V[:, 0] + rng.standard_normal(15)


def test_closed_form_of_ridge():
    model = Ridge(2.0, fit_intercept=False)
    problem = RidgeProblem(model, X, y)
    found = implicit_hypergradient(
        problem,
        problem.solve(model, tolerance=1e-12),
        outer_loss("neg_mean_squared_error", model),
        V,
        v,
        log_scale=["alpha"],
        values={"alpha": 2.0},
    )
    H = X.T @ X + 2.0 * np.eye(4)
    w = np.linalg.solve(H, X.T @ y)
    residual = V @ w - v
    slope = 2 / 15 * V.T @ residual @ -np.linalg.solve(H, w)
    assert found.loss == pytest.approx(np.mean(residual**2))
    assert found.gradient["alpha"] == pytest.approx(2.0 * slope)
    assert found.error < 1e-12


def test_correction_is_second_order():
    X, y = make_classification(200, 10, random_state=0)
    model = LogisticRegression(C=1.0)
    problem = LogisticRegressionProblem(model, X[:150], y[:150])
    loss = outer_loss("neg_log_loss", model)

    best = problem.solve(model, tolerance=1e-12).w
    direction = rng.standard_normal(len(best))

    def errors(t):
        """Return the errors of the plain and the corrected loss at ``w + t v``."""
        solution = problem.solve(model, tolerance=np.inf, start=best + t * direction)
        raw = loss("logit", problem.outputs(solution, X[150:]), y[150:])[0]
        found = implicit_hypergradient(problem, solution, loss, X[150:], y[150:])
        assert found.error == pytest.approx(abs(raw - found.loss))
        return np.array([raw, found.loss]) - exact

    exact = 0.0
    exact = errors(0.0)[1]
    ratio = errors(1e-2) / errors(1e-3)
    np.testing.assert_allclose(ratio, [10, 100], rtol=0.2)
