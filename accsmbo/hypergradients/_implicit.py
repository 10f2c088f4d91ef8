# SPDX-License-Identifier: BSD-3-Clause
"""Implicit differentiation of a validation loss by hyperparameters.

H q = dG/dw                                   one linear solve
df/dlam = dG/dlam - q . d2L/(dw dlam)         equation (4.1) of the user guide
value = G - q . dL/dw                         second-order accurate at inexact w
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from accsmbo.hypergradients._inner_problem import (
    Array,
    InnerProblem,
    Solution,
    inner,
)
from accsmbo.hypergradients._outer_loss import OuterLoss

__all__ = ["Hypergradient", "implicit_hypergradient"]


@dataclass(frozen=True)
class Hypergradient:
    """Loss of one fold, its gradient and what the next trial may start from.

    The loss is not that of the inexact coefficients: ``G - q.dL/dw`` is that of the
    minimum up to a term of second order. The size of this correction, ``error``, says
    how accurate the solve was in units of the validation loss, which a norm of the
    residual does not, and so decides whether to solve on.

    Parameters
    ----------
    loss : float
        Validation loss, corrected for the inexact inner solution (not so for an
        approximate problem, nor where there is no adjoint).
    gradient : dict of str to float
        Derivative by name of hyperparameter; NaN where it could not be had.
    error : float
        Estimate of the error of the uncorrected loss, ``|q . dL/dw|``.
    adjoint : ndarray
        Vector q, to start the next linear solve from.

    See Also
    --------
    implicit_hypergradient : Returns it.
    FoldResult : The same with the names of a pipeline.

    Notes
    -----
    One Newton step leads from ``w`` to ``w - H^-1 dL/dw`` and changes G by
    ``-dG/dw . H^-1 dL/dw = -q.dL/dw``: the adjoint that the gradient needs anyway also
    gives the value at the minimum, as in dual weighted residual estimates [1]_.

    References
    ----------
    .. [1] R. Becker and R. Rannacher, An Optimal Control Approach to a Posteriori Error
       Estimation in Finite Element Methods, Acta Numerica 10, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import scale
    >>> from accsmbo.hypergradients import (
    ...     LogisticRegressionProblem, implicit_hypergradient, outer_loss)
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, model = scale(X), LogisticRegression()
    >>> problem = LogisticRegressionProblem(model, X[:400], y[:400])
    >>> loss = outer_loss("neg_log_loss", model)
    >>> rough, exact = (
    ...     implicit_hypergradient(
    ...         problem, problem.solve(model, tolerance=tol), loss, X[400:], y[400:])
    ...     for tol in (1e-2, 1e-10))
    >>> bool(abs(rough.loss - exact.loss) < 0.2 * rough.error)
    True
    """

    loss: float
    gradient: dict[str, Any]
    error: float
    adjoint: Array


def implicit_hypergradient(
    problem: InnerProblem,
    solution: Solution,
    loss: OuterLoss,
    X: Any,
    y: Array,
    *,
    weight: Array | None = None,
    tolerance: float = 1e-10,
    start: Array | None = None,
    log_scale: Iterable[str] = (),
    values: dict[str, float] | None = None,
) -> Hypergradient:
    """Differentiate the validation loss at a solved inner problem.

    Parameters
    ----------
    problem : InnerProblem
        Training part of the fold.
    solution : Solution
        What ``problem.solve`` returned.
    loss : OuterLoss
        Validation loss.
    X : {ndarray, sparse matrix} of shape (m, p)
        Validation rows.
    y : ndarray of shape (m,) or (m, k)
        Validation targets, class indices for a classifier.
    weight : ndarray of shape (m,), default=None
        Weights of the validation rows.
    tolerance : float, default=1e-10
        Relative tolerance of the linear solve.
    start : ndarray, default=None
        An earlier q.
    log_scale : iterable of str, default=()
        Names whose derivative is wanted by the logarithm; ``d / d log(lam) = lam
        d / d lam``.
    values : dict, default=None
        Values of the names in ``log_scale``.

    Returns
    -------
    Hypergradient
        The loss and its derivatives.

    References
    ----------
    Pedregosa, "Hyperparameter optimization with approximate gradient", ICML 2016,
    equation (3).
    """
    raw = problem.outputs(solution, X)
    value, cotangent = loss(problem.link, raw, y, weight)
    rhs, direct = problem.outputs_vjp(solution, X, cotangent)
    q = problem.adjoint(solution, rhs, tolerance=tolerance, start=start)
    cross = problem.cross_product(solution, q)
    gradient = {
        name: np.subtract(direct.get(name, 0.0), cross.get(name, 0.0))[()]
        for name in {**cross, **direct}
    }
    for name in log_scale:
        gradient[name] = gradient[name] * (values or {})[name]
    correction = inner(q, solution.residual)
    if problem.approximate or not np.isfinite(correction):
        return Hypergradient(value, gradient, abs(correction), q)
    return Hypergradient(value - correction, gradient, abs(correction), q)
