# SPDX-License-Identifier: BSD-3-Clause
"""Sobol indices: which share of a function's variance each coordinate explains.

Notation
--------
A, B    (n, d)  two independent uniform samples of the unit cube
AB_j    (n, d)  A with column j taken from B
f0              mean of f; V its variance, both over A and B together
V_j             mean of f(B) (f(AB_j) - f(A))          Saltelli et al. (2010), table 2 b
T_j             mean of (f(A) - f(AB_j))^2 / 2                             table 2 f
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

__all__ = ["SobolIndices", "sobol_indices"]

FloatArray = NDArray[np.float64]

# Independent scramblings of the points; their scatter is the standard error.
N_REPLICATES = 8
FIRST_SIZE = 128


@dataclass(frozen=True, eq=False)
class SobolIndices:
    """Variance of a function on the unit cube, and its shares.

    The importance of hyperparameters, if the function is the mean of a surrogate: where
    ``first_order`` is large, the parameter can be tuned by itself; where ``total`` is
    large and ``first_order`` small, only together with others; where ``total`` is near
    zero, it does not matter in this range. First-order shares add up to at most one,
    total ones to at least one. Estimates near zero may be slightly negative.

    Attributes
    ----------
    mean, variance : float
        Of the function, for a uniform point.
    first_order : ndarray of shape (n_dims,)
        Share of the variance that a coordinate explains alone.
    total : ndarray of shape (n_dims,)
        Share that is left when all other coordinates are known: alone and in
        interactions.
    first_order_error, total_error : ndarray of shape (n_dims,)
        Standard errors of the estimates.
    n_evaluations : int
        How often the function was evaluated.

    See Also
    --------
    sobol_indices : Computes them.
    accsmbo.plotting.ParameterImportanceDisplay : Shows them for a search.

    Notes
    -----
    With V the variance of f at a uniform point u, the shares of coordinate j are
    ``Var(E[f | u_j]) / V`` and ``E[Var(f | u_i, i != j)] / V`` [1]_.

    References
    ----------
    .. [1] A. Saltelli et al., Variance Based Sensitivity Analysis of Model Output:
       Design and Estimator for the Total Sensitivity Index, 2010.

    Examples
    --------
    Neither coordinate explains anything alone, and together they explain all:

    >>> from accsmbo.surrogates import sobol_indices
    >>> indices = sobol_indices(lambda U: (U[:, 0] - 0.5) * (U[:, 1] - 0.5), 2)
    >>> (indices.first_order < 0.05).tolist(), (indices.total > 0.95).tolist()
    ([True, True], [True, True])
    """

    mean: float
    variance: float
    first_order: FloatArray
    total: FloatArray
    first_order_error: FloatArray
    total_error: FloatArray
    n_evaluations: int


def sobol_indices(
    function: Callable[[FloatArray], FloatArray],
    n_dims: int,
    *,
    tolerance: float = 0.01,
    max_evaluations: int = 1 << 18,
    random_state: int = 0,
) -> SobolIndices:
    """Estimate first-order and total Sobol indices on the unit cube.

    The functional analysis of variance splits the variance of a function of independent
    uniform coordinates into a share for each set of them. The estimates are means over
    eight scrambled Sobol sequences, whose length is doubled until every standard error
    is at most ``tolerance`` or the evaluations are used up. The same seed gives the
    same result.

    Parameters
    ----------
    function : callable
        Takes an ndarray of shape (n, n_dims) with coordinates in [0, 1] and returns one
        of shape (n,).
    n_dims : int
        Number of coordinates, at least 1.
    tolerance : float, default=0.01
        Largest standard error of an index, as a share of the variance.
    max_evaluations : int, default=262144
        Bound on the evaluations of the function; at least one round is made.
    random_state : int, default=0
        Seed of the scrambling.

    Returns
    -------
    SobolIndices
        Indices and standard errors; zeros for a constant function.

    Raises
    ------
    ValueError
        If ``n_dims`` is less than 1 or the function returns anything but n finite
        values.

    References
    ----------
    .. [1] I. M. Sobol, Sensitivity Estimates for Nonlinear Mathematical Models, 1993.
    .. [2] A. Saltelli et al., Variance Based Sensitivity Analysis of Model Output:
       Design and Estimator for the Total Sensitivity Index, 2010, table 2.
    .. [3] F. Hutter, H. Hoos and K. Leyton-Brown, An Efficient Approach for Assessing
       Hyperparameter Importance, ICML 2014.

    Examples
    --------
    >>> from accsmbo.surrogates import sobol_indices
    >>> indices = sobol_indices(lambda U: 2 * U[:, 0] + U[:, 1], 2)
    >>> indices.first_order.round(2).tolist()
    [0.8, 0.2]
    """
    if n_dims < 1:
        raise ValueError(f"n_dims must be at least 1, got {n_dims}. Add a coordinate.")
    rng = np.random.default_rng(random_state)
    samplers = [
        qmc.Sobol(2 * n_dims, scramble=True, seed=rng) for _ in range(N_REPLICATES)
    ]
    sums = [_Sums(n_dims) for _ in samplers]
    size, used = FIRST_SIZE, 0
    while True:
        for sampler, total in zip(samplers, sums, strict=True):
            total.add(function, sampler.random(size))
        used = sum(total.n for total in sums) * (n_dims + 2)
        result = _combine(sums, used)
        worst = max(result.first_order_error.max(), result.total_error.max())
        # A sequence keeps its balance where its length is doubled.
        size = sums[0].n
        if worst <= tolerance or 2 * used > max_evaluations:
            return result


class _Sums:
    """Running sums of one replicate; f is centred by the mean of its first points."""

    def __init__(self, n_dims: int) -> None:
        self.n = 0
        self.centre = 0.0
        self.values = np.zeros(2)
        self.first, self.total = np.zeros(n_dims), np.zeros(n_dims)

    def add(
        self, function: Callable[[FloatArray], FloatArray], points: FloatArray
    ) -> None:
        n, d = len(points), len(self.first)
        A, B = points[:, :d], points[:, d:]
        fA, fB = _checked(function(A), n), _checked(function(B), n)
        if self.n == 0:
            self.centre = float(np.mean([fA, fB]))
        fA, fB = fA - self.centre, fB - self.centre
        self.values += np.sum([fA + fB, fA**2 + fB**2], axis=1)
        for j in range(d):
            AB = A.copy()
            AB[:, j] = B[:, j]
            fAB = _checked(function(AB), n) - self.centre
            self.first[j] += fB @ (fAB - fA)
            self.total[j] += 0.5 * np.sum((fA - fAB) ** 2)
        self.n += n

    def moments(self) -> tuple[float, float]:
        """Return mean and variance of the function."""
        mean, square = self.values / (2 * self.n)
        return self.centre + float(mean), max(float(square - mean**2), 0.0)


def _checked(values: FloatArray, n: int) -> FloatArray:
    if np.shape(values) != (n,) or not np.isfinite(values).all():
        raise ValueError(
            f"function must return {n} finite values for {n} points, got an array of "
            f"shape {np.shape(values)} in which {np.sum(~np.isfinite(values))} are "
            "not finite."
        )
    return np.asarray(values, dtype=float)


def _combine(sums: list[_Sums], n_evaluations: int) -> SobolIndices:
    means, variances = np.transpose([total.moments() for total in sums])
    # The scatter of the replicates' means is a part of the variance.
    variance = float(variances.mean() + means.var())
    scale = np.finfo(float).eps * float(np.abs(means).max())
    if variance <= scale**2:
        zeros = np.zeros(len(sums[0].first))
        return SobolIndices(
            float(means.mean()), 0.0, zeros, zeros, zeros, zeros, n_evaluations
        )
    first, first_error = _ratio([s.first / s.n for s in sums], variances, variance)
    total, total_error = _ratio([s.total / s.n for s in sums], variances, variance)
    return SobolIndices(
        float(means.mean()),
        variance,
        first,
        total,
        first_error,
        total_error,
        n_evaluations,
    )


def _ratio(
    shares: list[FloatArray], variances: FloatArray, variance: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ratio of means and its linearised standard error."""
    ratio = np.mean(shares, axis=0) / variance
    residuals = (np.array(shares) - variances[:, None] * ratio) / variance
    error = residuals.std(axis=0, ddof=1) / np.sqrt(len(shares))
    return np.asarray(ratio), np.asarray(error)
