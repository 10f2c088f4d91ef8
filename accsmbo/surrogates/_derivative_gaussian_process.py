# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian process on values and gradients, any part of which may be missing.

Notation
--------
U, y, g         points (n, d), losses (n,), gradients (n, d), NaN = unknown
t               [(y - o) / e ; g / e], o the median, e the standard deviation of y
A = R^-1 t      (N,), R the joint covariance with noise, see `_joint_covariance`
mean            o + e c A,  c (m, N) the covariance of new values with t
std             e sqrt(s2 - c R^-1 c'), of the noise-free loss
b       (n,)    mean squared misfit of one point's gradient, given all the rest
"""

import copy
from types import NoneType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from accsmbo._validation import check_integer, check_is
from accsmbo.surrogates._base import (
    BoolArray,
    FloatArray,
    as_floats,
    best_and_even,
    check_observations,
    check_points,
)
from accsmbo.surrogates._bfgs import minimize_bfgs
from accsmbo.surrogates._cholesky import (
    inverse_from_cholesky,
    jittered_cholesky,
    solve_lower,
)
from accsmbo.surrogates._joint_covariance import Derivatives
from accsmbo.surrogates._joint_likelihood import (
    DerivativeHyperparameters,
    DerivativePriors,
    JointData,
    best_gradients,
    joint_data,
    learnt_from,
)

__all__ = ["DerivativeGaussianProcess"]

# Variances below this share of the prior variance are rounding errors.
VARIANCE_FLOOR = 1e-14
# Screening: gradients whose mean squared misfit exceeds this are dropped, the worst
# first; while judging, a gradient's noise is taken as this share of its length.
MISFIT = 12.0
SCREENING_NOISE = 0.2
# With a warm start, every so many fits begin at the centre of the priors too.
FRESH_START = 5
# A share of the largest gradient that stands in for the spread of equal losses.
FLAT_SCALE = 0.3
# What arguments must be, or None.
KINDS = {"hyperparameters": DerivativeHyperparameters, "priors": DerivativePriors}


class DerivativeGaussianProcess(BaseEstimator):
    """Exact Gaussian process on values and gradients.

    Values and gradients have noise levels of their own, learnt together with one
    length scale a dimension: a gradient that contradicts the values raises the noise
    of the gradients instead of bending the mean. Gradients may be missing for whole
    points and for single dimensions; unordered choices have none.

    Parameters
    ----------
    hyperparameters : DerivativeHyperparameters, default=None
        Fixed hyperparameters; None means that `fit` learns them.
    priors : DerivativePriors, default=None
        Priors of the hyperparameters; None means the measured defaults.
    max_size : int, default=600
        Largest number N of values and derivatives together. Of more than half as many
        values the best half and an even choice of the rest are kept, and gradients of
        the best points as far as they fit. Hyperparameters are learnt from half of it.
    screening : bool, default=False
        Leave out gradients that contradict everything else, at most a quarter. Helps
        against wrong signs where no local steps are taken.
    max_iter : int, default=15
        Evaluations of the likelihood in `fit`.
    warm_start : bool, default=False
        Start from the hyperparameters of the last `fit`, every fifth time from the
        centre of the priors as well.

    Attributes
    ----------
    hyperparameters_ : DerivativeHyperparameters
        Those in use.
    log_likelihood_ : float
        Logarithm of likelihood times prior, up to a constant.
    n_derivatives_ : int
        Number of derivatives in use.
    jitter_ : float
        What had to be added to the diagonal, relative to it.

    See Also
    --------
    GaussianProcess : Values only.
    MultiKernelGaussianProcess : Cheaper, for many points and one dimension.

    References
    ----------
    .. [1] C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine
       Learning, MIT Press, 2006, section 9.4.
    .. [2] A. Wu, M. C. Aoi and J. W. Pillow, Exploiting Gradients and Hessians in
       Bayesian Optimization and Bayesian Quadrature, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.surrogates import DerivativeGaussianProcess
    >>> U = np.array([[0.1], [0.5], [0.9]])
    >>> gp = DerivativeGaussianProcess().fit(
    ...     U, np.sin(6 * U[:, 0]), gradient=6 * np.cos(6 * U))
    >>> mean, std = gp.predict([[0.3]])
    >>> bool(abs(mean[0] - np.sin(1.8)) < 0.1)
    True
    """

    def __init__(
        self,
        *,
        hyperparameters: DerivativeHyperparameters | None = None,
        priors: DerivativePriors | None = None,
        max_size: int = 600,
        screening: bool = False,
        max_iter: int = 15,
        warm_start: bool = False,
    ) -> None:
        self.hyperparameters = hyperparameters
        self.priors = priors
        self.max_size = max_size
        self.screening = screening
        self.max_iter = max_iter
        self.warm_start = warm_start

    def fit(
        self,
        U: ArrayLike,
        y: ArrayLike,
        *,
        gradient: ArrayLike | None = None,
        categorical: ArrayLike | None = None,
        noise: ArrayLike | None = None,
    ) -> Self:
        """Learn hyperparameters and condition on the observations.

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
            Standard errors of `y` in its units; NaN means unknown.

        Returns
        -------
        self : DerivativeGaussianProcess
            The fitted object itself.

        Raises
        ------
        ValueError
            On shapes that do not fit together, on infinite values, and on a gradient
            along an unordered choice.
        numpy.linalg.LinAlgError
            Where no jitter makes the covariance positive definite.
        """
        for name, kind in KINDS.items():
            remedy = f"a {kind.__name__} or None"
            check_is(name, getattr(self, name), (kind, NoneType), remedy)
        check_integer("max_size", self.max_size, minimum=8)
        check_integer("max_iter", self.max_iter, minimum=1)
        points, values, kinds, errors = check_observations(U, y, categorical, noise)
        slopes = check_gradient(gradient, points, kinds)
        kept = best_and_even(values, self.max_size // 2)
        points, values, errors = points[kept], values[kept], errors[kept]
        slopes = best_gradients(slopes[kept], values, self.max_size)
        self._offset = float(np.median(values))
        self._scale = _scale(values, slopes)
        known = np.where(np.isfinite(errors), errors, 0.0)
        self._data = joint_data(
            points,
            (values - self._offset) / self._scale,
            slopes / self._scale,
            (known / self._scale) ** 2,
            kinds,
        )
        self._learn()
        if self.screening and len(self._data.derivatives):
            self._screen()
        self._factor()
        return self

    def predict(self, U: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the posterior of the noise-free loss.

        Parameters
        ----------
        U : array-like of shape (m, d)
            Points in the unit cube.

        Returns
        -------
        mean, std : ndarray of shape (m,)
            In the units of the losses.
        """
        c = self._covariance.cross(check_points(U))
        var = self._variance(solve_lower(self._L, c.T))
        return self._offset + self._scale * (c @ self._A), self._scale * np.sqrt(var)

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
        c = self._covariance.cross(points)
        half = solve_lower(self._L, c.T)
        B = solve_lower(self._L, half, transposed=True).T
        std = np.sqrt(self._variance(half))
        weights = np.broadcast_to(self._A, B.shape)
        dmean = self._covariance.cross_gradient(points, weights)
        dvar = -2.0 * self._covariance.cross_gradient(points, B)
        scale = self._scale
        mean = self._offset + scale * (c @ self._A)
        return mean, scale * std, scale * dmean, scale * 0.5 * dvar / std[:, None]

    def condition(self, U: ArrayLike, y: ArrayLike) -> "DerivativeGaussianProcess":
        """Return a copy that has also seen these values.

        Parameters
        ----------
        U : array-like of shape (m, d)
            Further points in the unit cube.
        y : array-like of shape (m,)
            Losses there, observed or imagined.

        Returns
        -------
        DerivativeGaussianProcess
            A new object with the same hyperparameters; this one is unchanged.
        """
        points, values, _, _ = check_observations(U, y)
        old, n = self._data, len(self._data.U)
        fresh = (values - self._offset) / self._scale
        other = copy.copy(self)
        other._data = JointData(
            np.vstack([old.U, points]),
            np.concatenate([old.t[:n], fresh, old.t[n:]]),
            np.concatenate([old.noise, np.zeros(len(points))]),
            old.derivatives,
            old.categorical,
        )
        other._factor()
        return other

    def _learn(self) -> None:
        """Set the hyperparameters: those given, or the best of one or two descents."""
        if self.hyperparameters is not None:
            self.hyperparameters_ = self.hyperparameters
            return
        d = self._data.U.shape[1]
        priors = (DerivativePriors() if self.priors is None else self.priors).of(d)
        starts = [np.array([p.mean for p in priors])]
        last = getattr(self, "_theta", None)
        if self.warm_start and last is not None and len(last) == d + 3:
            n_fits = self._n_fits = getattr(self, "_n_fits", 0) + 1
            starts = [last] if n_fits % FRESH_START else [*starts, last]

        data = learnt_from(self._data, self.max_size // 2)

        def objective(thetas: FloatArray) -> tuple[FloatArray, FloatArray]:
            pairs = [data.penalised_likelihood(row, priors) for row in thetas]
            return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])

        theta, nll = minimize_bfgs(
            objective,
            np.array(starts),
            np.log([p.low for p in priors]),
            np.log([p.high for p in priors]),
            max_calls=self.max_iter,
            max_step=2.0,
        )
        best = int(np.argmin(nll))
        self._theta, self.log_likelihood_ = theta[best], -float(nll[best])
        self.hyperparameters_ = DerivativeHyperparameters.unpack(theta[best])

    def _factor(self) -> None:
        """Factor the covariance and solve for A."""
        self._covariance = self._data.covariance(self.hyperparameters_)
        R, _ = self._covariance.matrix()
        R.ravel()[:: len(R) + 1] += self._data.noise_variances(self.hyperparameters_)
        self._L, self.jitter_ = jittered_cholesky(R)
        half = solve_lower(self._L, self._data.t)
        self._A = solve_lower(self._L, half, transposed=True)
        self.n_derivatives_ = len(self._data.derivatives)

    def _variance(self, half: FloatArray) -> FloatArray:
        prior = self.hyperparameters_.amplitude**2
        var = prior - np.einsum("ij,ij->j", half, half)
        return np.asarray(np.maximum(var, VARIANCE_FLOOR * prior))

    def _screen(self) -> None:
        """Drop the gradients that contradict the rest, and learn again."""
        kept = np.ones(len(self._data.U), bool)
        for _ in range(len(kept) // 4):
            point, worst = _largest_misfit(self._data, self.hyperparameters_)
            if worst <= MISFIT:
                break
            kept[point] = False
            self._data = _without(self._data, point)
        if not kept.all():
            self._learn()


def check_gradient(
    gradient: ArrayLike | None, U: FloatArray, categorical: BoolArray
) -> FloatArray:
    """Return the gradients as an array of the shape of U, NaN where unknown."""
    if gradient is None:
        return np.full(U.shape, np.nan)
    slopes = as_floats("gradient", gradient).copy()
    if slopes.shape != U.shape:
        raise ValueError(
            f"gradient must have the shape of U, {U.shape}, got {slopes.shape}; use "
            "NaN for the entries that are unknown"
        )
    if np.isinf(slopes).any():
        raise ValueError(
            "gradient must be finite or NaN, got infinity in it; use NaN for the "
            "entries that are unknown"
        )
    if not np.isnan(slopes[:, categorical]).all():
        raise ValueError(
            "gradient must be NaN along unordered choices, got a number; give "
            "gradients of ordered dimensions only"
        )
    return slopes


def _scale(y: FloatArray, slopes: FloatArray) -> float:
    """Return the standard deviation of y, or what stands in for it."""
    spread = float(y.std())
    if spread > 1e-15 * float(np.abs(y).max()):
        return spread
    steepest = float(np.nanmax(np.abs(slopes), initial=0.0))
    return FLAT_SCALE * steepest or 1.0


def _largest_misfit(
    data: JointData, hyper: DerivativeHyperparameters
) -> tuple[int, float]:
    """Return the point whose gradient fits worst, and its mean squared misfit.

    b = A_S' ((R^-1)_SS)^-1 A_S / |S| for the rows S of one gradient: the squared
    leave-out residual over its variance.
    """
    n, i = len(data.U), data.derivatives.i
    squares = data.derivatives.spread(data.t[n:], n, data.U.shape[1]) ** 2
    length = squares.sum(axis=1)[i] / np.maximum(np.bincount(i, minlength=n)[i], 1)
    R, _ = data.covariance(hyper).matrix()
    noise = data.noise_variances(hyper)
    noise[n:] = np.maximum(SCREENING_NOISE**2 * length, VARIANCE_FLOOR)
    R.ravel()[:: len(R) + 1] += noise
    inverse = inverse_from_cholesky(jittered_cholesky(R)[0])
    A = inverse @ data.t
    misfit = np.zeros(n)
    for point in np.unique(i):
        S = n + np.flatnonzero(i == point)
        misfit[point] = A[S] @ np.linalg.solve(inverse[np.ix_(S, S)], A[S]) / len(S)
    worst = int(np.argmax(misfit))
    return worst, float(misfit[worst])


def _without(data: JointData, point: int) -> JointData:
    """Return the observations without the gradient of one point."""
    n, kept = len(data.U), data.derivatives.i != point
    return JointData(
        data.U,
        np.concatenate([data.t[:n], data.t[n:][kept]]),
        data.noise,
        Derivatives(data.derivatives.i[kept], data.derivatives.j[kept]),
        data.categorical,
    )
