# SPDX-License-Identifier: BSD-3-Clause
"""Steps from known gradients: quasi-Newton in a box, a cubic in one dimension.

Notation
--------
x, f, g     point (d,), its loss, its gradient in the unit cube
s, y        (d,)    x_i - x and g_i - g for another point i
B           (d, d)  BFGS approximation of the Hessian at x
p           (d,)    step
gain        predicted decrease of the loss

Nocedal and Wright, Numerical Optimization (2006): BFGS update 6.19, cubic 3.59.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["bfgs_hessian", "cubic_minimum", "cubic_step", "quasi_newton_step"]

FloatArray = NDArray[np.float64]

# Pairs with less curvature than this share of |s| |y|, or longer than this, say
# nothing about the Hessian at x.
CURVATURE = 1e-3
LONGEST_PAIR = 0.5
# A step stays this share of a bracket away from its ends.
BRACKET_MARGIN = 0.05
# Closer points have no usable difference.
SAME = 1e-9


def quasi_newton_step(
    X: FloatArray, G: FloatArray, i: int, radius: float, first_step: float
) -> tuple[FloatArray, float]:
    """Return the minimum of the quadratic model in the box around a point.

    Parameters
    ----------
    X, G : ndarray of shape (n, d)
        Points and gradients.
    i : int
        From which point.
    radius : float
        Largest change of a coordinate.
    first_step : float
        Length of the step where no curvature is known.

    Returns
    -------
    step : ndarray of shape (d,)
        The point stays in the unit cube.
    gain : float
        Predicted decrease.
    """
    x, g = X[i], G[i]
    B = bfgs_hessian(X - x, G - g, g, first_step)
    low, high = np.maximum(-radius, -x), np.minimum(radius, 1.0 - x)
    p = _minimum_in_box(B, g, low, high)
    return p, -float(g @ p + 0.5 * p @ B @ p)


def bfgs_hessian(
    S: FloatArray, Y: FloatArray, g: FloatArray, first_step: float
) -> FloatArray:
    """Return B from the 2 d + 3 nearest pairs, the nearest applied last.

    Parameters
    ----------
    S, Y : ndarray of shape (n, d)
        Differences of points and of gradients.
    g : ndarray of shape (d,)
        Gradient; with no pair, B is |g| / first_step.
    first_step : float
        See `g`.
    """
    d = S.shape[1]
    length = np.linalg.norm(S, axis=1)
    curvature = np.einsum("ij,ij->i", S, Y)
    usable = (length > SAME) & (length <= LONGEST_PAIR)
    usable &= curvature > CURVATURE * length * np.linalg.norm(Y, axis=1)
    order = np.argsort(np.where(usable, length, np.inf), kind="stable")
    order = order[: min(int(usable.sum()), 2 * d + 3)]
    if len(order) == 0:
        return np.asarray(max(float(np.linalg.norm(g)), 1e-12) / first_step * np.eye(d))
    nearest = order[0]
    B = np.eye(d) * (Y[nearest] @ Y[nearest]) / curvature[nearest]
    for i in order[::-1]:
        Bs = B @ S[i]
        B += np.outer(Y[i], Y[i]) / curvature[i] - np.outer(Bs, Bs) / (S[i] @ Bs)
    return np.asarray(B)


def _minimum_in_box(
    B: FloatArray, g: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Return a step that lowers g p + p B p / 2 in a box, by fixing what leaves it."""
    p = np.zeros(len(g))
    free = ~(((low >= 0.0) & (g > 0.0)) | ((high <= 0.0) & (g < 0.0)))
    while free.any():
        rest = g[free] + B[np.ix_(free, ~free)] @ p[~free]
        p[free] = -np.linalg.solve(B[np.ix_(free, free)], rest)
        beyond = free & ((p < low) | (p > high))
        p = np.clip(p, low, high)
        if not beyond.any():
            break
        free &= ~beyond
    return p


def cubic_step(
    x: FloatArray,
    f: FloatArray,
    g: FloatArray,
    i: int,
    radius: float,
    first_step: float,
) -> tuple[FloatArray, float]:
    """Return the step to the minimum of a cubic through a point and its neighbour.

    The neighbour is the nearest one downhill, which brackets the minimum, else the
    nearest of all; steps stay inside the bracket.

    Parameters
    ----------
    x, f, g : ndarray of shape (n,)
        Points of the unit interval, losses, derivatives.
    i : int
        From which point.
    radius : float
        Longest step.
    first_step : float
        Length of the step where there is no neighbour.

    Returns
    -------
    step : ndarray of shape (1,)
        The point stays in the unit interval.
    gain : float
        Predicted decrease.
    """
    here, slope = float(x[i]), float(g[i])
    if slope == 0.0:
        return np.zeros(1), 0.0
    downhill = -float(np.sign(slope))
    others = np.flatnonzero(np.abs(x - here) > SAME)
    ahead = others[(x[others] - here) * downhill > 0.0]
    length = first_step
    if len(others):
        pool = ahead if len(ahead) else others
        j = pool[np.argmin(np.abs(x[pool] - here))]
        found = cubic_minimum(x[j] - here, f[j] - f[i], slope, g[j])
        usable = found is not None and found * downhill > 0.0
        length = abs(found) if usable and found is not None else radius
    if len(ahead):
        width = float(np.abs(x[ahead] - here).min())
        margin = BRACKET_MARGIN * width
        length = min(max(length, margin), width - margin)
    length = min(length, radius)
    step = float(np.clip(downhill * length, -here, 1.0 - here))
    return np.array([step]), 0.5 * abs(slope * step)


def cubic_minimum(h: float, rise: float, slope: float, end: float) -> float | None:
    """Return where the cubic through (0, 0) and (h, rise) with these slopes is least.

    None where it has no minimum.
    """
    a = slope + end - 3.0 * rise / h
    square = a * a - slope * end
    if square < 0.0:
        return None
    b = np.sign(h) * np.sqrt(square)
    denominator = end - slope + 2.0 * b
    if denominator == 0.0:
        return None
    return float(h * (1.0 - (end + b - a) / denominator))
