# SPDX-License-Identifier: BSD-3-Clause
"""Kumaraswamy input warping: a learned monotone map of each unit interval.

Notation
--------
u       (n, d)  points in the unit cube
a, b    (d,)    positive exponents; a = b = 1 is the identity
z       (n, d)  warped points, z = 1 - (1 - u^a)^b

Snoek, Swersky, Zemel and Adams, Input Warping for Bayesian Optimization of
Non-stationary Functions (2014), section 3, with the closed-form distribution in
place of the beta distribution.
"""

import numpy as np

from accsmbo.surrogates._base import FloatArray

__all__ = ["warp", "warp_gradient"]

# Both powers have an infinite derivative at an end of the interval for exponents
# below one; points are kept this far inside, far less than any cell is wide.
MARGIN = 1e-6


def _inside(u: FloatArray) -> FloatArray:
    return MARGIN + (1.0 - 2.0 * MARGIN) * u


def warp(u: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the warped points z, shape (n, d)."""
    return 1.0 - (1.0 - _inside(u) ** a) ** b


def warp_gradient(
    u: FloatArray, a: FloatArray, b: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return z, dz/du, dz/dlog a and dz/dlog b, each of shape (n, d)."""
    v = _inside(u)
    power = v**a
    rest = 1.0 - power
    survival = rest**b
    outer = b * survival / rest
    by_u = outer * a * power / v * (1.0 - 2.0 * MARGIN)
    by_log_a = outer * power * np.log(v) * a
    by_log_b = -survival * np.log(rest) * b
    return 1.0 - survival, by_u, by_log_a, by_log_b
