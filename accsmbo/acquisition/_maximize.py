# SPDX-License-Identifier: BSD-3-Clause
"""Maximise an acquisition function over a mixed space.

Notation
--------
d               dimensions of the subspace
seen    (n, d)  canonical points that must not be proposed again
starts  (k, d)  good points known beforehand, for local candidates
C       (m, d)  candidates, canonical
a       (m,)    acquisition values, larger is better

Three stages: many candidates in one vectorised pass; from the best few BFGS on
the continuous dimensions, all starts in one vectorised call a step; neighbour moves
on the discrete dimensions. Every point that was scored may be returned.
"""

from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from accsmbo._validation import check_is
from accsmbo.acquisition._base import AcquisitionFunction
from accsmbo.space import Subspace
from accsmbo.surrogates._bfgs import minimize_bfgs

__all__ = ["maximize_acquisition"]

FloatArray = NDArray[np.float64]
Score = Callable[[FloatArray], FloatArray]

# Finite spaces up to this size are enumerated.
MAX_ENUMERATED = 1000
# Discrete dimensions with up to so many levels are searched through all of them;
# of more unordered choices so many are drawn.
MAX_SWEPT = 16
# Steps in cells along discrete dimensions with more levels.
STEPS = np.array([-16, -8, -4, -2, -1, 1, 2, 4, 8, 16])
# With more levels than this the steps are in the unit interval, then snapped.
MAX_AXIS = 1000
FAR_STEPS = np.array([-0.1, -0.03, -0.01, -0.001, 0.001, 0.01, 0.03, 0.1])
# Coordinates closer than this are the same point.
SAME = 1e-9
# Candidates so close to a pending point would tell next to nothing new.
PENDING_RADIUS = 0.02

# What messages offer.
ACQUISITION = "an acquisition function such as ExpectedImprovement()"


def maximize_acquisition(
    acquisition: AcquisitionFunction,
    subspace: Subspace,
    *,
    surrogate: Any,
    best: float,
    seen: FloatArray,
    pending: FloatArray | None = None,
    starts: FloatArray | None = None,
    rng: np.random.Generator | None = None,
    n_points: int = 1,
    n_random: int = 400,
    n_local: int = 200,
    n_refined: int = 4,
    max_iter: int = 12,
) -> FloatArray:
    """Return the points with the largest acquisition values found.

    Parameters
    ----------
    acquisition : AcquisitionFunction
        What to maximise.
    subspace : Subspace
        Where; its `categorical`, `levels`, `snap` and `grid_coordinates` are used.
    surrogate : Surrogate
        Fitted surrogate.
    best : float
        Loss to improve on, in the units of the surrogate.
    seen : ndarray of shape (n, d)
        Canonical points evaluated; never returned.
    pending : ndarray of shape (p, d), optional
        Canonical points being evaluated; never returned, nor is a neighbour within
        0.02 in every coordinate while there are other candidates.
    starts : ndarray of shape (k, d), optional
        Points around which local candidates are drawn.
    rng : Generator, optional
        Source of the candidates; None: a fixed one.
    n_points : int, default=1
        How many points to return.
    n_random, n_local : int
        Numbers of candidates.
    n_refined : int, default=4
        How many candidates are refined; 0: none.
    max_iter : int, default=12
        Evaluations of the gradient in the refinement.

    Returns
    -------
    ndarray of shape (at most n_points, d)
        Distinct canonical points, the best first; fewer, or none, where the space
        has no more that were not seen.
    """
    check_is("acquisition", acquisition, AcquisitionFunction, ACQUISITION)
    check_is("subspace", subspace, Subspace, "one of Space(...).subspaces")
    check_is("rng", rng, (np.random.Generator, NoneType), "a Generator or None")
    rng = np.random.default_rng(0) if rng is None else rng

    def score(U: FloatArray) -> FloatArray:
        a = acquisition.evaluate(surrogate, U, best)
        return np.where(np.isnan(a), -np.inf, a)

    P = seen[:0] if pending is None else pending
    known = np.vstack([seen, P])
    if subspace.size <= MAX_ENUMERATED:
        C = _all_points(subspace)
        C = C[~_is_near(C, known, SAME)]
        return _top(C, score(C) if len(C) else np.zeros(0), n_points)

    def is_new(C: FloatArray) -> NDArray[np.bool_]:
        return ~(_is_near(C, known, SAME) | _is_near(C, P, PENDING_RADIUS))

    C = _candidates(subspace, starts, rng, n_random, n_local)
    new = is_new(C)
    C = C[new if new.any() else ~_is_near(C, known, SAME)]
    if len(C) == 0:
        return C
    a = score(C)
    if n_refined:
        refine = _Refinement(
            acquisition, subspace, surrogate, best, score, max_iter, rng
        )
        better, values = refine(_top(C, a, n_refined))
        fresh = is_new(better)
        C, a = np.vstack([C, better[fresh]]), np.concatenate([a, values[fresh]])
    return _top(C, a, n_points)


def _all_points(subspace: Subspace) -> FloatArray:
    axes = [subspace.grid_coordinates(j) for j in range(subspace.n_dims)]
    grids = np.meshgrid(*axes, indexing="ij")
    return np.stack([g.ravel() for g in grids], axis=1)


