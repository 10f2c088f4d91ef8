# SPDX-License-Identifier: BSD-3-Clause
"""The open file of a journal: lock, whole writes, checksum, an end put aside."""

import os
import zlib
from pathlib import Path
from typing import IO

from accsmbo._files import check_folder, check_regular, new_beside
from accsmbo.storage._lock import lock

__all__ = ["checksum", "open_locked", "put_aside", "write_all"]


def checksum(file: IO[bytes]) -> int:
    """Return the CRC-32 of all that a file holds."""
    file.seek(0)
    found = 0
    while block := file.read(2**20):
        found = zlib.crc32(block, found)
    return found


def write_all(file: IO[bytes], data: bytes) -> None:
    """Write bytes to an unbuffered file."""
    # A full disk may take a part and no more.
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def put_aside(file: IO[bytes], start: int, path: Path) -> str:
    """Copy the end of a file to a new one; return its name."""
    with new_beside(path, "damaged") as kept:
        file.seek(start)
        while block := file.read(2**20):
            write_all(kept, block)
        os.fsync(kept.fileno())
    return str(kept.name)


def open_locked(path: Path) -> IO[bytes]:
    """Open a journal to append and read, and lock it."""
    check_regular(path, "storage")
    check_folder(path, "storage")
    file = open(path, "a+b", buffering=0)  # noqa: SIM115
    try:
        if lock(file):
            return file
    except OSError as error:
        file.close()
        raise RuntimeError(
            f"storage must be on a file system with locks, got {str(path)!r}, which "
            f"cannot be locked ({error}). Give a path on another file system, such as "
            "a local disk."
        ) from error
    file.close()
    raise RuntimeError(
        f"storage must be a journal that no other run has open, got {str(path)!r}, "
        "which is locked. Wait for the other run, or give another path."
    )
