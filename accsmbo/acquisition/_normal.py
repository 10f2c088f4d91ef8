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
SQRT_HALF_PI = np.sqrt(0.5 * np.pi)
SQRT_HALF = np.sqrt(0.5)
# Below DIRECT the two terms of h cancel; below SERIES so does 1 - |z| Phi/phi,
# and the first terms of its asymptotic series are exact to 1e-13.
DIRECT = -1.0
SERIES = -100.0


def log_phi(z: FloatArray) -> FloatArray:
    """Return the logarithm of the standard normal density."""
    return np.asarray(-0.5 * z**2 - LOG_SQRT_2PI)


def log_h(z: FloatArray) -> FloatArray:
    """Return log(phi(z) + z Phi(z)) for any finite z."""
    h = np.exp(log_phi(z)) + z * ndtr(z)
    near = z > DIRECT
    if near.all():
        return np.log(h)
    x = -np.clip(z, SERIES, DIRECT)
    rest = np.log1p(-SQRT_HALF_PI * x * erfcx(x * SQRT_HALF))
    if z.min() < SERIES:
        w = 1.0 / np.minimum(z, SERIES) ** 2
        far = np.log(w) + np.log1p(w * (-3.0 + w * (15.0 - 105.0 * w)))
        rest = np.where(z > SERIES, rest, far)
    return np.where(near, np.log(np.where(near, h, 1.0)), log_phi(z) + rest)
