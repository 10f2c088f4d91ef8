# SPDX-License-Identifier: BSD-3-Clause
"""The program of the template process: imports once, then forks each worker at once.

A worker forked from here costs milliseconds and shares the imported libraries, where a
new interpreter takes a second to import scikit-learn. The template has one thread and
has run no numerical code, so that forking it is safe. Requests come over a socket of
packets: ``b"fork"`` with the descriptors of a connection, of stdout and of stderr; or
``b"poll"`` and a process id, answered by its exit code, or by RUNNING.
"""

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

__all__ = ["PID", "RUNNING", "main"]

PID = struct.Struct("!q")
RUNNING = -(2**31)


def main(control_fd: int) -> None:
    """Serve fork requests until the parent goes away.

    Parameters
    ----------
    control_fd : int
        Descriptor of our end of the socket.
    """
    # Ctrl-C in a terminal reaches the whole group: it is the parent's to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=control_fd)
    exit_codes: dict[int, int] = {}
    # What is there now is never collected, so that its pages stay shared.
    gc.freeze()
    while True:
        request, fds, _, _ = socket.recv_fds(control, 64, 3)
        if not request:
            return
        _reap(exit_codes)
        if request == b"fork":
            _fork(control, fds)
        else:
            (pid,) = PID.unpack(request[4:])
            control.send(PID.pack(exit_codes.get(pid, RUNNING)))


def _fork(control: socket.socket, fds: list[int]) -> None:
    if os.fork() == 0:
        code = 1
        try:
            control.close()
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
    for fd in fds:
        os.close(fd)


def _reap(exit_codes: dict[int, int]) -> None:
    """Collect the exit codes of workers that have ended; minus the signal if killed."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        exit_codes[pid] = os.waitstatus_to_exitcode(status)
