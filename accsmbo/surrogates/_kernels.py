# SPDX-License-Identifier: BSD-3-Clause
"""Stationary kernels as functions of a squared scaled distance.

Notation
--------
Z, V    (n, d), (m, d)  points after warping; categories as their coordinates
l       (d,)            length scales
s       (n, m)          squared scaled distance, sum_j D_j / l_j^2 with
                        D_j = (z_j - v_j)^2, or [z_j != v_j] for a category
k       (n, m)          kernel of unit variance, k(0) = 1
slope   (n, m)          dk / ds

Every kernel here has a finite slope at s = 0, so that nothing need be
special-cased for repeated points. Matern: Rasmussen and Williams (2006), eq. 4.17.
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator

from accsmbo.surrogates._base import BoolArray, FloatArray

__all__ = ["RBF", "Kernel", "Matern32", "Matern52", "MaternSum", "scaled_distance"]

SQRT3 = np.sqrt(3.0)
SQRT5 = np.sqrt(5.0)


class Kernel(BaseEstimator):
    """Base of the kernels; a subclass is a value and a slope.

    A kernel says how alike the losses of two points are, as a function of s, their
    squared distance with each coordinate divided by its length scale. Length scales,
    variance and unordered choices are the surrogate's business: a kernel has variance
    one, ``k(0) = 1``. The slope ``dk/ds`` must be finite at ``s = 0``, since every
    point is compared with itself; the exponential kernel (Matern with nu = 1/2) is
    thereby ruled out.

    See Also
    --------
    Matern52 : The default of :class:`GaussianProcess`.
    MultiKernelGaussianProcess : Takes several of them.

    Notes
    -----
    With ``s = sum_j (z_j - v_j)^2 / l_j^2``, the slope gives all derivatives that the
    surrogates need: ``dk/dz_j = 2 (dk/ds) (z_j - v_j) / l_j^2`` and
    ``dk/dlog l_j = -2 (dk/ds) (z_j - v_j)^2 / l_j^2``.

    Examples
    --------
    The rational quadratic kernel of Rasmussen and Williams (2006), equation 4.19:

    >>> import numpy as np
    >>> from accsmbo.surrogates import GaussianProcess, Kernel
    >>> class RationalQuadratic(Kernel):
    ...     def value_and_slope(self, s):
    ...         k = 1 / (1 + s / 2)
    ...         return k, -(k**2) / 2
    >>> U = np.linspace(0, 1, 8)[:, None]
    >>> gp = GaussianProcess(RationalQuadratic()).fit(U, np.sin(6 * U[:, 0]))
    >>> bool(abs(gp.predict([[0.5]])[0][0] - np.sin(3)) < 0.01)
    True
    """

    def value(self, s: FloatArray) -> FloatArray:
        """Return k(s), elementwise."""
        return self.value_and_slope(s)[0]

    def value_and_slope(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(s) and dk/ds, elementwise."""
        raise NotImplementedError


