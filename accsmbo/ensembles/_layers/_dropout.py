# SPDX-License-Identifier: BSD-3-Clause
"""Dropout with a rate for each member and example.

Notation
--------
X     inputs, (K, b, ...)
rate  probability to drop, (K, b)
M     mask of kept entries, drawn with that rate

    Y = X o M / (1 - rate)

Training differentiates Y by X at a fixed mask, and `rate_gradient` is the derivative
by the rate at a fixed mask, that of the scale. The tuning step needs neither: as in the
self-tuning networks the paper builds on, the validation loss is that of the network
that predicts, without dropout, and moves with the rate only through the embeddings
e(lambda), which carry the best response of the weights to the rate.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DropoutCache:
    """Scaled mask M / (1 - rate), the outputs and 1 / (1 - rate)."""

    mask: np.ndarray
    Y: np.ndarray
    inverse: np.ndarray


def dropout(
    X: np.ndarray, rate: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, DropoutCache]:
    """Drop entries at random and scale up those that are kept.

    Parameters
    ----------
    X : ndarray of shape (K, b, ...)
        Inputs.
    rate : ndarray of shape (K, b)
        Probability to drop, in [0, 1).
    rng : numpy.random.Generator
        Source of the masks.

    Returns
    -------
    Y : ndarray of shape (K, b, ...)
        Outputs.
    cache : DropoutCache
        For `dropout_backward`.
    """
    rate = rate.reshape(*rate.shape, *[1] * (X.ndim - 2))
    inverse = 1.0 / (1.0 - rate)
    mask = (rng.random(X.shape, dtype=X.dtype) >= rate) * inverse
    Y = X * mask
    return Y, DropoutCache(mask, Y, inverse)


def dropout_backward(cache: DropoutCache, dY: np.ndarray) -> np.ndarray:
    """Return the gradient by the inputs of `dropout`."""
    return dY * cache.mask


def rate_gradient(cache: DropoutCache, dY: np.ndarray) -> np.ndarray:
    """Return the gradient by the rates at a fixed mask.

    Parameters
    ----------
    cache : DropoutCache
        Result of `dropout`.
    dY : ndarray of shape (K, b, ...)
        Gradient by the outputs.

    Returns
    -------
    ndarray of shape (K, b)
        Gradient by the rates.
    """
    axes = tuple(range(2, dY.ndim))
    return (dY * cache.Y * cache.inverse).sum(axis=axes)
