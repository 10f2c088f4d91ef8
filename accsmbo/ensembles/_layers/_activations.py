# SPDX-License-Identifier: BSD-3-Clause
"""Stages of a network without parameters: ReLU, max-pooling, flattening.

Each is a pair of functions: the forward one returns its cache as well. Arrays have
the member axis first and the example axis second.
"""

import numpy as np


def relu(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return max(X, 0), computed in place, and the result again as the cache."""
    np.maximum(X, 0.0, out=X)
    return X, X


def relu_backward(cache: np.ndarray, dY: np.ndarray) -> np.ndarray:
    """Return the gradient by the inputs of `relu`, computed in place."""
    dY *= cache > 0.0
    return dY


def max_pool(
    X: np.ndarray,
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return the maxima of 2 x 2 blocks; an odd last row or column is left out.

    Parameters
    ----------
    X : ndarray of shape (K, b, h, w, c)
        Images, channels last.

    Returns
    -------
    Y : ndarray of shape (K, b, h // 2, w // 2, c)
        Maxima.
    cache : tuple of ndarray
        Inputs and maxima.
    """
    corners = _corners(X)
    Y = np.maximum(corners[0], corners[1])
    for corner in corners[2:]:
        np.maximum(Y, corner, out=Y)
    return Y, (X, Y)


def max_pool_backward(
    cache: tuple[np.ndarray, np.ndarray], dY: np.ndarray
) -> np.ndarray:
    """Return the gradient by the inputs of `max_pool`: all to the first maximum.

    It is written over the inputs, which may not be needed by anything else.
    """
    X, Y = cache
    free = np.ones(Y.shape, dtype=bool)
    for corner in _corners(X):
        chosen = corner == Y
        chosen &= free
        free ^= chosen
        np.multiply(dY, chosen, out=corner)
    X[:, :, X.shape[2] // 2 * 2 :] = 0.0
    X[:, :, :, X.shape[3] // 2 * 2 :] = 0.0
    return X


def _corners(X: np.ndarray) -> list[np.ndarray]:
    height, width = X.shape[2] // 2 * 2, X.shape[3] // 2 * 2
    return [X[:, :, i:height:2, j:width:2] for i, j in ((0, 0), (0, 1), (1, 0), (1, 1))]


def flatten(X: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return one row per member and example, and the former shape as the cache."""
    return X.reshape(*X.shape[:2], -1), X.shape


def flatten_backward(cache: tuple[int, ...], dY: np.ndarray) -> np.ndarray:
    """Return the gradient by the inputs of `flatten`."""
    return dY.reshape(cache)
