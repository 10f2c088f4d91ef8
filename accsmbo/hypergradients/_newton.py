# SPDX-License-Identifier: BSD-3-Clause
"""Truncated Newton for smooth penalised linear models.

Minimises ``loss(X w) + sum(l2 w^2) / 2``. ``X p`` is summed up inside CG, so that
the line search and the change of the outputs cost no product with X.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from accsmbo.hypergradients._design import Design
from accsmbo.hypergradients._hessian import Hessian
from accsmbo.hypergradients._inner_problem import Array, inner
from accsmbo.hypergradients._losses import InnerLoss

__all__ = ["LinearState", "line_search", "newton_cg"]

LOOSEST_FORCING = 0.2  # measured: 0.15-0.3 best on text data, 0.5 costs more steps


@dataclass
class LinearState:
    """Where a solver stopped: coefficients, outputs, gradient and Hessian."""

    w: Array
    f: Array
    gradient: Array
    hessian: Hessian
    n_iter: int = 0
    converged: bool = True


def newton_cg(
    design: Design,
    loss: InnerLoss,
    l2: Array,
    start: Array,
    *,
    tolerance: float,
    scale: float,
    max_iter: int = 100,
) -> LinearState:
    """Minimise ``loss(X w) + sum(l2 w^2) / 2``.

    Parameters
    ----------
    design : Design
        X.
    loss : InnerLoss
        Smooth loss of the outputs.
    l2 : ndarray of the shape of w
        Strengths of the quadratic penalty.
    start : ndarray
        First w.
    tolerance : float
        Stop where the norm of the gradient is below ``tolerance * scale``.
    scale : float
        Norm of the gradient at ``w = 0``.
    max_iter : int, default=100
        Bound of the number of Newton steps.

    Returns
    -------
    LinearState
        The last iterate; ``converged`` says whether the tolerance was met.

    Notes
    -----
    Nocedal and Wright, Numerical Optimization, algorithm 7.1.
    """
    w, f = start, design.dot(start)
    for n_iter in range(max_iter + 1):
        gradient = l2 * w + design.adjoint(loss.slope(f))
        hessian = Hessian(design, loss.curvature(f), l2)
        norm = float(np.linalg.norm(gradient))
        if norm <= tolerance * scale or n_iter == max_iter:
            break
        relative = norm / scale
        forcing = max(min(LOOSEST_FORCING, relative**0.5), 0.3 * tolerance / relative)
        step, f_step = hessian.solve(-gradient, rtol=min(forcing, 0.5))
        length = _smooth_line_search(loss, l2, (w, f), (step, f_step), gradient)
        if length == 0:
            break
        w = w + w.dtype.type(length) * step
        f = f + f.dtype.type(length) * f_step
    return LinearState(w, f, gradient, hessian, n_iter, norm <= tolerance * scale)


def _smooth_line_search(
    loss: InnerLoss,
    l2: Array,
    point: tuple[Array, Array],
    step: tuple[Array, Array],
    gradient: Array,
) -> float:
    (w, f), (p, fp) = point, step
    linear, square = inner(l2 * w, p), inner(l2 * p, p)

    def objective(t: float) -> float:
        value = loss.value(f + f.dtype.type(t) * fp)
        return value + t * linear + 0.5 * t * t * square

    return line_search(objective, inner(gradient, p), np.finfo(w.dtype).eps)


def line_search(
    objective: Callable[[float], float],
    slope: float,
    eps: float,
    second: float = 0.5,
) -> float:
    """Return a step length of sufficient decrease; 0 for none.

    Parameters
    ----------
    objective : callable
        Value at a step length, up to a constant.
    slope : float
        Derivative at 0; must be negative.
    eps : float
        Unit round-off of the values: a decrease too small to be seen is taken on
        trust of the slope.

    second : float, default=0.5
        Length to try after 1, to be halved from then on.

    Returns
    -------
    float
        Step length in [0, 1].
    """
    if not slope < 0:
        return 0.0
    value = objective(0.0)
    trusted = -slope <= 100 * eps * abs(value)
    for length in (1.0, *(second * 0.5**k for k in range(40))):
        new = objective(length)
        if new <= value + 1e-4 * length * slope or (trusted and np.isfinite(new)):
            return length
    return 0.0
