# SPDX-License-Identifier: BSD-3-Clause
"""Poisson, gamma and Tweedie regression: alpha.

``sum_i s_i deviance_i / 2 + S alpha |w|^2 / 2``, S the sum of the weights.
"""

from typing import Any

import numpy as np
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor

from accsmbo.hypergradients._inner_problem import Array, NotDifferentiableError, words
from accsmbo.hypergradients._linear_problem import LinearProblem, Penalty
from accsmbo.hypergradients._losses import InnerLoss, SquaredLoss, TweedieLoss
from accsmbo.hypergradients._registry import register_inner_problem

__all__ = ["GeneralizedLinearProblem"]


class GeneralizedLinearProblem(LinearProblem):
    """Inner problem of scikit-learn's generalised linear regressors.

    For counts, durations and claims: the prediction is ``exp(x.w)``, and the error is
    the deviance of a Poisson, gamma or other Tweedie distribution. The metric may be a
    deviance of any power, a squared error of the prediction or, without ``scoring``,
    the regressors' own D2, the share of deviance explained. With the identity link
    only ``power=0`` has a gradient: other deviances need positive predictions, which
    that link does not give.

    See Also
    --------
    RidgeProblem : For targets on the whole line.
    accsmbo.linear_model.BilevelPoissonRegressorCV : Fitting and tuning in one.

    Notes
    -----
    The objective is ``sum_i s_i deviance_i / 2 + S alpha |w|^2 / 2`` with S the sum of
    the sample weights, so that ``df/dalpha = -S q.w``. For power p, half a deviance is
    ``mu^(2-p)/(2-p) - y mu^(1-p)/(1-p)`` up to terms without mu, logarithms in place of
    the quotients with a vanishing denominator [1]_.

    References
    ----------
    .. [1] B. Jorgensen, Exponential Dispersion Models, Journal of the Royal Statistical
       Society B, 1987.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import PoissonRegressor
    >>> from accsmbo.hypergradients import hypergradient
    >>> X, y = load_diabetes(return_X_y=True)
    >>> metric = "neg_mean_poisson_deviance"
    >>> _, gradient = hypergradient(
    ...     PoissonRegressor(), {"alpha": 1e-3}, X, y, cv=5, scoring=metric)
    >>> bool(gradient["alpha"] < 0)  # the score falls with more regularisation
    True
    """

    settings = words(
        "alpha fit_intercept link max_iter power solver tol verbose warm_start"
    )

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
