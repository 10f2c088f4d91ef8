# SPDX-License-Identifier: BSD-3-Clause
"""JournalStorage: append-only JSON lines, flushed and synced; reading runs no code.

The first line is the header: format version, fingerprint, space, seed. Then come
``asked`` records (a trial that was handed out) and ``told`` records (its evaluation),
in the order in which the optimizer saw them. ``started`` and ``ended`` records say of
each run how far it may go and why it ended; what is of no other kind is skipped.
"""

import contextlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from accsmbo.history import Evaluation, History, Trial
from accsmbo.space import Space
from accsmbo.storage._lock import lock, unlock
from accsmbo.storage._reading import (
    FORMAT_VERSION,
    MAGIC,
    checked_header,
    read_records,
)
from accsmbo.storage._records import (
    decode_evaluation,
    decode_space,
    decode_trial,
    encode_evaluation,
    encode_space,
    encode_trial,
)
from accsmbo.storage._status import (
    JournalStatus,
    ending_of,
    reason_of,
    status_of,
)

__all__ = ["FORMAT_VERSION", "Journal", "JournalStorage"]


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
            In the order of telling. A torn last line is left out.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it is not a journal, is damaged before its last line, or was written by
            a newer format.
        """
        records, _ = read_records(Path(self.path))
        header = checked_header(records, Path(self.path))
        given = None if space is None else Space(space, allow_empty=True)
        history = History(decode_space(header["space"]) if given is None else given)
        for kind, trial, evaluation in _events(records[1:], given, header["space"]):
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
        records, _ = read_records(path)
        return int(checked_header(records, path)["seed"]) if records else None

    def open(
        self, space: Space, fingerprint: Mapping[str, str], *, seed: int
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

        Returns
        -------
        Journal
            To be closed; a context manager.

        Raises
        ------
        ValueError
            If the file is no journal, or one of another study, or of a newer format;
            the message names what differs.
        RuntimeError
            If another run has it open.
        """
        return Journal(Path(self.path), space, fingerprint, seed=seed)


