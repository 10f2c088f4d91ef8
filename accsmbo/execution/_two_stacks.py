# SPDX-License-Identifier: BSD-3-Clause
"""TwoStacks: most workers on what is dense in experience, a few on the rest.

Notation
--------
q       candidates proposed at each update
pri     (q,)    order of selection, the first selected has the largest
d       (q,)    density of the candidates over its maximum among them
w_t             weight of the density, rate exp(-t / T), t = model-based trials started
"""

import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from accsmbo._validation import check_integer
from accsmbo.execution._scheduler import MAX_IDLE_SHARE, Stopwatch
from accsmbo.history import Trial
from accsmbo.optimizers import Optimizer
from accsmbo.optimizers._observations import Proposal

__all__ = ["TwoStacks", "value"]

FloatArray = NDArray[np.float64]

# The paper's share of the slow stack, of candidates and of workers (3:1).
SLOW_CANDIDATES = 0.1
SLOW_WORKERS = 0.25
# With fewer workers none is slow.
MIN_WORKERS = 3
# Entries of each stack; the oldest make room.
MAX_ENTRIES = 50
# Updates after which an entry is stale.
MAX_AGE = 3
# Largest coordinate distance at which two points count as the same work.
NEAR = 0.01


def value(density: FloatArray | None, weight: float, n: int) -> FloatArray:
    """Return Value(u) = pri(u) (1 - w_t + w_t q(u)) of candidates (5.4).

    Parameters
    ----------
    density : ndarray of shape (n,) or None
        Density of the candidates in the order of selection; None: unknown.
    weight : float
        w_t.
    n : int
        Number of candidates.

    Returns
    -------
    ndarray of shape (n,)
        Larger goes first.
    """
    pri = np.arange(n, 0, -1, dtype=float)
    if density is None or n == 0 or not np.max(density) > 0.0:
        return pri
    q = np.asarray(density, dtype=float) / np.max(density)
    valued: FloatArray = pri * (1.0 - weight + weight * q)
    return valued


@dataclass(frozen=True)
class _Entry:
    proposal: Proposal
    update: int
    n_started: int


