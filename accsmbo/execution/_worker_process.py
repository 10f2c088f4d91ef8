# SPDX-License-Identifier: BSD-3-Clause
"""The program of a worker process: load the work once, run folds, never outlive us."""

import contextlib
import multiprocessing
import os
import pickle
import queue
import random
import signal
import sys
import threading
import traceback
from typing import Any

import numpy as np

from accsmbo.execution._memory import MemoryLimit
from accsmbo.execution._pickling import cloudpickle
from accsmbo.execution._work import Fold, Raised, forget_work, portable, run_fold

__all__ = ["main"]

# A worker that no run wants for so long ends itself.
IDLE_SECONDS = 120.0


def main(connection: Any) -> None:
    """Serve one parent until it goes away or wants nothing for a while.

    Parameters
    ----------
    connection : Connection
        Messages in: ``("load", settings, source, memory_limit)``, ``("run", fold)``,
        ``("forget",)``. Messages out: ``("ready", pid)``, ``("started",)``, ``("done",
        result, spent)``, ``("broken", text)``, ``("small", bytes needed)``.
    """
    # Ctrl-C in a terminal reaches the whole group: it is the parent's to decide. A
    # group of its own lets the parent end this process with all it has started.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setpgrp"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        os.setpgrp()
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, inbox), daemon=True).start()
    connection.send_bytes(pickle.dumps(("ready", os.getpid())))
    worker = _Worker(connection)
    while True:
        try:
            message = inbox.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            return
        try:
            kind, *arguments = pickle.loads(message)
        except Exception:
            worker.say_broken()
        else:
            getattr(worker, kind)(*arguments)


class _Worker:
    """Does what the messages say."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._streams = sys.stdout, sys.stderr
        self._settings: dict[str, Any] = {}
        self._source: Any = None
        self._limit: MemoryLimit | None = None

    def load(self, settings: dict[str, Any], source: Any, limit: int | None) -> None:
        """Take over the caller's settings and its work."""
        self._settings = settings
        self._source = source
        multiprocessing.current_process().authkey = settings["authkey"]
        sys.path[:] = settings["path"]
        os.environ.clear()
        os.environ.update(settings["environment"])
        try:
            n_threads = source.open().n_threads
        except Exception:
            self.say_broken()
            return
        if limit is not None:
            self._limit = MemoryLimit(limit, n_threads)
            if limit < self._limit.smallest:
                self._send("small", self._limit.smallest)

    def run(self, fold: Fold) -> None:
        """Run a fold and send its result."""
        self._send("started")
        self._start_anew()
        if self._limit is None:
            result = run_fold(self._source, fold)
        else:
            with self._limit:
                result = run_fold(self._source, fold)
        # Forked workers end without flushing what was printed.
        for stream in (sys.stdout, sys.stderr):
            # It may have been closed, replaced by anything, or removed.
            with contextlib.suppress(Exception):
                stream.flush()
        spent = self._limit is not None and self._limit.spent
        try:
            self._send("done", result, spent)
        except Exception as error:
            self._send("done", Raised(portable(error)), spent)

    def forget(self) -> None:
        """Drop the work."""
        self._source = self._limit = None
        forget_work()

    def say_broken(self) -> None:
        """Send the exception that is being handled."""
        self._send("broken", traceback.format_exc())

    def _start_anew(self) -> None:
        """Undo what folds before may have changed for this one."""
        with contextlib.suppress(OSError):
            os.chdir(self._settings["folder"])
        sys.stdout, sys.stderr = self._streams
        # As new as in a new process, and in ten microseconds each.
        random.seed(int.from_bytes(os.urandom(16)))
        np.random.seed(int.from_bytes(os.urandom(4)))  # noqa: NPY002

    def _send(self, *message: Any) -> None:
        self._connection.send_bytes(cloudpickle.dumps(message))


def _receive(connection: Any, inbox: "queue.SimpleQueue[bytes]") -> None:
    """Pass messages on; end this process, whatever it runs, with its parent."""
    while True:
        try:
            inbox.put(connection.recv_bytes())
        except (EOFError, OSError):
            _end_group()


def _end_group() -> None:
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
