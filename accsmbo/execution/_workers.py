# SPDX-License-Identifier: BSD-3-Clause
"""Workers: slots that run folds, behind any executor that has ``submit``."""

import contextlib
import os
import queue
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from accsmbo.execution._pickling import cloudpickle
from accsmbo.execution._work import (
    CORES_VARIABLE,
    Finished,
    Fold,
    Inline,
    Raised,
    Source,
    Stored,
    Work,
    run_fold,
)

__all__ = [
    "Done",
    "Event",
    "ExecutorBroken",
    "FutureWorkers",
    "Lost",
    "OwnThreads",
    "SerialExecutor",
    "Started",
    "Workers",
]

# Longest uninterrupted wait: on Windows Ctrl-C only gets through between two waits.
POLL_SECONDS = 1.0
# What an executor raises when a task or its result cannot be pickled.
PICKLING_ERRORS = (PicklingError, TypeError, AttributeError)


@dataclass(frozen=True)
class Started:
    """A slot has begun its fold."""

    slot: int


@dataclass(frozen=True)
class Done:
    """A slot has finished its fold, or the fold raised."""

    slot: int
    result: Finished | Raised


@dataclass(frozen=True)
class Lost:
    """A slot's worker is gone; ``counts``: while it ran the fold, as far as known."""

    slot: int
    reason: str
    counts: bool = True


Event = Started | Done | Lost


class ExecutorBroken(RuntimeError):
    """Raised by :meth:`Workers.start` where the executor takes no more work."""


class Workers(Protocol):
    """Slots that run one fold each.

    Attributes
    ----------
    n_slots : int
        How many folds run at once.
    can_end : bool
        Whether :meth:`end` ends a running fold.
    """

    n_slots: int
    can_end: bool

    def start(self, slot: int, fold: Fold) -> None:
        """Run a fold on a free slot; returns at once unless serial."""

    def wait(self, timeout: float | None) -> list[Event]:
        """Return what happened; empty only after ``timeout`` seconds."""

    def end(self, slot: int) -> None:
        """End the fold that runs on a slot, and free the slot."""

    def close(self) -> None:
        """Give up all folds that still run and release the workers."""


