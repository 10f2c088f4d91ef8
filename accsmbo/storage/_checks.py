# SPDX-License-Identifier: BSD-3-Clause
"""What a record must hold: text or another kind in its place would fail far away."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo.history import Trial
from accsmbo.storage._values import decode

__all__ = ["amount", "moment", "number", "point", "slopes", "text", "whole"]

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
    # An integer that is no float would fail in the first array.
    if value is not None and (
        type(value) not in (int, float)
        or (type(value) is int and abs(value) > MAX_WHOLE)
    ):
        raise TypeError(f"{name!r} must be a number, got {value!r}")
    return value  # type: ignore[no-any-return]


def amount(record: Mapping[str, Any], name: str) -> float | None:
    """Return a number from 0 on, or None."""
    value = number(record, name)
    if value is not None and not value >= 0.0:
        raise TypeError(f"{name!r} must be at least 0, got {value!r}")
    return value


def slopes(gradient: Mapping[str, Any], trial: Trial) -> dict[str, float]:
    """Return a gradient with respect to parameters of a trial."""
    if not set(gradient) <= set(trial.params):
        raise TypeError(f"'gradient' must be of parameters, got {gradient!r}")
    found = {name: number(gradient, name) for name in gradient}
    if None in found.values():
        raise TypeError(f"'gradient' must hold numbers, got {gradient!r}")
    return found  # type: ignore[return-value]


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
