# SPDX-License-Identifier: BSD-3-Clause
"""The program of the template process: imports once, then forks each worker at once.

A worker forked from here costs milliseconds and shares the imported libraries, where a
new interpreter takes a second to import scikit-learn. The template has one thread and
has run no numerical code, so that forking it is safe. Requests come over a socket of
packets: ``b"fork"`` with the descriptors of a connection, of stdout and of stderr; or
``b"poll"`` and a process id, answered by that id and its exit code, or RUNNING.

No worker outlives the parent, and nothing that a worker has started outlives the
worker: the template has nothing to do but to wait, and kills their process groups.
"""

import contextlib
import ctypes
import gc
import os
import random
import signal
import socket
import struct
import traceback
from multiprocessing.connection import Connection

import numpy as np

from accsmbo.execution._worker_process import main as worker_main

__all__ = ["ANSWER", "PID", "RUNNING", "main"]

PID = struct.Struct("!q")
ANSWER = struct.Struct("!qq")
RUNNING = -(2**31)
# Of Linux's prctl: which signal a process gets when its parent dies.
PR_SET_PDEATHSIG = 1


def main(control_fd: int) -> None:
    """Serve fork requests until the parent goes away; then end all workers.

    Parameters
    ----------
    control_fd : int
        Descriptor of our end of the socket.
    """
    # Ctrl-C in a terminal reaches the whole group: it is the parent's to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=control_fd)
    # What is there now is never collected, so that its pages stay shared.
    gc.freeze()
    workers: set[int] = set()
    # A parent that was killed shows as the end or as an error of the connection.
    with contextlib.suppress(ConnectionError):
        _serve(control, workers)
    for pid in workers:
        _kill_group(pid)


def _serve(control: socket.socket, workers: set[int]) -> None:
    exit_codes: dict[int, int] = {}
    while True:
        request, fds, _, _ = socket.recv_fds(control, 64, 3)
        if not request:
            return
        _reap(workers, exit_codes)
        if request == b"fork":
            _fork(control, fds, workers)
        else:
            (pid,) = PID.unpack(request[4:])
            control.send(ANSWER.pack(pid, exit_codes.pop(pid, RUNNING)))


def _fork(control: socket.socket, fds: list[int], workers: set[int]) -> None:
    template = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        # The parent sees the end of the connection.
        traceback.print_exc()
    else:
        if pid == 0:
            control.close()
            _work(template, fds)
        workers.add(pid)
        # The worker does so too: whoever comes first.
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
    for fd in fds:
        os.close(fd)


def _work(template: int, fds: list[int]) -> None:
    code = 1
    try:
        # Should the template be killed with the parent, or alone.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == template:
            os.dup2(fds[1], 1)
            os.dup2(fds[2], 2)
            # Otherwise all workers would draw the same numbers.
            random.seed()
            np.random.seed()  # noqa: NPY002
            worker_main(Connection(fds[0]))
            code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _reap(workers: set[int], exit_codes: dict[int, int]) -> None:
    """Collect the exit codes of workers that have ended; minus the signal if killed."""
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while workers and (ended := os.waitid(os.P_ALL, 0, flags)) is not None:
        pid = ended.si_pid
        # Before the number is free for others.
        _kill_group(pid)
        _, status = os.waitpid(pid, 0)
        workers.discard(pid)
        exit_codes[pid] = os.waitstatus_to_exitcode(status)


def _kill_group(pid: int) -> None:
    """Kill a worker that was not collected, wherever it is, and what it started."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            kill(pid, signal.SIGKILL)
