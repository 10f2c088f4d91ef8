# SPDX-License-Identifier: BSD-3-Clause
"""Covariance of a quadratic polynomial with random coefficients.

Notation
--------
Z, V    (n, d), (m, d)  points after warping
x, y                    their ordered coordinates, centred and scaled to mean square 1:
                        x = (2 z - 1) sqrt(3 / d); categories take no part
p       (n, m)          (1 + x.y)^2 - 1 = 2 x.y + (x.y)^2

Losses over log-scaled hyperparameters are often bowls and slanted valleys. A kernel
with one length scale an axis learns a slanted valley only point by point; the cross
terms of a quadratic know it from a few.
"""

import numpy as np

from accsmbo.surrogates._base import BoolArray, FloatArray

__all__ = ["polynomial", "polynomial_diagonal", "polynomial_gradient"]


def _centred(Z: FloatArray, categorical: BoolArray) -> tuple[FloatArray, float]:
    n_ordered = int(np.count_nonzero(~categorical))
    scale = float(np.sqrt(3.0 / max(1, n_ordered)))
    X = (2.0 * Z - 1.0) * scale
    X[:, categorical] = 0.0
    return X, 2.0 * scale


def polynomial(Z: FloatArray, V: FloatArray, categorical: BoolArray) -> FloatArray:
    """Return p, shape (n, m)."""
    X, _ = _centred(Z, categorical)
    Y, _ = _centred(V, categorical)
    dot = X @ Y.T
    return dot * (2.0 + dot)


def polynomial_gradient(
    Z: FloatArray,
    weights: FloatArray,
    categorical: BoolArray,
    V: FloatArray | None = None,
) -> FloatArray:
    """Return sum_j weights_ij dp_ij/dz_i, shape (n, d); V is Z where not given."""
    X, by_z = _centred(Z, categorical)
    Y = X if V is None else _centred(V, categorical)[0]
    gradient = (weights * (2.0 + 2.0 * (X @ Y.T))) @ Y
    return gradient * by_z


def polynomial_diagonal(Z: FloatArray, categorical: BoolArray) -> FloatArray:
    """Return p of each point with itself, shape (n,)."""
    X, _ = _centred(Z, categorical)
    square = (X * X).sum(axis=1)
    return np.asarray(square * (2.0 + square))
