# SPDX-License-Identifier: BSD-3-Clause
"""Dimension: parameter values <-> coordinates in [0, 1].

Notation: ``value`` what the estimator gets, ``u`` its coordinate. A discrete dimension
cuts [0, 1] into one cell per value; the centre of the cell is the value's canonical
coordinate.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accsmbo._digest import cache_key

__all__ = ["Dimension", "FloatArray"]

FloatArray = NDArray[np.float64]


class Dimension:
    """Base of all dimensions.

    A dimension is a change of coordinates: users write values, optimizers work in
    [0, 1], where a surrogate should find the loss equally smooth everywhere. A
    continuous one of your own defines `from_unit`, `to_unit`, its inverse, and, where
    gradients are used, `derivative`; a discrete one also sets `n_levels` and defines
    `snap` and `values`. Two dimensions of a kind are equal where their reprs are.

    Attributes
    ----------
    n_levels : int
        Number of distinct values; 0 for a continuous dimension.
    categorical : bool
        Whether the choices have no order.

    See Also
    --------
    Real : A real interval, linear or logarithmic.
    Integer : A range of integers.
    Categorical : Choices.
    Space : Dimensions by name.

    Examples
    --------
    A share in (0, 1), searched by its logit, as fine near 1 as near 0:

    >>> from scipy.special import expit, logit
    >>> from accsmbo.space import Dimension, Space
    >>> class Share(Dimension):
    ...     def from_unit(self, u):
    ...         return float(expit(14 * u - 7))
    ...     def to_unit(self, value):
    ...         return float(logit(value) + 7) / 14
    ...     def __repr__(self):
    ...         return "Share()"
    >>> subspace = Space({"subsample": Share()}).subspaces[0]
    >>> [round(subspace.to_params([u])["subsample"], 3) for u in (0.0, 0.5, 1.0)]
    [0.001, 0.5, 0.999]
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
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return cache_key(vars(self))
