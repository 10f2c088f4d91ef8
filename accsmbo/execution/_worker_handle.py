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
from typing import Any

from joblib.externals.loky.backend import get_context

from accsmbo.execution._pickling import cloudpickle
from accsmbo.execution._work import THREAD_VARIABLES
from accsmbo.execution._worker_process import main

__all__ = ["ForkedProcess", "SpawnedProcess", "Template", "WorkerHandle"]

# How long a process that has closed its connection may take to have an exit code.
EXIT_SECONDS = 1.0


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
        settings = {
            "path": list(sys.path),
            "folder": _folder(),
            "environment": dict(os.environ),
            "authkey": bytes(multiprocessing.current_process().authkey),
        }
        self.send("settings", settings)

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
            message: tuple[Any, ...] = pickle.loads(self.connection.recv_bytes())
        except OSError as error:
            raise EOFError from error
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
        raise NotImplementedError

    def kill(self) -> None:
        """End the process and what it has started."""
        # One that has no pid yet ends by itself, having lost its parent.
        self.connection.close()
        if self.pid is None:
            return
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg") and os.getpgid(self.pid) == self.pid:
                os.killpg(self.pid, signal.SIGKILL)

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


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        # It was deleted.
        return os.sep


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
        self._process.start()
        theirs.close()
        super().__init__(ours)

    def exit_code(self) -> int | None:
        """Return the exit code, minus the signal if killed; None while it runs."""
        code: int | None = self._process.exitcode
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
        template.fork(theirs.fileno())
        theirs.close()
        super().__init__(ours)

    def exit_code(self) -> int | None:
        """Return the exit code, minus the signal if killed; None while it runs."""
        return None if self.pid is None else self._template.exit_code(self.pid)


class Template:
    """The template process, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def fork(self, fd: int) -> None:
        """Ask for a worker on a connection; it is there when it says ``ready``.

        Parameters
        ----------
        fd : int
            Descriptor of the worker's end.
        """
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()
            control = self._control
            # A template that has died shows as the end of the connection.
            with contextlib.suppress(OSError):
                socket.send_fds(control, [b"fork"], [fd, 1, 2])  # type: ignore[arg-type]

    def exit_code(self, pid: int) -> int | None:
        """Return the exit code of a worker, None while it runs or is unknown."""
        from accsmbo.execution._template_process import PID, RUNNING

        with self._lock, contextlib.suppress(OSError):
            if self._control is None:
                return None
            self._control.send(b"poll" + PID.pack(pid))
            answer = self._control.recv(PID.size)
            if len(answer) == PID.size:
                code = int(PID.unpack(answer)[0])
                return None if code == RUNNING else code
        return None

    def end(self) -> None:
        """End the template; its workers are not touched."""
        with self._lock:
            if self._control is not None:
                self._control.close()
            if self._process is not None:
                self._process.kill()
                self._process.wait()
            self._process = self._control = None

    def abandon(self) -> None:
        """Forget the template, in a fork of this process: it is the parent's."""
        if self._control is not None:
            self._control.close()
        self.__init__()  # type: ignore[misc]

    def _start(self) -> None:
        if self._control is not None:
            self._control.close()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            "from accsmbo.execution._template_process import main; "
            f"main({theirs.fileno()})"
        )
        # One thread each: threads would not survive the fork.
        environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        theirs.close()
