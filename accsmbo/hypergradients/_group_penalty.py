# SPDX-License-Identifier: BSD-3-Clause
"""Group-wise l2 penalties: one strength ``alpha__k`` for each group of features.

``sum_i s_i loss_i + sum_k alpha_k |w_group(k)|^2 / 2``, the squared loss halved, so
that equal strengths give ridge regression, or logistic regression with C = 1 / alpha.
One adjoint gives all derivatives: ``df / dalpha_k = - sum_{j in k} w_j q_j``.
"""

from typing import Any

import numpy as np

from accsmbo.hypergradients._inner_problem import Array, words
from accsmbo.hypergradients._linear_problem import LinearProblem, Penalty
from accsmbo.hypergradients._logistic import LogisticRegressionProblem
from accsmbo.hypergradients._losses import InnerLoss, SquaredLoss

__all__ = ["GroupLogisticRegressionProblem", "GroupRidgeProblem"]


class _GroupPenalty(LinearProblem):
    settings = words("alpha class_weight fit_intercept groups")

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
    """Inner problem of :class:`accsmbo.linear_model.GroupRidge`.

    Features that come in families, lags of several series or counts beside prices,
    want a strength each, and a grid over ten strengths cannot be walked. One adjoint
    solve gives the derivatives by all of them, so that a gradient costs the same for
    two groups and for twenty.

    See Also
    --------
    GroupLogisticRegressionProblem : The same for classification.
    RidgeProblem : One strength for all features.

    Notes
    -----
    With ``H = X^T diag(s) X + diag(alpha_group(j))`` and ``H q = dG/dw``, the
    derivatives are ``df/dalpha_k = -sum_{j in group k} w_j q_j`` ([1]_ has them for
    log-linear models).

    References
    ----------
    .. [1] C. B. Do, C.-S. Foo and A. Y. Ng, Efficient Multiple Hyperparameter Learning
       for Log-linear Models, NIPS 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from accsmbo.hypergradients import hypergradient
    >>> from accsmbo.linear_model import GroupRidge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GroupRidge(groups=[0, 0, 1, 1, 2, 2, 2, 2, 2, 2])  # the last: blood
    >>> params = {"alpha__0": 0.1, "alpha__1": 0.1, "alpha__2": 0.1}
    >>> score, gradient = hypergradient(model, params, X, y, cv=5)
    >>> min(gradient, key=gradient.get)  # whose strength costs most
    'alpha__1'
    """

    def make_loss(self, estimator: Any, y: Array, weight: Array) -> InnerLoss:
        """Return the squared error."""
        return SquaredLoss(np.asarray(y, float), weight)


class GroupLogisticRegressionProblem(_GroupPenalty, LogisticRegressionProblem):
    """Inner problem of :class:`accsmbo.linear_model.GroupLogisticRegression`.

    Binary or multinomial; with several classes a strength holds for a feature's
    coefficients in all of them. The derivatives are those of
    :class:`GroupRidgeProblem`, with the curvature of the log loss in the Hessian.

    See Also
    --------
    GroupRidgeProblem : The same for regression.
    LogisticRegressionProblem : One strength for all features, as C.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from accsmbo.hypergradients import hypergradient
    >>> from accsmbo.linear_model import GroupLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> groups = [j // 10 for j in range(30)]  # means, errors, worst values
    >>> model = GroupLogisticRegression(groups=groups)
    >>> params = {"alpha__0": 1.0, "alpha__1": 1.0, "alpha__2": 1.0}
    >>> _, gradient = hypergradient(
    ...     model, params, scale(X), y, cv=5, scoring="neg_log_loss")
    >>> max(gradient, key=gradient.get)  # what ought to be penalised more
    'alpha__1'
    """