class SerialExecutor:
    """Runs each call where and when it is submitted.

    With it a search evaluates in its own process, whatever the joblib context says: for
    a debugger or a profiler, and for objectives that cannot be pickled. It is what
    ``n_jobs=1`` stands for.

    See Also
    --------
    concurrent.futures.ThreadPoolExecutor : Threads in the same process.
    check_executor : What else can be given as ``executor``.

    Examples
    --------
    >>> import os
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.execution import SerialExecutor
    >>> seen = []
    >>> _ = minimize(lambda p: seen.append(os.getpid()) or p["x"], {"x": Real(0, 1)},
    ...              n_trials=3, executor=SerialExecutor())
    >>> seen == [os.getpid()] * 3
    True
    """

    def submit(
        self, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> "Future[Any]":
        """Call ``function`` now and return its finished future.

        Parameters
        ----------
        function : callable
            What to call.
        *args, **kwargs : object
            Its arguments.

        Returns
        -------
        Future
            Holds the result or the exception.
        """
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class FutureWorkers:
    """Slots on an executor whose workers are not ours to end.

    Parameters
    ----------
    executor : object with ``submit``
        Its futures need ``add_done_callback`` and ``result``.
    work : Work
        What to run.
    n_slots : int
        How many folds to submit at once.
    scatter : callable or None, default=None
        Spreads an object over a cluster and returns what to submit in its place.
    submit_options : dict or None, default=None
        Further keywords of ``submit``.
    """

    can_end = False

    def __init__(
        self,
        executor: Any,
        work: Work,
        n_slots: int,
        *,
        scatter: Callable[[Inline], Any] | None = None,
        submit_options: dict[str, Any] | None = None,
    ) -> None:
        self.n_slots = n_slots
        self._executor = executor
        self._work = work
        self._scatter = scatter
        self._options = submit_options or {}
        self._source: Source | Any = work
        self._stored: Stored | None = None
        self._futures: dict[int, tuple[Any, Fold]] = {}
        self._finished: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        if scatter is not None:
            self._source = scatter(self._inline())
        elif not isinstance(executor, (SerialExecutor, ThreadPoolExecutor)):
            self._stored = self._source = Stored.save(work)

    def start(self, slot: int, fold: Fold) -> None:
        """Submit a fold."""
        try:
            future = self._executor.submit(
                run_fold, self._source, fold, **self._options
            )
        except RuntimeError as error:
            raise ExecutorBroken(
                f"executor={self._executor!r} takes no more work "
                f"({type(error).__name__}: {error})."
            ) from error
        self._futures[slot] = future, fold
        future.add_done_callback(lambda _: self._finished.put((slot, future)))

    def wait(self, timeout: float | None) -> list[Event]:
        """Return the folds that ended."""
        events: list[Event] = []
        while not events:
            step = POLL_SECONDS if timeout is None else min(timeout, POLL_SECONDS)
            with contextlib.suppress(queue.Empty):
                self._take(events, step)
                while True:
                    self._take(events, 0.0)
            if timeout is not None:
                timeout -= step
                if timeout <= 0.0:
                    break
        return events

    def _take(self, events: list[Event], seconds: float) -> None:
        slot, future = self._finished.get(timeout=seconds)
        entry = self._futures.get(slot)
        if entry is None or entry[0] is not future:
            return
        fold = entry[1]
        del self._futures[slot]
        try:
            events.append(Done(slot, future.result()))
        except FileNotFoundError:
            if self._source is not self._stored:
                raise
            # Workers without our disk get the bytes with every fold.
            self._source = self._inline()
            self.start(slot, fold)
        except PICKLING_ERRORS as error:
            raise TypeError(
                f"the executor {self._executor!r} could not send the objective or its "
                f"result to a worker ({type(error).__name__}: {error}). Make the "
                "estimator, the data and the scorer picklable, or use threads: "
                "executor=ThreadPoolExecutor(...)."
            ) from error
        except Exception as error:
            self._renew(error)
            events.append(Lost(slot, f"{type(error).__name__}: {error}"))

    def _renew(self, error: Exception) -> None:
        # Scattered data are gone where every worker that held them has died.
        if self._scatter is not None and not isinstance(error, BrokenProcessPool):
            self._source = self._scatter(self._inline())

    def _inline(self) -> Inline:
        return Inline(uuid.uuid4().hex, cloudpickle.dumps(self._work, protocol=5))

    def end(self, slot: int) -> None:
        """Forget a fold; it runs on unless it was still queued."""
        future, _ = self._futures.pop(slot)
        future.cancel()

    def close(self) -> None:
        """Cancel what is queued; wait for running threads, which share our data."""
        futures = [future for future, _ in self._futures.values()]
        self._futures.clear()
        for future in futures:
            future.cancel()
        if isinstance(self._executor, ThreadPoolExecutor):
            for future in futures:
                if not future.cancelled():
                    future.exception()
        if self._stored is not None:
            self._stored.remove()


class OwnThreads(FutureWorkers):
    """Slots on threads that live as long as the run.

    Parameters
    ----------
    work : Work
        What to run.
    n_slots : int
        Number of threads.
    """

    def __init__(self, work: Work, n_slots: int) -> None:
        n_threads = work.n_threads
        self._cores = os.environ.get(CORES_VARIABLE)
        os.environ[CORES_VARIABLE] = str(n_threads)
        # OpenMP keeps its limit for each thread; BLAS and joblib for the process.
        self._limits = threadpool_limits(limits=n_threads)
        self._threads = ThreadPoolExecutor(
            n_slots, "accsmbo", initializer=threadpool_limits, initargs=(n_threads,)
        )
        super().__init__(self._threads, work, n_slots)

    def close(self) -> None:
        """Wait for running folds, and end the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        super().close()
        self._limits.restore_original_limits()
        if self._cores is None:
            os.environ.pop(CORES_VARIABLE, None)
        else:
            os.environ[CORES_VARIABLE] = self._cores
