# SPDX-License-Identifier: BSD-3-Clause
"""Files that are read and written: regular ones, replaced whole, never by a link."""

import contextlib
import errno
import itertools
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

__all__ = ["check_folder", "check_regular", "new_beside", "replacing"]

KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_regular(path: Path, name: str) -> None:
    """Refuse what exists and is no regular file: reading it may never end.

    Parameters
    ----------
    path : Path
        What is to be opened; links are followed.
    name : str
        Name of the argument, for the message.

    Raises
    ------
    ValueError
        If it is a directory, a pipe, a socket or a device.
    """
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            raise ValueError(
                f"{name} must be a regular file, got {str(path)!r}, which is "
                f"{_kind(mode)}. Give the path of a file."
            )


def check_folder(path: Path, name: str) -> None:
    """Refuse a file to be written where there is no folder for it.

    Parameters
    ----------
    path : Path
        The file; links are followed.
    name : str
        Name of the argument, for the message.

    Raises
    ------
    ValueError
        If there is no folder.
    """
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise ValueError(
            f"{name} must be a file in a folder that exists, got {str(path)!r}, but "
            f"there is no folder {folder!r}. Make it, or give another path."
        )


def _kind(mode: int) -> str:
    return next((kind for test, kind in KINDS if test(mode)), "of another kind")


@contextlib.contextmanager
def replacing(path: Path, name: str) -> Iterator[IO[bytes]]:
    """Open a file to be written whole: readers see the old content or the new.

    A draft beside it, whose name nobody can foresee, takes its place in one step. Links
    are followed, and the mode stays. Pipes and character devices are written in place.

    Parameters
    ----------
    path : Path
        Where to write; its folder exists.
    name : str
        Name of the argument, for messages.

    Yields
    ------
    file object
        Open for bytes; nothing changes where the body raises.

    Raises
    ------
    ValueError
        If a directory, a socket or a block device is in the place.
    OSError
        If it cannot be written, or nobody reads the pipe.
    """
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
    if mode is not None and (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
        with open(path, "wb", opener=_open_now) as file:
            yield file
        return
    if mode is not None:
        check_regular(path, name)
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".accsmbo-{secrets.token_hex(8)}.part")
    wanted = 0o666 if mode is None else stat.S_IMODE(mode) & 0o777
    try:
        # "x" follows no link. The mode of a new file is what the umask leaves.
        with open(draft, "xb", opener=lambda p, f: os.open(p, f, wanted)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(draft, wanted)
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def _open_now(path: str, flags: int) -> int:
    """Open a pipe or device; an error, and no waiting, where nobody reads a pipe."""
    at_once = getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags & ~(os.O_CREAT | os.O_TRUNC) | at_once)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        why = "nobody reads this pipe. Start the reader first"
        raise OSError(error.errno, why, str(path)) from error
    if at_once:
        os.set_blocking(handle, True)
    return handle


def new_beside(path: Path, word: str) -> IO[Any]:
    """Make a file beside another, with a name that no file has yet.

    Parameters
    ----------
    path : Path
        The other, for example ``study.jsonl``.
    word : str
        What the new one is; ``"damaged"`` gives ``study.jsonl.damaged``, then
        ``study.jsonl.damaged-2`` and so on, also beside one of these.

    Returns
    -------
    file object
        Open to append and read bytes, unbuffered.

    Raises
    ------
    OSError
        If none can be made.
    """
    stem = re.sub(rf"\.{word}(-[0-9]+)?\Z", "", path.name)
    for number in itertools.count(1):
        more = "" if number == 1 else f"-{number}"
        with contextlib.suppress(FileExistsError):
            place = path.with_name(f"{stem}.{word}{more}")
            return open(place, "a+b", buffering=0, opener=_exclusive)
    raise AssertionError


def _exclusive(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
