# SPDX-License-Identifier: BSD-3-Clause
"""Cubic radial basis function, the second kernel of the paper's Algorithm 5.

Notation
--------
s       (n, m)  squared scaled distance
k = s^(3/2)     only conditionally positive definite: a basis, no covariance
"""

import numpy as np

from accsmbo.surrogates._base import FloatArray
from accsmbo.surrogates._kernels import Kernel

__all__ = ["Cubic"]


class Cubic(Kernel):
    """Cubic radial basis function r^3: a basis for a mean, without a variance."""

    def value_and_slope(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(s) and dk/ds, elementwise."""
        r = np.sqrt(s)
        return r * s, 1.5 * r