class Journal:
    """An open, locked journal.

    While it is open no other run can write to the file. Searches and `minimize` open
    one themselves where they are given ``storage``; a loop of your own records each
    trial when it is asked, and again with its result, in the order in which the
    optimizer saw them: then :func:`~accsmbo.execution.run` can go on where it ended.

    As a context manager it records that it was closed, or the exception that closed it,
    where :meth:`ended` has not said why.

    Parameters
    ----------
    path : Path
        The file; it is made where there is none.
    space : Space
        Space of the study, for the header.
    fingerprint : mapping of str to str
        What must be equal for the study to resume.
    seed : int
        Seed of the study.

    Attributes
    ----------
    path : Path
        The file.
    events : list of (str, Trial, Evaluation or None)
        What an earlier run left: ``"asked"`` and ``"told"``, in order.

    See Also
    --------
    JournalStorage : Its ``open`` makes one; its ``load`` reads without a lock.
    open_journal : The same for an optimizer, or nothing where there is no storage.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from accsmbo import SMBO, JournalStorage, Real, Space
    >>> from accsmbo.history import Evaluation
    >>> storage = JournalStorage(pathlib.Path(tempfile.mkdtemp()) / "study.jsonl")
    >>> space = Space({"x": Real(-1, 2)})
    >>> with storage.open(space, {"loss": "x squared"}, seed=0) as journal:
    ...     trial = SMBO(space, random_state=0).ask()
    ...     journal.asked(trial)
    ...     journal.told(trial, Evaluation(value=trial.params["x"] ** 2))
    >>> storage.load().values
    array([0.25])
    """

    def __init__(
        self, path: Path, space: Space, fingerprint: Mapping[str, str], *, seed: int
    ) -> None:
        self._space = space
        self.path = path
        self._file: IO[bytes] = _open_locked(path)
        try:
            records, self._end = read_records(path)
            described = encode_space(space)
            header = {
                MAGIC: FORMAT_VERSION,
                "fingerprint": dict(fingerprint),
                "seed": seed,
                "space": described,
            }
            if records:
                _check_same_study(checked_header(records, path), header, path)
            self._file.truncate(self._end)
            if not records:
                self._write(header)
            elif not self._ends_with_newline():
                self._append(b"\n", sync=False)
            self.events = list(_events(records[1:], space, described))
            self._ending = ending_of(records)
        except BaseException:
            self.close()
            raise

    def asked(self, trial: Trial) -> None:
        """Record that a trial was handed out.

        Parameters
        ----------
        trial : Trial
            What was asked.
        """
        # Not synced: the optimizer asks a lost one again.
        self._write({"asked": encode_trial(trial, self._space)}, sync=False)

    def told(self, trial: Trial, evaluation: Evaluation) -> None:
        """Record a result; it is on the disk when this returns.

        Parameters
        ----------
        trial : Trial
            What was asked.
        evaluation : Evaluation
            What came back.

        Raises
        ------
        OSError
            If it cannot be written; what stood in the file before is intact.
        """
        record = {"told": trial.number, "evaluation": encode_evaluation(evaluation)}
        self._write(record)

    def started(self, n_trials: int) -> None:
        """Record that a run evaluates trials.

        Parameters
        ----------
        n_trials : int
            How many there may be, those of earlier runs included.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        record = {"n_trials": n_trials, "time": time.time()}
        self._write({"started": record}, sync=False)

    def ended(self, reason: str, error: str | None = None) -> None:
        """Record why a run ended, unless the journal says the same already.

        Where it cannot be written, the journal says nothing of the end.

        Parameters
        ----------
        reason : str
            As in :class:`JournalStatus`.
        error : str or None, default=None
            The exception that ended it.
        """
        ending: dict[str, Any] = {"reason": reason}
        if error is not None:
            ending["error"] = error
        before = self._ending or {}
        if ending == {key: before.get(key) for key in ending}:
            return
        ending["time"] = time.time()
        with contextlib.suppress(OSError):
            self._write({"ended": ending})
        self._ending = ending

    def close(self) -> None:
        """Close the file and give up the lock."""
        if not self._file.closed:
            # Processes that were forked meanwhile have the file open too.
            unlock(self._file)
        self._file.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._ending is None:
                self.ended(*reason_of(error))
        finally:
            self.close()

    def _write(self, record: dict[str, Any], *, sync: bool = True) -> None:
        self._ending = None
        line = json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n"
        self._append(line.encode(), sync=sync)

    def _append(self, data: bytes, *, sync: bool) -> None:
        try:
            _write_all(self._file, data)
            if sync:
                os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(self._end)
            raise
        self._end += len(data)

    def _ends_with_newline(self) -> bool:
        self._file.seek(self._end - 1)
        return self._file.read(1) == b"\n"


def _write_all(file: IO[bytes], data: bytes) -> None:
    # The file is unbuffered: a full disk may take a part and no more.
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _open_locked(path: Path) -> IO[bytes]:
    file = open(path, "a+b", buffering=0)  # noqa: SIM115
    if not lock(file):
        file.close()
        raise RuntimeError(
            f"storage must be a journal that no other run has open, got {str(path)!r}, "
            "which is locked. Wait for the other run, or give another path."
        )
    return file


def _check_same_study(stored: dict[str, Any], ours: dict[str, Any], path: Path) -> None:
    old, new = stored["fingerprint"], ours["fingerprint"]
    differ = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    differ += [name for name in ("space", "seed") if stored[name] != ours[name]]
    differ = list(dict.fromkeys(differ))
    if differ:
        verb = "differs from that" if len(differ) == 1 else "differ from those"
        raise ValueError(
            f"storage={str(path)!r} holds another study: {', '.join(differ)} {verb} of "
            "this run. Give the arguments and data it was started with, or another "
            "path."
        )


def _events(
    records: list[dict[str, Any]], space: Space | None, described: list[dict[str, Any]]
) -> list[tuple[str, Trial, Evaluation | None]]:
    trials: dict[int, Trial] = {}
    events: list[tuple[str, Trial, Evaluation | None]] = []
    for record in records:
        if "asked" in record:
            trial = decode_trial(record["asked"], space, described)
            trials[trial.number] = trial
            events.append(("asked", trial, None))
        elif "told" in record:
            evaluation = decode_evaluation(record["evaluation"])
            events.append(("told", trials[record["told"]], evaluation))
    return events
