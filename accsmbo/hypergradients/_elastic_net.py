# SPDX-License-Identifier: BSD-3-Clause
"""Lasso and elastic net: alpha and l1_ratio, differentiated on the support.

``sum_i s_i (y_i - x_i.w)^2 / 2 + S alpha (rho |w|_1 + (1 - rho) |w|^2 / 2)``, S the sum
of the weights, rho = l1_ratio (Bertrand et al. 2020, Implicit differentiation of
Lasso-type models, proposition 1).
"""

from typing import Any

import numpy as np
from sklearn.linear_model import ElasticNet, Lasso

from accsmbo.hypergradients._inner_problem import Array, NotDifferentiableError
from accsmbo.hypergradients._linear_problem import LinearProblem, Penalty
from accsmbo.hypergradients._losses import InnerLoss, SquaredLoss
from accsmbo.hypergradients._registry import register_inner_problem

__all__ = ["ElasticNetProblem"]


class ElasticNetProblem(LinearProblem):
    """Inner problem of :class:`sklearn.linear_model.ElasticNet` and ``Lasso``."""

    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return alpha, and l1_ratio of the elastic net."""
        if estimator.positive:
            raise NotDifferentiableError(
                f"{type(estimator).__name__}(positive=True) has no gradients. "
                "Use positive=False."
            )
        return ("alpha",) if isinstance(estimator, Lasso) else ("alpha", "l1_ratio")

    def make_loss(self, estimator: Any, y: Array, weight: Array) -> InnerLoss:
        """Return the squared error."""
        self.total = float(weight.sum())
        return SquaredLoss(np.asarray(y, float), weight)

    def penalty(self, estimator: Any) -> Penalty:
        """Return both strengths, scaled by the sum of the weights."""
        alpha, rho = self.total * float(estimator.alpha), float(estimator.l1_ratio)
        return Penalty(
            (1 - rho) * alpha,
            rho * alpha,
            {"alpha": (1 - rho) * self.total, "l1_ratio": -alpha},
            {"alpha": rho * self.total, "l1_ratio": alpha},
        )


register_inner_problem(ElasticNet, ElasticNetProblem)
register_inner_problem(Lasso, ElasticNetProblem)
