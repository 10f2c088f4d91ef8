# SPDX-License-Identifier: BSD-3-Clause
"""Dimension: parameter values <-> coordinates in [0, 1].

Notation: ``value`` what the estimator gets, ``u`` its coordinate. A discrete dimension
cuts [0, 1] into one cell per value; the centre of the cell is the value's canonical
coordinate.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Dimension", "FloatArray"]

FloatArray = NDArray[np.float64]


class Dimension:
    """Base of all dimensions.

    Attributes
    ----------
    n_levels : int
        Number of distinct values; 0 for a continuous dimension.
    categorical : bool
        Whether the choices have no order.
    """

    n_levels: int = 0
    categorical: bool = False

    def from_unit(self, u: float) -> Any:
        """Return the value at coordinate ``u`` in [0, 1]."""
        raise NotImplementedError

    def to_unit(self, value: Any) -> float:
        """Return the canonical coordinate of ``value``; ValueError if it has none."""
        raise NotImplementedError

    def snap(self, u: ArrayLike) -> FloatArray:
        """Return canonical coordinates, shape as ``u``."""
        clipped: FloatArray = np.clip(np.asarray(u, dtype=float), 0.0, 1.0)
        return clipped

    def values(self) -> list[Any]:
        """Return all values of a discrete dimension, in the user's order."""
        raise TypeError(f"{self!r} is continuous: it has no list of values.")

    def coordinates(self) -> FloatArray:
        """Return the sorted canonical coordinates of a discrete dimension."""
        return np.sort([self.to_unit(v) for v in self.values()])

    @property
    def grid_size(self) -> int:
        """Length of :meth:`values` of a discrete dimension."""
        return self.n_levels

    def derivative(self, value: Any) -> float:
        """Return d value / d u at ``value`` (continuous dimensions only)."""
        raise TypeError(f"{self!r} has no derivative: it is discrete.")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))
