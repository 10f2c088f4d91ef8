# SPDX-License-Identifier: BSD-3-Clause
"""Recorded params -> points of a subspace, as far as the names agree."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo.space import Subspace

__all__ = ["coordinates"]


def coordinates(
    params: Mapping[str, Any], subspace: Subspace
) -> NDArray[np.float64] | None:
    """Return a canonical point, NaN where the params say nothing, or None.

    Names agree when they are equal, or equal after the last ``__``: "svc__C" is "C".
    Numbers beyond a bound count as the bound. None means that the params are not in the
    subspace: another constant, an unknown choice, or no common name.

    Parameters
    ----------
    params : mapping of str to object
        Recorded values.
    subspace : Subspace
        Where to.
    """
    short = {name.rsplit("__", 1)[-1]: value for name, value in params.items()}
    point, known = {}, False
    for name, dimension in subspace.dimensions.items():
        tail = name.rsplit("__", 1)[-1]
        value = params.get(name, short.get(tail))
        present = name in params or tail in short
        if not present or (value is None and not dimension.categorical):
            point[name] = math.nan
            continue
        coordinate = _coordinate(value, dimension)
        if coordinate is None:
            return None
        point[name] = coordinate
        known = known or dimension.n_levels != 1
    return subspace.modelled([point[n] for n in subspace.dimensions]) if known else None


def _coordinate(value: Any, dimension: Any) -> float | None:
    """Return the coordinate of a value, moved into the bounds; None if it has none."""
    low, high = getattr(dimension, "low", None), getattr(dimension, "high", None)
    if low is not None and high is not None and dimension.n_levels != 1:
        if isinstance(value, (str, bool)) or not np.isscalar(value):
            return math.nan
        value = min(max(value, low), high)
        if isinstance(low, int) and dimension.n_levels:
            value = round(value)
    try:
        return float(dimension.to_unit(value))
    except (TypeError, ValueError):
        return None if dimension.n_levels else math.nan
