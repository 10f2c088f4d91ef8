# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian process on the unit cube: values in, mean and std and gradients out.

Notation
--------
U, y            observed points (n, d) and losses (n,)
t = (y - o)/e   standardised losses with offset o and scale e
A = R^-1 t      (n,), R the covariance over the amplitude s2, see `_posterior`
mean            o + e kv A
std             e sqrt(s2 var), of the noise-free loss
                Rasmussen and Williams (2006), algorithm 2.1
"""

import copy
from dataclasses import replace
from types import NoneType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from accsmbo._validation import check_integer, check_is, check_real
from accsmbo.surrogates._base import (
    BoolArray,
    FloatArray,
    best_and_even,
    check_observations,
    check_points,
)
from accsmbo.surrogates._bfgs import minimize_bfgs
from accsmbo.surrogates._kernels import Kernel, Matern52
from accsmbo.surrogates._likelihood import (
    Hyperparameters,
    Layout,
    Priors,
    penalised_likelihood,
    profiled_amplitude,
)
from accsmbo.surrogates._posterior import Posterior
from accsmbo.surrogates._standardize import Standardization

__all__ = ["GaussianProcess"]


class GaussianProcess(BaseEstimator):
    """Gaussian process regression for expensive losses.

    One length scale a dimension, a constant mean with a normal prior, an amplitude
    profiled out of the likelihood, and hyperparameters at the maximum of likelihood
    times prior. Unordered choices enter by the overlap kernel.

    Parameters
    ----------
    kernel : Kernel, default=None
        Kernel of unit variance; None means Matern with nu = 5/2.
    hyperparameters : Hyperparameters, default=None
        Fixed hyperparameters; None means that `fit` learns them.
    priors : Priors, default=None
        Priors of the hyperparameters; None means the measured defaults.
    warp : bool, default=False
        Whether to learn a monotone warping of each ordered dimension.
    mean_variance : float, default=1.0
        Prior variance of the constant mean, as a multiple of the amplitude.
    max_iter : int, default=20
        Evaluations of the likelihood in `fit`.
    warm_start : bool, default=False
        Start from the hyperparameters of the last `fit`, keep them until the
        number of points has grown by `refit_growth`, and extend the Cholesky
        factor where points were only added.
    refit_growth : float, default=0.1
        Used with `warm_start` only.
    max_fit_points : int, default=400
        Hyperparameters are learnt from at most so many points: the best half of
        that number and an even choice of the rest. Predictions use all points.

    Attributes
    ----------
    hyperparameters_ : Hyperparameters
        Those in use.
    log_likelihood_ : float
        Logarithm of likelihood times prior at the end of the last optimisation,
        up to a constant.
    noise_ : float
        Root mean square standard deviation of the noise, in the units of the losses;
        where the noise of some observations is known and that of others is not, of the
        others: it is what a further observation is to be expected to have.
    jitter_ : float
        What had to be added to the diagonal, relative to it.

    See Also
    --------
    RandomForestSurrogate : For large and mostly categorical spaces.

    References
    ----------
    .. [1] C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine
       Learning, MIT Press, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.surrogates import GaussianProcess
    >>> U = np.linspace(0, 1, 8)[:, None]
    >>> gp = GaussianProcess().fit(U, np.sin(6 * U[:, 0]))
    >>> mean, std = gp.predict([[0.5]])
    >>> bool(abs(mean[0] - np.sin(3)) < 0.05)
    True
    """

    _theta: FloatArray
    _layout: Layout
    _n_optimised: int
    _core: Hyperparameters

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        hyperparameters: Hyperparameters | None = None,
        priors: Priors | None = None,
        warp: bool = False,
        mean_variance: float = 1.0,
        max_iter: int = 20,
        warm_start: bool = False,
        refit_growth: float = 0.1,
        max_fit_points: int = 400,
    ) -> None:
        self.kernel = kernel
        self.hyperparameters = hyperparameters
        self.priors = priors
        self.warp = warp
        self.mean_variance = mean_variance
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.refit_growth = refit_growth
        self.max_fit_points = max_fit_points

    def fit(
        self,
        U: ArrayLike,
        y: ArrayLike,
        *,
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
        categorical : array-like of shape (d,), optional
            True where a dimension is an unordered choice.
        noise : array-like of shape (n,), optional
            Standard errors of `y` in its units; NaN means unknown.

        Returns
        -------
        self : GaussianProcess
            The fitted object itself.

        Raises
        ------
        ValueError
            On shapes that do not fit together and on values that are not finite.
        numpy.linalg.LinAlgError
            Where no jitter makes the covariance positive definite.
        """
        self._check_settings()
        points, values, kinds, errors = check_observations(U, y, categorical, noise)
        known = np.isfinite(errors)
        standard = Standardization.of(values)
        t = standard.apply(values)
        N = standard.apply_scale(np.where(known, errors, 0.0)) ** 2
        warped = np.flatnonzero(~kinds) if self.warp else np.zeros(0, np.intp)
        layout = Layout(kinds, warped, bool(known.any()))
        core = self._learn(layout, points, t, N)
        posterior = self._factor(core, kinds, points, core.noise_variances(N))
        self._standard, self._t, self._posterior = standard, t, posterior
        self._settle(core)
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
        mean, var = self._posterior.moments(check_points(U), self._A)
        std = np.sqrt(self._amplitude * var)
        return self._standard.undo(mean), self._standard.undo_scale(std)

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
        mean, var, dmean, dvar = self._posterior.moments_gradient(points, self._A)
        std = np.sqrt(self._amplitude * var)
        dstd = 0.5 * self._amplitude * dvar / std[:, None]
        undo, scale = self._standard.undo, self._standard.undo_scale
        return undo(mean), scale(std), scale(dmean), scale(dstd)

    def condition(self, U: ArrayLike, y: ArrayLike) -> "GaussianProcess":
        """Return a copy that has also seen these points.

        Hyperparameters, amplitude and scale of the losses stay as they are.

        Parameters
        ----------
        U : array-like of shape (m, d)
            Further points in the unit cube.
        y : array-like of shape (m,)
            Losses there, observed or imagined.

        Returns
        -------
        GaussianProcess
            A new object; this one is unchanged.
        """
        points, values, _, _ = check_observations(U, y)
        hyper = self.hyperparameters_
        diagonal = np.full(len(points), hyper.noise)
        other = copy.copy(self)
        other._posterior = self._posterior.extended(points, diagonal)
        other._t = np.concatenate([self._t, self._standard.apply(values)])
        other._A = other._posterior.weights(other._t)
        return other

    def _check_settings(self) -> None:
        """Raise where an argument of the constructor is of a wrong kind."""
        kinds: dict[str, Any] = {
            "kernel": Kernel,
            "hyperparameters": Hyperparameters,
            "priors": Priors,
        }
        for name, kind in kinds.items():
            remedy = f"a {kind.__name__} or None"
            check_is(name, getattr(self, name), (kind, NoneType), remedy)
        for name in ("max_iter", "max_fit_points"):
            check_integer(name, getattr(self, name), minimum=1)
        for name in ("mean_variance", "refit_growth"):
            check_real(name, getattr(self, name))
        if self.mean_variance < 0:
            raise ValueError(
                f"mean_variance must be 0 or more, got {self.mean_variance!r}. Give "
                "a multiple of the amplitude, for example 1.0."
            )

    def _learn(
        self, layout: Layout, U: FloatArray, t: FloatArray, N: FloatArray
    ) -> Hyperparameters:
        """Return the hyperparameters to use: given, kept or optimised."""
        if self.hyperparameters is not None:
            return self.hyperparameters
        warm = self.warm_start and layout.same_as(getattr(self, "_layout", None))
        if warm:
            grown = len(t) - self._n_optimised
            if 0 <= grown < max(1.0, self.refit_growth * self._n_optimised):
                return self._core
        priors = layout.priors(Priors() if self.priors is None else self.priors)
        start = self._theta if warm else np.array([p.mean for p in priors])
        chosen = best_and_even(t, self.max_fit_points)
        kernel = self._used_kernel()
        arrays = (U[chosen], t[chosen], N[chosen])

        def objective(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
            nll, gradient = penalised_likelihood(
                theta[0], kernel, layout, priors, *arrays, self.mean_variance
            )
            return np.array([nll]), gradient[None, :]

        theta, nll = minimize_bfgs(
            objective,
            start[None, :],
            np.log([p.low for p in priors]),
            np.log([p.high for p in priors]),
            max_calls=self.max_iter,
            max_step=2.0,
        )
        self._theta, self._layout, self._n_optimised = theta[0], layout, len(t)
        self.log_likelihood_ = -float(nll[0])
        return layout.unpack(theta[0])

    def _factor(
        self,
        core: Hyperparameters,
        categorical: BoolArray,
        U: FloatArray,
        diagonal: FloatArray,
    ) -> Posterior:
        """Factor the covariance, or extend the factor at hand by the new rows."""
        last: Posterior | None = getattr(self, "_posterior", None)
        reusable = (
            self.warm_start
            and last is not None
            and last.hyper is core
            and last.is_prefix_of(U, diagonal)
        )
        if not reusable or last is None:
            return Posterior.build(
                self._used_kernel(), core, categorical, self.mean_variance, U, diagonal
            )
        n = len(last.U)
        return last if n == len(U) else last.extended(U[n:], diagonal[n:])

    def _settle(self, core: Hyperparameters) -> None:
        """Solve for A and fix the amplitude."""
        self._core = core
        self._A = self._posterior.weights(self._t)
        self._amplitude = (
            profiled_amplitude(self._t, self._A)
            if core.amplitude is None
            else core.amplitude
        )
        self.hyperparameters_ = replace(core, amplitude=self._amplitude)
        self.jitter_ = self._posterior.jitter
        diagonal = self._posterior.diagonal
        unknown = diagonal == core.noise
        typical = float(np.mean(diagonal[unknown] if unknown.any() else diagonal))
        noise = np.sqrt([self._amplitude * typical])
        self.noise_ = float(self._standard.undo_scale(noise)[0])

    def _used_kernel(self) -> Kernel:
        return Matern52() if self.kernel is None else self.kernel
