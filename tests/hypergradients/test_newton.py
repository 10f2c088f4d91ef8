# SPDX-License-Identifier: BSD-3-Clause
"""The truncated Newton solver against scikit-learn's, and its line search."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from accsmbo.hypergradients import _hessian
from accsmbo.hypergradients._design import Design
from accsmbo.hypergradients._losses import LogisticLoss
from accsmbo.hypergradients._newton import line_search, newton_cg

X, y = make_classification(100, 8, random_state=0)
SIGNS = 2.0 * y - 1


def solve(design, start=None, **options):
    loss = LogisticLoss(SIGNS, np.ones(100)).with_dtype(design.dtype)
    start = np.zeros(8, design.dtype) if start is None else start
    scale = float(
        np.linalg.norm(design.adjoint(loss.slope(np.zeros(100, design.dtype))))
    )
    l2 = np.full(8, 2.0, design.dtype)
    return newton_cg(design, loss, l2, start, scale=scale, **options)


@pytest.mark.parametrize("size", [0, 300], ids=["cg", "direct"])
def test_solution_is_that_of_scikit_learn(monkeypatch, size):
    monkeypatch.setattr(_hessian, "DIRECT_SIZE", size)
    state = solve(Design(X, 0.0, np.float64), tolerance=1e-10)
    theirs = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-12, max_iter=1000)
    np.testing.assert_allclose(state.w, theirs.fit(X, y).coef_[0], atol=1e-8)
    assert state.converged


def test_single_precision_and_warm_start():
    design = Design(sparse.csr_array(X), 0.0, np.float32)
    state = solve(design, tolerance=1e-4)
    assert state.w.dtype == np.float32
    assert state.converged
    assert solve(design, state.w, tolerance=1e-4).n_iter == 0


def test_budget_is_kept():
    state = solve(Design(X, 0.0, np.float64), tolerance=1e-10, max_iter=1)
    assert state.n_iter == 1
    assert not state.converged


@pytest.mark.parametrize(
    ("objective", "slope", "expected"),
    [
        (lambda t: (t - 1) ** 2, -2.0, 1.0),
        (lambda t: (4 * t - 1) ** 2, -8.0, 0.25),
        (lambda t: t, -1.0, 0.0),  # the slope is wrong: nothing decreases
        (lambda t: t, 1.0, 0.0),  # not a descent direction
        (lambda t: 1.0 + 1e-17 * t, -1e-16, 1.0),  # too flat to be seen
    ],
)
def test_line_search(objective, slope, expected):
    assert line_search(objective, slope, np.finfo(float).eps) == expected
