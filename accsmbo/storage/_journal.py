# SPDX-License-Identifier: BSD-3-Clause
"""Journal: a study that is being written, as lines of JSON, flushed and synced.

The first line is the header: format version, fingerprint, space, seed, and the metric
whose negative the values are, where it has a name. Then come ``asked`` records (a trial
that was handed out) and ``told`` records (its evaluation), in the order in which the
optimizer saw them. ``started`` and ``ended`` records say of each run how far it may go
and why it ended. Records of other kinds are skipped. Each line ends in its number and
a checksum.

Before each record the file is compared with what was written: one that was deleted,
replaced, cut or overwritten by another is left; the whole history goes to a new file.
"""

import contextlib
import errno
import os
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from accsmbo._digest import digest
from accsmbo._files import new_beside
from accsmbo._warnings import warn_user
from accsmbo.exceptions import JournalWarning
from accsmbo.history import Evaluation, Route, Trial
from accsmbo.space import Space
from accsmbo.storage._lock import lock, unlock
from accsmbo.storage._open_file import checksum, open_locked, put_aside, write_all
from accsmbo.storage._reading import (
    FORMAT_VERSION,
    MAGIC,
    MAX_LINE,
    decoding,
    read_records,
    sealed,
    warn_of_damage,
)
from accsmbo.storage._records import (
    encode_evaluation,
    encode_space,
    encode_trial,
    events_of,
    route_of,
)
from accsmbo.storage._status import ending_of, reason_of

