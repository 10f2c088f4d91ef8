# SPDX-License-Identifier: BSD-3-Clause
"""The factored covariance of a Gaussian process, and what follows from it.

Notation
--------
U, Z    (n, d)  observed points and their warped images
R       (n, n)  c + k + diagonal = L L', the covariance over the amplitude
A       (n,)    R^-1 t for standardised losses t
V       (m, d)  new points
kv      (m, n)  c + k between new and observed points
mean    (m,)    kv A                                    Rasmussen & Williams, 2.25
var     (m,)    c + 1 - kv R^-1 kv', over the amplitude                       2.26
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from accsmbo.surrogates._base import BoolArray, FloatArray
from accsmbo.surrogates._cholesky import (
    extend_cholesky,
    jittered_cholesky,
    solve_lower,
)
from accsmbo.surrogates._kernels import Kernel, scaled_distance
from accsmbo.surrogates._likelihood import Hyperparameters
from accsmbo.surrogates._warping import warp_gradient

__all__ = ["Posterior"]

# Variances below this share of the prior variance are rounding errors.
VARIANCE_FLOOR = 1e-12
# Predictions go in blocks of so many kernel entries, which stay in the cache.
BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Posterior:
    """A factored covariance; every method returns arrays or a new object.

    Attributes
    ----------
    kernel : Kernel
        Kernel of unit variance.
    hyper : Hyperparameters
        Hyperparameters; the amplitude is not used here.
    categorical : ndarray of shape (d,)
        True where a dimension is an unordered choice.
    mean_variance : float
        Prior variance c of the constant mean.
    U, Z, diagonal, L : ndarrays
        See the notation at the top of this file.
    jitter : float
        What had to be added to the diagonal, relative to its mean.
    """

    kernel: Kernel
    hyper: Hyperparameters
    categorical: BoolArray
    mean_variance: float
    U: FloatArray
    Z: FloatArray
    diagonal: FloatArray
    L: FloatArray
    jitter: float

    @classmethod
    def build(
        cls,
        kernel: Kernel,
        hyper: Hyperparameters,
        categorical: BoolArray,
        mean_variance: float,
        U: FloatArray,
        diagonal: FloatArray,
    ) -> Self:
        """Factor the covariance of the observed points."""
        Z = hyper.warped(U)
        R = kernel.value(scaled_distance(Z, Z, hyper.length_scales, categorical))
        R += mean_variance
        R[np.diag_indices(len(R))] += diagonal
        L, jitter = jittered_cholesky(R)
        return cls(kernel, hyper, categorical, mean_variance, U, Z, diagonal, L, jitter)

    def extended(self, U: FloatArray, diagonal: FloatArray) -> Self:
        """Return the posterior after points were added, at O(n^2) for each."""
        Z = self.hyper.warped(U)
        corner = self._covariance(Z, Z)
        shift = diagonal + self.jitter * (1.0 + self.mean_variance)
        corner[np.diag_indices(len(corner))] += shift
        L = extend_cholesky(self.L, self._covariance(Z, self.Z), corner)
        return type(self)(
            self.kernel,
            self.hyper,
            self.categorical,
            self.mean_variance,
            np.vstack([self.U, U]),
            np.vstack([self.Z, Z]),
            np.concatenate([self.diagonal, diagonal]),
            L,
            self.jitter,
        )

    def is_prefix_of(self, U: FloatArray, diagonal: FloatArray) -> bool:
        """Whether the first of these points are the ones that were factored."""
        n = len(self.U)
        return (
            n <= len(U)
            and np.array_equal(self.U, U[:n])
            and np.array_equal(self.diagonal, diagonal[:n])
        )

    def weights(self, t: FloatArray) -> FloatArray:
        """Return A = R^-1 t, shape (n,)."""
        return solve_lower(self.L, solve_lower(self.L, t), transposed=True)

    def moments(self, V: FloatArray, A: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and var at new points, each of shape (m,)."""
        rows = max(16, BLOCK // len(self.Z))
        if len(V) > rows:
            blocks = [self.moments(V[i : i + rows], A) for i in range(0, len(V), rows)]
            means, variances = zip(*blocks, strict=True)
            return np.concatenate(means), np.concatenate(variances)
        kv = self._covariance(self.hyper.warped(V), self.Z)
        return kv @ A, self._variance(solve_lower(self.L, kv.T))

    def moments_gradient(
        self, V: FloatArray, A: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return mean, var, dmean and dvar by the coordinates of the new points.

        d mean = sum_i A_i slope_i ds_i/dv, d var = -2 sum_i B_i slope_i ds_i/dv with
        B = kv R^-1 and ds_i/dv_j = 2 (v_j - z_ij) / l_j^2, then the warping's
        derivative; 0 along categories.
        """
        X, by_v = self._warp_gradient(V)
        scales = self.hyper.length_scales
        s = scaled_distance(X, self.Z, scales, self.categorical)
        k, slope = self.kernel.value_and_slope(s)
        k += self.mean_variance
        half = solve_lower(self.L, k.T)
        B = solve_lower(self.L, half, transposed=True).T
        chain = 2.0 / scales**2 * by_v

        def contract(weights: FloatArray) -> FloatArray:
            C = weights * slope
            return np.asarray((C.sum(1)[:, None] * X - C @ self.Z) * chain)

        mean_var = k @ A, self._variance(half)
        return *mean_var, contract(A[None, :]), -2.0 * contract(B)

    def _warp_gradient(self, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the images of V and their derivative, 0 along categories."""
        ordered = np.broadcast_to(~self.categorical, V.shape).astype(np.float64)
        if self.hyper.warp_a is None or self.hyper.warp_b is None:
            return V, ordered
        X, by_v, _, _ = warp_gradient(V, self.hyper.warp_a, self.hyper.warp_b)
        return X, by_v * ordered

    def _covariance(self, Z: FloatArray, V: FloatArray) -> FloatArray:
        s = scaled_distance(Z, V, self.hyper.length_scales, self.categorical)
        return self.kernel.value(s) + self.mean_variance

    def _variance(self, half: FloatArray) -> FloatArray:
        prior = 1.0 + self.mean_variance
        var = prior - np.einsum("ij,ij->j", half, half)
        return np.asarray(np.maximum(var, VARIANCE_FLOOR * prior))
