# SPDX-License-Identifier: BSD-3-Clause
"""Source tasks from the user's own past searches."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from accsmbo.history import History
from accsmbo.metalearning._source_task import SourceTask

__all__ = ["history_tasks"]

SECONDS_A_DAY = 86400.0


def history_tasks(
    histories: Any, half_life: float | None
) -> tuple[list[SourceTask], Any]:
    """Return one source task for each history, and the space of the first.

    Parameters
    ----------
    histories : sequence of object, or one
        Paths of journals, histories, or objects with ``history_`` or ``history``.
    half_life : float or None
        Days after which a history counts half.

    Returns
    -------
    tasks : list of SourceTask
        Failed trials are left out.
    space : Space or None
        None where no history knows its space.

    Raises
    ------
    ValueError
        If there are none.
    TypeError
        If one is neither a path nor has a history.
    """
    single = isinstance(histories, (str, os.PathLike, History))
    if single or not isinstance(histories, Iterable):
        histories = [histories]
    tasks, space = [], None
    for number, item in enumerate(histories):
        name, history = _load(item, number)
        space = space or history.space
        finished = [(t, e, e.value) for t, e in history if e.value is not None]
        finished = [record for record in finished if not record[1].failed]
        tasks.append(
            SourceTask(
                name,
                [dict(t.params) for t, _, _ in finished],
                [-value for _, _, value in finished],
                weight=_recency(finished, half_life),
                origin={"history": name},
            )
        )
    if not tasks:
        raise ValueError(
            "histories must hold at least one history, got none. Give paths of "
            "journals, or fitted searches."
        )
    return tasks, space


def _load(item: Any, number: int) -> tuple[str, History]:
    if isinstance(item, (str, os.PathLike)):
        from accsmbo.storage import JournalStorage

        return Path(item).stem, JournalStorage(item).load()
    kept = (item, getattr(item, "history_", None), getattr(item, "history", None))
    for candidate in kept:
        if isinstance(candidate, History):
            return f"history {number}", candidate
    raise TypeError(
        f"histories[{number}] must be the path of a journal, a History, or have one as "
        f"history_ or history, got {item!r} (of type {type(item).__name__}). Fit the "
        "search first."
    )


def _recency(records: list[Any], half_life: float | None) -> float:
    ends = [e.end_time for _, e, _ in records if e.end_time is not None]
    if half_life is None or not ends:
        return 1.0
    days = max(0.0, (time.time() - max(ends)) / SECONDS_A_DAY)
    return float(0.5 ** (days / half_life))
