# SPDX-License-Identifier: BSD-3-Clause
"""Preconditioned conjugate gradients that also carry an auxiliary linear product."""

from collections.abc import Callable

import numpy as np

from accsmbo.hypergradients._inner_problem import Array

__all__ = ["conjugate_gradient"]


def conjugate_gradient(
    product: Callable[[Array], tuple[Array, Array]],
    rhs: Array,
    *,
    preconditioner: Array,
    rtol: float,
    start: Array | None = None,
    max_iter: int = 1000,
) -> tuple[Array, Array | None, float]:
    """Solve ``H x = rhs`` for a symmetric positive semi-definite H.

    Parameters
    ----------
    product : callable
        Maps p to ``(H p, X p)``; the second is summed up alongside, so that the
        caller knows ``X x`` without another product.
    rhs : ndarray of any shape
        Right-hand side.
    preconditioner : ndarray of the shape of ``rhs``
        Diagonal of H (or an estimate of it), positive.
    rtol : float
        Stop where ``|H x - rhs| <= rtol |rhs|``.
    start : ndarray, default=None
        First x; zero by default.
    max_iter : int, default=1000
        Bound of the number of products.

    Returns
    -------
    x : ndarray
        Solution. It stops early at a direction of non-positive curvature.
    Xx : ndarray or None
        ``X x``; None where x is zero.
    residual : float
        ``|H x - rhs| / |rhs|``.

    Notes
    -----
    Nocedal and Wright, Numerical Optimization, algorithm 5.3.
    """
    goal = rtol * float(np.linalg.norm(rhs))
    x, extra, residual = np.zeros_like(rhs), None, rhs.copy()
    if start is not None:
        image, extra = product(start)
        if np.linalg.norm(rhs - image) < np.linalg.norm(rhs):
            x, residual = start.astype(rhs.dtype, copy=True), rhs - image
        else:
            extra = None
    z = residual / preconditioner
    direction = z.copy()
    rho = np.vdot(residual, z)
    for _ in range(max_iter):
        if np.linalg.norm(residual) <= goal:
            break
        image, extra_step = product(direction)
        curvature = np.vdot(direction, image)
        if not curvature > 0:
            break
        step = rho / curvature
        x += step * direction
        extra = step * extra_step if extra is None else extra + step * extra_step
        residual -= step * image
        z = residual / preconditioner
        rho, previous = np.vdot(residual, z), rho
        direction *= rho / previous
        direction += z
    norm = float(np.linalg.norm(rhs))
    return x, extra, float(np.linalg.norm(residual)) / norm if norm else 0.0
