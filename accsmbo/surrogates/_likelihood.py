# SPDX-License-Identifier: BSD-3-Clause
"""Penalised marginal likelihood of a Gaussian process and its gradient.

Notation
--------
U       (n, d)  observed points;  z their warped images
y       (n,)    standardised losses
N       (n,)    known noise variances in units of y, 0 where unknown
R       (n, n)  c + k(s) + diag(lam + tau N): covariance divided by the amplitude;
                c is the prior variance of the constant mean
A       (n,)    R^-1 y
q               y' A + 2;  the amplitude s2 = q / (n + 2) is profiled out under an
                inverse gamma prior worth two observations of variance one
G       (n, n)  d nll / dR = (R^-1 - A A' / s2) / 2
theta           log l (d), log lam, then where used log a (w), log b (w), log tau

nll = (n + 2)/2 log q + 1/2 log|R| + 1/2 sum ((theta - mu) / sd)^2, Rasmussen and
Williams (2006), eq. 5.8 with the amplitude profiled out, plus normal priors on
theta. The gradient takes two products of n x n with n x d, whatever d is: for an
ordered dimension sum_ij W_ij (z_i - z_j)^2 = 2 (sum_i w_i z_i^2 - z' W z), where
W = G * slope and w = W 1.
"""

from dataclasses import dataclass, field

import numpy as np

from accsmbo.surrogates._base import BoolArray, FloatArray
from accsmbo.surrogates._cholesky import (
    inverse_from_cholesky,
    jittered_cholesky,
    solve_lower,
)
from accsmbo.surrogates._kernels import Kernel, scaled_distance
from accsmbo.surrogates._warping import warp, warp_gradient

__all__ = [
    "Hyperparameters",
    "Layout",
    "NormalPrior",
    "Priors",
    "penalised_likelihood",
    "profiled_amplitude",
]


@dataclass(frozen=True)
class NormalPrior:
    """Normal prior on the logarithm of a hyperparameter, with hard bounds.

    Length scales, noise and exponents are positive and known up to a factor, if at all,
    so that a normal distribution of the logarithm is the natural belief: the median is
    ``exp(mean)``, and ``sd = 0.7`` says within a factor of 2, two times of three. The
    optimiser works on the logarithm as well and never leaves the bounds.

    Attributes
    ----------
    mean, sd : float
        Of the logarithm.
    low, high : float
        Bounds of the hyperparameter itself.

    See Also
    --------
    Priors : Those of :class:`GaussianProcess`.
    DerivativePriors : Those of :class:`DerivativeGaussianProcess`.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.surrogates import GaussianProcess, NormalPrior, Priors
    >>> short = NormalPrior(mean=np.log(0.2), sd=0.3, low=0.1, high=0.4)
    >>> U = np.linspace(0, 1, 8)[:, None]
    >>> gp = GaussianProcess(priors=Priors(length_scale=short)).fit(U, U[:, 0] ** 2)
    >>> bool(0.1 <= gp.hyperparameters_.length_scales[0] <= 0.4)
    True
    """

    mean: float
    sd: float
    low: float
    high: float


