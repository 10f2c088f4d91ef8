# SPDX-License-Identifier: BSD-3-Clause
"""Poisson, gamma and Tweedie regression: alpha.

``sum_i s_i deviance_i / 2 + S alpha |w|^2 / 2``, S the sum of the weights.
"""

from typing import Any

import numpy as np
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor

from accsmbo.hypergradients._inner_problem import Array, NotDifferentiableError
from accsmbo.hypergradients._linear_problem import LinearProblem, Penalty
from accsmbo.hypergradients._losses import InnerLoss, SquaredLoss, TweedieLoss
from accsmbo.hypergradients._registry import register_inner_problem

__all__ = ["GeneralizedLinearProblem"]


class GeneralizedLinearProblem(LinearProblem):
    """Inner problem of scikit-learn's generalised linear regressors."""

    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return alpha."""
        if _power(estimator) != 0 and not _has_log_link(estimator):
            raise NotDifferentiableError(
                "TweedieRegressor has gradients with a log link, or with power=0; "
                f"got link={estimator.link!r} and power={estimator.power!r}. "
                "Use link='log'."
            )
        return ("alpha",)

    def make_loss(self, estimator: Any, y: Array, weight: Array) -> InnerLoss:
        """Return half the deviance."""
        self.total = float(weight.sum())
        y, power = np.asarray(y, float), _power(estimator)
        if not _has_log_link(estimator):
            return SquaredLoss(y, weight)
        if (power >= 2 and (y <= 0).any()) or (1 <= power < 2 and (y < 0).any()):
            sign = "positive" if power >= 2 else "non-negative"
            raise ValueError(
                f"{type(estimator).__name__} needs {sign} targets, got a smallest "
                f"one of {y.min()}. Shift y or use another model."
            )
        self.link = "exp"
        return TweedieLoss(y, weight, power)

    def penalty(self, estimator: Any) -> Penalty:
        """Return alpha scaled by the sum of the weights."""
        strength = self.total * float(estimator.alpha)
        return Penalty(strength, d_l2={"alpha": self.total})

    def fitted_attributes(self, solution: Any) -> None:
        """Return None: scikit-learn's estimators keep a private loss object."""


def _power(estimator: Any) -> float:
    fixed = {PoissonRegressor: 1.0, GammaRegressor: 2.0}
    return fixed.get(type(estimator), getattr(estimator, "power", 0.0))


def _has_log_link(estimator: Any) -> bool:
    link = getattr(estimator, "link", "log")
    return bool(link == "log" or (link == "auto" and _power(estimator) > 0))


for _regressor in (GammaRegressor, PoissonRegressor, TweedieRegressor):
    register_inner_problem(_regressor, GeneralizedLinearProblem)