def _is_near(C: FloatArray, others: FloatArray, radius: float) -> NDArray[np.bool_]:
    """Return which candidates lie within a radius of others in every coordinate."""
    if len(others) == 0 or len(C) == 0:
        return np.zeros(len(C), bool)
    return np.asarray(cdist(C, others, "chebyshev").min(axis=1) < radius)


def _top(C: FloatArray, a: FloatArray, k: int) -> FloatArray:
    """Return the k best distinct rows, the best first."""
    chosen: list[int] = []
    for i in np.argsort(-a, kind="stable"):
        if not chosen or np.abs(C[chosen] - C[i]).max(axis=1).min() > SAME:
            chosen.append(int(i))
        if len(chosen) == k:
            break
    return C[chosen]


def _candidates(
    subspace: Subspace,
    starts: FloatArray | None,
    rng: np.random.Generator,
    n_random: int,
    n_local: int,
) -> FloatArray:
    """Return canonical candidates: uniform ones, and some around the starts."""
    C = rng.random((n_random, subspace.n_dims))
    if starts is not None and len(starts):
        local = perturbed(subspace, starts, rng, n_local, (0.01, 0.3))
        C = np.vstack([C, local])
    return subspace.snap(C)


def perturbed(
    subspace: Subspace,
    starts: FloatArray,
    rng: np.random.Generator,
    n: int,
    sigmas: tuple[float, float],
) -> FloatArray:
    """Return n points around the starts, with few coordinates moved at a time.

    Each coordinate moves with probability max(1.5 / d, 0.35), at least one does;
    numbers by a normal step, one scale drawn log-uniformly for each point, reflected
    at the bounds; categories are drawn anew.
    """
    d = subspace.n_dims
    C = starts[rng.integers(len(starts), size=n)]
    moved = rng.random((n, d)) < max(1.5 / d, 0.35)
    moved[np.arange(n), rng.integers(d, size=n)] = True
    low, high = np.log(sigmas)
    scale = np.exp(rng.uniform(float(low), float(high), size=(n, 1)))
    stepped = np.abs(C + scale * rng.standard_normal((n, d))) % 2.0
    stepped = np.minimum(stepped, 2.0 - stepped)
    stepped = np.where(subspace.categorical, rng.random((n, d)), stepped)
    return np.where(moved, stepped, C)


class _Refinement:
    """Gradient steps on continuous, neighbour moves on discrete dimensions."""

    def __init__(
        self,
        acquisition: AcquisitionFunction,
        subspace: Subspace,
        surrogate: Any,
        best: float,
        score: Score,
        max_iter: int,
        rng: np.random.Generator,
    ) -> None:
        self.acquisition = acquisition
        self.subspace = subspace
        self.surrogate = surrogate
        self.best = best
        self.score = score
        self.max_iter = max_iter
        self.rng = rng
        self.continuous = np.flatnonzero(subspace.levels == 0)
        self.discrete = np.flatnonzero(subspace.levels != 0)

    def __call__(self, C: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return refined points and their values."""
        if len(self.discrete):
            C = self.subspace.snap(self._neighbours(C))
        if len(self.continuous):
            C = self._climb(C)
        return C, self.score(C)

    def _climb(self, C: FloatArray) -> FloatArray:
        """Move each point to a local maximum along the continuous dimensions."""

        def negated(x: FloatArray) -> tuple[FloatArray, FloatArray]:
            U = C.copy()
            U[:, self.continuous] = x
            a, gradient = self.acquisition.evaluate_with_gradient(
                self.surrogate, U, self.best
            )
            return -a, -gradient[:, self.continuous]

        d = len(self.continuous)
        x, _ = minimize_bfgs(
            negated,
            C[:, self.continuous],
            np.zeros(d),
            np.ones(d),
            max_calls=self.max_iter,
            max_step=0.2,
        )
        refined = C.copy()
        refined[:, self.continuous] = x
        return refined

    def _neighbours(self, C: FloatArray) -> FloatArray:
        """Move each point to the best of its discrete neighbours, once."""
        blocks = [self._moves(u) for u in C]
        ends = np.cumsum([len(block) for block in blocks])
        parts = np.split(self.score(np.vstack(blocks)), ends[:-1])
        best = [block[np.argmax(a)] for block, a in zip(blocks, parts, strict=True)]
        return np.stack(best)

    def _moves(self, u: FloatArray) -> FloatArray:
        """Return u and points that differ from it in one discrete coordinate."""
        columns = [self._levels(int(j), u[j]) for j in self.discrete]
        moves: FloatArray = np.tile(u, (1 + sum(len(c) for c in columns), 1))
        row = 1
        for j, column in zip(self.discrete, columns, strict=True):
            moves[row : row + len(column), j] = column
            row += len(column)
        return moves

    def _levels(self, j: int, here: float) -> FloatArray:
        """Return the coordinates to try in one discrete dimension."""
        n_levels = int(self.subspace.levels[j])
        if n_levels > MAX_AXIS:
            near = np.clip(here + FAR_STEPS, 0.0, 1.0)
            return near if not self.subspace.categorical[j] else self.rng.random(16)
        axis = self.subspace.grid_coordinates(j)
        if n_levels <= MAX_SWEPT:
            return axis
        if self.subspace.categorical[j]:
            return self.rng.choice(axis, size=MAX_SWEPT, replace=False)
        index = int(np.argmin(np.abs(axis - here)))
        near = np.unique(np.clip(index + STEPS, 0, n_levels - 1))
        return np.asarray(axis[near])
