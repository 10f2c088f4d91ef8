# SPDX-License-Identifier: BSD-3-Clause
"""write_report and watch_report: a study -> an HTML file, replaced in one step."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accsmbo._files import check_folder, replacing
from accsmbo.report._page import page
from accsmbo.report._summary import read_study, summarize, title_of
from accsmbo.storage import JournalStorage
from accsmbo.storage._lock import is_locked

__all__ = ["watch_report", "write_report"]

# How often a watched journal is looked at, in seconds.
POLL = 0.5


def write_report(
    history: Any,
    out: str | os.PathLike[str],
    *,
    title: str | None = None,
    refresh: float | None = None,
) -> Path:
    """Write a report of a search: one HTML page that needs nothing else.

    The page has the best candidates, the convergence, the importance of the parameters,
    slices of a surrogate, all trials, the workers' timeline and the failures with their
    reasons. It loads nothing and runs no script, and all text that comes from a journal
    is escaped. It may be written while the search runs; a reader of the file sees the
    last page or the new one, never a part.

    Parameters
    ----------
    history : History, fitted search, or path of a journal
        What to report.
    out : str or path-like
        The file to write. One that is there is replaced in one step and keeps its mode;
        what a symbolic link points to is replaced and not the link; a pipe or a device
        such as ``/dev/stdout`` is written in place.
    title : str, default=None
        Heading; None: the name of the journal.
    refresh : float, default=None
        Seconds after which a browser loads the page anew; None: never.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If ``history`` is none of these.
    OSError
        If a file cannot be read or written.
    ValueError
        If the journal is none, of a newer format or damaged, or ``out`` is the journal
        itself, a directory, a socket or a block device, or in no folder.

    See Also
    --------
    watch_report : Writes it anew as the journal grows.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.report import write_report
    >>> history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=8)
    >>> path = write_report(history, pathlib.Path(tempfile.mkdtemp()) / "report.html")
    >>> path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    True
    """
    out = Path(out)
    _check_out(history, out)
    check_folder(out, "out")
    text = page(
        summarize(*read_study(history)),
        title_of(history, title),
        refresh=refresh,
    )
    with replacing(out, "out") as file:
        file.write(text.encode())
    return out


def watch_report(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    interval: float = 5.0,
    title: str | None = None,
    written: Callable[[Path], bool | None] | None = None,
) -> None:
    """Write a report whenever a journal has changed, until the search has ended.

    Browsers that show the page load it anew every ``interval`` seconds. When this ends,
    also by Ctrl-C or by ``written``, a last page is written that does not reload. A
    journal that does not say how its search ended, since the search was killed, is
    watched on: it may be resumed.

    Parameters
    ----------
    path : str or path-like
        The journal; it must exist.
    out : str or path-like
        The file to write.
    interval : float, default=5.0
        Least number of seconds between two pages.
    title : str, default=None
        Heading; None: the name of the journal.
    written : callable, default=None
        Called with the file after each page; watching ends where it returns True.

    Raises
    ------
    KeyboardInterrupt
        By Ctrl-C, after the last page.
    ImportError, TypeError, OSError, ValueError
        As :func:`write_report`.

    See Also
    --------
    write_report : Once.
    """
    path, out = Path(path), Path(out)
    try:
        seen = None
        while True:
            # An end that is written after this look is seen at the next.
            file, locked = path.stat(), is_locked(path)
            look = file.st_size, file.st_mtime_ns, locked
            if look != seen:
                seen = look
                if not locked and JournalStorage(path).status().state == "ended":
                    return
                write_report(path, out, title=title, refresh=interval)
                if written is not None and written(out):
                    return
                _sleep(interval)
            else:
                _sleep(min(POLL, interval))
    finally:
        write_report(path, out, title=title)


def _sleep(seconds: float) -> None:
    time.sleep(seconds)


def _check_out(history: Any, out: Path) -> None:
    source = getattr(history, "path", history)
    if not isinstance(source, (str, os.PathLike)) or not out.exists():
        return
    if Path(source).exists() and out.samefile(source):
        raise ValueError(
            f"out must be another file than the journal, got {str(out)!r} for both. "
            "Give for example 'report.html'."
        )
