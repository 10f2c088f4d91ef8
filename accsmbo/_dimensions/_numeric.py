# SPDX-License-Identifier: BSD-3-Clause
"""Real and Integer: numeric intervals, linear or logarithmic."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from accsmbo._dimensions._base import Dimension, FloatArray
from accsmbo._validation import check_integer, check_real

__all__ = ["Integer", "Real"]


def _check_bounds(low: Any, high: Any, *, log: bool, kind: str) -> None:
    if low > high:
        raise ValueError(
            f"low must not exceed high in {kind}, got low={low!r}, high={high!r}. "
            f"Swap them: {kind}({high!r}, {low!r})."
        )
    if log and low <= 0:
        raise ValueError(
            f"low must be > 0 with log=True in {kind}, got low={low!r}. "
            "Raise low or set log=False."
        )


class Real(Dimension):
    """A real interval, both ends included.

    Its coordinate in the unit cube is linear in the value or in its logarithm.

    Parameters
    ----------
    low, high : float
        Bounds, ``low <= high``; equal bounds are a constant.
    log : bool, default=False
        Search the logarithm; needs ``low > 0``.

    Raises
    ------
    TypeError
        If a bound is not a real number.
    ValueError
        If a bound is not finite, the bounds are reversed, or ``log`` with ``low <= 0``.

    See Also
    --------
    Integer : A range of integers.
    Categorical : Choices.

    Examples
    --------
    >>> from accsmbo import Real
    >>> Real(1e-3, 1e3, log=True).from_unit(0.5)
    1.0
    """

    def __init__(self, low: float, high: float, log: bool = False) -> None:
        self.low = check_real("low", low)
        self.high = check_real("high", high)
        self.log = bool(log)
        _check_bounds(low, high, log=self.log, kind="Real")
        self.n_levels = int(self.low == self.high)

    def _bounds(self) -> tuple[float, float]:
        if self.log:
            return math.log(self.low), math.log(self.high)
        return self.low, self.high

    def from_unit(self, u: float) -> float:
        """Return the value at coordinate ``u`` in [0, 1]."""
        if u <= 0.0 or self.n_levels == 1:
            return self.low
        if u >= 1.0:
            return self.high
        a, b = self._bounds()
        # a (1 - u) + b u cannot overflow where b - a would.
        x = a * (1.0 - u) + b * u
        value = math.exp(x) if self.log else x
        return min(max(value, self.low), self.high)

    def to_unit(self, value: Any) -> float:
        """Return the coordinate of ``value``; ValueError outside the bounds."""
        value = float(value)
        if not self.low <= value <= self.high:
            raise ValueError(f"{value!r} lies outside {self!r}.")
        if self.n_levels == 1:
            return 0.5
        a, b = self._bounds()
        x = math.log(value) if self.log else value
        # Halves keep the difference finite for bounds near the largest float.
        u = (x / 2 - a / 2) / (b / 2 - a / 2)
        return min(max(u, 0.0), 1.0)

    def values(self) -> list[Any]:
        """Return the one value of a constant dimension."""
        return [self.low] if self.n_levels == 1 else super().values()

    def derivative(self, value: Any) -> float:
        """Return d value / d u at ``value``."""
        a, b = self._bounds()
        return (b - a) * (float(value) if self.log else 1.0)

    def __repr__(self) -> str:
        log = ", log=True" if self.log else ""
        return f"Real({self.low!r}, {self.high!r}{log})"


class Integer(Dimension):
    """The integers from ``low`` to ``high``, both included.

    The unit interval covers [low - 1/2, high + 1/2] (its logarithm with ``log``).

    Parameters
    ----------
    low, high : int
        Bounds, ``low <= high``; equal bounds are a constant.
    log : bool, default=False
        Search the logarithm; needs ``low > 0``.

    Raises
    ------
    TypeError
        If a bound is not an integer.
    ValueError
        If the bounds are reversed, or ``log`` with ``low <= 0``.

    See Also
    --------
    Real : A real interval.
    Categorical : Choices.

    Examples
    --------
    >>> from accsmbo import Integer
    >>> [Integer(1, 3).from_unit(u) for u in (0.0, 0.5, 1.0)]
    [1, 2, 3]
    """

    def __init__(self, low: int, high: int, log: bool = False) -> None:
        for name, bound in (("low", low), ("high", high)):
            check_integer(name, bound)
        self.low, self.high = int(low), int(high)
        self.log = bool(log)
        _check_bounds(low, high, log=self.log, kind="Integer")
        self.n_levels = self.high - self.low + 1

    def _bounds(self) -> tuple[float, float]:
        a, b = self.low - 0.5, self.high + 0.5
        return (math.log(a), math.log(b)) if self.log else (a, b)

    def _round(self, u: ArrayLike) -> FloatArray:
        a, b = self._bounds()
        x = a + np.clip(np.asarray(u, dtype=float), 0.0, 1.0) * (b - a)
        rounded = np.floor((np.exp(x) if self.log else x) + 0.5)
        return np.asarray(np.clip(rounded, self.low, self.high))

    def _centre(self, value: ArrayLike) -> FloatArray:
        a, b = self._bounds()
        x = np.asarray(value, dtype=float)
        return np.asarray(((np.log(x) if self.log else x) - a) / (b - a))

    def from_unit(self, u: float) -> int:
        """Return the integer whose cell holds ``u``."""
        return min(max(int(self._round(u)), self.low), self.high)

    def to_unit(self, value: Any) -> float:
        """Return the canonical coordinate of ``value``; ValueError if there is none."""
        if value != int(value) or not self.low <= value <= self.high:
            raise ValueError(f"{value!r} is not one of {self!r}.")
        return float(self._centre(int(value)))

    def snap(self, u: ArrayLike) -> FloatArray:
        """Return canonical coordinates, shape as ``u``."""
        return self._centre(self._round(u))

    def values(self) -> list[Any]:
        """Return all integers, ascending."""
        return list(range(self.low, self.high + 1))

    def __repr__(self) -> str:
        log = ", log=True" if self.log else ""
        return f"Integer({self.low!r}, {self.high!r}{log})"
