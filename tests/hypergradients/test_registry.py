# SPDX-License-Identifier: BSD-3-Clause
"""The registry: what third parties do to make a model differentiable."""

import pytest
from sklearn.datasets import make_regression
from sklearn.linear_model import Ridge

from accsmbo.hypergradients import (
    NotDifferentiableError,
    RidgeProblem,
    find_inner_problem,
    hypergradient,
    register_inner_problem,
)


class MyRidge(Ridge):
    pass


def test_a_registered_class_is_differentiable():
    X, y = make_regression(40, 3, random_state=0)
    with pytest.raises(NotDifferentiableError, match="register_inner_problem"):
        find_inner_problem(MyRidge())
    register_inner_problem(MyRidge, RidgeProblem)
    mine = hypergradient(MyRidge(), {"alpha": 2.0}, X, y, cv=3)
    assert mine == hypergradient(Ridge(), {"alpha": 2.0}, X, y, cv=3)


class CappedRidge(Ridge):
    def __init__(self, alpha=1.0, cap=None):
        super().__init__(alpha)
        self.cap = cap


def test_a_setting_that_the_problem_does_not_know_is_refused():
    X, y = make_regression(40, 3, random_state=0)
    register_inner_problem(CappedRidge, RidgeProblem)
    with pytest.raises(NotDifferentiableError, match=r"CappedRidge has settings.*cap"):
        hypergradient(CappedRidge(), {"alpha": 2.0}, X, y, cv=3)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((Ridge(), RidgeProblem), "estimator_class must be a class"),
        ((Ridge, Ridge), "problem_class must be a subclass"),
        ((Ridge, "RidgeProblem"), "problem_class must be a subclass"),
    ],
)
def test_errors(pair, message):
    with pytest.raises(TypeError, match=message):
        register_inner_problem(*pair)
