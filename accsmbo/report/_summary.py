# SPDX-License-Identifier: BSD-3-Clause
"""Summary: what a report says of a search, as numbers and text."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from accsmbo._validation import check_is
from accsmbo.execution import StopReason
from accsmbo.history import Evaluation, Trial
from accsmbo.inspection import (
    Importances,
    Readout,
    Surface,
    as_readout,
    fit_surfaces,
    importances,
    is_complete,
    means_of_points,
)
from accsmbo.storage import JournalStatus, JournalStorage

__all__ = [
    "Candidate",
    "Failures",
    "Summary",
    "read_study",
    "say_status",
    "summarize",
    "title_of",
]

N_BEST = 10
N_NUMBERS = 8
REASONS = {reason.name.lower(): reason.value for reason in StopReason} | {
    "closed": "its journal was closed",
    "error": "an error was raised",
}


@dataclass(frozen=True, eq=False)
class Candidate:
    """One of the best trials.

    Attributes
    ----------
    trial : Trial
        What was tried.
    value : float
        Its loss or score.
    spread : float or None
        Standard deviation of the scores over the folds, where they are known.
    """

    trial: Trial
    value: float
    spread: float | None


@dataclass(frozen=True, eq=False)
class Failures:
    """Trials that failed for the same reason.

    Attributes
    ----------
    reason : str
        Last line of the error.
    trials : list of Trial
        In order of telling.
    error : str
        All of the first one's error.
    """

    reason: str
    trials: list[Trial]
    error: str


@dataclass(frozen=True, eq=False)
class Summary:
    """What a report says.

    Attributes
    ----------
    readout : Readout
        Its source.
    n_failed, n_partial : int
        Trials that failed, and those that had a part of the folds or of the resource.
    best : list of Candidate
        The best of the other trials, the best first.
    failures : list of Failures
        The most frequent reason first.
    seconds : float or None
        From the first start to the last end.
    n_workers, n_spans : int
        Workers that ran something and folds they ran, 0 where it is not known.
    surfaces : list of Surface
        Surrogates, one for each subspace that has something to fit.
    importances : Importances or None
        Shares of the parameters, where there is a surrogate.
    why_no_surrogate : str
        What stood in the way, "" otherwise.
    status : JournalStatus or None
        Whether it is running, where it was read from a journal.
    """

    readout: Readout
    n_failed: int
    n_partial: int
    best: list[Candidate]
    failures: list[Failures]
    seconds: float | None
    n_workers: int
    n_spans: int
    surfaces: list[Surface]
    importances: Importances | None
    why_no_surrogate: str
    status: JournalStatus | None

    @property
    def n_of(self) -> str:
        """Number of trials, and of how many, where there are fewer than planned."""
        n, planned = len(self.readout.history), self.status and self.status.n_trials
        return f"{n} of {planned}" if planned and n < planned else str(n)


def title_of(source: Any, title: str | None) -> str:
    """Return the title of what is reported; None: the file's name, or the class."""
    check_is("title", title, (str, NoneType), "a string, or None")
    if title is not None:
        return title
    if isinstance(source, JournalStorage):
        source = source.path
    if isinstance(source, (str, os.PathLike)):
        return Path(source).name
    return type(source).__name__


def read_study(source: Any) -> tuple[Readout, JournalStatus | None]:
    """Return the study of a source.

    Parameters
    ----------
    source : History, fitted search, or path of a journal
        What to report.

    Returns
    -------
    readout : Readout
        Its history and what the values mean.
    status : JournalStatus or None
        Whether it is running; None where ``source`` is not a journal.

    Raises
    ------
    TypeError
        If it is none of these.
    OSError
        If the file cannot be read.
    ValueError
        If it is no journal, one of a newer format, or damaged.
    """
    if isinstance(source, (str, os.PathLike)):
        source = JournalStorage(source)
    if not isinstance(source, JournalStorage):
        return as_readout(source), None
    # Before the trials: all of a study that has ended are then shown.
    status = source.status()
    return as_readout(source), status


def say_status(status: JournalStatus) -> str:
    """Return whether a study is running, and why it ended, as a sentence.

    Parameters
    ----------
    status : JournalStatus
        What its journal says.

    Returns
    -------
    str
        Text of the journal may be in it.
    """
    if status.state == "running":
        return "Running."
    if status.state == "ended":
        why = REASONS.get(str(status.reason), str(status.reason))
        return f"Ended: {why}" + (f" ({status.error})." if status.error else ".")
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(status.modified))
    return (
        "Unknown whether it is running: no process of this machine has the journal "
        f"open, and it does not say that the search has ended. Last written {when}."
    )


def summarize(readout: Readout, status: JournalStatus | None = None) -> Summary:
    """Return what a report says of a study.

    Parameters
    ----------
    readout : Readout
        Any readout, also an empty one or one in which all trials failed.
    status : JournalStatus or None, default=None
        That of its journal.

    Returns
    -------
    Summary
        The numbers.
    """
    history = readout.history
    records = list(history)
    starts = [e.start_time for _, e in records if e.start_time is not None]
    ends = [e.end_time for _, e in records if e.end_time is not None]
    surfaces, found, why = _model(readout)
    return Summary(
        readout=readout,
        n_failed=sum(e.failed for _, e in records),
        n_partial=int(np.sum(~is_complete(history) & np.isfinite(history.values))),
        best=_best(readout),
        failures=_failures(records),
        seconds=max(ends) - min(starts) if starts and ends else None,
        n_workers=len({span.worker for _, e in records for span in e.spans}),
        n_spans=sum(len(e.spans) for _, e in records),
        surfaces=surfaces,
        importances=found,
        why_no_surrogate=why,
        status=status,
    )


def _model(readout: Readout) -> tuple[list[Surface], Importances | None, str]:
    try:
        surfaces = list(fit_surfaces(readout))
        return surfaces, importances(surfaces, means_of_points(readout)), ""
    except (ValueError, np.linalg.LinAlgError) as error:
        return [], None, str(error)


def _best(readout: Readout) -> list[Candidate]:
    good = [
        (trial, evaluation)
        for (trial, evaluation), complete in zip(
            readout.history, is_complete(readout.history), strict=True
        )
        if not evaluation.failed and complete
    ]
    good.sort(key=lambda record: (record[1].value, record[0].number))
    return [
        Candidate(t, readout.sign * float(e.value or 0.0), _spread(readout, e))
        for t, e in good[:N_BEST]
    ]


def _spread(readout: Readout, evaluation: Evaluation) -> float | None:
    scores = [fold.get("test_scores") for fold in evaluation.folds]
    values = [
        s.get(readout.value_name) if isinstance(s, Mapping) else s for s in scores
    ]
    numbers = [float(v) for v in values if isinstance(v, (int, float))]
    return float(np.std(numbers)) if len(numbers) > 1 else None


def _failures(records: list[tuple[Trial, Evaluation]]) -> list[Failures]:
    groups: dict[str, Failures] = {}
    for trial, evaluation in records:
        if not evaluation.failed and evaluation.error is None:
            continue
        error = str(evaluation.error or "the value is not finite")
        lines = [line.strip() for line in error.splitlines() if line.strip()]
        reason = lines[-1] if lines else "(no message)"
        groups.setdefault(reason, Failures(reason, [], error)).trials.append(trial)
    return sorted(groups.values(), key=lambda group: -len(group.trials))
