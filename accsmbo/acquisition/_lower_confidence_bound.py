# SPDX-License-Identifier: BSD-3-Clause
"""Lower confidence bound of the loss, negated."""

import numpy as np
from numpy.typing import NDArray

from accsmbo._validation import check_real
from accsmbo.acquisition._base import AcquisitionFunction

__all__ = ["LowerConfidenceBound"]

FloatArray = NDArray[np.float64]


class LowerConfidenceBound(AcquisitionFunction):
    """The optimistic loss, negated: a = kappa std - mean.

    A point is judged by the best loss that can reasonably be hoped for there. It needs
    no incumbent, so that a best value that was noise misleads nobody, and `kappa` says
    plainly how much to explore. In [1]_ it is the root of beta_t, which grows with the
    logarithm of the number of evaluations; here it is fixed.

    Parameters
    ----------
    kappa : float, default=2.0
        Weight of the uncertainty; 0 gives the posterior mean.

    See Also
    --------
    LogExpectedImprovement : The default of the optimizers.

    References
    ----------
    .. [1] N. Srinivas, A. Krause, S. Kakade and M. Seeger, Gaussian Process
       Optimization in the Bandit Setting, 2010, eq. 6.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.acquisition import LowerConfidenceBound
    >>> LowerConfidenceBound(2.0).value(np.array([1.0]), np.array([0.25]), 0.0)
    array([-0.5])
    """

    def __init__(self, kappa: float = 2.0) -> None:
        self.kappa = kappa

    def partials(
        self, mean: FloatArray, std: FloatArray, best: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return a, da/dmean = -1 and da/dstd = kappa.

        Parameters
        ----------
        mean, std : ndarray of shape (m,)
            Posterior of the loss.
        best : float
            Not used.

        Returns
        -------
        a, by_mean, by_std : ndarray of shape (m,)
        """
        ones = np.ones_like(mean)
        kappa = check_real("kappa", self.kappa)
        return kappa * std - mean, -ones, kappa * ones
