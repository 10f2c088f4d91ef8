# SPDX-License-Identifier: BSD-3-Clause
"""Group-wise l2 penalties: one strength ``alpha__k`` for each group of features.

``sum_i s_i loss_i + sum_k alpha_k |w_group(k)|^2 / 2``, the squared loss halved, so
that equal strengths give ridge regression, or logistic regression with C = 1 / alpha.
One adjoint gives all derivatives: ``df / dalpha_k = - sum_{j in k} w_j q_j``.
"""

from typing import Any

import numpy as np

from accsmbo.hypergradients._inner_problem import Array
from accsmbo.hypergradients._linear_problem import LinearProblem, Penalty
from accsmbo.hypergradients._logistic import LogisticRegressionProblem
from accsmbo.hypergradients._losses import InnerLoss, SquaredLoss

__all__ = ["GroupLogisticRegressionProblem", "GroupRidgeProblem"]


class _GroupPenalty(LinearProblem):
    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return ``alpha`` for one strength, ``alpha__k`` for one per group."""
        if np.ndim(estimator.alpha) == 0:
            return ("alpha",)
        return tuple(f"alpha__{k}" for k in range(len(estimator.alpha)))

    def penalty(self, estimator: Any) -> Penalty:
        """Return the strength of each feature's group."""
        outputs = len(self.shape) - 1
        if np.ndim(estimator.alpha) == 0:
            return Penalty(float(estimator.alpha), d_l2={"alpha": 1.0})
        groups = np.asarray(estimator.groups).reshape(-1, *[1] * outputs)
        strengths = np.asarray(estimator.alpha, float)
        derivatives = {
            f"alpha__{k}": (groups == k) * 1.0 for k in range(len(strengths))
        }
        return Penalty(strengths[groups], d_l2=derivatives)


class GroupRidgeProblem(_GroupPenalty):
    """Inner problem of :class:`accsmbo.linear_model.GroupRidge`."""

    def make_loss(self, estimator: Any, y: Array, weight: Array) -> InnerLoss:
        """Return the squared error."""
        return SquaredLoss(np.asarray(y, float), weight)


class GroupLogisticRegressionProblem(_GroupPenalty, LogisticRegressionProblem):
    """Inner problem of :class:`accsmbo.linear_model.GroupLogisticRegression`."""
