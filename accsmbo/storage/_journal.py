# SPDX-License-Identifier: BSD-3-Clause
"""Journal: a study that is being written, as lines of JSON, flushed and synced.

The first line is the header: format version, fingerprint, space, seed, and the metric
whose negative the values are, where it has a name. Then come ``asked`` records (a trial
that was handed out) and ``told`` records (its evaluation), in the order in which the
optimizer saw them. ``started`` and ``ended`` records say of each run how far it may go
and why it ended. Records of other kinds are skipped.
"""

import contextlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from accsmbo._digest import digest
from accsmbo.history import Evaluation, Trial
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
    decode_trial,
    encode_evaluation,
    encode_space,
    encode_trial,
)
from accsmbo.storage._status import (
    ending_of,
    reason_of,
)

__all__ = ["Journal", "events_of"]


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
    metric : str or None, default=None
        Name of the metric whose negative the values are.

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
        self,
        path: Path,
        space: Space,
        fingerprint: Mapping[str, str],
        *,
        seed: int,
        metric: str | None = None,
    ) -> None:
        self._space = space
        self.path = path
        self._file: IO[bytes] = _open_locked(path)
        try:
            records, self._end = read_records(path)
            described = encode_space(space)
            dimensions = [list(s.dimensions.items()) for s in space.subspaces]
            header = {
                MAGIC: FORMAT_VERSION,
                "fingerprint": {**fingerprint, "space": digest(dimensions)},
                "seed": seed,
                "space": described,
            }
            if metric is not None:
                header["metric"] = metric
            if records:
                checked_header(records, path)
            self._marks = _marks(records or [header])
            _check_same_study(self._marks, _marks([header]), path)
            self._file.truncate(self._end)
            if not records:
                self._write(header)
            elif not self._ends_with_newline():
                self._append(b"\n", sync=False)
            self.events = list(events_of(records[1:], space, described))
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

    def became(self, fingerprint: Mapping[str, str]) -> None:
        """Record what a run made of parts of the fingerprint.

        A function that counts its calls is another one after a run, and yet the one to
        go on with: what is recorded is accepted as well when the study resumes. Where
        it cannot be written, it is not.

        Parameters
        ----------
        fingerprint : mapping of str to str
            Digests at the end of a run, by name.
        """
        new = {k: v for k, v in fingerprint.items() if v not in self._marks[k]}
        if new:
            line = json.dumps({"became": new}, separators=(",", ":")) + "\n"
            with contextlib.suppress(OSError):
                self._append(line.encode(), sync=True)

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


def _marks(records: list[dict[str, Any]]) -> dict[str, set[Any]]:
    """Return what a study may have, by name."""
    header = records[0]
    marks = {name: {mark} for name, mark in header["fingerprint"].items()}
    marks["seed"] = {header["seed"]}
    for record in records:
        for name, mark in record.get("became", {}).items():
            marks[name].add(mark)
    return marks


def _check_same_study(
    stored: dict[str, set[Any]], ours: dict[str, set[Any]], path: Path
) -> None:
    names = {**stored, **ours}
    differ = [n for n in names if not ours.get(n, set()) & stored.get(n, set())]
    if differ:
        verb = "differs from that" if len(differ) == 1 else "differ from those"
        raise ValueError(
            f"storage={str(path)!r} holds another study: {', '.join(differ)} {verb} of "
            "this run. Give the arguments and data it was started with, or another "
            "path."
        )


def events_of(
    records: list[dict[str, Any]], space: Space | None, described: list[dict[str, Any]]
) -> list[tuple[str, Trial, Evaluation | None]]:
    """Return what was asked and told, in order.

    Parameters
    ----------
    records : list of dict
        All of a journal but the header.
    space : Space or None
        None: choices that are no plain data stay text.
    described : list of dict
        The space as the header describes it.

    Returns
    -------
    list of (str, Trial, Evaluation or None)
        ``"asked"`` and ``"told"``.
    """
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
