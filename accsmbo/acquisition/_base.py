# SPDX-License-Identifier: BSD-3-Clause
"""Base of the acquisition functions: what a point promises, larger is better.

Notation
--------
mean, std   (m,)    posterior of the loss at m points
best                loss to improve on, the incumbent's
z           (m,)    (best - mean - margin) / std
a           (m,)    acquisition value, larger is better
phi, Phi            standard normal density and distribution function
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

__all__ = ["AcquisitionFunction", "floored"]

FloatArray = NDArray[np.float64]

# Keeps z finite where a surrogate is certain (std = 0).
RELATIVE_STD_FLOOR = 1e-9
ABSOLUTE_STD_FLOOR = 1e-300


class AcquisitionFunction(BaseEstimator):
    """Base of the acquisition functions; a subclass implements `partials`.

    An acquisition function says how much an evaluation at a point promises, given the
    mean and the standard deviation that a surrogate predicts there. A function of your
    own states these two derivatives and nothing of the space: `maximize_acquisition`
    climbs along ``da/du = da/dmean dmean/du + da/dstd dstd/du``, of which the surrogate
    gives the other half.

    See Also
    --------
    LogExpectedImprovement : The default of the optimizers.
    MetaAcquisition : Weighs another one by a density of good points.
    maximize_acquisition : Finds the point that promises most.

    Examples
    --------
    Look where least is known, whatever the loss:

    >>> import numpy as np
    >>> from accsmbo.acquisition import AcquisitionFunction
    >>> from accsmbo.surrogates import GaussianProcess
    >>> class Exploration(AcquisitionFunction):
    ...     def partials(self, mean, std, best):
    ...         return std, np.zeros_like(mean), np.ones_like(std)
    >>> model = GaussianProcess().fit([[0.2], [0.4]], [1.0, 2.0])
    >>> near, far = Exploration().evaluate(model, np.array([[0.3], [0.9]]), 1.0)
    >>> bool(near < far)
    True
    """

    def partials(
        self, mean: FloatArray, std: FloatArray, best: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return a, da/dmean and da/dstd.

        Parameters
        ----------
        mean, std : ndarray of shape (m,)
            Posterior of the loss.
        best : float
            Loss to improve on.

        Returns
        -------
        a, by_mean, by_std : ndarray of shape (m,)
            Acquisition values and their derivatives.
        """
        raise NotImplementedError

    def value(self, mean: FloatArray, std: FloatArray, best: float) -> FloatArray:
        """Return a; arguments as for `partials`."""
        return self.partials(mean, std, best)[0]

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
        return self.value(mean, std, best)

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
            Derivative da/du; 0 along categories.
        """
        mean, std, dmean, dstd = surrogate.predict_gradient(U)
        a, by_mean, by_std = self.partials(mean, std, best)
        return a, by_mean[:, None] * dmean + by_std[:, None] * dstd


def floored(std: FloatArray, distance: FloatArray) -> FloatArray:
    """Return std, no smaller than a tiny share of the distance to the incumbent."""
    floor = RELATIVE_STD_FLOOR * np.abs(distance) + ABSOLUTE_STD_FLOOR
    return np.maximum(std, floor)
