# SPDX-License-Identifier: BSD-3-Clause
"""Schedulers: which trial a free worker gets, and when the optimizer is asked."""

import math
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from accsmbo.execution._proposer import Proposer
from accsmbo.history import Trial
from accsmbo.optimizers import Optimizer
from accsmbo.optimizers._observations import Proposal

__all__ = ["OneStack", "Scheduler", "StartedPoints"]

FloatArray = NDArray[np.float64]

# Largest coordinate distance at which two points count as the same work.
NEAR = 0.01


@runtime_checkable
class Scheduler(Protocol):
    """Stands between an optimizer and the workers.

    Proposing takes time, and results come in while it is done. A scheduler decides
    whether a free worker waits for a proposal that knows the newest result, or gets an
    older one at once, and which. A run calls `begin` once, `next` for each free worker,
    `told` after each result, `idle` while all are busy, and `rest` before anything else
    uses the optimizer.

    See Also
    --------
    OneStack : The newest proposal for everyone.
    TwoStacks : Most workers where experience is dense.
    run : Takes one; so does ``minimize``.

    Examples
    --------
    One that says what goes where:

    >>> from accsmbo import Real, minimize
    >>> from accsmbo.execution import OneStack
    >>> class Talking(OneStack):
    ...     def next(self, slot):
    ...         trial = super().next(slot)
    ...         print(f"worker {slot} gets trial {trial.number}")
    ...         return trial
    >>> history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=2,
    ...                    scheduler=Talking())
    worker 0 gets trial 0
    worker 0 gets trial 1
    """

    def begin(self, optimizer: Optimizer, n_slots: int, *, steady: bool) -> None:
        """Take an optimizer; ``steady``: decide by order alone, never by time."""

    def next(self, slot: int) -> Trial:
        """Return a trial for a free slot; raises ``SpaceExhausted``."""

    def told(self, interval: float) -> None:
        """Note a result; ``interval``: expected seconds until the next one."""

    def idle(self, n_left: int) -> float:
        """Prepare while all workers are busy; ``n_left``: trials still to start.

        Returns the seconds after which to be called again if no result comes before.
        """

    def rest(self) -> None:
        """Wait for what runs beside the loop: nothing else uses the optimizer then."""


class StartedPoints:
    """The points of the trials started so far.

    Parameters
    ----------
    optimizer : Optimizer
        Knows which points were asked.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._points: list[tuple[int, FloatArray]] = []

    def __len__(self) -> int:
        return len(self._points)

    def add(self, trial: Trial) -> Trial:
        """Note a trial and return it."""
        self._points.append((trial.subspace, trial.unit))
        return trial

    def cover(self, proposal: Proposal, since: int) -> bool:
        """Tell whether work near a proposal was started after ``since`` trials."""
        if self._optimizer.knows(proposal):
            return True
        levels = self._optimizer.space_.subspaces[proposal.subspace].levels
        if (levels > 0).any():
            return False
        return any(
            index == proposal.subspace and np.abs(u - proposal.unit).max() < NEAR
            for index, u in self._points[since:]
        )


class OneStack:
    """Plain asynchronous SMBO (Algorithm 2): one proposal for each free worker.

    With several workers and an optimizer that is slow against the trials, proposals are
    made in a thread beside the loop, and a free worker gets the newest one at once.

    See Also
    --------
    TwoStacks : Algorithm 4, for an optimizer with a density of good points.
    run : Takes one; this is its default.

    References
    ----------
    .. [1] Using Gradient Based Multikernel Gaussian Process and Meta-Acquisition
       Function to Accelerate SMBO, ICTAI 2019, algorithm 2.

    Examples
    --------
    In place of the two stacks that a search with `AccSMBO` has:

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from accsmbo import AccSMBO, Real, minimize
    >>> from accsmbo.execution import OneStack
    >>> with ThreadPoolExecutor(2) as pool:
    ...     history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=8,
    ...                        optimizer=AccSMBO(), executor=pool,
    ...                        scheduler=OneStack(), random_state=0)
    >>> sorted(trial.number for trial in history.trials) == list(range(8))
    True
    """

    def begin(self, optimizer: Optimizer, n_slots: int, *, steady: bool) -> None:
        """Take an optimizer."""
        self._optimizer = optimizer
        self._n_slots = n_slots
        self._proposer = Proposer(optimizer, n_slots, steady=steady)
        self._started = StartedPoints(optimizer)
        # The newest proposals, the first choice last.
        self._stack: list[Proposal] = []
        self._n_before = 0
        self._dirty = False

    def next(self, slot: int) -> Trial:
        """Return the newest proposal, or ask."""
        if self._optimizer.in_design or not self._proposer.runs_beside:
            self._stack.clear()
            return self._ask()
        self._collect()
        proposal = self._pop()
        if proposal is None:
            if not self._proposer.is_busy:
                self._start()
            self._collect(wait=True)
            proposal = self._pop()
        if proposal is None:
            return self._ask()
        return self._started.add(self._optimizer.accept(proposal))

    def told(self, interval: float) -> None:
        """Note a result."""
        self._proposer.interval = interval
        self._dirty = True

    def idle(self, n_left: int) -> float:
        """Use the newest result beside the loop where that takes long."""
        if n_left <= 0 or self._optimizer.in_design or not self._proposer.runs_beside:
            return math.inf
        self._collect()
        if self._proposer.is_busy:
            return self._proposer.seconds if self._dirty else math.inf
        if self._dirty or not self._stack:
            self._start()
        return math.inf

    def rest(self) -> None:
        """Wait for the thread beside the loop."""
        self._proposer.rest()

    def _ask(self) -> Trial:
        return self._started.add(self._proposer.ask())

    def _start(self) -> None:
        # The first is for the next free worker, the others for those that become free
        # while the next proposals are made.
        more = round(2.0 * self._proposer.seconds / self._proposer.interval)
        self._n_before = len(self._started)
        self._dirty = False
        self._proposer.start(1 + min(more, self._n_slots - 1))

    def _collect(self, *, wait: bool = False) -> None:
        proposals = self._proposer.take(wait=wait)
        if proposals is not None:
            self._stack = proposals[::-1]

    def _pop(self) -> Proposal | None:
        while self._stack:
            proposal = self._stack.pop()
            if not self._started.cover(proposal, self._n_before):
                return proposal
        return None
