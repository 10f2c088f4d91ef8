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
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from accsmbo._validation import check_integer
from accsmbo.execution._proposer import Proposer
from accsmbo.execution._scheduler import StartedPoints
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
    n_before: int


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

    See Also
    --------
    OneStack : The newest proposal for everyone; no candidates wait.
    AccSMBOSearchCV : Uses this one with `AccSMBO`.
    EmpiricalDensity : A density of good hyperparameters.

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
        self._proposer = Proposer(optimizer, n_slots, steady=steady)
        self._started = StartedPoints(optimizer)
        self._n_updates = self._n_modelled = self._n_before = 0
        self._dirty = False

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
        if not self._proposer.may_propose or self._optimizer.in_design:
            return self._started.add(self._proposer.ask())
        place = self._optimizer.n_asked if self._steady else slot
        own, other = self._fast, self._slow
        if self.serves_slow_stack(place):
            own, other = other, own
        self._collect()
        if self._dirty and not self._proposer.runs_beside:
            self._update()
        entry = self._pop(own) or self._pop(other)
        if entry is None:
            self._update()
            entry = self._pop(own) or self._pop(other)
        if entry is None:
            return self._started.add(self._proposer.ask())
        self._n_modelled += 1
        return self._started.add(self._optimizer.accept(entry.proposal))

    def told(self, interval: float) -> None:
        """Note a result.

        Parameters
        ----------
        interval : float
            Seconds expected until the next one.
        """
        self._proposer.interval = interval
        self._dirty = True

    def idle(self, n_left: int) -> float:
        """Propose candidates beside the loop where that takes long.

        Parameters
        ----------
        n_left : int
            Trials that are still to start.

        Returns
        -------
        float
            Seconds after which to be called again if no result comes before.
        """
        if n_left <= 0 or self._optimizer.in_design or not self._proposer.runs_beside:
            return math.inf
        self._collect()
        if self._dirty and self._proposer.is_busy:
            return self._proposer.seconds
        if self._dirty:
            self._start()
        return math.inf

    def rest(self) -> None:
        """Wait for what runs beside the loop: nothing else uses the optimizer then."""
        self._proposer.rest()

    def _start(self) -> None:
        self._n_before = len(self._started)
        self._dirty = False
        self._proposer.start(self.n_candidates)

    def _collect(self, *, wait: bool = False) -> None:
        proposals = self._proposer.take(wait=wait)
        if proposals is not None:
            self._push(proposals)

    def _update(self) -> None:
        """Propose from all that is known, or wait for what is under way."""
        if self._proposer.runs_beside:
            if not self._proposer.is_busy:
                self._start()
            self._collect(wait=True)
            return
        self._n_before = len(self._started)
        self._dirty = False
        self._push(self._proposer.propose(self.n_candidates))

    def _push(self, proposals: Sequence[Proposal]) -> None:
        self._n_updates += 1
        weight = self._rate * math.exp(-self._n_modelled / self.time_constant)
        values = value(self._densities(proposals), weight, len(proposals))
        # The best is pushed last, so that it is popped first.
        order = np.argsort(values, kind="stable")
        n_slow = max(1, round(SLOW_CANDIDATES * len(order))) if self._n_slow else 0
        for place, i in enumerate(order):
            stack = self._slow if place < n_slow else self._fast
            stack.append(_Entry(proposals[i], self._n_updates, self._n_before))

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
            elif not self._started.cover(entry.proposal, entry.n_before):
                return entry
        return None
