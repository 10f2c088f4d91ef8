# SPDX-License-Identifier: BSD-3-Clause
"""Proposer: asks an optimizer, in the loop or in a thread that runs beside it.

The thread answers a request: a copy of what was known when it was made. It uses the
optimizer's models, and the loop leaves those alone until it has ended; what was asked
and told is the loop's, which goes on accepting and telling meanwhile.
"""

import contextvars
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_futures
from typing import TypeVar

import sklearn
from threadpoolctl import ThreadpoolController

from accsmbo.history import Trial
from accsmbo.optimizers import Optimizer
from accsmbo.optimizers._observations import Proposal, Request

__all__ = ["Proposer", "running_mean"]

T = TypeVar("T")

# A worker waits for an optimizer to use the newest result for this share of a trial, or
# for 1 / n of it after n results, of which the newest is one; beyond, it gets what was
# proposed before.
IDLE_SHARE = 0.01
# Weight of the newest duration in running means.
NEWEST = 0.3
# Longest uninterrupted wait: on Windows Ctrl-C only gets through between two waits.
POLL_SECONDS = 1.0


def running_mean(mean: float, newest: float) -> float:
    """Return a running mean after one more value; ``mean`` is 0 before the first."""
    old = mean or newest
    return (1 - NEWEST) * old + NEWEST * newest


class Proposer:
    """Asks an optimizer and keeps time.

    Parameters
    ----------
    optimizer : Optimizer
        What is asked.
    n_slots : int
        Number of workers.
    steady : bool
        Whether to stay in the loop, whatever the time.

    Attributes
    ----------
    may_propose : bool
        Whether proposals are what the optimizer would ask: not where it has a way of
        asking of its own, or wants few trials at once.
    seconds : float
        Running mean of how long an answer takes; 0 before the first.
    interval : float
        Expected seconds from one result to the next; 0 where unknown.
    """

    def __init__(self, optimizer: Optimizer, n_slots: int, *, steady: bool) -> None:
        kind = type(optimizer)
        own = kind.ask, kind._next_point
        common = own == (Optimizer.ask, Optimizer._next_point)
        learns = optimizer.adaptive and not optimizer.sequential
        self.may_propose = common and learns and n_slots > 1
        self.seconds = self.interval = 0.0
        self._optimizer = optimizer
        self._n_slots = n_slots
        self._stays = steady or not self.may_propose
        self._controller = ThreadpoolController() if optimizer.adaptive else None
        self._pool: ThreadPoolExecutor | None = None
        self._future: Future[list[Proposal]] | None = None

    @property
    def runs_beside(self) -> bool:
        """Whether to propose beside the loop: an answer takes long against a trial."""
        share = max(IDLE_SHARE, 1.0 / max(1, len(self._optimizer.history)))
        longest = share * self.interval * self._n_slots
        return not self._stays and self.seconds > longest > 0.0

    @property
    def is_busy(self) -> bool:
        """Whether the thread beside is at work."""
        return self._future is not None and not self._future.done()

    def ask(self) -> Trial:
        """Return the optimizer's next trial, asked in the loop."""
        self._wait()
        return self._timed(self._optimizer.ask)

    def propose(self, n: int) -> list[Proposal]:
        """Return n proposals, made in the loop."""
        self._wait()
        return self._timed(lambda: self._optimizer.propose(n))

    def start(self, n: int) -> None:
        """Begin n proposals from what is known now, in the thread beside."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "accsmbo-proposer")
        request, config = self._optimizer.request(n), sklearn.get_config()
        context = contextvars.copy_context()
        self._future = self._pool.submit(context.run, self._answer, request, config)

    def take(self, *, wait: bool = False) -> list[Proposal] | None:
        """Return what :meth:`start` began, once; None where there is nothing (yet).

        Parameters
        ----------
        wait : bool, default=False
            Whether to wait for the end of what is under way.

        Raises
        ------
        Exception
            What the optimizer raised.
        """
        if wait:
            self._wait()
        if self._future is None or self.is_busy:
            return None
        future, self._future = self._future, None
        return [p for p in future.result() if not self._optimizer.knows(p)]

    def rest(self) -> None:
        """Wait for the end of what is under way, and end the thread."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self._pool = None

    def _answer(self, request: Request, config: dict[str, object]) -> list[Proposal]:
        with sklearn.config_context(**config):
            return self._timed(lambda: self._optimizer.answer(request))

    def _wait(self) -> None:
        while self._future is not None and self.is_busy:
            wait_for_futures([self._future], POLL_SECONDS)

    def _timed(self, work: Callable[[], T]) -> T:
        """Call, with linear algebra held to one core: the workers have the others."""
        start = time.monotonic()
        if self._controller is None:
            result = work()
        else:
            with self._controller.limit(limits=1):
                result = work()
        seconds = time.monotonic() - start
        self.seconds = running_mean(self.seconds, seconds)
        return result
