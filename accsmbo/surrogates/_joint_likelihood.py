# SPDX-License-Identifier: BSD-3-Clause
"""Penalised marginal likelihood of values and derivatives, and its gradient.

Notation
--------
t       (N,)    standardised values, then standardised derivatives
R       (N, N)  K + diag(sn^2 + known noise | sg^2 rms^2), see `_joint_covariance`
A       (N,)    R^-1 t
rms             root mean square of the derivatives in t
G       (N, N)  d nll / dR = (R^-1 - A A') / 2
theta           log l (d), log s, log sn, log sg

nll = t' A / 2 + 1/2 log|R| + 1/2 sum ((theta - mu) / sd)^2, Rasmussen and Williams
(2006), eq. 5.8 and 5.9, plus normal priors on theta.
"""

from dataclasses import dataclass

import numpy as np

from accsmbo.surrogates._base import BoolArray, FloatArray, best_and_even
from accsmbo.surrogates._cholesky import (
    inverse_from_cholesky,
    jittered_cholesky,
    solve_lower,
)
from accsmbo.surrogates._joint_covariance import Derivatives, JointCovariance
from accsmbo.surrogates._likelihood import NormalPrior

__all__ = [
    "DerivativeHyperparameters",
    "DerivativePriors",
    "JointData",
    "best_gradients",
    "joint_data",
    "learnt_from",
]

# Measured on penalties of logistic regression in one to eight dimensions.
LENGTH_SCALE = NormalPrior(float(np.log(0.5)), 0.7, 0.02, 20.0)
LENGTH_SCALE_1D = NormalPrior(float(np.log(0.3)), 0.7, 0.02, 20.0)
AMPLITUDE = NormalPrior(0.0, 1.0, 0.01, 100.0)
NOISE = NormalPrior(float(np.log(1e-3)), 1.5, 1e-5, 1.0)
GRADIENT_NOISE = NormalPrior(float(np.log(3e-2)), 1.5, 1e-3, 3.0)


@dataclass(frozen=True)
class DerivativePriors:
    """Priors of the hyperparameters; the constants were measured.

    A search with gradients models its loss from the second or third point on, where the
    data determine little. The constants are what is usual of a log loss by the
    strengths of penalties, one to eight of them. Where gradients are known to be poor
    (stochastic training, early stopping), raise ``gradient_noise``, so that the values
    have the say from the start.

    Attributes
    ----------
    length_scale : NormalPrior
        In units of the unit interval; half of it usually.
    length_scale_1d : NormalPrior
        The same for one dimension.
    amplitude : NormalPrior
        Prior standard deviation of the standardised values.
    noise : NormalPrior
        Noise of the values, a standard deviation in the same units.
    gradient_noise : NormalPrior
        Noise of the derivatives as a share of their root mean square.

    See Also
    --------
    DerivativeGaussianProcess : Takes it as ``priors``.
    NormalPrior : One of its entries.
    Priors : Of a Gaussian process of values alone.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.surrogates import (
    ...     DerivativeGaussianProcess, DerivativePriors, NormalPrior)
    >>> U = np.array([[0.1], [0.5], [0.9]])
    >>> poor = DerivativePriors(gradient_noise=NormalPrior(np.log(0.5), 0.3, 0.1, 3.0))
    >>> gp = DerivativeGaussianProcess(priors=poor).fit(
    ...     U, (U[:, 0] - 0.5) ** 2, gradient=3 * (U - 0.5))  # too steep
    >>> bool(gp.hyperparameters_.gradient_noise > 0.2)
    True
    """

    length_scale: NormalPrior = LENGTH_SCALE
    length_scale_1d: NormalPrior = LENGTH_SCALE_1D
    amplitude: NormalPrior = AMPLITUDE
    noise: NormalPrior = NOISE
    gradient_noise: NormalPrior = GRADIENT_NOISE

    def of(self, d: int) -> list[NormalPrior]:
        """Return one prior for each entry of theta."""
        length = self.length_scale_1d if d == 1 else self.length_scale
        return [length] * d + [self.amplitude, self.noise, self.gradient_noise]


@dataclass(frozen=True, eq=False)
class DerivativeHyperparameters:
    """Hyperparameters of a Gaussian process on values and derivatives.

    Read them after ``fit`` to see which parameters the loss depends on, and whether its
    gradients are to be trusted: values and derivatives have noise levels of their own,
    so that wrong gradients raise ``gradient_noise`` in place of bending the mean. Given
    to the constructor they are used as they are, without learning.

    Attributes
    ----------
    length_scales : ndarray of shape (d,)
        In units of the unit interval; of a category: how little it matters.
    amplitude : float
        Prior standard deviation of the standardised values.
    noise : float
        Standard deviation of the noise of the standardised values.
    gradient_noise : float
        That of the derivatives, as a share of their root mean square.

    See Also
    --------
    DerivativeGaussianProcess : Has them as ``hyperparameters_``.
    Hyperparameters : Of a Gaussian process of values alone.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.surrogates import DerivativeGaussianProcess
    >>> U = np.linspace(0, 1, 9)[:, None]
    >>> y, gradient = np.sin(6 * U[:, 0]), 6 * np.cos(6 * U)
    >>> good = DerivativeGaussianProcess().fit(U, y, gradient=gradient)
    >>> bad = DerivativeGaussianProcess().fit(U, y, gradient=-gradient)
    >>> [bool(gp.hyperparameters_.gradient_noise > 0.1) for gp in (good, bad)]
    [False, True]
    """

    length_scales: FloatArray
    amplitude: float = 1.0
    noise: float = 1e-3
    gradient_noise: float = 3e-2

    @classmethod
    def unpack(cls, theta: FloatArray) -> "DerivativeHyperparameters":
        """Return the hyperparameters that theta stands for."""
        values = np.exp(theta)
        return cls(values[:-3], *(float(v) for v in values[-3:]))


