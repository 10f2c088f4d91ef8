# SPDX-License-Identifier: BSD-3-Clause
"""Ridge regression and classification: alpha, one for all targets or one each.

``sum_i s_i (y_i - x_i.w)^2 / 2 + alpha |w|^2 / 2``.
"""

from typing import Any

import numpy as np
from sklearn.linear_model import Ridge, RidgeClassifier

from accsmbo.hypergradients._inner_problem import (
    Array,
    NotDifferentiableError,
    Solution,
)
from accsmbo.hypergradients._linear_problem import LinearProblem, Penalty
from accsmbo.hypergradients._losses import InnerLoss, SquaredLoss
from accsmbo.hypergradients._registry import register_inner_problem
from accsmbo.hypergradients._targets import (
    class_weights,
    encode_classes,
    one_hot,
    signs,
)

__all__ = ["RidgeClassifierProblem", "RidgeProblem"]


class RidgeProblem(LinearProblem):
    """Inner problem of :class:`sklearn.linear_model.Ridge`."""

    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return alpha."""
        if estimator.positive:
            raise NotDifferentiableError(
                f"{type(estimator).__name__}(positive=True) has no gradients. "
                "Use positive=False."
            )
        return ("alpha",)

    def make_loss(self, estimator: Any, y: Array, weight: Array) -> InnerLoss:
        """Return the squared error."""
        return SquaredLoss(np.asarray(y, float), weight)

    def penalty(self, estimator: Any) -> Penalty:
        """Return alpha; an array holds one per target."""
        return Penalty(estimator.alpha, d_l2={"alpha": 1.0})

    def cross_product(self, solution: Solution, q: Array) -> dict[str, Any]:
        """Return ``q . w``, per target where alpha is an array."""
        if np.ndim(solution.state["penalty"].l2) == 0:
            return dict(super().cross_product(solution, q))
        strength = self._per_coefficient(1.0, solution.state["design"])
        products = strength * q * solution.state["linear"].w
        return {"alpha": products.reshape(len(q), -1).sum(axis=0)}


class RidgeClassifierProblem(RidgeProblem):
    """Inner problem of :class:`sklearn.linear_model.RidgeClassifier`."""

    link = "margin"

    def make_loss(self, estimator: Any, y: Array, weight: Array) -> InnerLoss:
        """Return the squared error of targets -1 and +1, one class against the rest."""
        self.classes, index = encode_classes(y)
        per_class = class_weights(estimator.class_weight, self.classes, y, None)
        weight = weight * per_class[index]
        if len(self.classes) == 2:
            return SquaredLoss(signs(index), weight)
        return SquaredLoss(2 * one_hot(index, len(self.classes)) - 1, weight)

    def fitted_attributes(self, solution: Solution) -> None:
        """Return None: RidgeClassifier keeps a private label binarizer."""


register_inner_problem(Ridge, RidgeProblem)
register_inner_problem(RidgeClassifier, RidgeClassifierProblem)
