# SPDX-License-Identifier: BSD-3-Clause
"""Weighted kernel density on a unit cube, corrected at its faces.

Notation
--------
P, w    (n, d), (n,)    points and weights, sum w = 1; NaN = says nothing of this
                        coordinate
h       (d,)            bandwidth of each ordered coordinate
Z       (n, d)          mass of a kernel inside [0, 1]
c(u)                    combination of the unordered choices at u
kde(u)  = freq(c(u)) sum_i w_i prod_j phi((u_j - P_ij) / h_j) / (h_j Z_ij), the sum
          over the points of the same choices, their weights rescaled to sum 1

Scott, Multivariate Density Estimation (1992), section 6.3.2, for the bandwidth.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

__all__ = ["KernelDensity"]

FloatArray: TypeAlias = NDArray[np.float64]

# Standard deviations are taken inside these bounds; the upper is the uniform's.
LOWEST_SD, HIGHEST_SD = 0.05, 0.289
LOWEST_BANDWIDTH = 0.02
# A combination of choices with fewer points has a flat density of its numbers.
FEWEST = 3
TINY = 1e-300
SQRT_2PI = float(np.sqrt(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class KernelDensity:
    """A kernel density; every method is a formula.

    Attributes
    ----------
    P : ndarray of shape (n, d)
        Points.
    w : ndarray of shape (n,)
        Weights.
    levels : ndarray of int of shape (d,)
        Number of choices of the unordered coordinates, 0 for the others.
    bandwidth : ndarray of shape (d,)
        h; 1 along choices, where it is not used.
    joint : bool
        Whether the ordered coordinates are modelled together.
    """

    P: FloatArray
    w: FloatArray
    levels: NDArray[np.int64]
    bandwidth: FloatArray
    joint: bool = True

    @classmethod
    def fit(
        cls, P: FloatArray, w: FloatArray, levels: NDArray[np.int64], *, joint: bool
    ) -> "KernelDensity":
        """Return the density with Scott's bandwidths of the weighted points."""
        w = w / w.sum()
        ordered = np.flatnonzero(levels == 0)
        d = len(ordered) if joint else 1
        bandwidth = np.ones(P.shape[1])
        for j in ordered:
            known = ~np.isnan(P[:, j])
            if not known.any():
                continue
            v = w[known] / w[known].sum()
            sd = np.sqrt(v @ (P[known, j] - v @ P[known, j]) ** 2)
            scott = (1.0 / (v @ v)) ** (-1.0 / (d + 4))
            width = scott * np.clip(sd, LOWEST_SD, HIGHEST_SD)
            bandwidth[j] = max(width, LOWEST_BANDWIDTH)
        return cls(P, w, levels, bandwidth, joint)

    @property
    def ordered(self) -> NDArray[np.intp]:
        """Indices of the ordered coordinates."""
        return np.flatnonzero(self.levels == 0)

    @property
    def choices(self) -> NDArray[np.intp]:
        """Indices of the unordered coordinates."""
        return np.flatnonzero(self.levels > 0)

    def pdf(self, U: FloatArray) -> FloatArray:
        """Return the density at points of shape (m, d)."""
        return self._frequency(U) * self._numbers(U)[0]

    def gradient(self, U: FloatArray) -> FloatArray:
        """Return its derivative by the coordinates, 0 along choices, (m, d)."""
        return self._frequency(U)[:, None] * self._numbers(U)[1]

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Return n points drawn from the density."""
        U = rng.random((n, self.P.shape[1]))
        for j in self.choices:
            k = int(self.levels[j])
            cells = rng.choice(k, size=n, p=self._frequencies(int(j)))
            U[:, j] = (cells + 0.5) / k
        weights = self._matching(U)
        for j in self.ordered if not self.joint else (None,):
            columns = self.ordered if j is None else np.array([j])
            for row in range(n):
                if not weights[row].any():
                    continue
                i = rng.choice(len(self.P), p=weights[row])
                U[row, columns] = self._kernel_draw(i, columns, rng)
        return U

    def _kernel_draw(
        self, i: int, columns: NDArray[np.intp], rng: np.random.Generator
    ) -> FloatArray:
        """Return a draw from one truncated kernel, uniform where it says nothing."""
        centre, h = self.P[i, columns], self.bandwidth[columns]
        quantile = rng.random(len(columns))
        known = ~np.isnan(centre)
        safe = np.where(known, centre, 0.5)
        low, high = ndtr(-safe / h), ndtr((1.0 - safe) / h)
        drawn = safe + h * ndtri(low + quantile * (high - low))
        return np.where(known, np.clip(drawn, 0.0, 1.0), quantile)

    def _frequencies(self, j: int) -> FloatArray:
        """Return the Laplace-smoothed frequencies of one coordinate's choices."""
        k, known = int(self.levels[j]), ~np.isnan(self.P[:, j])
        if not known.any():
            return np.full(k, 1.0 / k)
        cells = np.clip((self.P[known, j] * k).astype(int), 0, k - 1)
        v = self.w[known] / self.w[known].sum()
        n = 1.0 / (v @ v)
        return np.asarray((n * np.bincount(cells, v, k) + 1.0) / (n + k))

    def _frequency(self, U: FloatArray) -> FloatArray:
        """Return the density of the choices with respect to the unit cube."""
        result = np.ones(len(U))
        for j in self.choices:
            k = int(self.levels[j])
            cells = np.clip((U[:, j] * k).astype(int), 0, k - 1)
            result *= k * self._frequencies(int(j))[cells]
        return result

    def _matching(self, U: FloatArray) -> FloatArray:
        """Return the weights of the points with the choices of each row, (m, n).

        A row of zeros stands for a flat density: too few such points.
        """
        same = np.ones((len(U), len(self.P)), bool)
        for j in self.choices:
            k = int(self.levels[j])
            cell = np.clip((U[:, j] * k).astype(int), 0, k - 1)
            unknown = np.isnan(self.P[:, j])
            theirs = np.where(unknown, -1, self.P[:, j] * k).astype(int)
            same &= unknown[None, :] | (cell[:, None] == np.minimum(theirs, k - 1))
        if len(self.choices):
            same[same.sum(axis=1) < FEWEST] = False
        weights = same * self.w
        total = weights.sum(axis=1, keepdims=True)
        return np.asarray(weights / np.where(total > 0.0, total, 1.0))

    def _numbers(self, U: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return density (m,) and gradient (m, d) of the ordered coordinates."""
        m, d = U.shape
        weights = self._matching(U)
        flat = ~weights.any(axis=1)
        kernels, slopes = self._kernels(U)
        gradient = np.zeros((m, d))
        if self.joint:
            product = weights * kernels.prod(axis=2)
            density = product.sum(axis=1)
            for position, j in enumerate(self.ordered):
                gradient[:, j] = (product * slopes[:, :, position]).sum(axis=1)
        else:
            marginals = np.einsum("mn,mnj->mj", weights, kernels)
            density = marginals.prod(axis=1)
            by_one = np.einsum("mn,mnj->mj", weights, kernels * slopes)
            safe = np.maximum(marginals, TINY)
            gradient[:, self.ordered] = by_one / safe * density[:, None]
        gradient[flat] = 0.0
        return np.where(flat, 1.0, density), gradient

    def _kernels(self, U: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return truncated kernels and the derivatives of their logs, (m, n, ordered).

        A kernel is 1 where its point says nothing of the coordinate.
        """
        columns = self.ordered
        P, h = self.P[:, columns], self.bandwidth[columns]
        known = ~np.isnan(P)
        safe = np.where(known, P, 0.5)
        mass = ndtr((1.0 - safe) / h) - ndtr(-safe / h)
        z = (U[:, None, columns] - safe) / h
        value = np.exp(-0.5 * z**2) / (SQRT_2PI * h * mass)
        return np.where(known, value, 1.0), np.where(known, -z / h, 0.0)
