# SPDX-License-Identifier: BSD-3-Clause
"""The l1 solver against scikit-learn's coordinate descent."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_regression
from sklearn.linear_model import Lasso

from accsmbo.hypergradients import ElasticNetProblem

CASES = {
    "tall": make_regression(60, 8, noise=5, random_state=0),
    "wide": make_regression(40, 120, n_informative=10, noise=5, random_state=1),
    "correlated": (
        np.cumsum(np.random.default_rng(0).standard_normal((50, 12)), axis=1),
        np.random.default_rng(1).standard_normal(50),
    ),
}


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("alpha", [0.01, 0.3])
@pytest.mark.parametrize("case", CASES)
def test_solution_is_that_of_scikit_learn(case, alpha, container):
    X, y = CASES[case]
    alpha = alpha * np.abs(X.T @ (y - y.mean())).max() / len(y)
    model = Lasso(alpha, tol=1e-12, max_iter=200_000)
    solution = ElasticNetProblem(model, container(X), y).solve(model, tolerance=1e-10)
    model.fit(X, y)
    np.testing.assert_allclose(solution.w[:-1], model.coef_, atol=1e-6)
    np.testing.assert_array_equal(solution.w[:-1] != 0, model.coef_ != 0)
    assert solution.w[-1] == pytest.approx(model.intercept_, abs=1e-6)


def test_warm_start_needs_no_step_and_large_penalty_gives_zeros():
    X, y = CASES["tall"]
    model = Lasso(1.0)
    problem = ElasticNetProblem(model, X, y)
    solution = problem.solve(model, tolerance=1e-8)
    again = problem.solve(model, tolerance=1e-8, start=solution.w)
    assert again.state["linear"].n_iter == 0
    empty = problem.solve(model.set_params(alpha=1e6), tolerance=1e-8)
    assert not empty.w[:-1].any()
    assert empty.w[-1] == pytest.approx(y.mean())
