# SPDX-License-Identifier: BSD-3-Clause
"""The program of a worker process: load the work once, run folds, never outlive us."""

import contextlib
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from typing import Any

from accsmbo.execution._pickling import cloudpickle
from accsmbo.execution._work import Raised, forget_work, portable, run_fold

__all__ = ["limit_memory", "main"]

# A worker that no run wants for so long ends itself.
IDLE_SECONDS = 120.0


def main(connection: Any) -> None:
    """Serve one parent until it goes away or wants nothing for a while.

    Parameters
    ----------
    connection : Connection
        Messages in: ``("settings", dict)``, ``("load", source, memory_limit)``,
        ``("run", fold)``, ``("forget",)``. Messages out: ``("ready", pid)``,
        ``("started",)``, ``("done", result)``, ``("broken", text)``.
    """
    # Ctrl-C in a terminal reaches the whole group: it is the parent's to decide. A
    # group of its own lets the parent end this process with all it has started.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setpgrp"):
        os.setpgrp()
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, inbox), daemon=True).start()
    connection.send_bytes(pickle.dumps(("ready", os.getpid())))
    source, memory_limit = None, None
    while True:
        try:
            message = pickle.loads(inbox.get(timeout=IDLE_SECONDS))
        except queue.Empty:
            return
        if message[0] == "settings":
            _apply(message[1])
        elif message[0] == "load":
            source, memory_limit = message[1:]
            _load(connection, source)
        elif message[0] == "run":
            connection.send_bytes(pickle.dumps(("started",)))
            if memory_limit is not None:
                limit_memory(memory_limit)
            result = run_fold(source, message[1])  # type: ignore[arg-type]
            # Forked workers end without flushing what was printed.
            sys.stdout.flush()
            sys.stderr.flush()
            _send(connection, result)
        else:
            forget_work()


def _apply(settings: dict[str, Any]) -> None:
    sys.path[:] = settings["path"]
    with contextlib.suppress(OSError):
        os.chdir(settings["folder"])
    os.environ.update(settings["environment"])
    multiprocessing.current_process().authkey = settings["authkey"]


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


def _load(connection: Any, source: Any) -> None:
    try:
        source.open()
    except Exception:
        text = traceback.format_exc()
        connection.send_bytes(pickle.dumps(("broken", text)))


def _send(connection: Any, result: Any) -> None:
    try:
        data = cloudpickle.dumps(("done", result))
    except Exception as error:
        data = cloudpickle.dumps(("done", Raised(portable(error))))
    connection.send_bytes(data)


def limit_memory(extra: int) -> None:
    """Let this process allocate so many bytes above what it holds now.

    Parameters
    ----------
    extra : int
        Bytes of address space.
    """
    if sys.platform != "linux":
        return
    import resource

    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = held + extra
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
