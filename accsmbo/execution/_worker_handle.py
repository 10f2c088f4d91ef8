# SPDX-License-Identifier: BSD-3-Clause
"""The parent's side of a worker process: forked from a template, or spawned."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from joblib.externals.loky.backend import get_context, resource_tracker

from accsmbo.execution._pickling import cloudpickle
from accsmbo.execution._signals import started_uninterrupted
from accsmbo.execution._work import THREAD_VARIABLES
from accsmbo.execution._worker_process import main

__all__ = [
    "ForkedProcess",
    "SpawnedProcess",
    "Template",
    "WorkerHandle",
    "str_entries",
]

# How long a process that has closed its connection may take to have an exit code, and
# the template to answer.
EXIT_SECONDS = 1.0
HANDLES: "weakref.WeakSet[WorkerHandle]" = weakref.WeakSet()


def _close_connections() -> None:
    # A fork of this process that kept one would keep the worker alive after our end.
    for handle in list(HANDLES):
        handle.connection.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_connections)


def str_entries(path: Iterable[Any]) -> list[str]:
    """Return the entries of ``sys.path`` that imports use; others mean nothing."""
    return [entry for entry in path if isinstance(entry, str)]


class WorkerHandle:
    """One worker process and the connection to it.

    Parameters
    ----------
    connection : Connection
        Our end.
    """

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.pid: int | None = None
        self._exit_code: int | None = None
        HANDLES.add(self)

    def send(self, *message: Any) -> None:
        """Send a message; a dead process shows when its answer is waited for."""
        with contextlib.suppress(OSError):
            self.connection.send_bytes(cloudpickle.dumps(message))

    def receive(self) -> tuple[Any, ...] | None:
        """Return the next message that is there, or None.

        Raises
        ------
        EOFError
            If the process has closed the connection and all messages are read.
        """
        try:
            if not self.connection.poll():
                return None
            data = self.connection.recv_bytes()
        except OSError as error:
            raise EOFError from error
        try:
            message: tuple[Any, ...] = pickle.loads(data)
        except Exception as error:
            return "unreadable", traceback.format_exception_only(error)[-1].strip()
        if message[0] == "ready":
            self.pid = message[1]
        return message

    def is_open(self) -> bool:
        """Tell whether an idle process still listens."""
        try:
            self.receive()
        except EOFError:
            return False
        return True

    def exit_code(self) -> int | None:
        """Return the exit code, minus the signal if killed; None while it runs."""
        if self._exit_code is None:
            self._exit_code = self._poll()
        return self._exit_code

    def _poll(self) -> int | None:
        """Ask the system for the exit code."""
        raise NotImplementedError

    def kill(self) -> None:
        """End the process and what it has started."""
        # One that has no pid yet ends by itself, having lost its parent.
        self.connection.close()
        # The number of one that has ended may be that of another process by now.
        if self.pid is not None and self.exit_code() is None:
            self._kill_group(self.pid)

    @staticmethod
    def _kill_group(pid: int) -> None:
        if hasattr(os, "killpg"):
            # It may have moved to another group.
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(OSError):
                    kill(pid, signal.SIGKILL)

    def is_stopped(self) -> bool:
        """Tell whether a signal has suspended the process, where that can be seen."""
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{self.pid}/stat").read_text()
            return stat.rpartition(")")[2].split()[0] == "T"
        return False

    def death(self) -> str:
        """Say how the process ended."""
        end = time.monotonic() + EXIT_SECONDS
        while (code := self.exit_code()) is None and time.monotonic() < end:
            time.sleep(0.01)
        if code is None:
            return "it closed its connection"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"killed by signal {signal.Signals(-code).name}"
        return f"exit code {code}"


class SpawnedProcess(WorkerHandle):
    """A worker in a new interpreter, on any platform."""

    def __init__(self) -> None:
        # loky's context: no fork of a threaded process, no import of __main__.
        context = get_context("loky")
        ours, theirs = context.Pipe()
        self._process = context.Process(
            target=main,
            args=(theirs,),
            name="accsmbo-worker",
            env=dict.fromkeys(THREAD_VARIABLES, "1"),
        )
        # Its start would unblock the signal.
        resource_tracker.ensure_running()
        with started_uninterrupted():
            self._process.start()
        theirs.close()
        super().__init__(ours)

    def _poll(self) -> int | None:
        code: int | None = self._process.exitcode
        if code is not None and self.pid is not None:
            # What it has started is still there.
            self._kill_group(self.pid)
        return code

    def kill(self) -> None:
        """End the process and what it has started."""
        super().kill()
        with contextlib.suppress(OSError):
            self._process.terminate()
        self._process.join()


class ForkedProcess(WorkerHandle):
    """A worker forked from a template (Linux).

    Parameters
    ----------
    template : Template
        What to fork.
    """

    def __init__(self, template: "Template") -> None:
        ours, theirs = multiprocessing.Pipe()
        self._template = template
        self._template_pid = template.fork(theirs.fileno())
        theirs.close()
        super().__init__(ours)

    def _poll(self) -> int | None:
        return self._template.exit_code(self.pid, self._template_pid)


class Template:
    """The template process, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def fork(self, fd: int) -> int:
        """Ask for a worker on a connection; it is there when it says ``ready``.

        Parameters
        ----------
        fd : int
            Descriptor of the worker's end.

        Returns
        -------
        int
            Process id of the template, the worker's parent.
        """
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()
            self._wake()
            control = self._control
            # A template that has died shows as the end of the connection.
            with contextlib.suppress(OSError):
                socket.send_fds(control, [b"fork"], [fd, 1, 2])  # type: ignore[arg-type]
            return self._process.pid  # type: ignore[union-attr]

    def exit_code(self, pid: int | None, parent: int) -> int | None:
        """Return the exit code of a worker, None while it runs or is unknown.

        Parameters
        ----------
        pid : int or None
            The worker; None: not known yet.
        parent : int
            The template that forked it.
        """
        from accsmbo.execution._template_process import ANSWER, PID, RUNNING

        with self._lock, contextlib.suppress(OSError):
            process, control = self._process, self._control
            if control is None or process is None or process.pid != parent:
                # It has died with its template.
                return -signal.SIGKILL
            if process.poll() is not None:
                return -signal.SIGKILL
            self._wake()
            if pid is None:
                return None
            control.send(b"poll" + PID.pack(pid))
            while answer := control.recv(ANSWER.size):
                about, code = ANSWER.unpack(answer)
                # Others are late answers to questions that were given up.
                if about == pid:
                    return None if code == RUNNING else int(code)
        return None

    def end(self) -> None:
        """End the template, and with it the workers that are left."""
        with self._lock:
            if self._control is not None:
                self._control.close()
            if self._process is not None:
                self._process.kill()
                self._process.wait()
            self._process = self._control = None

    def _wake(self) -> None:
        # One that somebody has stopped would leave us waiting for ever.
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def abandon(self) -> None:
        """Forget the template, in a fork of this process: it is the parent's."""
        if self._control is not None:
            self._control.close()
        self.__init__()  # type: ignore[misc]

    def _start(self) -> None:
        if self._control is not None:
            self._control.close()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(EXIT_SECONDS)
        program = (
            f"import sys; sys.path[:] = {str_entries(sys.path)!r}; "
            "from accsmbo.execution._template_process import main; "
            f"main({theirs.fileno()})"
        )
        # One thread each: threads would not survive the fork.
        environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
        # Ctrl-C in a terminal reaches our whole group, and it would print a traceback.
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=environment,
            process_group=0,
        )
        theirs.close()
