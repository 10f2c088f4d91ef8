# SPDX-License-Identifier: BSD-3-Clause
"""Expected improvement and its logarithm."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from accsmbo.acquisition._base import AcquisitionFunction, floored
from accsmbo.acquisition._normal import log_h, log_phi

__all__ = ["ExpectedImprovement", "LogExpectedImprovement"]

FloatArray = NDArray[np.float64]


class ExpectedImprovement(AcquisitionFunction):
    """Expected improvement, EI = std (phi(z) + z Phi(z)).

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
        distance = best - self.margin - mean
        sigma = floored(std, distance)
        z = distance / sigma
        return sigma * np.exp(log_h(z)), -ndtr(z), np.exp(log_phi(z))


class LogExpectedImprovement(AcquisitionFunction):
    """Logarithm of the expected improvement, exact however small it is.

    Parameters
    ----------
    margin : float, default=0.0
        Improvement that does not count, in the units of the surrogate.

    See Also
    --------
    ExpectedImprovement : Without the logarithm.

    References
    ----------
    .. [1] S. Ament, S. Daulton, D. Eriksson, M. Balandat and E. Bakshy, Unexpected
       Improvements to Expected Improvement for Bayesian Optimization, 2023, eq. 8.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.acquisition import LogExpectedImprovement
    >>> LogExpectedImprovement().value(np.array([50.0]), np.array([1.0]), 0.0).round(2)
    array([-1258.74])
    """

    def __init__(self, margin: float = 0.0) -> None:
        self.margin = margin

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
        distance = best - self.margin - mean
        sigma = floored(std, distance)
        z = distance / sigma
        logs = log_h(z)
        by_mean = -np.exp(log_ndtr(z) - logs) / sigma
        by_std = np.exp(log_phi(z) - logs) / sigma
        return np.log(sigma) + logs, by_mean, by_std

    def value(self, mean: FloatArray, std: FloatArray, best: float) -> FloatArray:
        """Return a; arguments as for `partials`."""
        distance = best - self.margin - mean
        sigma = floored(std, distance)
        return np.asarray(np.log(sigma) + log_h(distance / sigma))
