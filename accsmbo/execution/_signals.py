# SPDX-License-Identifier: BSD-3-Clause
"""undisturbed(): put off Ctrl-C until a step is done as a whole."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["undisturbed"]


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Put off an interrupt from the keyboard to the end of the block."""
    handler = signal.getsignal(signal.SIGINT)
    # Only the main thread is interrupted, and only it may set handlers.
    if threading.current_thread() is not threading.main_thread() or not callable(
        handler
    ):
        yield
        return
    arrived: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *arguments: arrived.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived:
            handler(*arrived[0])
