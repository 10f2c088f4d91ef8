# SPDX-License-Identifier: BSD-3-Clause
"""Text for people: values, names and ticks, safe and of bounded length."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo.space import Categorical, Dimension, Integer, Real
from accsmbo.storage import Opaque

__all__ = ["MANY_LEVELS", "format_number", "format_value", "shorten", "tick_labels"]

FloatArray = NDArray[np.float64]

# Above so many values a discrete dimension is labelled like a continuous one.
MANY_LEVELS = 8
MAX_TICKS = 4
QUANTILES = (0.05, 0.275, 0.5, 0.725, 0.95)


def shorten(text: str, width: int) -> str:
    """Return ``text`` on one line, with what cannot be printed written as an escape.

    Parameters
    ----------
    text : str
        Any text, also from a foreign file.
    width : int
        Longest result; the middle is left out, as both ends of a name tell it apart.

    Returns
    -------
    str
        Printable characters only.
    """
    line = " ".join(text.split())
    safe = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in line
    )
    if len(safe) <= width:
        return safe
    head = (width - 1) // 3
    return safe[:head] + "…" + safe[len(safe) - (width - 1 - head) :]


def format_number(value: float, digits: int = 4) -> str:
    """Return a number in as few characters as tell it to some significant digits.

    Parameters
    ----------
    value : float
        Any number.
    digits : int, default=4
        Significant digits.

    Returns
    -------
    str
        For example ``0.1235``, ``1e-5`` or ``3.2e+07``.
    """
    text = f"{value:.{digits}g}"
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else text


def format_value(value: Any, width: int = 40) -> str:
    """Return a parameter's value as people read it.

    Parameters
    ----------
    value : object
        Any choice or number.
    width : int, default=40
        Longest result.

    Returns
    -------
    str
        One printable line.
    """
    if isinstance(value, Opaque):
        return shorten(value.text, width)
    if isinstance(value, float):
        return format_number(value)
    return shorten(value if isinstance(value, str) else repr(value), width)


def tick_labels(dimension: Dimension) -> tuple[FloatArray, list[str]]:
    """Return where to write which values along a dimension.

    Parameters
    ----------
    dimension : Dimension
        Any dimension.

    Returns
    -------
    positions : ndarray of shape (n_ticks,)
        Coordinates in [0, 1], ascending.
    labels : list of str
        The values there.
    """
    if isinstance(dimension, Categorical) or 0 < dimension.n_levels <= MANY_LEVELS:
        positions = dimension.coordinates()
        if not dimension.categorical:
            positions = positions[:: math.ceil(len(positions) / MANY_LEVELS)]
        values = [dimension.from_unit(float(u)) for u in positions]
        return positions, [format_value(value, 16) for value in values]
    placed = {float(dimension.to_unit(v)): v for v in _round_values(dimension)}
    positions = np.array(sorted(placed))
    return positions, [format_number(float(placed[u]), 6) for u in positions]


def _round_values(dimension: Dimension) -> list[float]:
    """Return round values inside a numeric dimension."""
    if isinstance(dimension, (Real, Integer)):
        low, high = dimension.low, dimension.high
        values = _decades(low, high) if dimension.log else _multiples(low, high)
        whole = isinstance(dimension, Integer)
        return [round(v) if whole else v for v in values]
    values = [float(f"{dimension.from_unit(u):.2g}") for u in QUANTILES]
    low, high = dimension.from_unit(0.0), dimension.from_unit(1.0)
    whole = dimension.n_levels > 0
    return [round(v) if whole else v for v in values if low <= v <= high]


def _decades(low: float, high: float) -> list[float]:
    """Return powers of ten in a range, or 1, 2, 5 times them where it is short."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, math.ceil((last - first) / MAX_TICKS))
    values = [10.0**k for k in range(first, last + 1) if k % step == 0]
    if last - first < 3:
        values = [m * 10.0**k for k in range(first, last + 1) for m in (1.0, 2.0, 5.0)]
    inside = [v for v in values if low <= v * (1 + 1e-9) and v * (1 - 1e-9) <= high]
    return [min(max(v, low), high) for v in inside] or [low, high]


def _multiples(low: float, high: float) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten in a range."""
    # Halves keep the width finite for bounds near the largest float.
    raw = (high / 2 - low / 2) / (MAX_TICKS + 1) * 2
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    values = [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
    return [min(max(v, low), high) for v in values] or [low, high]
