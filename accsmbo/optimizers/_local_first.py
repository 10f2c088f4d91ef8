# SPDX-License-Identifier: BSD-3-Clause
"""Which point is improved locally, how far a step may go, and whose turn it is.

Notation
--------
U, y, G     (n, d), (n,), (n, d)    finished points, losses, gradients; NaN = unknown
descent     the points that local steps from one start led to
centre      index of the best point of the descent
radius      largest change of a coordinate
gain        predicted decrease of the loss by a step
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator

from accsmbo._validation import check_integer, check_real, check_tolerance
from accsmbo.optimizers._local_step import cubic_step, quasi_newton_step

__all__ = ["Descent", "LocalFirst", "LocalState", "Refine"]

FloatArray = NDArray[np.float64]
# Takes a point's index, a start and the bounds of a box; returns a better point of the
# box under the model and the gain over the point.
Refine = Callable[[int, FloatArray, FloatArray, FloatArray], tuple[FloatArray, float]]

# A loss is better if it falls by this share of its size.
BETTER = 1e-5
# How the radius changes after a better and after a worse loss.
GROW, SHRINK = 1.6, 0.35
# Radius of a descent from a better point that the model found.
FRESH_RADIUS = 0.1
# Points closer than this are the same.
SAME = 1e-4
# A descent from a worse point than the best ends after PATIENCE steps if so many times
# its gain does not reach the best, and after MAX_STEPS if its gain alone does not.
HOPE, PATIENCE, MAX_STEPS = 2.0, 2, 6


@dataclass
class Descent:
    """One run of local steps.

    Attributes
    ----------
    centre : int
        Index of its best point.
    radius : float
        Trust radius.
    members : set of int
        Indices of its points.
    proposed : list of ndarray
        Points it proposed; what comes back is recognised by them.
    failures : int
        Steps in a row that were not better.
    """

    centre: int
    radius: float
    members: set[int]
    proposed: list[FloatArray] = field(default_factory=list)
    failures: int = 0


@dataclass
class LocalState:
    """Progress of the local steps in one subspace.

    Attributes
    ----------
    descent : Descent or None
        The one that goes on; None before the first observation.
    finished : set of int
        Indices of the points of earlier descents.
    n_seen : int
        Observations accounted for.
    n_turns : int
        Proposals so far.
    explored : bool
        Whether the last turn was the acquisition function's.
    """

    descent: Descent | None = None
    finished: set[int] = field(default_factory=set)
    n_seen: int = 0
    n_turns: int = 0
    explored: bool = False


class LocalFirst(BaseEstimator):
    """A local step wherever gradients are known, with regular turns for the model.

    Worth more than the choice of the surrogate where gradients are exact; the turns of
    the acquisition function keep it from stalling in a local minimum and under wrong
    signs. When a descent has ended, the acquisition function takes a turn, and the next
    descent starts from the best point that lies apart from all earlier ones.

    Parameters
    ----------
    radius : float, default=0.2
        First trust radius, in the unit cube.
    max_radius : float, default=0.4
        Largest one.
    min_radius : float, default=1e-3
        Smallest one.
    first_step : float, default=0.1
        Length of a step for which no curvature is known.
    every : int, default=5
        Every so many proposals is the acquisition function's.
    patience : int, default=3
        A descent ends after so many failures in a row.
    tolerance : float, default=1e-4
        A descent ends where its predicted gain is below this share of the best loss.
    apart : float, default=0.15
        A new descent starts so far, in some coordinate, from all points of earlier
        ones.

    See Also
    --------
    AccSMBO : Uses it.

    References
    ----------
    .. [1] J. Nocedal and S. J. Wright, Numerical Optimization, 2nd ed., 2006,
       chapter 4 (trust radius).

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.optimizers import LocalFirst
    >>> from accsmbo.optimizers._local_first import LocalState
    >>> U = np.array([[0.2], [0.6]])
    >>> local, y = LocalFirst(), (U[:, 0] - 0.5) ** 2
    >>> local.propose(LocalState(), U, y, 2 * (U - 0.5)).round(3)
    array([0.5])
    """

    def __init__(
        self,
        *,
        radius: float = 0.2,
        max_radius: float = 0.4,
        min_radius: float = 1e-3,
        first_step: float = 0.1,
        every: int = 5,
        patience: int = 3,
        tolerance: float = 1e-4,
        apart: float = 0.15,
    ) -> None:
        self.radius = radius
        self.max_radius = max_radius
        self.min_radius = min_radius
        self.first_step = first_step
        self.every = every
        self.patience = patience
        self.tolerance = tolerance
        self.apart = apart

    def propose(
        self,
        state: LocalState,
        U: FloatArray,
        y: FloatArray,
        gradient: FloatArray,
        *,
        refine: Refine | None = None,
        pending: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the next local step, or None where it is the model's turn.

        Parameters
        ----------
        state : LocalState
            Updated.
        U : ndarray of shape (n, d)
            Finished points, in order of telling; at least one.
        y : ndarray of shape (n,)
            Losses.
        gradient : ndarray of shape (n, d)
            Gradients, NaN where unknown.
        refine : callable, optional
            Improves a step under the surrogate.
        pending : ndarray of shape (m, d), optional
            Points asked and not told: never proposed again.

        Returns
        -------
        ndarray of shape (d,) or None
            A point of the cube; dimensions without a gradient as in the centre.
        """
        self._check_settings()
        self._account(state, U, y)
        state.n_turns += 1
        known = U if pending is None else np.vstack([U, pending])
        proposal = None
        if state.n_turns % self.every:
            proposal = self._step(state, U, y, gradient, refine, known)
            if proposal is None and state.explored and self._restart(state, U, y):
                proposal = self._step(state, U, y, gradient, refine, known)
        state.explored = proposal is None
        if proposal is not None and state.descent is not None:
            state.descent.proposed.append(proposal)
        return proposal

    def _check_settings(self) -> None:
        check_integer("every", self.every, minimum=1)
        check_integer("patience", self.patience, minimum=1)
        check_tolerance("tolerance", self.tolerance)
        for name in ("radius", "max_radius", "min_radius", "first_step", "apart"):
            if check_real(name, getattr(self, name)) <= 0.0:
                raise ValueError(
                    f"{name} must be positive, got {getattr(self, name)!r}. Give a "
                    "share of the unit interval, for example 0.1."
                )

    def _account(self, state: LocalState, U: FloatArray, y: FloatArray) -> None:
        """Take in what was told since the last proposal."""
        if state.descent is None:
            first = int(np.argmin(y))
            state.descent = Descent(first, self.radius, {first})
            state.n_seen = len(y)
        for i in range(state.n_seen, len(y)):
            descent, best = state.descent, float(y[:i].min())
            if any(np.abs(U[i] - p).max() < SAME / 10 for p in descent.proposed):
                self._judge(descent, i, y)
            elif y[i] < best - BETTER * abs(best):
                state.finished |= descent.members
                radius = max(descent.radius, FRESH_RADIUS)
                state.descent = Descent(i, radius, {i})
        state.n_seen = len(y)

    def _judge(self, descent: Descent, i: int, y: FloatArray) -> None:
        """Move radius and centre by the result of a local step."""
        descent.members.add(i)
        centre = float(y[descent.centre])
        if y[i] < centre - BETTER * abs(centre):
            descent.centre, descent.failures = i, 0
            descent.radius = min(self.max_radius, GROW * descent.radius)
        else:
            descent.failures += 1
            descent.radius = max(self.min_radius, SHRINK * descent.radius)

    def _restart(self, state: LocalState, U: FloatArray, y: FloatArray) -> bool:
        """Begin a descent from the best point apart from all earlier ones."""
        if state.descent is not None:
            state.finished |= state.descent.members
        old = U[sorted(state.finished)]
        distance = cKDTree(old).query(U, p=np.inf)[0]
        apart = np.flatnonzero(distance > self.apart)
        if len(apart) == 0:
            return False
        start = int(apart[np.argmin(y[apart])])
        state.descent = Descent(start, self.radius, {start})
        return True

    def _step(
        self,
        state: LocalState,
        U: FloatArray,
        y: FloatArray,
        gradient: FloatArray,
        refine: Refine | None,
        known: FloatArray,
    ) -> FloatArray | None:
        """Return the next point of the descent, or None where it has ended."""
        descent = state.descent
        if descent is None or descent.failures >= self.patience:
            return None
        centre = descent.centre
        along = np.flatnonzero(~np.isnan(gradient[centre]))
        if len(along) == 0:
            return None
        step, gain = self._plain_step(descent, along, U, y, gradient)
        proposal = U[centre].copy()
        proposal[along] = np.clip(proposal[along] + step, 0.0, 1.0)
        enough = self.tolerance * abs(float(y.min()))
        if refine is not None and len(along) > 1 and len(y) > 1:
            low, high = U[centre].copy(), U[centre].copy()
            low[along] = np.maximum(low[along] - descent.radius, 0.0)
            high[along] = np.minimum(high[along] + descent.radius, 1.0)
            refined, refined_gain = refine(centre, proposal, low, high)
            if refined_gain > enough:
                proposal, gain = refined, refined_gain
        if gain < enough or self._hopeless(descent, gain, y):
            return None
        return None if np.abs(known - proposal).max(axis=1).min() < SAME else proposal

    def _plain_step(
        self,
        descent: Descent,
        along: NDArray[np.intp],
        U: FloatArray,
        y: FloatArray,
        gradient: FloatArray,
    ) -> tuple[FloatArray, float]:
        """Return a step from the gradients alone, and its predicted gain."""
        known = np.flatnonzero(~np.isnan(gradient[:, along]).any(axis=1))
        X, G = U[np.ix_(known, along)], gradient[np.ix_(known, along)]
        i = int(np.searchsorted(known, descent.centre))
        if len(along) == 1:
            return cubic_step(
                X[:, 0], y[known], G[:, 0], i, descent.radius, self.first_step
            )
        return quasi_newton_step(X, G, i, descent.radius, self.first_step)

    def _hopeless(self, descent: Descent, gain: float, y: FloatArray) -> bool:
        """Whether a descent from a worse point will not become the best."""
        behind = float(y[descent.centre] - y.min())
        n_steps = len(descent.proposed)
        return behind > 0.0 and (
            (n_steps >= PATIENCE and HOPE * gain < behind)
            or (n_steps >= MAX_STEPS and gain < behind)
        )
