# SPDX-License-Identifier: BSD-3-Clause
"""Quantile: a distribution searched through its cumulative probability."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accsmbo._dimensions._base import Dimension, FloatArray

__all__ = ["Quantile"]

# Quantiles at which an unbounded distribution is cut.
TAIL = 1e-6


class Quantile(Dimension):
    """A distribution; ``u`` is the cumulative probability.

    Parameters
    ----------
    distribution : object with ``ppf`` and ``cdf``
        For example a frozen scipy distribution, continuous or discrete.
    """

    def __init__(self, distribution: Any) -> None:
        self.distribution = distribution
        ends = (distribution.ppf(0.0), distribution.ppf(1.0))
        self._low = 0.0 if math.isfinite(ends[0]) else TAIL
        self._high = 1.0 if math.isfinite(ends[1]) else 1.0 - TAIL
        self.discrete = hasattr(getattr(distribution, "dist", distribution), "pmf")
        if self.discrete:
            first = int(distribution.ppf(max(self._low, TAIL)))
            last = int(distribution.ppf(min(self._high, 1.0 - TAIL)))
            self._support = np.arange(first, last + 1)
            upper = np.asarray(distribution.cdf(self._support), dtype=float)
            self._edges = np.concatenate([[0.0], upper[:-1], [1.0]])
            self.n_levels = self._support.size

    def _clip(self, u: ArrayLike) -> FloatArray:
        return np.asarray(np.clip(np.asarray(u, dtype=float), self._low, self._high))

    def _cell(self, u: ArrayLike) -> NDArray[np.int64]:
        cells = np.searchsorted(self._edges, u, side="right") - 1
        return np.asarray(np.clip(cells, 0, self.n_levels - 1), dtype=np.int64)

    def from_unit(self, u: float) -> Any:
        """Return the quantile at ``u``; unbounded tails are cut."""
        if self.discrete:
            return int(self._support[self._cell(u)])
        return float(self.distribution.ppf(float(self._clip(u))))

    def to_unit(self, value: Any) -> float:
        """Return the cumulative probability of ``value``."""
        if not self.discrete:
            return float(self._clip(self.distribution.cdf(value)))
        if value not in self._support:
            raise ValueError(f"{value!r} is not one of {self!r}.")
        return float(self.coordinates()[int(value) - int(self._support[0])])

    def snap(self, u: ArrayLike) -> FloatArray:
        """Return canonical coordinates, shape as ``u``."""
        return self.coordinates()[self._cell(u)] if self.discrete else self._clip(u)

    def values(self) -> list[Any]:
        """Return the support of a discrete distribution, ascending."""
        return list(map(int, self._support)) if self.discrete else super().values()

    def coordinates(self) -> FloatArray:
        """Return the mid-points of the cells."""
        return np.asarray((self._edges[:-1] + self._edges[1:]) / 2)

    def derivative(self, value: Any) -> float:
        """Return d value / d u = 1 / pdf at ``value``."""
        if self.discrete:
            return super().derivative(value)
        return 1.0 / max(float(self.distribution.pdf(value)), 1e-12)

    def __repr__(self) -> str:
        frozen = self.distribution
        name = getattr(getattr(frozen, "dist", None), "name", type(frozen).__name__)
        return f"Quantile({name}, args={getattr(frozen, 'args', ())}, " + (
            f"kwds={getattr(frozen, 'kwds', {})})"
        )
