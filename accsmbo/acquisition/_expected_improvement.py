# SPDX-License-Identifier: BSD-3-Clause
"""Expected improvement and its logarithm."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from accsmbo._validation import check_real
from accsmbo.acquisition._base import AcquisitionFunction, floored
from accsmbo.acquisition._normal import log_h, log_phi

__all__ = ["ExpectedImprovement", "LogExpectedImprovement"]

FloatArray = NDArray[np.float64]


class ExpectedImprovement(AcquisitionFunction):
    """Expected improvement, EI = std (phi(z) + z Phi(z)).

    How likely a point is to be better, weighed by how much better it would be: neither
    small safe gains beside the incumbent nor uncertainty alone win. The value is in the
    units of the loss, so it can be read as what one more evaluation is worth. Where an
    improvement is very unlikely both it and its gradient underflow to 0.

    Parameters
    ----------
    margin : float, default=0.0
        Improvement that does not count, in the units of the surrogate.

    See Also
    --------
    LogExpectedImprovement : The same order of points, and a usable gradient.

    References
    ----------
    .. [1] D. R. Jones, M. Schonlau and W. J. Welch, Efficient Global Optimization of
       Expensive Black-Box Functions, 1998, eq. 15.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.acquisition import ExpectedImprovement
    >>> ExpectedImprovement().value(np.array([0.0]), np.array([1.0]), 0.0).round(4)
    array([0.3989])
    """

    def __init__(self, margin: float = 0.0) -> None:
        self.margin = margin

    def partials(
        self, mean: FloatArray, std: FloatArray, best: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return a, da/dmean = -Phi(z) and da/dstd = phi(z).

        Parameters
        ----------
        mean, std : ndarray of shape (m,)
            Posterior of the loss.
        best : float
            Loss to improve on.

        Returns
        -------
        a, by_mean, by_std : ndarray of shape (m,)
        """
        distance = best - check_real("margin", self.margin) - mean
        sigma = floored(std, distance)
        z = distance / sigma
        return sigma * np.exp(log_h(z)), -ndtr(z), np.exp(log_phi(z))


class LogExpectedImprovement(AcquisitionFunction):
    """Logarithm of the expected improvement, exact however small it is.

    The order of points is that of the expected improvement. But after some evaluations
    that is numerically 0, and flat, over most of the space, so that a climb from a
    point there goes nowhere; its logarithm has a gradient everywhere [1]_. The default
    of `SMBO` and `AccSMBO`.

    Parameters
    ----------
    margin : float, default=0.0
        Improvement that does not count, in the units of the surrogate.
    augmented : bool, default=False
        Add log(1 - noise / sqrt(std^2 + noise^2)), where `noise` is the surrogate's
        attribute ``noise_``: points whose loss is known to within the noise promise
        nothing, so that the search does not circle round its incumbent [2]_.

    See Also
    --------
    ExpectedImprovement : Without the logarithm, in the units of the loss.
    ProbabilityOfImprovement : Does not weigh an improvement by its size.

    References
    ----------
    .. [1] S. Ament, S. Daulton, D. Eriksson, M. Balandat and E. Bakshy, Unexpected
       Improvements to Expected Improvement for Bayesian Optimization, 2023, eq. 8.
    .. [2] D. Huang, T. T. Allen, W. I. Notz and N. Zeng, Global Optimization of
       Stochastic Black-Box Systems via Sequential Kriging Meta-Models, 2006, eq. 12.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.acquisition import LogExpectedImprovement
    >>> LogExpectedImprovement().value(np.array([50.0]), np.array([1.0]), 0.0).round(2)
    array([-1258.74])
    """

    def __init__(self, margin: float = 0.0, *, augmented: bool = False) -> None:
        self.margin = margin
        self.augmented = augmented

    def partials(
        self, mean: FloatArray, std: FloatArray, best: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return a, da/dmean = -Phi/(std h) and da/dstd = phi/(std h).

        Parameters
        ----------
        mean, std : ndarray of shape (m,)
            Posterior of the loss.
        best : float
            Loss to improve on.

        Returns
        -------
        a, by_mean, by_std : ndarray of shape (m,)
        """
        distance = best - check_real("margin", self.margin) - mean
        sigma = floored(std, distance)
        z = distance / sigma
        logs = log_h(z)
        by_mean = -np.exp(log_ndtr(z) - logs) / sigma
        by_std = np.exp(log_phi(z) - logs) / sigma
        return np.log(sigma) + logs, by_mean, by_std

    def value(self, mean: FloatArray, std: FloatArray, best: float) -> FloatArray:
        """Return a; arguments as for `partials`."""
        distance = best - check_real("margin", self.margin) - mean
        sigma = floored(std, distance)
        return np.asarray(np.log(sigma) + log_h(distance / sigma))

    def evaluate(self, surrogate: Any, U: FloatArray, best: float) -> FloatArray:
        """Return a at points of the unit cube.

        Parameters
        ----------
        surrogate : Surrogate
            Fitted surrogate.
        U : ndarray of shape (m, d)
            Points.
        best : float
            Loss to improve on, in the units of the surrogate.

        Returns
        -------
        ndarray of shape (m,)
            Acquisition values, larger is better.
        """
        mean, std = surrogate.predict(U)
        return self.value(mean, std, best) + self._discount(surrogate, std)[0]

    def evaluate_with_gradient(
        self, surrogate: Any, U: FloatArray, best: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return a and its derivative by the coordinates.

        Parameters
        ----------
        surrogate : Surrogate
            Fitted surrogate.
        U : ndarray of shape (m, d)
            Points.
        best : float
            Loss to improve on, in the units of the surrogate.

        Returns
        -------
        a : ndarray of shape (m,)
            Acquisition values.
        gradient : ndarray of shape (m, d)
            da/du; 0 along categories.
        """
        mean, std, dmean, dstd = surrogate.predict_gradient(U)
        a, by_mean, by_std = self.partials(mean, std, best)
        discount, discount_by_std = self._discount(surrogate, std)
        by_std = by_std + discount_by_std
        return a + discount, by_mean[:, None] * dmean + by_std[:, None] * dstd

    def _discount(
        self, surrogate: Any, std: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return log(1 - (1 + q)^(-1/2)) for q = (std / noise)^2, and by std."""
        noise = float(getattr(surrogate, "noise_", 0.0)) if self.augmented else 0.0
        if noise <= 0.0:
            return np.zeros_like(std), np.zeros_like(std)
        ratio = np.clip(std / noise, 1e-8, 1e8)
        root = -0.5 * np.log1p(ratio**2)
        left = -np.expm1(root)
        by_ratio = ratio * np.exp(3.0 * root) / left
        return np.log(left), by_ratio / noise
