# SPDX-License-Identifier: BSD-3-Clause
"""Losses to mean zero and variance one, whatever their magnitude.

Notation
--------
y       (n,)  losses
m             max |y|, taken out first so that no square over- or underflows
t       (n,)  (y/m - centre) / spread;  zeros where all losses are equal
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from accsmbo.surrogates._base import FloatArray

__all__ = ["Standardization"]

# A relative spread below this is the rounding of equal losses.
EQUAL = 1e-15


@dataclass(frozen=True)
class Standardization:
    """The affine map of one set of losses.

    Attributes
    ----------
    magnitude, centre, spread : float
        See the notation at the top of this file.
    """

    magnitude: float
    centre: float
    spread: float

    @classmethod
    def of(cls, y: FloatArray) -> Self:
        """Return the map that standardises `y`."""
        magnitude = float(np.abs(y).max())
        if magnitude == 0.0:
            return cls(1.0, 0.0, 1.0)
        w = y / magnitude
        spread = float(w.std())
        if spread <= EQUAL:
            return cls(magnitude, float(w[0]), 1.0)
        return cls(magnitude, float(w.mean()), spread)

    def apply(self, y: FloatArray) -> FloatArray:
        """Return t for losses."""
        return (y / self.magnitude - self.centre) / self.spread

    def apply_scale(self, std: FloatArray) -> FloatArray:
        """Return standard deviations of losses in units of t."""
        return std / self.magnitude / self.spread

    def undo(self, t: FloatArray) -> FloatArray:
        """Return losses for t."""
        return (self.centre + self.spread * t) * self.magnitude

    def undo_scale(self, std: FloatArray) -> FloatArray:
        """Return standard deviations or derivatives in units of the losses."""
        return std * self.spread * self.magnitude