@dataclass(frozen=True, eq=False)
class JointData:
    """Standardised observations.

    Attributes
    ----------
    U : ndarray of shape (n, d)
        Points.
    t : ndarray of shape (N,)
        Values, then derivatives.
    noise : ndarray of shape (n,)
        Known noise variances of the values; 0 where unknown.
    derivatives : Derivatives
        Which derivatives are known.
    categorical : ndarray of bool of shape (d,)
        True where a dimension is an unordered choice.
    """

    U: FloatArray
    t: FloatArray
    noise: FloatArray
    derivatives: Derivatives
    categorical: BoolArray

    @property
    def rms(self) -> float:
        """Root mean square of the derivatives, 1 where there are none or all are 0."""
        g = self.t[len(self.U) :]
        return float(np.sqrt(np.mean(g**2))) or 1.0 if len(g) else 1.0

    def covariance(self, hyper: DerivativeHyperparameters) -> JointCovariance:
        """Return the noise-free covariance."""
        return JointCovariance(
            self.U,
            self.derivatives,
            hyper.length_scales,
            hyper.amplitude**2,
            self.categorical,
        )

    def noise_variances(self, hyper: DerivativeHyperparameters) -> FloatArray:
        """Return the diagonal to add to the covariance, (N,)."""
        scale = (hyper.gradient_noise * self.rms) ** 2
        return np.concatenate(
            [hyper.noise**2 + self.noise, np.full(len(self.derivatives), scale)]
        )

    def penalised_likelihood(
        self, theta: FloatArray, priors: list[NormalPrior]
    ) -> tuple[float, FloatArray]:
        """Return nll and its gradient by theta.

        Parameters
        ----------
        theta : ndarray of shape (d + 3,)
            Logarithms of the hyperparameters.
        priors : list of NormalPrior
            One for each entry of `theta`.

        Returns
        -------
        nll : float
            Negative log of likelihood times prior, up to a constant.
        gradient : ndarray of shape (d + 3,)
            d nll / d theta.
        """
        hyper, n = DerivativeHyperparameters.unpack(theta), len(self.U)
        covariance = self.covariance(hyper)
        K, k = covariance.matrix()
        R = K.copy()
        R.ravel()[:: len(R) + 1] += self.noise_variances(hyper)
        L, _ = jittered_cholesky(R)
        half = solve_lower(L, self.t)
        A = solve_lower(L, half, transposed=True)
        G = inverse_from_cholesky(L)
        G -= np.outer(A, A)
        G *= 0.5
        diagonal = np.diagonal(G)
        by_noise = 2.0 * hyper.noise**2 * diagonal[:n].sum()
        by_gradient_noise = (
            2.0 * (hyper.gradient_noise * self.rms) ** 2 * diagonal[n:].sum()
        )
        gradient = np.concatenate(
            [
                covariance.by_log_length(G, K, k),
                [2.0 * np.vdot(G, K), by_noise, by_gradient_noise],
            ]
        )
        mu = np.array([p.mean for p in priors])
        sd = np.array([p.sd for p in priors])
        shift = (theta - mu) / sd
        nll = 0.5 * half @ half + np.log(np.diagonal(L)).sum() + 0.5 * shift @ shift
        return float(nll), gradient + shift / sd


def joint_data(
    U: FloatArray,
    t: FloatArray,
    slopes: FloatArray,
    noise: FloatArray,
    categorical: BoolArray,
) -> JointData:
    """Return standardised values and the known ones of the slopes as one."""
    known = Derivatives.known(slopes)
    t = np.concatenate([t, slopes[known.i, known.j]])
    return JointData(U, t, noise, known, categorical)


def learnt_from(data: JointData, size: int) -> JointData:
    """Return the part of the observations that hyperparameters are learnt from."""
    if len(data.t) <= size:
        return data
    n, d = data.U.shape
    values, slopes = data.t[:n], data.derivatives.spread(data.t[n:], n, d)
    unknown = np.ones((n, d), bool)
    unknown[data.derivatives.i, data.derivatives.j] = False
    slopes[unknown] = np.nan
    kept = best_and_even(values, size // 2)
    slopes = best_gradients(slopes[kept], values[kept], size)
    return joint_data(
        data.U[kept], values[kept], slopes, data.noise[kept], data.categorical
    )


def best_gradients(slopes: FloatArray, y: FloatArray, size: int) -> FloatArray:
    """Return the gradients with those of the worst points left out beyond `size`."""
    known = (~np.isnan(slopes)).sum(axis=1)
    order = np.argsort(y, kind="stable")
    too_many = np.cumsum(known[order]) > max(size - len(y), 0)
    slopes[order[too_many]] = np.nan
    return slopes
