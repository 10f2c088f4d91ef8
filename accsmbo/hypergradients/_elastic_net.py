# SPDX-License-Identifier: BSD-3-Clause
"""Lasso and elastic net: alpha and l1_ratio, differentiated on the support.

``sum_i s_i (y_i - x_i.w)^2 / 2 + S alpha (rho |w|_1 + (1 - rho) |w|^2 / 2)``, S the sum
of the weights, rho = l1_ratio (Bertrand et al. 2020, Implicit differentiation of
Lasso-type models, proposition 1).
"""

from typing import Any

import numpy as np
from sklearn.linear_model import ElasticNet, Lasso

from accsmbo.hypergradients._inner_problem import Array, NotDifferentiableError, words
from accsmbo.hypergradients._linear_problem import LinearProblem, Penalty
from accsmbo.hypergradients._losses import InnerLoss, SquaredLoss
from accsmbo.hypergradients._registry import register_inner_problem

__all__ = ["ElasticNetProblem"]


class ElasticNetProblem(LinearProblem):
    """Inner problem of :class:`sklearn.linear_model.ElasticNet` and ``Lasso``.

    Both strengths of the penalty are tuned at once, where ``ElasticNetCV`` walks a
    path of ``alpha`` for each of a few ratios. The solution is a piecewise smooth
    function of them: as long as the same coefficients are active, these solve a
    smooth problem of their own, and its derivative is exact. Where one enters or
    leaves, that of the support found is returned. If no coefficient is active, the
    gradient is zero: start a search at a small ``alpha``.

    See Also
    --------
    RidgeProblem : The l2 penalty alone, not scaled by the number of samples.
    LogisticRegressionProblem : Both penalties for classification.

    Notes
    -----
    With S the sum of the sample weights and ``rho = l1_ratio``, the objective is
    ``sum_i s_i (y_i - x_i.w)^2 / 2 + S alpha (rho |w|_1 + (1 - rho) |w|^2 / 2)``. On
    the support, ``H = X^T diag(s) X + S alpha (1 - rho) I`` and ``H q = dG/dw`` give
    ``df/dalpha = -S q.(rho sign(w) + (1 - rho) w)`` and
    ``df/drho = -S alpha q.(sign(w) - w)`` ([1]_, proposition 1).

    References
    ----------
    .. [1] Q. Bertrand et al., Implicit Differentiation of Lasso-type Models for
       Hyperparameter Optimization, ICML 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import ElasticNet
    >>> from accsmbo.hypergradients import hypergradient
    >>> X, y = load_diabetes(return_X_y=True)
    >>> params = {"alpha": 0.1, "l1_ratio": 0.5}
    >>> score, gradient = hypergradient(ElasticNet(), params, X, y, cv=5)
    >>> bool(gradient["alpha"] < 0 < gradient["l1_ratio"])  # less l2, more l1
    True
    """

    settings = words(
        "alpha copy_X fit_intercept l1_ratio max_iter positive precompute "
        "random_state selection tol warm_start"
    )

    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return alpha, and l1_ratio of the elastic net."""
        if estimator.positive:
            raise NotDifferentiableError(
                f"{type(estimator).__name__}(positive=True) has no gradients. "
                "Use positive=False."
            )
        return ("alpha",) if isinstance(estimator, Lasso) else ("alpha", "l1_ratio")

    @classmethod
    def is_quadratic(cls, estimator: Any) -> bool:
        """Return whether the l1 penalty vanishes."""
        return bool(estimator.l1_ratio == 0)

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
