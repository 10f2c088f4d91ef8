# SPDX-License-Identifier: BSD-3-Clause
"""Cubic radial basis function, the second kernel of the paper's Algorithm 5.

Notation
--------
s       (n, m)  squared scaled distance
k = s^(3/2)     only conditionally positive definite: a basis, no covariance
"""

import numpy as np

from accsmbo.surrogates._base import FloatArray
from accsmbo.surrogates._kernels import Kernel

__all__ = ["Cubic"]


class Cubic(Kernel):
    """Cubic radial basis function r^3: a basis for a mean, without a variance.

    The second kernel of the paper's Algorithm 5 in one dimension: combinations of it
    are cubic splines, which follow values and slopes without a length scale to choose.
    It is not positive definite: it cannot be the first kernel, whose matrix is
    factorised, nor the kernel of :class:`GaussianProcess`.

    See Also
    --------
    MultiKernelGaussianProcess : Where it belongs.
    RBF : The usual first kernel.

    References
    ----------
    .. [1] Using Gradient Based Multikernel Gaussian Process and Meta-Acquisition
       Function to Accelerate SMBO, ICTAI 2019, algorithm 5.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.surrogates import RBF, Cubic, MultiKernelGaussianProcess
    >>> U = np.array([[0.1], [0.5], [0.9]])
    >>> y, gradient = np.sin(6 * U[:, 0]), 6 * np.cos(6 * U)
    >>> kernels = [(RBF(), 1.0), (Cubic(), 1.0)]
    >>> gp = MultiKernelGaussianProcess(kernels, length_scale=0.25)
    >>> mean, std = gp.fit(U, y, gradient=gradient).predict([[0.3]])
    >>> bool(abs(mean[0] - np.sin(1.8)) < 0.2)
    True
    """

    def value_and_slope(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(s) and dk/ds, elementwise."""
        r = np.sqrt(s)
        return r * s, 1.5 * r
