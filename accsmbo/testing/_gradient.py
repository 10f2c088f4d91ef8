# SPDX-License-Identifier: BSD-3-Clause
"""check_gradient: an analytic derivative against central differences."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["check_gradient", "numerical_gradient"]

FloatArray = NDArray[np.float64]


def numerical_gradient(
    function: Callable[[FloatArray], float], x: ArrayLike, *, step: float = 1e-5
) -> FloatArray:
    """Return the gradient of a scalar function by central differences.

    Parameters
    ----------
    function : callable
        Takes an array like `x` to a number.
    x : array-like
        Where.
    step : float, default=1e-5
        Half the distance of the two points; about the cube root of the precision of
        `function`, in units of `x`.

    Returns
    -------
    ndarray of the shape of x
        The central differences.
    """
    point = np.array(x, dtype=np.float64)
    gradient = np.empty_like(point)
    for index in np.ndindex(point.shape):
        ahead, behind = point.copy(), point.copy()
        ahead[index] += step
        behind[index] -= step
        gradient[index] = (function(ahead) - function(behind)) / (2.0 * step)
    return gradient


def check_gradient(
    function: Callable[[FloatArray], float],
    gradient: Callable[[FloatArray], ArrayLike],
    x: ArrayLike,
    *,
    step: float = 1e-5,
    rtol: float = 1e-5,
    atol: float = 1e-7,
) -> None:
    """Raise unless a gradient agrees with central differences.

    Parameters
    ----------
    function : callable
        Takes an array like `x` to a number.
    gradient : callable
        Takes an array like `x` to the derivative of `function` there.
    x : array-like
        Where to compare.
    step : float, default=1e-5
        Half the distance of the two points of a difference.
    rtol, atol : float
        Tolerances, relative to the largest entry and absolute.

    Raises
    ------
    AssertionError
        Where an entry differs by more than ``atol + rtol * max|numerical|``.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.testing import check_gradient
    >>> check_gradient(lambda x: np.sum(x**2), lambda x: 2 * x, [1.0, -3.0])
    """
    point = np.array(x, dtype=np.float64)
    numerical = numerical_gradient(function, point, step=step)
    analytic = np.asarray(gradient(point.copy()), dtype=np.float64)
    if analytic.shape != numerical.shape:
        raise AssertionError(
            f"gradient must have the shape of x, {numerical.shape}, got "
            f"{analytic.shape}"
        )
    bound = atol + rtol * float(np.abs(numerical).max(initial=0.0))
    worst = np.abs(analytic - numerical)
    if not np.all(worst <= bound):
        index = np.unravel_index(int(np.argmax(worst)), worst.shape)
        where = tuple(int(i) for i in index)
        raise AssertionError(
            f"gradient must agree with central differences within {bound:.3g}; at "
            f"entry {where} it is {analytic[index]:.10g}, the difference quotient "
            f"{numerical[index]:.10g}"
        )
