# SPDX-License-Identifier: BSD-3-Clause
"""JournalStatus: whether a study is being searched, and why the last run ended."""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from accsmbo.storage._checks import text, whole
from accsmbo.storage._lock import is_locked
from accsmbo.storage._reading import decoding, read_records, warn_of_damage

__all__ = ["JournalStatus", "ending_of", "reason_of", "status_of"]

# An error may carry a whole table; its kind and its first words are enough.
MAX_ERROR = 300

NOTES = ("became", "route")  # records that do not go on with a study


@dataclass(frozen=True)
class JournalStatus:
    """Whether a study is being searched, and why the last run ended.

    It joins what the records of a journal say with the lock that a run holds on the
    file, and is as old as the moment when it was read.

    Attributes
    ----------
    state : {"running", "ended", "unknown"}
        ``"running"``: a process has the journal open to write. ``"ended"``: the last
        run said so. ``"unknown"``: neither; the run was killed, it writes from a
        machine whose locks do not reach this one, or an accsmbo wrote it that did not
        record its end.
    reason : str or None
        Why the last run ended: the name of a :class:`~accsmbo.execution.StopReason` in
        lower case, ``"closed"`` for a journal that was closed without a reason, or
        ``"error"``. None where it has not ended.
    error : str or None
        The exception that ended it.
    n_trials : int or None
        Largest number of trials of the last run that started one, where it is recorded.
    modified : float
        When the file was last written, in seconds since the epoch.

    See Also
    --------
    JournalStorage.status : Gives it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from accsmbo import JournalStorage, Real, minimize
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.jsonl"
    >>> _ = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=3,
    ...              storage=path)
    >>> status = JournalStorage(path).status()
    >>> status.state, status.reason, status.n_trials
    ('ended', 'budget', 3)
    """

    state: Literal["running", "ended", "unknown"]
    reason: str | None
    error: str | None
    n_trials: int | None
    modified: float


def status_of(path: Path) -> JournalStatus:
    """Return what the lock and the records of a journal say of its study.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    JournalStatus
        The lock counts first: a run that resumes an ended study is running.
    """
    # Before the records: a run that ends in between has then written why.
    running = is_locked(path)
    content = read_records(path)
    warn_of_damage(path, content, "A run that resumes it keeps the others beside it.")
    ending = None if running else ending_of(content.records, path)
    return JournalStatus(
        state="running" if running else "ended" if ending else "unknown",
        reason=ending["reason"] if ending else None,
        error=ending.get("error") if ending else None,
        n_trials=_n_trials(content.records, path),
        modified=path.stat().st_mtime,
    )


def _n_trials(records: Sequence[dict[str, Any]], path: Path) -> int | None:
    n_trials = None
    for number, record in enumerate(records, 1):
        if "started" in record:
            with decoding(path, number):
                n_trials = whole(record["started"], "n_trials")
    return n_trials


def ending_of(records: Sequence[dict[str, Any]], path: Path) -> dict[str, Any] | None:
    """Return why a study ended, or None where it did not, or goes on after that.

    Parameters
    ----------
    records : sequence of dict
        All of a journal.
    path : Path
        The file, for messages.

    Returns
    -------
    dict or None
        ``reason``, ``time`` and perhaps ``error``.
    """
    last = len(records)
    while last and not records[last - 1].keys().isdisjoint(NOTES):
        last -= 1
    if not last or "ended" not in records[last - 1]:
        return None
    with decoding(path, last):
        ending = records[last - 1]["ended"]
        text(ending, "reason")
        text({"error": None, **ending}, "error", or_none=True)
    return dict(ending)


def reason_of(error: BaseException | None) -> tuple[str, str | None]:
    """Return the reason and the error to record where a run was left by an exception.

    Parameters
    ----------
    error : BaseException or None
        None: it was left without one.

    Returns
    -------
    reason : str
        As in :class:`JournalStatus`.
    error : str or None
        The kind and the message, cut where they are long.
    """
    if error is None:
        return "closed", None
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", None
    text = "".join(traceback.format_exception_only(error)).strip()
    return "error", text[:MAX_ERROR]
