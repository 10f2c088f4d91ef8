# SPDX-License-Identifier: BSD-3-Clause
"""An advisory lock on an open file; the system drops it when the process ends."""

import os
from typing import IO, Any

__all__ = ["lock"]

# Windows locks ranges of bytes: one far behind any content leaves reading free.
FAR = 2**62


def lock(file: IO[Any]) -> bool:
    """Try to take the lock of an open file.

    Parameters
    ----------
    file : file object
        Open for writing; the lock ends when it is closed.

    Returns
    -------
    bool
        Whether the lock is ours now; another open file holds it if not.
    """
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(FAR)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
