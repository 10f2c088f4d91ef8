# SPDX-License-Identifier: BSD-3-Clause
"""Monotone transforms of losses that tame the tail of bad values.

Notation
--------
y       (n,)    losses, finite, smaller is better
t       (n,)    transformed losses: mean zero, variance one, in the order of y;
                zeros where all losses are equal
slope   (n,)    dt/dy, positive: turns standard errors of y into ones of t
"""

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.base import BaseEstimator

from accsmbo.surrogates._base import FloatArray
from accsmbo.surrogates._standardize import Standardization

__all__ = ["HalfRank", "OutputTransform", "Standardize", "YeoJohnson"]

EXPONENTS = np.linspace(-2.0, 3.0, 51)


class OutputTransform(BaseEstimator):
    """Base of the transforms; a subclass maps standardised losses."""

    def transform(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return t and dt/dy for losses of any magnitude.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Finite losses.

        Returns
        -------
        t, slope : ndarray of shape (n,)
        """
        first = Standardization.of(y)
        standard = first.apply(y)
        if not standard.any():
            return np.zeros_like(standard), np.ones_like(standard)
        bent, slope = self._bend(standard)
        second = Standardization.of(bent)
        per_loss = 1.0 / first.undo_scale(np.ones(1))[0]
        return second.apply(bent), second.apply_scale(slope) * per_loss

    def _bend(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a monotone function of standardised losses, and its derivative."""
        raise NotImplementedError


class Standardize(OutputTransform):
    """Mean zero and variance one, nothing else."""

    def _bend(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return y, np.ones_like(y)


class HalfRank(OutputTransform):
    """Losses above the median become normal scores; those below stay as they are.

    The scores are scaled by the root mean square distance of the good half from the
    median, so that the bad half looks like the good half's mirror image.

    References
    ----------
    .. [1] Y. Chen et al., half-rank warping as in the open-source release of Google
       Vizier's Gaussian process bandit, 2024.
    """

    def _bend(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        median = float(np.median(y))
        good = y <= median
        spread = float(np.sqrt(np.mean((y[good] - median) ** 2)))
        if spread == 0.0:
            return y, np.ones_like(y)
        scores = ndtri((rankdata(y) - 0.5) / len(y))
        t = np.where(good, y, median + spread * scores)
        return t, np.where(good, 1.0, _slope_between(y, t))


class YeoJohnson(OutputTransform):
    """Power transform with the exponent of largest normal likelihood.

    References
    ----------
    .. [1] I.-K. Yeo and R. A. Johnson, A New Family of Power Transformations to Improve
       Normality or Symmetry, 2000, eq. 2.1.
    """

    def _bend(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        bent = _yeo_johnson(y[None, :], EXPONENTS[:, None])
        logs = np.sign(y) * np.log1p(np.abs(y))
        likelihood = (EXPONENTS - 1.0) * logs.sum() - 0.5 * len(y) * np.log(
            bent.var(axis=1)
        )
        best = int(np.argmax(likelihood))
        return bent[best], np.exp((EXPONENTS[best] - 1.0) * logs)


def _slope_between(y: FloatArray, t: FloatArray) -> FloatArray:
    """Return dt/dy of an increasing transform, from the neighbours of each value."""
    values, first, place = np.unique(y, return_index=True, return_inverse=True)
    if len(values) < 2:
        return np.ones_like(y)
    slope: FloatArray = np.gradient(t[first], values)[place]
    return slope


def _yeo_johnson(y: FloatArray, power: FloatArray) -> FloatArray:
    """Return the transform for every pair of a power (p, 1) and a loss (1, n)."""
    size = np.log1p(np.abs(y))
    used = np.where(y >= 0.0, power, 2.0 - power)
    safe = np.where(np.abs(used) < 1e-12, 1.0, used)
    bent = np.where(np.abs(used) < 1e-12, size, np.expm1(safe * size) / safe)
    return np.sign(y) * bent