__all__ = ["Journal"]


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
        The file; a new one beside it where something else changed it meanwhile.
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
        self.path = Path(os.path.abspath(path))
        dimensions = [list(s.dimensions.items()) for s in space.subspaces]
        self._header: dict[str, Any] = {
            MAGIC: FORMAT_VERSION,
            "fingerprint": {**fingerprint, "space": digest(dimensions)},
            "seed": seed,
            "space": encode_space(space),
        }
        if metric is not None:
            self._header["metric"] = metric
        self._checksum = self._modified = 0  # of the file as we left it
        self._file: IO[bytes] = open_locked(path)
        try:
            self._take_over()
        except BaseException:
            self.close()
            raise

    def _take_over(self) -> None:
        """Read what an earlier run left, and put a damaged end aside."""
        content = read_records(self.path, may_be_empty=True)
        records = content.records
        with decoding(self.path, 1):
            self._marks = _marks(records or [self._header])
        _check_same_study(_differing(self._marks, _marks([self._header])), self.path)
        self.events = events_of(records, self._space, self.path)
        self._ending = ending_of(records, self.path)
        self._route = route_of(records, self.path)
        self._kept: list[tuple[str, Trial, Evaluation | None]] = list(self.events)
        self._started: list[dict[str, Any]] = []
        self._n_lines, self._end = len(records), content.end
        kept = put_aside(self._file, self._end, self.path) if content.n_damaged else ""
        self._file.truncate(self._end)
        self._note_content()
        if not records:
            self._write(self._header)
        elif not self._ends_with_newline():
            self._append(b"\n", sync=False)
        warn_of_damage(self.path, content, f"The others are kept in {kept!r}.")

    def asked(self, trial: Trial) -> None:
        """Record that a trial was handed out.

        Parameters
        ----------
        trial : Trial
            What was asked.
        """
        # Not synced: the optimizer asks a lost one again.
        self._write(self._record("asked", trial, None), sync=False)
        self._kept.append(("asked", trial, None))

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
        self._write(self._record("told", trial, evaluation))
        self._kept.append(("told", trial, evaluation))

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
        record = {"started": {"n_trials": n_trials, "time": time.time()}}
        self._write(record, sync=False)
        self._started = [record]

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

    def routed(self, route: Route) -> None:
        """Record how the trials are found, unless the journal says the same already.

        Parameters
        ----------
        route : Route
            Solver and reason.
        """
        if route != self._route:
            self._note({"route": route._asdict()})
        self._route = route

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
            self._note({"became": new})

    def _note(self, record: dict[str, Any]) -> None:
        """Write what is no part of the history; where it cannot be, it is not."""
        ending = self._ending
        with contextlib.suppress(OSError):
            self._write(record, sync=False)
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

    def _record(
        self, kind: str, trial: Trial, evaluation: Evaluation | None
    ) -> dict[str, Any]:
        if evaluation is None:
            return {kind: encode_trial(trial, self._space)}
        return {kind: trial.number, "evaluation": encode_evaluation(evaluation)}

    def _write(self, record: dict[str, Any], *, sync: bool = True) -> None:
        self._ending = None
        rescued = None if self._is_ours() else self._rescue()
        line = sealed(record, self._n_lines + 1)
        if len(line) > MAX_LINE:
            raise OSError(
                errno.EFBIG, f"a record has {len(line)} bytes, more than {MAX_LINE}"
            )
        self._append(line, sync=sync)
        self._n_lines += 1
        if rescued is not None:
            warn_user(rescued, JournalWarning)

    def _is_ours(self) -> bool:
        """Tell whether the file is the one at its path, and as we left it."""
        ours = os.fstat(self._file.fileno())
        try:
            there = os.stat(self.path)
        except OSError:
            return False
        if not os.path.samestat(ours, there) or ours.st_size != self._end:
            return False
        # The time of the last change alone says nothing: backups and servers set it.
        if ours.st_mtime_ns != self._modified:
            self._modified = ours.st_mtime_ns
            return checksum(self._file) == self._checksum
        return True

    def _note_content(self) -> None:
        self._checksum = checksum(self._file)
        self._modified = os.fstat(self._file.fileno()).st_mtime_ns

    def _rescue(self) -> str:
        """Write all that is known to a new file, go on there, and say so."""
        lost, old = self._file, str(self.path)
        new: IO[bytes] = new_beside(self.path, "rescued")
        records = [self._header, *(self._record(*event) for event in self._kept)]
        try:
            lock(new)
            for number, record in enumerate(records + self._started, 1):
                write_all(new, sealed(record, number))
            os.fsync(new.fileno())
        except BaseException:
            new.close()
            os.unlink(new.name)
            raise
        self._file, self.path = new, Path(new.name)
        self._n_lines, self._end = number, os.fstat(new.fileno()).st_size
        self._note_content()
        unlock(lost)
        lost.close()
        return (
            f"the journal {old!r} was deleted, replaced or changed by something else "
            f"while this run wrote it. The whole history is in {new.name!r}, and the "
            "run goes on there. Resume it with that path as storage."
        )

    def _append(self, data: bytes, *, sync: bool) -> None:
        try:
            write_all(self._file, data)
            if sync:
                os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(self._end)
            raise
        self._end += len(data)
        self._checksum = zlib.crc32(data, self._checksum)
        self._modified = os.fstat(self._file.fileno()).st_mtime_ns

    def _ends_with_newline(self) -> bool:
        self._file.seek(self._end - 1)
        return self._file.read(1) == b"\n"


def _marks(records: Sequence[dict[str, Any]]) -> dict[str, set[Any]]:
    """Return what a study may have, by name."""
    header = records[0]
    marks = {name: {mark} for name, mark in header["fingerprint"].items()}
    marks["seed"] = {header["seed"]}
    for record in records:
        for name, mark in record.get("became", {}).items():
            marks.setdefault(name, set()).add(mark)
    return marks


def _differing(stored: dict[str, set[Any]], ours: dict[str, set[Any]]) -> list[str]:
    """Return the names of what makes two studies different."""
    names = {**stored, **ours}
    return [n for n in names if not ours.get(n, set()) & stored.get(n, set())]


def _check_same_study(differ: list[str], path: Path) -> None:
    if differ:
        verb = "differs from that" if len(differ) == 1 else "differ from those"
        raise ValueError(
            f"storage={str(path)!r} holds another study: {', '.join(differ)} {verb} of "
            "this run. Give the arguments and data it was started with, or another "
            "path."
        )
