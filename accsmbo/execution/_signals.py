# SPDX-License-Identifier: BSD-3-Clause
"""Signals: when Ctrl-C and SIGTERM arrive, and what SIGTERM does."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["started_uninterrupted", "terminable", "undisturbed"]

# Some send SIGTERM to the process and to its group at once: that is one request.
REPEAT_SECONDS = 1.0


class _Terminator:
    """Handler of SIGTERM: as Ctrl-C."""

    def __init__(self) -> None:
        self._last = float("-inf")

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        repeated = now - self._last < REPEAT_SECONDS
        self._last = now
        if not repeated:
            raise KeyboardInterrupt


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM interrupt the block as Ctrl-C does, where nobody handles it."""
    if not _in_main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _Terminator())
    try:
        yield
    finally:
        _restore()


def _restore() -> None:
    if isinstance(signal.getsignal(signal.SIGTERM), _Terminator):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


# Those who end a fork by SIGTERM expect it to die at once: there the handler is gone
# before the signal can arrive.
_mask_before_fork = threading.local()


def _before_fork() -> None:
    if isinstance(signal.getsignal(signal.SIGTERM), _Terminator):
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        _mask_before_fork.mask = mask


def _after_fork() -> None:
    mask = vars(_mask_before_fork).pop("mask", None)
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _after_fork_in_child() -> None:
    _restore()
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork,
        after_in_child=_after_fork_in_child,
    )


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Put off Ctrl-C and SIGTERM to the end of the block."""
    # Only the main thread is interrupted, and only it may set handlers.
    if not _in_main_thread():
        yield
        return
    arrived: dict[int, FrameType | None] = {}
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM)
        if callable(handler := signal.getsignal(number))
    }
    for number in handlers:
        signal.signal(number, arrived.setdefault)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        # All are called, even if one raises.
        with contextlib.ExitStack() as calls:
            for number, frame in arrived.items():
                calls.callback(handlers[number], number, frame)


@contextlib.contextmanager
def started_uninterrupted() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach until they unblock it themselves."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
