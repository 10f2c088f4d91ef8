# SPDX-License-Identifier: BSD-3-Clause
"""Probability of improvement, as a logarithm."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from accsmbo._validation import check_real
from accsmbo.acquisition._base import AcquisitionFunction, floored
from accsmbo.acquisition._normal import log_phi

__all__ = ["ProbabilityOfImprovement"]

FloatArray = NDArray[np.float64]


class ProbabilityOfImprovement(AcquisitionFunction):
    """Logarithm of the probability to improve, log Phi(z).

    It asks whether a point is better than the incumbent by more than `margin`, not by
    how much: right where a loss has to be brought below a known target, `margin` being
    the way that is left. Elsewhere it prefers a near-certain small gain to a likely
    large one. The logarithm keeps it, and its gradient, from underflowing.

    Parameters
    ----------
    margin : float, default=0.0
        Improvement that does not count, in the units of the surrogate. Without one
        the function hardly leaves the incumbent.

    See Also
    --------
    LogExpectedImprovement : Weighs the improvement by its size.

    References
    ----------
    .. [1] H. J. Kushner, A New Method of Locating the Maximum Point of an Arbitrary
       Multipeak Curve in the Presence of Noise, 1964.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.acquisition import ProbabilityOfImprovement
    >>> ProbabilityOfImprovement().value(np.zeros(1), np.ones(1), 0.0).round(4)
    array([-0.6931])
    """

    def __init__(self, margin: float = 0.0) -> None:
        self.margin = margin

    def partials(
        self, mean: FloatArray, std: FloatArray, best: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return a, da/dmean = -(phi/Phi)/std and da/dstd = -z (phi/Phi)/std.

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
        a = log_ndtr(z)
        by_mean = -np.exp(log_phi(z) - a) / sigma
        return a, by_mean, z * by_mean
