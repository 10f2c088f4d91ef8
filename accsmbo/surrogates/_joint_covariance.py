# SPDX-License-Identifier: BSD-3-Clause
"""Covariance of values and partial derivatives under a Gaussian kernel.

Notation
--------
U       (n, d)  points of the values
i, j    (e,)    the known derivatives: by coordinate j_e, at point i_e
N = n + e       rows of the joint covariance: values first
l       (d,)    length scales;  D = (a - b) / l, for a category [a != b] / l
k               s2 exp(-|D|^2 / 2)
cov(f(a), f(b))         = k
cov(f(a), d_j f(b))     = k D_j / l_j
cov(d_i f(a), d_j f(b)) = k (delta_ij / l_i^2 - D_i D_j / (l_i l_j))

Rasmussen and Williams (2006), eq. 9.1, for the Gaussian kernel. Derivatives exist
along ordered dimensions only.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from accsmbo.surrogates._base import BoolArray, FloatArray
from accsmbo.surrogates._kernels import scaled_distance

__all__ = ["Derivatives", "JointCovariance"]

IntArray: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Which partial derivatives are known.

    Attributes
    ----------
    i : ndarray of int of shape (e,)
        Index of the point.
    j : ndarray of int of shape (e,)
        Coordinate.
    """

    i: IntArray
    j: IntArray

    @classmethod
    def known(cls, gradient: FloatArray) -> "Derivatives":
        """Return the entries of an (n, d) array that are not NaN."""
        i, j = np.nonzero(~np.isnan(gradient))
        return cls(i, j)

    def __len__(self) -> int:
        return len(self.i)

    def spread(self, rows: FloatArray, n: int, d: int) -> FloatArray:
        """Return rows (..., e) as an array (..., n, d), zero where unknown."""
        full = np.zeros((*rows.shape[:-1], n, d))
        full[..., self.i, self.j] = rows
        return full


@dataclass(frozen=True, eq=False)
class JointCovariance:
    """The noise-free covariance of all observations.

    Attributes
    ----------
    U : ndarray of shape (n, d)
        Points.
    derivatives : Derivatives
        Known derivatives.
    length_scales : ndarray of shape (d,)
        One a dimension.
    variance : float
        Prior variance s2 of the values.
    categorical : ndarray of bool of shape (d,)
        True where a dimension is an unordered choice.
    """

    U: FloatArray
    derivatives: Derivatives
    length_scales: FloatArray
    variance: float
    categorical: BoolArray

    def kernel(self, V: FloatArray) -> FloatArray:
        """Return k between new points and the points of the values, (m, n)."""
        s = scaled_distance(V, self.U, self.length_scales, self.categorical)
        return np.asarray(self.variance * np.exp(-0.5 * s))

    def matrix(self) -> tuple[FloatArray, FloatArray]:
        """Return the joint covariance (N, N) and its block k (n, n)."""
        n, (i, j) = len(self.U), (self.derivatives.i, self.derivatives.j)
        k = self.kernel(self.U)
        K = np.empty((n + len(i), n + len(i)))
        K[:n, :n] = k
        K[:n, n:] = self._to_derivatives(self.U, k)
        K[n:, :n] = K[:n, n:].T
        scaled = self.U / self.length_scales**2
        # D_i / l_i of the row's own coordinate, and D_j / l_j of the column's
        rows = scaled[i, j][:, None] - scaled[i][:, j].T
        block = rows * rows.T
        block += (j[:, None] == j[None, :]) / self.length_scales[j] ** 2
        block *= k[np.ix_(i, i)]
        K[n:, n:] = block
        return K, k

    def cross(self, V: FloatArray) -> FloatArray:
        """Return the covariance of new values with all observations, (m, N)."""
        k = self.kernel(V)
        return np.hstack([k, self._to_derivatives(V, k)])

    def cross_gradient(self, V: FloatArray, weights: FloatArray) -> FloatArray:
        """Return d/dv of sum_r cross(v)_r weights_r, shape (m, d).

        Parameters
        ----------
        V : ndarray of shape (m, d)
            New points.
        weights : ndarray of shape (m, N)
            One row for each new point.
        """
        n, d = self.U.shape
        k = self.kernel(V)
        full = self.derivatives.spread(weights[:, n:], n, d)
        slope = (V[:, None, :] - self.U[None, :, :]) / self.length_scales**2
        slope[:, :, self.categorical] = 0.0
        along = weights[:, :n] + np.einsum("mnd,mnd->mn", full, slope)
        result = np.einsum("mn,mnd->md", k, full) / self.length_scales**2
        return np.asarray(result - np.einsum("mn,mnd->md", k * along, slope))

    def _to_derivatives(self, V: FloatArray, k: FloatArray) -> FloatArray:
        """Return the covariance of values with the derivatives, (m, e)."""
        i, j = self.derivatives.i, self.derivatives.j
        distance = V[:, j] - self.U[i, j]
        return k[:, i] * distance / self.length_scales[j] ** 2

    def by_log_length(self, G: FloatArray, K: FloatArray, k: FloatArray) -> FloatArray:
        """Return sum_rc G_rc dK_rc / dlog l, shape (d,), for a symmetric G.

        dK / dlog l_k is D_k^2 K; for derivatives by coordinate k, less 2 K for the row
        and for the column; and 2 k / l_k^2 more where both are by k.

        Parameters
        ----------
        G : ndarray of shape (N, N)
            Weights.
        K, k : ndarray
            What :meth:`matrix` returned.
        """
        n, d = self.U.shape
        i, j = self.derivatives.i, self.derivatives.j
        M = G * K
        # sums over the rows, then the columns, that belong to the same point
        point = np.concatenate([np.arange(n), i])
        belongs = csr_array((np.ones(len(M)), (point, np.arange(len(M)))))
        half: FloatArray = np.asarray(belongs @ M)
        P: FloatArray = np.asarray(belongs @ half.T).T
        total = np.zeros(d)
        w = P.sum(axis=1)
        ordered = np.flatnonzero(~self.categorical)
        X = self.U[:, ordered]
        total[ordered] = 2.0 * (w @ X**2 - np.einsum("ij,ij->j", X, P @ X))
        for c in np.flatnonzero(self.categorical):
            total[c] = P[self.U[:, c, None] != self.U[None, :, c]].sum()
        total /= self.length_scales**2
        np.subtract.at(total, j, 4.0 * M[n:].sum(axis=1))
        both = G[n:, n:] * k[np.ix_(i, i)]
        both *= j[:, None] == j[None, :]
        np.add.at(total, j, 2.0 * both.sum(axis=1) / self.length_scales[j] ** 2)
        return total
