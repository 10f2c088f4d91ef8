# SPDX-License-Identifier: BSD-3-Clause
"""What a record must hold: text or another kind in its place would fail far away."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo.storage._values import decode

__all__ = ["moment", "number", "point", "text", "whole"]

MAX_WHOLE = 2**63
# 30,000 years: differences and their squares are finite.
MAX_SECONDS = 1e12


def whole(record: Mapping[str, Any], name: str, end: int = MAX_WHOLE) -> int:
    """Return an integer from 0 that is below an end."""
    value = record[name]
    if type(value) is not int or not 0 <= value < end:
        raise TypeError(f"{name!r} must be an integer in [0, {end}), got {value!r}")
    return value


def number(record: Mapping[str, Any], name: str) -> float | None:
    """Return a number, which may be infinite, or None."""
    value = decode(record[name])
    if value is not None and type(value) not in (int, float):
        raise TypeError(f"{name!r} must be a number, got {value!r}")
    return value  # type: ignore[no-any-return]


def moment(value: Any, name: str) -> float:
    """Return seconds since the epoch."""
    if type(value) not in (int, float) or not abs(value) <= MAX_SECONDS:
        raise TypeError(f"{name!r} must be seconds since the epoch, got {value!r}")
    return float(value)


def text(record: Mapping[str, Any], name: str, *, or_none: bool = False) -> None:
    """Check that there is a text."""
    if not (isinstance(record[name], str) or (or_none and record[name] is None)):
        raise TypeError(f"{name!r} must be a text, got {record[name]!r}")


def point(values: Any, sizes: range) -> NDArray[np.float64]:
    """Return a read-only point of a unit cube that has one of some sizes."""
    unit = np.array(values, dtype=float)
    inside = np.all((unit >= 0.0) & (unit <= 1.0))
    if unit.ndim != 1 or len(unit) not in sizes or not inside:
        raise TypeError(f"'unit' must be {sizes} numbers in [0, 1], got {values!r}")
    unit.setflags(write=False)
    return unit