class Matern52(Kernel):
    """Matern kernel with nu = 5/2: twice differentiable samples.

    Losses of hyperparameters are smooth on the whole, and rarely as smooth as the
    Gaussian kernel supposes, which then is too sure of itself between the points. This
    is the middle of the road and the default of :class:`GaussianProcess`.

    See Also
    --------
    Matern32 : Rougher.
    RBF : Smoother.

    Notes
    -----
    ``k(s) = (1 + r + r^2/3) exp(-r)`` with ``r = sqrt(5 s)`` ([1]_, equation 4.17).

    References
    ----------
    .. [1] C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine
       Learning, MIT Press, 2006.

    Examples
    --------
    What scikit-learn's kernel of points is, as a function of s:

    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from accsmbo.surrogates import Matern52
    >>> U = np.array([[0.0], [0.3], [1.0]])
    >>> s = (U - U.T) ** 2 / 0.5**2
    >>> np.allclose(Matern52().value(s), Matern(0.5, nu=2.5)(U))
    True
    """

    def value(self, s: FloatArray) -> FloatArray:
        """Return k(s), elementwise, without the passes that the slope takes."""
        r = np.sqrt(s)
        r *= -SQRT5
        k = np.exp(r)
        np.subtract(1.0, r, out=r)
        r += (5.0 / 3.0) * s
        k *= r
        return np.asarray(k)

    def value_and_slope(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(s) and dk/ds, elementwise."""
        r = np.sqrt(s)
        r *= SQRT5
        decay = np.exp(-r)
        r += 1.0
        slope = r * decay
        slope *= -5.0 / 6.0
        decay *= r + (5.0 / 3.0) * s
        return decay, slope


class Matern32(Kernel):
    """Matern kernel with nu = 3/2: once differentiable samples.

    For losses with kinks or of bounded smoothness, such as the accuracy of a small
    validation set: it trusts a point's surroundings less than :class:`Matern52` does,
    and its uncertainty grows faster away from the data.

    See Also
    --------
    Matern52 : Smoother, the default.
    MaternSum : Both at once.

    Notes
    -----
    ``k(s) = (1 + r) exp(-r)`` with ``r = sqrt(3 s)`` ([1]_, equation 4.17).

    References
    ----------
    .. [1] C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine
       Learning, MIT Press, 2006.

    Examples
    --------
    A loss with a kink is likelier under it than under the Gaussian kernel:

    >>> import numpy as np
    >>> from accsmbo.surrogates import RBF, GaussianProcess, Matern32
    >>> U = np.linspace(0, 1, 20)[:, None]
    >>> y = abs(U[:, 0] - 0.43)
    >>> rough, smooth = (GaussianProcess(k).fit(U, y) for k in (Matern32(), RBF()))
    >>> rough.log_likelihood_ > smooth.log_likelihood_
    True
    """

    def value_and_slope(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(s) and dk/ds, elementwise."""
        r = SQRT3 * np.sqrt(s)
        decay = np.exp(-r)
        return (1.0 + r) * decay, -1.5 * decay


class RBF(Kernel):
    """Gaussian kernel exp(-s/2): infinitely differentiable samples.

    For smooth losses, such as a log loss by the penalty of a linear model, where it
    needs the fewest points. With gradients it is the kernel of
    :class:`DerivativeGaussianProcess`, and the first of
    :class:`MultiKernelGaussianProcess`; for values alone a Matern kernel is safer.

    See Also
    --------
    Matern52 : Supposes less smoothness.
    Cubic : Its partner in one dimension.

    Notes
    -----
    Equation 4.9 of [1]_ with ``s = r^2 / l^2``.

    References
    ----------
    .. [1] C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine
       Learning, MIT Press, 2006.

    Examples
    --------
    A smooth loss is predicted better than with the default:

    >>> import numpy as np
    >>> from accsmbo.surrogates import RBF, GaussianProcess
    >>> U, V = np.linspace(0, 1, 12)[:, None], np.linspace(0, 1, 101)[:, None]
    >>> y, truth = np.sin(6 * U[:, 0]), np.sin(6 * V[:, 0])
    >>> models = GaussianProcess(RBF()).fit(U, y), GaussianProcess().fit(U, y)
    >>> errors = [float(abs(gp.predict(V)[0] - truth).max()) for gp in models]
    >>> errors[0] < 0.2 * errors[1]
    True
    """

    def value_and_slope(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(s) and dk/ds, elementwise."""
        decay = np.exp(-0.5 * s)
        return decay, -0.5 * decay


class MaternSum(Kernel):
    """A smooth Matern-5/2 trend plus a rougher, shorter Matern-3/2 part.

    For losses that have a broad valley and, on a finer scale, ups and downs of their
    own. A single smooth kernel either takes the fine structure for noise or shortens
    its length scale until the valley is lost. The two lengths keep a fixed ratio, so
    that there is no hyperparameter more to learn.

    Parameters
    ----------
    rough : float, default=0.3
        Share of the variance in the Matern-3/2 part, in [0, 1].
    ratio : float, default=3.0
        How many times shorter its length scales are.

    See Also
    --------
    Matern52 : The trend.
    Matern32 : The rough part.

    Notes
    -----
    ``k(s) = (1 - rough) k_5/2(s) + rough k_3/2(ratio^2 s)``.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.surrogates import GaussianProcess, MaternSum
    >>> U, V = np.linspace(0, 1, 20)[:, None], np.linspace(0, 1, 101)[:, None]
    >>> def loss(u):
    ...     return np.sin(5 * u[:, 0]) + 0.1 * np.sin(40 * u[:, 0])
    >>> models = [GaussianProcess(k).fit(U, loss(U)) for k in (MaternSum(), None)]
    >>> errors = [float(abs(gp.predict(V)[0] - loss(V)).max()) for gp in models]
    >>> errors[0] < 0.5 * errors[1]
    True
    """

    def __init__(self, rough: float = 0.3, ratio: float = 3.0) -> None:
        self.rough = rough
        self.ratio = ratio

    def value_and_slope(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return k(s) and dk/ds, elementwise."""
        k, slope = Matern52().value_and_slope(s)
        k_rough, slope_rough = Matern32().value_and_slope(self.ratio**2 * s)
        smooth = 1.0 - self.rough
        return (
            smooth * k + self.rough * k_rough,
            smooth * slope + self.rough * self.ratio**2 * slope_rough,
        )


def scaled_distance(
    Z: FloatArray, V: FloatArray, length_scales: FloatArray, categorical: BoolArray
) -> FloatArray:
    """Return s, the squared scaled distances of shape (n, m).

    Unordered choices count 1 where they differ (overlap or Hamming distance), so
    that no order of the choices is assumed.
    """
    if not categorical.any():
        return cdist(Z / length_scales, V / length_scales, "sqeuclidean")
    ordered = ~categorical
    scales = length_scales[ordered]
    s = cdist(Z[:, ordered] / scales, V[:, ordered] / scales, "sqeuclidean")
    for j in np.flatnonzero(categorical):
        s += (Z[:, j, None] != V[None, :, j]) / length_scales[j] ** 2
    return s