class TwoStacks(BaseEstimator):
    """Asynchronous AccSMBO (Algorithm 4): a fast and a slow stack of candidates.

    After each result the optimizer proposes candidates. They are valued by the order
    of selection, weighted with an empirical density whose weight fades; the lowest
    tenth goes to the slow stack. A quarter of the workers serves the slow stack, newest
    candidates first; an empty stack borrows from the other.

    Parameters
    ----------
    density : object with ``pdf(U)``, sequence of them, or None, default=None
        Empirical density on the unit cube, one for each subspace where there are
        several; None: that of the optimizer, and its ``rate``, where it has one, else
        the order of selection alone counts.
    rate : float, default=1.0
        Weight of the density at the start, in [0, 1].
    time_constant : float, default=5.0
        Trials after which the weight has fallen to 1/e.
    n_candidates : int, default=10
        Candidates proposed at each update; more than 2.

    Raises
    ------
    ValueError
        If ``n_candidates`` is below 3.

    References
    ----------
    .. [1] Using Gradient Based Multikernel Gaussian Process and Meta-Acquisition
       Function to Accelerate SMBO, ICTAI 2019, section 4.3, algorithm 4.

    Examples
    --------
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.execution import TwoStacks
    >>> history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=8,
    ...                    scheduler=TwoStacks(), random_state=0)
    >>> len(history)
    8
    """

    def __init__(
        self,
        density: Any = None,
        *,
        rate: float = 1.0,
        time_constant: float = 5.0,
        n_candidates: int = 10,
    ) -> None:
        self.density = density
        self.rate = rate
        self.time_constant = time_constant
        self.n_candidates = n_candidates

    def begin(self, optimizer: Optimizer, n_slots: int, *, steady: bool) -> None:
        """Start a run.

        Parameters
        ----------
        optimizer : Optimizer
            What proposes.
        n_slots : int
            Number of workers.
        steady : bool
            Whether to decide by order alone, never by time.
        """
        check_integer("n_candidates", self.n_candidates, minimum=3)
        self._optimizer = optimizer
        self._n_slots = n_slots
        self._steady = steady
        self._rate, self._in_use = self.rate, self.density
        if self.density is None:
            optimizer.in_design  # noqa: B018 (starts it)
            self._in_use = getattr(optimizer, "_density_in_use", None)
            self._rate = getattr(optimizer, "rate", self.rate)
        enough = n_slots >= MIN_WORKERS
        self._n_slow = max(1, round(SLOW_WORKERS * n_slots)) if enough else 0
        self._fast: deque[_Entry] = deque(maxlen=MAX_ENTRIES)
        self._slow: deque[_Entry] = deque(maxlen=MAX_ENTRIES)
        self._started: list[tuple[int, FloatArray]] = []
        self._n_updates = self._n_modelled = 0
        self._dirty = False
        self._updated = -math.inf
        self._watch = Stopwatch()
        self._interval = 0.0

    def serves_slow_stack(self, slot: int) -> bool:
        """Tell whether a worker belongs to the slow stack.

        Parameters
        ----------
        slot : int
            Number of the worker; with ``steady`` the running number of the trial.

        Returns
        -------
        bool
            True for a quarter of the workers, for none of one or two.
        """
        return slot % self._n_slots >= self._n_slots - self._n_slow

    def next(self, slot: int) -> Trial:
        """Return the trial for a free worker.

        Parameters
        ----------
        slot : int
            The worker.

        Returns
        -------
        Trial
            Now pending.

        Raises
        ------
        SpaceExhausted
            If no point is left.
        """
        # One worker has no use for candidates that are not the newest.
        if self._n_slots == 1 or self._optimizer.in_design:
            return self._remember(self._optimizer.ask())
        place = self._optimizer.n_asked if self._steady else slot
        own, other = self._fast, self._slow
        if self.serves_slow_stack(place):
            own, other = other, own
        if self._dirty and self._is_quick():
            self._update()
        entry = self._pop(own) or self._pop(other)
        if entry is None:
            self._update()
            entry = self._pop(own) or self._pop(other)
        if entry is None:
            return self._remember(self._optimizer.ask())
        self._n_modelled += 1
        return self._remember(self._optimizer.accept(entry.proposal))

    def told(self, interval: float) -> None:
        """Note a result.

        Parameters
        ----------
        interval : float
            Seconds expected until the next one.
        """
        self._interval = interval
        self._dirty = True

    def idle(self, n_left: int) -> None:
        """Propose candidates while all workers are busy.

        Parameters
        ----------
        n_left : int
            Trials that are still to start.
        """
        if self._steady or self._n_slots == 1 or n_left == 0 or not self._dirty:
            return
        if not self._optimizer.in_design and self._may_update():
            self._update()

    def _may_update(self) -> bool:
        """Tell whether an update now keeps the workers busy.

        A result that comes during an update of S seconds waits S / 2 on average. Of
        trials that take T seconds that is a share of MAX_IDLE_SHARE where updates take
        no more than the share 2 MAX_IDLE_SHARE T / S of the time.
        """
        S, T = self._watch.seconds, self._interval * self._n_slots
        share = 2.0 * MAX_IDLE_SHARE * T / S if S > 0.0 else 1.0
        since = time.monotonic() - self._updated
        return share >= 1.0 or since >= S * (1.0 / max(share, 1e-9) - 1.0)

    def _is_quick(self) -> bool:
        T = self._interval * self._n_slots
        return self._steady or self._watch.seconds <= MAX_IDLE_SHARE * T

    def _remember(self, trial: Trial) -> Trial:
        self._started.append((trial.subspace, trial.unit))
        return trial

    def _update(self) -> None:
        with self._watch:
            proposals = self._optimizer.propose(self.n_candidates)
        self._dirty = False
        self._updated = time.monotonic()
        self._n_updates += 1
        weight = self._rate * math.exp(-self._n_modelled / self.time_constant)
        values = value(self._densities(proposals), weight, len(proposals))
        # The best is pushed last, so that it is popped first.
        order = np.argsort(values, kind="stable")
        n_slow = max(1, round(SLOW_CANDIDATES * len(order))) if self._n_slow else 0
        for place, i in enumerate(order):
            stack = self._slow if place < n_slow else self._fast
            stack.append(_Entry(proposals[i], self._n_updates, len(self._started)))

    def _densities(self, proposals: Sequence[Proposal]) -> FloatArray | None:
        if self._in_use is None or not proposals:
            return None
        return np.array([self._density(p) for p in proposals])

    def _density(self, proposal: Proposal) -> float:
        U, index = proposal.unit[None, :], proposal.subspace
        if isinstance(self._in_use, (list, tuple)):
            density = self._in_use[index]
            return 1.0 if density is None else float(density.pdf(U)[0])
        return float(self._in_use.pdf(U, *([index] if index else []))[0])

    def _pop(self, stack: deque[_Entry]) -> _Entry | None:
        while stack:
            entry = stack.pop()
            if self._n_updates - entry.update >= MAX_AGE:
                stack.clear()
            elif not self._is_taken(entry):
                return entry
        return None

    def _is_taken(self, entry: _Entry) -> bool:
        """Tell whether work near the entry was started after it was proposed."""
        proposal = entry.proposal
        if self._optimizer.knows(proposal):
            return True
        later = self._started[entry.n_started :]
        levels = self._optimizer.space_.subspaces[proposal.subspace].levels
        if (levels > 0).any():
            return False
        return any(
            index == proposal.subspace and np.abs(u - proposal.unit).max() < NEAR
            for index, u in later
        )
