# SPDX-License-Identifier: BSD-3-Clause
"""A study on disk: which seed it has, and its journal while it runs."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from accsmbo._validation import root_seed
from accsmbo.optimizers import Optimizer
from accsmbo.storage import Journal, JournalStorage

__all__ = ["as_storage", "open_journal", "resume_hint", "study_seed"]


def as_storage(storage: Any) -> JournalStorage:
    """Return a journal storage for what the user gave.

    Parameters
    ----------
    storage : str, path-like or JournalStorage
        A path is enough.

    Returns
    -------
    JournalStorage
        ``storage`` itself if it is one.

    Raises
    ------
    TypeError
        If it is none of these.
    """
    if isinstance(storage, JournalStorage):
        return storage
    if isinstance(storage, (str, os.PathLike)):
        return JournalStorage(storage)
    raise TypeError(
        "storage must be a path or a JournalStorage, got "
        f"{storage!r} (of type {type(storage).__name__}). Give for example "
        "'study.jsonl'."
    )


def study_seed(storage: JournalStorage, random_state: Any) -> int:
    """Return the seed of a study.

    Parameters
    ----------
    storage : JournalStorage
        Where it is or will be kept.
    random_state : int, RandomState, Generator or None
        None: that of the journal, or a drawn one for a new journal.

    Returns
    -------
    int
        Seed.
    """
    stored = storage.seed() if random_state is None else None
    return root_seed(random_state) if stored is None else stored


def resume_hint(storage: Any) -> str:
    """Return a sentence on how an interrupted run goes on, after another sentence.

    Parameters
    ----------
    storage : str, path-like, JournalStorage or None
        None gives no sentence: nothing was kept.

    Returns
    -------
    str
        With a space before it.
    """
    if storage is None:
        return ""
    path = str(as_storage(storage).path)
    return f" {path!r} holds them too: the same call goes on from there."


@contextlib.contextmanager
def open_journal(
    storage: JournalStorage | None,
    optimizer: Optimizer,
    fingerprint: Mapping[str, str],
    metric: str | None = None,
    again: Callable[[], Mapping[str, str]] | None = None,
) -> Iterator[Journal | None]:
    """Open the journal of a run, if it has one.

    Parameters
    ----------
    storage : JournalStorage or None
        None gives None.
    optimizer : Optimizer
        Its space is a Space and its ``random_state`` the seed of the study.
    fingerprint : mapping of str to str
        What must be equal to resume, by name.
    metric : str or None, default=None
        Name of the metric whose negative the values are.
    again : callable or None, default=None
        Gives those parts of the fingerprint anew that a run may change.

    Yields
    ------
    Journal or None
        Locked until the end.
    """
    if storage is None:
        yield None
        return
    seed = int(optimizer.random_state)
    with storage.open(
        optimizer.space, fingerprint, seed=seed, metric=metric
    ) as journal:
        try:
            yield journal
        finally:
            if again is not None:
                journal.became(again())
