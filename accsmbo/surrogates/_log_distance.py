# SPDX-License-Identifier: BSD-3-Clause
"""Logarithm of the distance to the best loss: near the best everything is told apart.

Notation
--------
y, g    (n,), (n, d)    losses and their gradients
f_min                   smallest loss
c                       resolution: 0.05 f_min for positive losses, else 0.05 of the
                        distance from the best to the median
t = log(y - f_min + c),  dt/dy = 1 / (y - f_min + c)

Over wide ranges of a penalty a log loss grows by orders of magnitude; a stationary
model of the loss itself spends its length scale on that cliff.
"""

import numpy as np

from accsmbo.surrogates._base import FloatArray

__all__ = ["log_distance"]

RESOLUTION = 0.05
# The resolution is at least this share of the distance to the median, so that losses
# near zero do not make a pole.
SMALLEST = 1e-4


def log_distance(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return t and dt/dy.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Finite losses.

    Returns
    -------
    t, slope : ndarray of shape (n,)
        Equal losses give zeros and ones.
    """
    best, spread = float(y.min()), float(np.median(y) - y.min())
    if spread == 0.0:
        spread = float(np.ptp(y))
    c = RESOLUTION * (best if best > 0.0 else spread)
    c = max(c, SMALLEST * spread)
    if c == 0.0:
        return np.zeros_like(y), np.ones_like(y)
    shifted = y - best + c
    return np.log(shifted), 1.0 / shifted
