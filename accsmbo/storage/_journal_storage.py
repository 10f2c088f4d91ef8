# SPDX-License-Identifier: BSD-3-Clause
"""JournalStorage: a study on disk; reading it runs no code."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accsmbo.history import History
from accsmbo.space import Space
from accsmbo.storage._checks import whole
from accsmbo.storage._journal import Journal
from accsmbo.storage._reading import decoding, read_records, warn_of_damage
from accsmbo.storage._records import decode_space, events_of, route_of
from accsmbo.storage._status import JournalStatus, status_of

__all__ = ["JournalStorage"]

# Any integer of JSON that a journal may hold is a seed.
MAX_SEED = 10**308


class JournalStorage:
    """A study on disk, one JSON record a line.

    A search or :func:`~accsmbo.minimize` that is given the path of a journal writes
    every trial to it as soon as it is known, and resumes a journal of the same study.
    A journal holds data only: reading one runs no code.

    Parameters
    ----------
    path : str or path-like
        The file; it need not exist yet.

    See Also
    --------
    accsmbo.History : What is loaded.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.storage import JournalStorage
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.jsonl"
    >>> _ = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=3,
    ...              random_state=0, storage=path)
    >>> len(JournalStorage(path).load())
    3
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"JournalStorage({str(self.path)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JournalStorage) and Path(self.path) == Path(other.path)

    def __hash__(self) -> int:
        return hash(Path(self.path))

    def load(self, space: Any = None) -> History:
        """Return the finished trials.

        Parameters
        ----------
        space : Space, dict or list of dict, default=None
            The space of the study; None: as the journal describes it. Choices that are
            neither JSON kinds nor tuples are then :class:`~accsmbo.storage.Opaque`, and
            ``history.space`` is None where a distribution is known by its text alone.

        Returns
        -------
        History
            In the order of telling. A torn last line is left out, without a word.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it is not a journal, or was written by a newer format.
        JournalDamaged
            If a line cannot be read, or is not where it was written.

        Warns
        -----
        JournalWarning
            If its last lines are damaged, and nothing whole follows.
        """
        path = Path(self.path)
        content = read_records(path)
        warn_of_damage(
            path, content, "A run that resumes it keeps the others beside it."
        )
        given = None if space is None else Space(space, allow_empty=True)
        with decoding(path, 1):
            found = decode_space(content.records[0]["space"])
        history = History(found if given is None else given)
        history.route = route_of(content.records, path)
        history.metric = _metric_of(content.records[0])
        events = events_of(content.records, given, path, found)
        for kind, trial, evaluation in events:
            if kind == "told" and evaluation is not None:
                history.append(trial, evaluation)
        return history

    def status(self) -> JournalStatus:
        """Return whether the study is being searched, and why the last run ended.

        Returns
        -------
        JournalStatus
            As of now.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            As :meth:`load`.
        """
        return status_of(Path(self.path))

    def seed(self) -> int | None:
        """Return the seed of the study, or None where there is no journal yet.

        Returns
        -------
        int or None
            The integer that stands for the ``random_state`` of the first run.
        """
        path = Path(self.path)
        if not path.exists():
            return None
        header = read_records(path, header_only=True, may_be_empty=True).records
        with decoding(path, 1):
            return whole(header[0], "seed", MAX_SEED) if header else None

    def metric(self) -> str | None:
        """Return the name of the metric whose negative the values are.

        Returns
        -------
        str or None
            None where the journal names none: the values are losses of a function.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            As :meth:`load`.
        """
        return _metric_of(read_records(Path(self.path), header_only=True).records[0])

    def open(
        self,
        space: Space,
        fingerprint: Mapping[str, str],
        *,
        seed: int,
        metric: str | None = None,
    ) -> "Journal":
        """Lock the journal for one run; start it, or check that it is the same study.

        Parameters
        ----------
        space : Space
            What is searched.
        fingerprint : mapping of str to str
            Digest of everything that must be equal to resume, by its name.
        seed : int
            Seed of the study.
        metric : str or None, default=None
            Name of the metric whose negative the values are, for a new journal.

        Returns
        -------
        Journal
            To be closed; a context manager.

        Raises
        ------
        ValueError
            If the file is no journal, or one of another study, or of a newer format;
            the message names what differs. Also if its folder does not exist.
        JournalDamaged
            As :meth:`load`.
        RuntimeError
            If another run has it open, or the file system has no locks.

        Warns
        -----
        JournalWarning
            If its last lines are damaged; they are kept beside it.
        """
        return Journal(Path(self.path), space, fingerprint, seed=seed, metric=metric)


def _metric_of(header: Mapping[str, Any]) -> str | None:
    """Return the name that the header of a journal has for what was optimised."""
    metric = header.get("metric")
    return metric if isinstance(metric, str) else None
