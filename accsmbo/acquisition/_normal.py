# SPDX-License-Identifier: BSD-3-Clause
"""Logarithms of normal quantities that stay exact in the far tail.

Notation
--------
z       (m,)    standardised improvement
h(z)            phi(z) + z Phi(z), so that EI = std h(z)

log h follows Ament, Daulton, Eriksson, Balandat and Bakshy, Unexpected Improvements
to Expected Improvement (2023), eq. 9.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

__all__ = ["log_h", "log_phi"]

FloatArray = NDArray[np.float64]

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
# Below DIRECT the two terms of h cancel; below SERIES so does 1 - |z| Phi/phi,
# and the first terms of its asymptotic series are exact to 1e-13.
DIRECT = -1.0
SERIES = -100.0


def log_phi(z: FloatArray) -> FloatArray:
    """Return the logarithm of the standard normal density."""
    return -0.5 * z**2 - LOG_SQRT_2PI


def log_h(z: FloatArray) -> FloatArray:
    """Return log(phi(z) + z Phi(z)) for any finite z."""
    near = np.maximum(z, DIRECT)
    direct = np.log(np.exp(log_phi(near)) + near * ndtr(near))
    x = -np.clip(z, SERIES, DIRECT)
    middle = np.log1p(-x * np.sqrt(np.pi / 2.0) * erfcx(x / np.sqrt(2.0)))
    w = 1.0 / np.minimum(z, SERIES) ** 2
    far = np.log(w) + np.log1p(w * (-3.0 + w * (15.0 - 105.0 * w)))
    tail = log_phi(z) + np.where(z > SERIES, middle, far)
    return np.where(z > DIRECT, direct, tail)
