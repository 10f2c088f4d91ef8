# SPDX-License-Identifier: BSD-3-Clause
"""Stationary kernels as functions of a squared scaled distance.

Notation
--------
Z, V    (n, d), (m, d)  points after warping; categories as their coordinates
l       (d,)            length scales
s       (n, m)          squared scaled distance, sum_j D_j / l_j^2 with
                        D_j = (z_j - v_j)^2, or [z_j != v_j] for a category
k       (n, m)          kernel of unit variance, k(0) = 1
slope   (n, m)          dk / ds

Every kernel here has a finite slope at s = 0, so that nothing need be
special-cased for repeated points. Matern: Rasmussen and Williams (2006), eq. 4.17.
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator

from accsmbo.surrogates._base import BoolArray, FloatArray

__all__ = ["RBF", "Kernel", "Matern32", "Matern52", "MaternSum", "scaled_distance"]

SQRT3 = np.sqrt(3.0)
SQRT5 = np.sqrt(5.0)


class Kernel(BaseEstimator):
    """Base of the kernels; a subclass is a value and a slope."""

    def value(self, s: FloatArray) -> FloatArray:
        """Return k(s), elementwise."""
        return self.value_and_slope(s)[0]

    def value_and_slope(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(s) and dk/ds, elementwise."""
        raise NotImplementedError


class Matern52(Kernel):
    """Matern kernel with nu = 5/2: twice differentiable samples."""

    def value(self, s: FloatArray) -> FloatArray:
        """Return k(s), elementwise, without the passes that the slope takes."""
        r = np.sqrt(s)
        r *= -SQRT5
        k = np.exp(r)
        np.subtract(1.0, r, out=r)
        r += (5.0 / 3.0) * s
        k *= r
        return np.asarray(k)

    def value_and_slope(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(s) and dk/ds, elementwise."""
        r = np.sqrt(s)
        r *= SQRT5
        decay = np.exp(-r)
        r += 1.0
        slope = r * decay
        slope *= -5.0 / 6.0
        decay *= r + (5.0 / 3.0) * s
        return decay, slope


class Matern32(Kernel):
    """Matern kernel with nu = 3/2: once differentiable samples."""

    def value_and_slope(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(s) and dk/ds, elementwise."""
        r = SQRT3 * np.sqrt(s)
        decay = np.exp(-r)
        return (1.0 + r) * decay, -1.5 * decay


class RBF(Kernel):
    """Gaussian kernel exp(-s/2): infinitely differentiable samples."""

    def value_and_slope(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(s) and dk/ds, elementwise."""
        decay = np.exp(-0.5 * s)
        return decay, -0.5 * decay


class MaternSum(Kernel):
    """A smooth Matern-5/2 trend plus a rougher, shorter Matern-3/2 part.

    Parameters
    ----------
    rough : float, default=0.3
        Share of the variance in the Matern-3/2 part, in [0, 1].
    ratio : float, default=3.0
        How many times shorter its length scales are.
    """

    def __init__(self, rough: float = 0.3, ratio: float = 3.0) -> None:
        self.rough = rough
        self.ratio = ratio

    def value_and_slope(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(s) and dk/ds, elementwise."""
        k, slope = Matern52().value_and_slope(s)
        k_rough, slope_rough = Matern32().value_and_slope(self.ratio**2 * s)
        smooth = 1.0 - self.rough
        return (
            smooth * k + self.rough * k_rough,
            smooth * slope + self.rough * self.ratio**2 * slope_rough,
        )


def scaled_distance(
    Z: FloatArray, V: FloatArray, length_scales: FloatArray, categorical: BoolArray
) -> FloatArray:
    """Return s, the squared scaled distances of shape (n, m).

    Unordered choices count 1 where they differ (overlap or Hamming distance), so
    that no order of the choices is assumed.
    """
    if not categorical.any():
        return cdist(Z / length_scales, V / length_scales, "sqeuclidean")
    ordered = ~categorical
    scales = length_scales[ordered]
    s = cdist(Z[:, ordered] / scales, V[:, ordered] / scales, "sqeuclidean")
    for j in np.flatnonzero(categorical):
        s += (Z[:, j, None] != V[None, :, j]) / length_scales[j] ** 2
    return s
