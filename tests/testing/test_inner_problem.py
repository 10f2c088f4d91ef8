# SPDX-License-Identifier: BSD-3-Clause
"""check_inner_problem accepts our families and finds what is planted in broken ones."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.svm import SVC, SVR, LinearSVC

from accsmbo.hypergradients import RidgeProblem, find_inner_problem
from accsmbo.testing._inner_problem import check_inner_problem

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 4))
Y = X[:, 0] + 0.5 * rng.standard_normal(40)
LABELS = (Y > 0).astype(int)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (Ridge(2.0), np.column_stack([Y, X[:, 1]])),
        (ElasticNet(0.1), Y),
        (LogisticRegression(C=0.5), np.digitize(Y, [-0.5, 0.5])),
        (LinearSVC(C=0.1), LABELS),
        (KernelRidge(kernel="rbf", gamma=0.3), Y),
        (SVC(gamma=0.3), LABELS),
        (SVR(gamma=0.3), Y),
    ],
)
def test_our_families(model, y):
    weight = np.linspace(0.5, 2, 40)
    check_inner_problem(find_inner_problem(model), model, X, y, sample_weight=weight)


class WrongCross(RidgeProblem):
    def cross_product(self, solution, q):
        return {"alpha": 2 * super().cross_product(solution, q)["alpha"]}


class NoCross(RidgeProblem):
    def cross_product(self, solution, q):
        return {}


class WrongName(RidgeProblem):
    @classmethod
    def hyperparameters(cls, estimator):
        return ("beta",)


class Restless(RidgeProblem):
    def solve(self, estimator, *, tolerance, start=None):
        solution = super().solve(estimator, tolerance=tolerance, start=start)
        solution.w = solution.w + (start is not None)
        return solution


class Lopsided(RidgeProblem):
    def adjoint(self, solution, rhs, *, tolerance, start=None):
        return np.cumsum(super().adjoint(solution, rhs, tolerance=tolerance))


class Affine(RidgeProblem):
    def adjoint(self, solution, rhs, *, tolerance, start=None):
        exact = super().adjoint(solution, rhs, tolerance=tolerance)
        return exact * float(np.linalg.norm(rhs) > 0) + 1e-3 * rhs / np.abs(rhs).max()


class Unfinished(RidgeProblem):
    def solve(self, estimator, *, tolerance, start=None):
        solution = super().solve(estimator, tolerance=tolerance, start=start)
        solution.residual = np.full_like(solution.residual, np.nan)
        return solution


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (WrongCross, "not the central difference"),
        (NoCross, "no derivative came back"),
        (WrongName, "must name parameters"),
        (Restless, "leads elsewhere"),
        (Lopsided, "not symmetric"),
        (Affine, "not symmetric|not linear"),
        (Unfinished, "residual"),
    ],
)
def test_broken_problems_are_found(broken, message):
    with pytest.raises(AssertionError, match=message):
        check_inner_problem(broken, Ridge(2.0), X, Y)


def test_hyperparameters_must_be_positive():
    with pytest.raises(AssertionError, match="positive"):
        check_inner_problem(RidgeProblem, Ridge(0.0), X, Y)
