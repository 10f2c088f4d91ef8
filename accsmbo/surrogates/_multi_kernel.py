# SPDX-License-Identifier: BSD-3-Clause
"""Multi-kernel Gaussian process: values exactly, gradients by least squares.

Notation
--------
U, f    (n, d), (n,)    points and standardised losses
g       (e,)            the known derivatives, standardised
K_i     (n, n)          kernel i between the points, i = 1 .. m
dK_i    (e, n)          its derivatives by the first argument, at the known entries
b, a_i  (n,)            coefficients of kernel 1 and of kernel i >= 2
mean    k_1 b + sum_i k_i a_i

value equations, exact           K_1 b + sum_i K_i a_i = f          paper, eq. (3)
gradient equations, least sq.    dK_1 b + sum_i dK_i a_i = g        paper, eq. (4)

Eliminating b = K_1^-1 (f - sum K_i a_i) leaves A_i = dK_i - dK_1 K_1^-1 K_i and
a = argmin |[A_2 .. A_m] a - (g - dK_1 K_1^-1 f)|^2 + ridge |a|^2. The variance is that
of kernel 1 times an amplitude calibrated on held-out errors.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from accsmbo.surrogates._base import (
    BoolArray,
    FloatArray,
    check_observations,
    check_points,
)
from accsmbo.surrogates._cholesky import jittered_cholesky, solve_lower
from accsmbo.surrogates._cubic import Cubic
from accsmbo.surrogates._derivative_gaussian_process import check_gradient
from accsmbo.surrogates._joint_covariance import Derivatives
from accsmbo.surrogates._kernels import RBF, Kernel, scaled_distance
from accsmbo.surrogates._standardize import Standardization

__all__ = ["MultiKernelGaussianProcess"]

# Added to the diagonal of K_1, which has ones there.
NUGGET = 1e-6
# Ridge of the least squares, relative to the mean squared column.
RIDGE = 1e-6
VARIANCE_FLOOR = 1e-14
N_FOLDS = 5


class MultiKernelGaussianProcess(BaseEstimator):
    """The paper's gradient based multi-kernel Gaussian process (Algorithm 5).

    One factorisation of size n whatever the number of gradients is, and fewer
    kernels average out more noise of the gradients. Measured best in one dimension,
    with a fixed length; for more of them take `DerivativeGaussianProcess`.

    Parameters
    ----------
    kernels : sequence of (Kernel, float), default=None
        Kernels and the ratios of their length scales to `length_scale`; the first must
        be positive definite. None: Gaussian and cubic in one dimension; else Gaussian
        kernels with the ratios 1, 2 and 4.
    length_scale : float or sequence of float, default=None
        In units of the unit interval. Of several the one with the largest held-out
        likelihood is taken. None: 0.25 in one dimension; else of 0.25, 0.5 and 1.

    Attributes
    ----------
    length_scale_ : float
        The one in use.
    amplitude_ : float
        Calibrated prior standard deviation of the standardised losses.

    See Also
    --------
    DerivativeGaussianProcess : Exact; better from two dimensions on.

    References
    ----------
    .. [1] Using Gradient Based Multikernel Gaussian Process and Meta-Acquisition
       Function to Accelerate SMBO, ICTAI 2019, algorithm 5.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.surrogates import MultiKernelGaussianProcess
    >>> U = np.array([[0.1], [0.5], [0.9]])
    >>> gp = MultiKernelGaussianProcess().fit(
    ...     U, np.sin(6 * U[:, 0]), gradient=6 * np.cos(6 * U))
    >>> mean, std = gp.predict([[0.3]])
    >>> bool(abs(mean[0] - np.sin(1.8)) < 0.2)
    True
    """

    def __init__(
        self,
        kernels: Sequence[tuple[Kernel, float]] | None = None,
        *,
        length_scale: float | Sequence[float] | None = None,
    ) -> None:
        self.kernels = kernels
        self.length_scale = length_scale

    def fit(
        self,
        U: ArrayLike,
        y: ArrayLike,
        *,
        gradient: ArrayLike | None = None,
        categorical: ArrayLike | None = None,
        noise: ArrayLike | None = None,
    ) -> Self:
        """Solve the value and gradient equations.

        Parameters
        ----------
        U : array-like of shape (n, d)
            Points in the unit cube.
        y : array-like of shape (n,)
            Finite losses.
        gradient : array-like of shape (n, d), optional
            Derivatives dy/dU, NaN where unknown; None: nowhere known.
        categorical : array-like of shape (d,), optional
            True where a dimension is an unordered choice.
        noise : array-like of shape (n,), optional
            Standard errors of `y` in its units; NaN means unknown. Where known, the
            value equations hold up to them.

        Returns
        -------
        self : MultiKernelGaussianProcess
            The fitted object itself.

        Raises
        ------
        ValueError
            On shapes that do not fit together, on infinite values, and on a gradient
            along an unordered choice.
        """
        points, values, kinds, errors = check_observations(U, y, categorical, noise)
        slopes = check_gradient(gradient, points, kinds)
        self._standard = standard = Standardization.of(values)
        known = np.where(np.isfinite(errors), errors, 0.0)
        kernels, lengths = self._settings(points.shape[1])
        data = _Equations(
            points,
            standard.apply(values),
            standard.apply_scale(slopes),
            standard.apply_scale(known) ** 2,
            kinds,
            kernels,
            lengths[0],
        )
        scored = [
            (*_held_out(replace(data, length=length)), length) for length in lengths
        ]
        _, self.amplitude_, self.length_scale_ = max(scored, key=lambda s: s[0])
        self._data = replace(data, length=self.length_scale_)
        self._solution = self._data.solve()
        return self

    def predict(self, U: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the posterior of the loss.

        Parameters
        ----------
        U : array-like of shape (m, d)
            Points in the unit cube.

        Returns
        -------
        mean, std : ndarray of shape (m,)
            In the units of the losses.
        """
        mean, var = self._solution.moments(check_points(U))
        undo, scale = self._standard.undo, self._standard.undo_scale
        return undo(mean), scale(self.amplitude_ * np.sqrt(var))

    def predict_gradient(
        self, U: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the posterior and its derivatives by the coordinates.

        Parameters
        ----------
        U : array-like of shape (m, d)
            Points in the unit cube.

        Returns
        -------
        mean, std : ndarray of shape (m,)
            As from `predict`.
        dmean, dstd : ndarray of shape (m, d)
            Derivatives by each coordinate; 0 along categories.
        """
        points = check_points(U)
        mean, std = self.predict(points)
        dmean, dvar = self._solution.moments_gradient(points)
        var = self._solution.moments(points)[1]
        dstd = 0.5 * self.amplitude_ * dvar / np.sqrt(var)[:, None]
        scale = self._standard.undo_scale
        return mean, std, scale(dmean), scale(dstd)

    def condition(self, U: ArrayLike, y: ArrayLike) -> "MultiKernelGaussianProcess":
        """Return a copy that has also seen these values.

        Parameters
        ----------
        U : array-like of shape (m, d)
            Further points in the unit cube.
        y : array-like of shape (m,)
            Losses there, observed or imagined.

        Returns
        -------
        MultiKernelGaussianProcess
            A new object with the same length and amplitude; this one is unchanged.
        """
        points, values, _, _ = check_observations(U, y)
        old, other = self._data, copy.copy(self)
        other._data = replace(
            old,
            U=np.vstack([old.U, points]),
            f=np.concatenate([old.f, self._standard.apply(values)]),
            slopes=np.vstack([old.slopes, np.full(points.shape, np.nan)]),
            noise=np.concatenate([old.noise, np.zeros(len(points))]),
        )
        other._solution = other._data.solve()
        return other

    def _settings(
        self, d: int
    ) -> tuple[tuple[tuple[Kernel, float], ...], tuple[float, ...]]:
        """Return the kernels with their ratios, and the lengths to choose from."""
        kernels = self.kernels
        if kernels is None:
            several = ((RBF(), 1.0), (RBF(), 2.0), (RBF(), 4.0))
            kernels = ((RBF(), 1.0), (Cubic(), 1.0)) if d == 1 else several
        if not len(kernels):
            raise ValueError(
                "kernels must hold at least one pair (kernel, ratio), got none. Give "
                "for example [(RBF(), 1.0)]."
            )
        lengths = self.length_scale
        if lengths is None:
            lengths = 0.25 if d == 1 else (0.25, 0.5, 1.0)
        found = tuple(float(v) for v in np.atleast_1d(np.asarray(lengths)))
        if not found or min(found) <= 0.0:
            raise ValueError(
                f"length_scale must be positive, got {self.length_scale!r}. Give a "
                "share of the unit interval, for example 0.25."
            )
        return tuple(kernels), found


@dataclass(frozen=True, eq=False)
class _Equations:
    """The data of the equations; see the notation at the top of this file."""

    U: FloatArray
    f: FloatArray
    slopes: FloatArray
    noise: FloatArray
    categorical: BoolArray
    kernels: tuple[tuple[Kernel, float], ...]
    length: float

    def basis(self, V: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return each kernel's value and slope between V and the points, (m, n)."""
        d, result = self.U.shape[1], []
        for kernel, ratio in self.kernels:
            scales = np.full(d, self.length * ratio)
            s = scaled_distance(V, self.U, scales, self.categorical)
            result.append(kernel.value_and_slope(s))
        return result

    def chain(self, index: int) -> FloatArray:
        """Return 2 / l^2 of one kernel by dimension, 0 along categories."""
        ratio = self.kernels[index][1]
        return np.where(self.categorical, 0.0, 2.0 / (self.length * ratio) ** 2)

    def solve(self) -> "_Solution":
        """Return the coefficients."""
        entries = Derivatives.known(self.slopes)
        i, j = entries.i, entries.j
        basis = self.basis(self.U)
        difference = self.U[i, j][:, None] - self.U[:, j].T
        dK = [
            slope[i] * difference * self.chain(index)[j][:, None]
            for index, (_, slope) in enumerate(basis)
        ]
        K = [value for value, _ in basis]
        n = len(self.f)
        L, _ = jittered_cholesky(K[0] + np.diag(NUGGET + self.noise))

        def first(rhs: FloatArray) -> FloatArray:
            return solve_lower(L, solve_lower(L, rhs), transposed=True)

        coefficients = np.zeros((len(K), n))
        if len(K) > 1 and len(i):
            A = np.hstack(
                [d - dK[0] @ first(k) for d, k in zip(dK[1:], K[1:], strict=True)]
            )
            rhs = self.slopes[i, j] - dK[0] @ first(self.f)
            coefficients[1:] = _ridge(A, rhs).reshape(len(K) - 1, n)
        pairs = zip(K[1:], coefficients[1:], strict=True)
        coefficients[0] = first(self.f - sum((k @ a for k, a in pairs), np.zeros(n)))
        return _Solution(self, L, coefficients)


@dataclass(frozen=True, eq=False)
class _Solution:
    """Solved equations."""

    equations: _Equations
    L: FloatArray
    coefficients: FloatArray

    def moments(self, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and kernel 1's variance at new points."""
        basis = self.equations.basis(V)
        pairs = zip(basis, self.coefficients, strict=True)
        mean = np.sum([value @ a for (value, _), a in pairs], axis=0)
        half = solve_lower(self.L, basis[0][0].T)
        var = 1.0 - np.einsum("ij,ij->j", half, half)
        return mean, np.maximum(var, VARIANCE_FLOOR)

    def moments_gradient(self, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of mean and variance, (m, d)."""
        equations = self.equations
        basis = equations.basis(V)

        def contract(index: int, weights: FloatArray) -> FloatArray:
            C = weights * basis[index][1]
            moved = C.sum(axis=1)[:, None] * V - C @ equations.U
            return np.asarray(moved * equations.chain(index))

        dmean = np.sum(
            [contract(i, a[None, :]) for i, a in enumerate(self.coefficients)], axis=0
        )
        half = solve_lower(self.L, basis[0][0].T)
        B = solve_lower(self.L, half, transposed=True).T
        return dmean, -2.0 * contract(0, B)


def _ridge(A: FloatArray, rhs: FloatArray) -> FloatArray:
    """Return the ridge least squares solution; normal equations, else QR."""
    M = A.T @ A
    M.ravel()[:: len(M) + 1] += RIDGE * np.trace(M) / len(M)
    try:
        L, _ = jittered_cholesky(M)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(A, rhs, rcond=1e-8)[0])
    return solve_lower(L, solve_lower(L, A.T @ rhs), transposed=True)


def _held_out(data: _Equations) -> tuple[float, float]:
    """Return the held-out log likelihood and the calibrated amplitude.

    amplitude^2 = mean(e^2 / var) of the errors e on held-out values.
    """
    n = len(data.f)
    if n < N_FOLDS:
        A = data.solve()
        half = solve_lower(A.L, data.f)
        return 0.0, float(np.sqrt(max(float(half @ half) / n, NUGGET)))
    errors, variances = np.empty(n), np.empty(n)
    for fold in range(N_FOLDS):
        out = np.arange(n) % N_FOLDS == fold
        kept = replace(
            data,
            U=data.U[~out],
            f=data.f[~out],
            slopes=data.slopes[~out],
            noise=data.noise[~out],
        )
        mean, variances[out] = kept.solve().moments(data.U[out])
        errors[out] = data.f[out] - mean
    squared = max(float(np.mean(errors**2 / variances)), NUGGET)
    likelihood = -0.5 * (n * np.log(squared) + np.log(variances).sum())
    return float(likelihood), float(np.sqrt(squared))