@dataclass(frozen=True)
class Priors:
    """Priors of the hyperparameters; the constants were measured on tuning tasks.

    Ten losses do not determine the length scales of five parameters, so that for the
    first dozens of trials the priors decide how far a search looks. The tasks had
    losses without noise of their own; where evaluating the same point twice gives two
    values, raise the prior of ``noise``, or tell the standard errors to ``fit``.

    Attributes
    ----------
    length_scale : NormalPrior
        Wide, centred on the whole interval and the same whatever d is.
    noise : NormalPrior
        Noise variance relative to the amplitude.
    warp : NormalPrior
        Exponents of the input warping, centred on the identity.
    noise_factor : NormalPrior
        By how much known noise variances are to be multiplied.

    See Also
    --------
    GaussianProcess : Takes it as ``priors``.
    NormalPrior : One of its entries.
    DerivativePriors : Of a Gaussian process that also sees derivatives.

    Examples
    --------
    A dozen values with a noise of 0.3, which the defaults take for real:

    >>> import numpy as np
    >>> from accsmbo.surrogates import GaussianProcess, NormalPrior, Priors
    >>> rng = np.random.default_rng(0)
    >>> U = rng.random((12, 2))
    >>> y = U[:, 0] + 0.3 * rng.standard_normal(12)
    >>> noisy = Priors(noise=NormalPrior(np.log(0.1), 1.0, 1e-4, 10.0))
    >>> models = [GaussianProcess(priors=p).fit(U, y) for p in (None, noisy)]
    >>> [bool(gp.noise_ > 0.1) for gp in models]
    [False, True]
    """

    length_scale: NormalPrior = NormalPrior(0.0, 1.5, 0.02, 30.0)
    noise: NormalPrior = NormalPrior(float(np.log(1e-5)), 2.0, 1e-8, 1.0)
    warp: NormalPrior = NormalPrior(0.0, 0.5, 0.2, 5.0)
    noise_factor: NormalPrior = NormalPrior(0.0, 1.5, 1e-3, 30.0)


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Hyperparameters of a Gaussian process.

    ``fit`` learns them, at the maximum of likelihood times prior, and keeps them in
    ``hyperparameters_``: short length scales mark the parameters that matter. Given to
    the constructor they are used as they are, for comparisons and tests, or where a
    similar search has learned them.

    Attributes
    ----------
    length_scales : ndarray of shape (d,)
        In units of the unit interval; of a category: how little it matters.
    noise : float, default=0.0
        Noise variance, as a multiple of the amplitude.
    amplitude : float or None, default=None
        Prior variance in units of the standardised losses; None: estimated.
    warp_a, warp_b : ndarray of shape (d,) or None
        Exponents of the input warping; None: no warping.
    noise_factor : float, default=1.0
        Multiplies the known noise variances.

    See Also
    --------
    GaussianProcess : Takes and learns them.
    Priors : What is believed of them before.
    sobol_indices : Importance in shares of the variance.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.surrogates import GaussianProcess
    >>> U = np.random.default_rng(0).random((20, 2))
    >>> learned = GaussianProcess().fit(U, np.sin(6 * U[:, 0])).hyperparameters_
    >>> bool(learned.length_scales[1] > 10 * learned.length_scales[0])
    True
    """

    length_scales: FloatArray
    noise: float = 0.0
    amplitude: float | None = None
    warp_a: FloatArray | None = field(default=None)
    warp_b: FloatArray | None = field(default=None)
    noise_factor: float = 1.0

    def warped(self, U: FloatArray) -> FloatArray:
        """Return the images of points in the unit cube."""
        if self.warp_a is None or self.warp_b is None:
            return U
        return warp(U, self.warp_a, self.warp_b)

    def noise_variances(self, N: FloatArray) -> FloatArray:
        """Return the diagonal to add, given the known noise variances."""
        return self.noise + self.noise_factor * N


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each hyperparameter stands in theta.

    Attributes
    ----------
    categorical : ndarray of shape (d,)
        True where a dimension is an unordered choice.
    warped : ndarray of int
        The dimensions that are warped.
    known_noise : bool
        Whether theta ends with the factor on the known noise.
    """

    categorical: BoolArray
    warped: np.ndarray[tuple[int], np.dtype[np.intp]]
    known_noise: bool

    def same_as(self, other: "Layout | None") -> bool:
        """Whether theta means the same in another layout."""
        return (
            other is not None
            and np.array_equal(self.categorical, other.categorical)
            and np.array_equal(self.warped, other.warped)
            and self.known_noise == other.known_noise
        )

    def priors(self, priors: Priors) -> list[NormalPrior]:
        """Return one prior for each entry of theta."""
        d, w = len(self.categorical), len(self.warped)
        tail = [priors.noise_factor] if self.known_noise else []
        head = [priors.length_scale] * d + [priors.noise]
        return head + [priors.warp] * (2 * w) + tail

    def unpack(self, theta: FloatArray) -> Hyperparameters:
        """Return the hyperparameters that theta stands for."""
        d, w = len(self.categorical), len(self.warped)
        values = np.exp(theta)
        a = b = None
        first = d + 1
        if w:
            a, b = np.ones(d), np.ones(d)
            a[self.warped] = values[first : first + w]
            b[self.warped] = values[first + w : first + 2 * w]
        factor = float(values[-1]) if self.known_noise else 1.0
        return Hyperparameters(values[:d], float(values[d]), None, a, b, factor)


