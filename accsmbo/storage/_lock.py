# SPDX-License-Identifier: BSD-3-Clause
"""An advisory lock on an open file; the system drops it when the process ends."""

import os
import time
from pathlib import Path
from typing import IO, Any

from accsmbo._files import check_regular

__all__ = ["is_locked", "lock", "unlock"]

# Windows locks ranges of bytes: one far behind any content leaves reading free.
FAR = 2**62
# is_locked holds the lock for some microseconds, which is not another run.
TRIES, PAUSE = 10, 0.01


def lock(file: IO[Any]) -> bool:
    """Try to take the lock of an open file.

    Parameters
    ----------
    file : file object
        Open for writing; the lock ends with :func:`unlock` or the process.

    Returns
    -------
    bool
        Whether the lock is ours now; another open file holds it if not.

    Raises
    ------
    OSError
        If the file system has no locks.
    """
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE)
        try:
            _take(file)
        except (BlockingIOError, PermissionError):
            # The second is what Windows raises.
            continue
        return True
    return False


def unlock(file: IO[Any]) -> None:
    """Give the lock of an open file up, also for processes that inherited the file.

    Parameters
    ----------
    file : file object
        One whose lock is ours.
    """
    if os.name == "nt":
        import msvcrt

        file.seek(FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_UN)


def is_locked(path: Path) -> bool:
    """Tell whether an open file, here or in another process, holds the lock of a file.

    Parameters
    ----------
    path : Path
        An existing regular file.

    Returns
    -------
    bool
        False also where the file system has no locks.
    """
    check_regular(path, "storage")
    with open(path, "rb") as file:
        try:
            _take(file, shared=True)
        except (BlockingIOError, PermissionError):
            # The second is what Windows raises.
            return True
        except OSError:
            return False
        unlock(file)
        return False


def _take(file: IO[Any], *, shared: bool = False) -> None:
    if os.name == "nt":
        import msvcrt

        file.seek(FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        # Two readers that look at the same time do not see each other.
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(file.fileno(), kind | fcntl.LOCK_NB)
