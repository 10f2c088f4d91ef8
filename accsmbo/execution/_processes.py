# SPDX-License-Identifier: BSD-3-Clause
"""Worker processes of our own: each is its slot's alone, so that it can be ended.

An executor breaks as a whole when one of its workers dies. Here a death is an event of
one slot; the next fold there gets a new process. Processes that are idle when a run
ends serve the next run.
"""

import atexit
import multiprocessing.util  # its exit handler must run after ours
import os
import pickle
import sys
import threading
import time
from multiprocessing.connection import wait as wait_for_any
from typing import Any

from accsmbo._warnings import warn_user
from accsmbo.execution._work import Fold, Stored, Work
from accsmbo.execution._worker_handle import (
    ForkedProcess,
    SpawnedProcess,
    Template,
    WorkerHandle,
    str_entries,
)
from accsmbo.execution._workers import POLL_SECONDS, Done, Event, Lost, Started

__all__ = ["ProcessWorkers"]

# Elsewhere system libraries do not survive a fork.
FORKS: bool = sys.platform.startswith("linux")
# Workers that die before their first fold, beyond one for each slot: then it is not
# chance.
MAX_FAILED_STARTS = 3


class _IdleProcesses:
    """Processes that wait for the next run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: list[WorkerHandle] = []
        self._template = Template()
        atexit.register(self.end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._abandon)

    def take(self) -> WorkerHandle:
        """Return an idle process, or a new one."""
        with self._lock:
            while self._processes:
                process = self._processes.pop()
                if process.is_open():
                    return process
                process.kill()
        return self.new()

    def new(self) -> WorkerHandle:
        """Return a new process."""
        return ForkedProcess(self._template) if FORKS else SpawnedProcess()

    def put(self, process: WorkerHandle) -> None:
        """Keep a process for later."""
        process.send("forget")
        with self._lock:
            self._processes.append(process)

    def end(self) -> None:
        """End all."""
        with self._lock:
            processes, self._processes = self._processes, []
        for process in processes:
            process.kill()
        self._template.end()

    def _abandon(self) -> None:
        # The processes are the parent's.
        self._lock = threading.Lock()
        self._processes = []
        self._template.abandon()


IDLE = _IdleProcesses()


class ProcessWorkers:
    """Slots on processes of our own.

    Parameters
    ----------
    work : Work
        What to run; it is written to disk once and mapped by every process.
    n_slots : int
        Number of processes.
    memory_limit : int or None, default=None
        Bytes that a fold may allocate above what its process, a new one, held before.
    """

    can_end = True

    def __init__(
        self, work: Work, n_slots: int, *, memory_limit: int | None = None
    ) -> None:
        self.n_slots = n_slots
        self._memory_limit = memory_limit
        self._settings = {
            "path": str_entries(sys.path),
            "folder": _folder(),
            "environment": dict(os.environ),
            "authkey": bytes(multiprocessing.current_process().authkey),
        }
        self._processes: dict[int, WorkerHandle] = {}
        self._running: dict[int, bool] = {}
        self._failed_starts = 0
        self._asked = time.monotonic()
        self._stopped: set[int] = set()
        try:
            self._stored = Stored.save(work)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise type(error)(
                f"worker processes need an estimator, data and scorer that can be "
                f"pickled: {error}. Use n_jobs=1, or threads: "
                "executor=ThreadPoolExecutor(...)."
            ) from error

    @property
    def pids(self) -> dict[int, int]:
        """Process id of each slot that has a process."""
        pids = {slot: process.pid for slot, process in self._processes.items()}
        return {slot: pid for slot, pid in pids.items() if pid is not None}

    def start(self, slot: int, fold: Fold) -> None:
        """Send a fold to the process of a slot; start one where it has none."""
        process = self._processes.get(slot)
        if process is None:
            process = IDLE.take() if self._memory_limit is None else IDLE.new()
            self._processes[slot] = process
            process.send("load", self._settings, self._stored, self._memory_limit)
        self._running[slot] = False
        process.send("run", fold)

    def wait(self, timeout: float | None) -> list[Event]:
        """Return what happened on the slots that run a fold."""
        end = None if timeout is None else time.monotonic() + timeout
        events: list[Event] = []
        while not events:
            left = POLL_SECONDS
            if end is not None:
                left = min(left, max(end - time.monotonic(), 0.0))
            connections = [self._processes[slot].connection for slot in self._running]
            silent = not wait_for_any(connections, left) and self._may_ask()
            for slot in list(self._running):
                self._collect(slot, events, silent=silent)
            if end is not None and time.monotonic() >= end:
                break
        return events

    def _may_ask(self) -> bool:
        """Whether to ask now and then how processes are that say nothing."""
        late = time.monotonic() - self._asked >= POLL_SECONDS
        if late:
            self._asked = time.monotonic()
        return late

    def _collect(self, slot: int, events: list[Event], *, silent: bool) -> None:
        process = self._processes[slot]
        try:
            while slot in self._running and (message := process.receive()) is not None:
                self._take(slot, message, events)
            # What a worker has started may keep its connection open.
            asked = silent and slot in self._running
            dead = asked and process.exit_code() is not None
            if asked and not dead:
                self._tell_stopped(slot, process)
        except EOFError:
            dead = True
        if dead:
            started = self._running[slot]
            reason = process.death()
            self._drop(slot)
            self._count_failed_start(started, reason)
            limit = self._memory_limit
            under = "" if limit is None else f" under memory_limit={limit}"
            reason = f"the worker process died{under}: {reason}"
            events.append(Lost(slot, reason, started))

    def _tell_stopped(self, slot: int, process: WorkerHandle) -> None:
        """Warn once of a worker that waits for a signal: nobody else would say so."""
        if slot not in self._stopped and process.is_stopped():
            self._stopped.add(slot)
            warn_user(
                f"the worker process {process.pid} has been stopped by a signal, and "
                f"its trial waits. It goes on after `kill -CONT {process.pid}`; after "
                f"`kill -KILL {process.pid}`, or trial_timeout where that is set, "
                "another takes its place.",
                RuntimeWarning,
            )

    def _take(self, slot: int, message: tuple[Any, ...], events: list[Event]) -> None:
        if message[0] == "started":
            self._running[slot] = True
            self._failed_starts = 0
            events.append(Started(slot))
        elif message[0] == "done":
            del self._running[slot]
            self._stopped.discard(slot)
            events.append(Done(slot, message[1]))
            if message[2]:
                # It has used up its memory: the next fold gets a new one.
                self._drop(slot)
        elif message[0] == "unreadable":
            del self._running[slot]
            reason = f"the result of the fold cannot be unpickled: {message[1]}"
            events.append(Lost(slot, reason))
        elif message[0] == "small":
            raise ValueError(
                f"memory_limit must be at least {message[1]} bytes in a worker of this "
                f"run, got {self._memory_limit!r}: with less a thread of BLAS cannot "
                "start. Raise it, or set it to None."
            )
        elif message[0] == "broken":
            raise RuntimeError(
                "a worker process could not load the objective. What is searched "
                f"must be importable or picklable there:\n{message[1]}"
            )

    def _count_failed_start(self, started: bool, reason: str) -> None:
        self._failed_starts += not started
        if self._failed_starts > MAX_FAILED_STARTS + self.n_slots:
            raise RuntimeError(
                f"{self._failed_starts} worker processes in a row died before they "
                f"ran a fold, the last by {reason}. Look at their output on stderr; "
                "raise memory_limit if it is set, or use n_jobs=1."
            )

    def end(self, slot: int) -> None:
        """End the process of a slot."""
        self._drop(slot)

    def _drop(self, slot: int) -> None:
        self._running.pop(slot, None)
        self._stopped.discard(slot)
        self._processes.pop(slot).kill()

    def close(self) -> None:
        """End the processes that run a fold; keep the idle ones for the next run."""
        for slot in list(self._running):
            self._drop(slot)
        for process in self._processes.values():
            if self._memory_limit is None:
                IDLE.put(process)
            else:
                process.kill()
        self._processes.clear()
        self._stored.remove()


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        # It was deleted.
        return os.sep