def profiled_amplitude(y: FloatArray, A: FloatArray) -> float:
    """Return s2 = (y' R^-1 y + 2) / (n + 2)."""
    return float((y @ A + 2.0) / (len(y) + 2.0))


def _length_gradient(
    W: FloatArray,
    w: FloatArray,
    Z: FloatArray,
    WZ: FloatArray,
    U: FloatArray,
    layout: Layout,
    scales: FloatArray,
) -> FloatArray:
    """Return d nll / d log l, shape (d,): sum_ij W_ij D_ij times -2 / l^2."""
    total = 2.0 * (w @ Z**2 - np.einsum("ij,ij->j", Z, WZ))
    for j in np.flatnonzero(layout.categorical):
        total[j] = W[U[:, j, None] != U[None, :, j]].sum()
    return np.asarray(-2.0 * total / scales**2)


def _warp_gradient(
    by_z: FloatArray,
    U: FloatArray,
    hyper: Hyperparameters,
    warped: np.ndarray[tuple[int], np.dtype[np.intp]],
) -> FloatArray:
    """Return d nll / d (log a, log b), shape (2 w,), by the chain rule over z."""
    assert hyper.warp_a is not None
    assert hyper.warp_b is not None
    a, b = hyper.warp_a[warped], hyper.warp_b[warped]
    _, _, by_log_a, by_log_b = warp_gradient(U[:, warped], a, b)
    by_z = by_z[:, warped]
    return np.concatenate([(by_z * by_log_a).sum(0), (by_z * by_log_b).sum(0)])


def penalised_likelihood(
    theta: FloatArray,
    kernel: Kernel,
    layout: Layout,
    priors: list[NormalPrior],
    U: FloatArray,
    y: FloatArray,
    N: FloatArray,
    mean_variance: float,
) -> tuple[float, FloatArray]:
    """Return nll and its gradient by theta.

    Parameters
    ----------
    theta : ndarray
        Logarithms of the hyperparameters in the order of `layout`.
    kernel : Kernel
        Kernel of unit variance.
    layout : Layout
        Meaning of the entries of `theta`.
    priors : list of NormalPrior
        One for each entry of `theta`.
    U : ndarray of shape (n, d)
        Points in the unit cube.
    y : ndarray of shape (n,)
        Standardised losses.
    N : ndarray of shape (n,)
        Known noise variances, in units of `y`; 0 where unknown.
    mean_variance : float
        Prior variance c of the constant mean, as a multiple of the amplitude.

    Returns
    -------
    nll : float
        Negative log of likelihood times prior, up to a constant.
    gradient : ndarray
        d nll / d theta.
    """
    hyper = layout.unpack(theta)
    n = len(U)
    Z = hyper.warped(U)
    s = scaled_distance(Z, Z, hyper.length_scales, layout.categorical)
    k, slope = kernel.value_and_slope(s)
    k += mean_variance
    k.ravel()[:: n + 1] += hyper.noise + hyper.noise_factor * N
    L, _ = jittered_cholesky(k)
    half = solve_lower(L, y)
    A = solve_lower(L, half, transposed=True)
    q = float(half @ half) + 2.0
    G = inverse_from_cholesky(L)
    G -= np.outer(A, A) * ((n + 2.0) / q)
    G *= 0.5
    W = slope
    W *= G
    w, WZ = W.sum(1), W @ Z
    parts = [_length_gradient(W, w, Z, WZ, U, layout, hyper.length_scales)]
    parts.append(np.array([hyper.noise * np.trace(G)]))
    if len(layout.warped):
        by_z = 4.0 * (w[:, None] * Z - WZ) / hyper.length_scales**2
        parts.append(_warp_gradient(by_z, U, hyper, layout.warped))
    if layout.known_noise:
        parts.append(np.array([hyper.noise_factor * (np.diagonal(G) @ N)]))
    mu = np.array([p.mean for p in priors])
    sd = np.array([p.sd for p in priors])
    shift = (theta - mu) / sd
    nll = (n + 2.0) / 2.0 * np.log(q) + np.log(np.diagonal(L)).sum()
    return float(nll + 0.5 * shift @ shift), np.concatenate(parts) + shift / sd
