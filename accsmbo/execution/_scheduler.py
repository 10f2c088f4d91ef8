# SPDX-License-Identifier: BSD-3-Clause
"""Schedulers: which trial a free worker gets, and when the optimizer is asked."""

import time
from typing import Protocol

from accsmbo.history import Trial
from accsmbo.optimizers import Optimizer

__all__ = ["OneStack", "Scheduler"]

# Share of a worker's time that it may wait for an optimizer to use the newest result;
# beyond, it gets what was proposed before.
MAX_IDLE_SHARE = 0.1
# Weight of the newest duration in running means.
NEWEST = 0.3


class Scheduler(Protocol):
    """Stands between an optimizer and the workers."""

    def begin(self, optimizer: Optimizer, n_slots: int, *, steady: bool) -> None:
        """Take an optimizer; ``steady``: decide by order alone, never by time."""

    def next(self, slot: int) -> Trial:
        """Return a trial for a free slot; raises ``SpaceExhausted``."""

    def told(self, interval: float) -> None:
        """Note a result; ``interval``: expected seconds until the next one."""

    def idle(self, n_left: int) -> None:
        """Prepare while all workers are busy; ``n_left``: trials still to start."""


class Stopwatch:
    """Running mean of how long something takes."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._start = 0.0

    def __enter__(self) -> None:
        self._start = time.monotonic()

    def __exit__(self, *_: object) -> None:
        elapsed = time.monotonic() - self._start
        old = self.seconds or elapsed
        self.seconds = (1 - NEWEST) * old + NEWEST * elapsed


class OneStack:
    """Plain asynchronous SMBO (Algorithm 2): one proposal for each free worker.

    With several workers and an optimizer that is slow against the evaluations, one
    trial is asked ahead while they run.

    References
    ----------
    .. [1] Using Gradient Based Multikernel Gaussian Process and Meta-Acquisition
       Function to Accelerate SMBO, ICTAI 2019, algorithm 2.
    """

    def begin(self, optimizer: Optimizer, n_slots: int, *, steady: bool) -> None:
        """Take an optimizer."""
        self._optimizer = optimizer
        self._n_slots = n_slots
        self._looks_ahead = n_slots > 1 and not steady
        self._ahead: Trial | None = None
        self._watch = Stopwatch()
        self._interval = 0.0

    def next(self, slot: int) -> Trial:
        """Return the trial asked ahead, or ask."""
        trial, self._ahead = self._ahead, None
        return self._ask() if trial is None else trial

    def _ask(self) -> Trial:
        with self._watch:
            return self._optimizer.ask()

    def told(self, interval: float) -> None:
        """Note a result."""
        self._interval = interval

    def idle(self, n_left: int) -> None:
        """Ask ahead where asking takes long against a trial."""
        slow = self._watch.seconds > MAX_IDLE_SHARE * self._interval * self._n_slots
        if self._looks_ahead and slow and n_left > 0 and self._ahead is None:
            self._ahead = self._ask()
