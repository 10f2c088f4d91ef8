# SPDX-License-Identifier: BSD-3-Clause
"""What a worker runs: one fold of one trial, inside the caller's settings.

The objective with its data reaches a process once, however many folds it runs there:
as a file whose large arrays are mapped into memory, as bytes that a cluster has
scattered, or as it is where the worker is a thread.
"""

import mmap
import os
import pickle
import socket
import tempfile
import time
import traceback
import uuid
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Protocol

import joblib
import sklearn
from threadpoolctl import threadpool_limits

from accsmbo.execution._objective import Objective
from accsmbo.execution._pickling import cloudpickle
from accsmbo.history import Trial

__all__ = [
    "Finished",
    "Fold",
    "Inline",
    "Raised",
    "Source",
    "Stored",
    "Work",
    "run_fold",
]

# Smaller arrays travel in the pickle and stay writable, as in joblib.
MIN_MAPPED_BYTES = 1_000_000
ALIGNMENT = 64
# Read by the thread pools of numerical libraries when they load.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
# Read by joblib on each call: what n_jobs=-1 means.
CORES_VARIABLE = "LOKY_MAX_CPU_COUNT"


@dataclass(frozen=True)
class Fold:
    """One fold of one trial, with the arguments of ``Objective.fold``.

    ``start``: the state to start from, None where there is none.
    """

    trial: Trial
    index: int
    n_trials: int | None
    callback: Mapping[str, Any]
    start: Any = None


@dataclass(frozen=True)
class Finished:
    """The record of a fold and when it ran, in seconds since the epoch."""

    record: Any
    start: float
    end: float


@dataclass(frozen=True)
class Raised:
    """An exception that the fold raised, as bytes where it crossed a process."""

    error: BaseException | bytes

    def exception(self) -> BaseException:
        """Return the exception."""
        if isinstance(self.error, bytes):
            loaded: BaseException = pickle.loads(self.error)
            return loaded
        return self.error


@dataclass(frozen=True)
class Work:
    """An objective and the settings of the thread that started the run.

    Attributes
    ----------
    objective : Objective
        What to evaluate.
    config : dict
        scikit-learn's configuration.
    filters : list of tuple
        The warning filters.
    n_threads : int
        Threads for BLAS and OpenMP in each worker process.
    home : tuple
        Host and process of the caller.
    """

    objective: Objective
    config: dict[str, Any]
    filters: list[tuple[Any, ...]]
    n_threads: int
    home: tuple[str, int]

    @classmethod
    def of(cls, objective: Objective, n_threads: int) -> "Work":
        """Return the work for an objective under the present settings."""
        filters = getattr(warnings, "_get_filters", lambda: warnings.filters)()
        home = (socket.gethostname(), os.getpid())
        return cls(objective, sklearn.get_config(), list(filters), n_threads, home)

    @property
    def at_home(self) -> bool:
        """Whether this runs in the process of the caller."""
        return self.home == (socket.gethostname(), os.getpid())

    def open(self) -> "Work":
        """Return the work itself: a thread shares it."""
        return self

    @contextmanager
    def settings(self) -> Iterator[None]:
        """Apply the caller's settings in a worker."""
        with sklearn.config_context(**self.config):
            if self.at_home:
                yield
                return
            # Parallelism inside a worker stays inside it.
            with warnings.catch_warnings(), joblib.parallel_config("threading"):
                _set_filters(self.filters)
                yield

    def limit_threads(self) -> None:
        """Hold BLAS, OpenMP and joblib in this process to ``n_threads``, also later."""
        for name in (*THREAD_VARIABLES, CORES_VARIABLE):
            os.environ[name] = str(self.n_threads)
        threadpool_limits(limits=self.n_threads)


class Source(Protocol):
    """Where a worker finds its work."""

    def open(self) -> Work:
        """Return the work; cheap after the first call in a process."""


# The files behind the works that this process has stored, by their token.
_FILES: dict[str, IO[bytes]] = {}


def _close_files() -> None:
    # In a fork: the files are the parent's, and take room for as long as one is open.
    while _FILES:
        _FILES.popitem()[1].close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_files)


@dataclass(frozen=True)
class Stored:
    """Work in a file that the caller owns; workers map its large arrays.

    Attributes
    ----------
    path : str
        Of the file. On Linux it has no name in any folder, only the number of the
        caller's descriptor: however the caller ends, nothing is left behind.
    token : str
        What the file begins with, since numbers are given again.
    start : int
        Where the pickle begins, after the large arrays.
    """

    path: str
    token: str
    start: int

    @classmethod
    def save(cls, work: Work) -> "Stored":
        """Write the work to a new file; ``remove`` deletes it."""
        large: list[pickle.PickleBuffer] = []

        def keep_small(buffer: pickle.PickleBuffer) -> bool:
            if buffer.raw().nbytes < MIN_MAPPED_BYTES:
                return True
            large.append(buffer)
            return False

        data = cloudpickle.dumps(work, protocol=5, buffer_callback=keep_small)
        token = uuid.uuid4().hex
        file, path = _new_file()
        _FILES[token] = file
        try:
            start = _write(file, token, data, large)
        except OSError:
            cls(path, token, 0).remove()
            raise
        return cls(path, token, start)

    def open(self) -> Work:
        """Return the work, with large arrays read-only and shared by all processes."""
        return _load_stored(self)

    def remove(self) -> None:
        """Delete the file; processes that have mapped it are not affected."""
        file = _FILES.pop(self.token, None)
        if file is not None:
            with suppress(OSError):
                file.close()
            if not self.path.startswith("/proc/"):
                Path(self.path).unlink()


def _new_file() -> tuple[IO[bytes], str]:
    """Return a new file and the path by which other processes open it."""
    unnamed: IO[bytes] = tempfile.TemporaryFile(prefix="accsmbo-")  # noqa: SIM115
    path = f"/proc/{os.getpid()}/fd/{unnamed.fileno()}"
    try:
        with open(path, "rb"):
            return unnamed, path
    except OSError:
        unnamed.close()
    number, path = tempfile.mkstemp(prefix="accsmbo-")
    return open(number, "w+b"), path


def _write(
    file: IO[bytes], token: str, data: bytes, large: list[pickle.PickleBuffer]
) -> int:
    """Write token, arrays and pickle; return where the pickle begins."""
    file.write(token.encode())
    places = []
    for buffer in large:
        file.write(bytes(-file.tell() % ALIGNMENT))
        places.append((file.tell(), buffer.raw().nbytes))
        file.write(buffer.raw())
    start = file.tell()
    pickle.dump((data, places), file)
    file.flush()
    return start


@dataclass(frozen=True, eq=False)
class Inline:
    """Work as bytes, for workers that may run on other machines."""

    token: str
    data: bytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inline) and self.token == other.token

    def __hash__(self) -> int:
        return hash(self.token)

    def open(self) -> Work:
        """Return the work."""
        return _load_inline(self)


@lru_cache(maxsize=1)
def _load_stored(stored: Stored) -> Work:
    with _reopened(stored) as file:
        file.seek(stored.start)
        data, places = pickle.load(file)
        buffers: list[memoryview] = []
        if places:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            buffers = [mapped[start : start + n] for start, n in places]
    return _prepared(pickle.loads(data, buffers=buffers))


def _reopened(stored: Stored) -> IO[bytes]:
    with suppress(OSError), ExitStack() as stack:
        file = stack.enter_context(open(stored.path, "rb"))
        if file.read(len(stored.token)) == stored.token.encode():
            stack.pop_all()
            return file
    # Removed, or on another machine, where the path may be anything.
    raise FileNotFoundError(f"the work is not at {stored.path!r}")


@lru_cache(maxsize=1)
def _load_inline(source: Inline) -> Work:
    return _prepared(pickle.loads(source.data))


def _prepared(work: Work) -> Work:
    work.limit_threads()
    return work


def forget_work() -> None:
    """Drop the work that this process has loaded."""
    _load_stored.cache_clear()
    _load_inline.cache_clear()


def run_fold(source: Source, fold: Fold) -> Finished | Raised:
    """Run one fold; this is the function that is submitted.

    Parameters
    ----------
    source : Source
        Gives the objective and the settings.
    fold : Fold
        What to run.

    Returns
    -------
    Finished or Raised
        Exceptions are results: what an executor itself raises is a lost worker.
    """
    work = source.open()
    try:
        with work.settings():
            return _finished(work.objective, fold)
    except BaseException as error:
        if work.at_home:
            return Raised(error)
        return Raised(portable(error))


def _finished(objective: Objective, fold: Fold) -> Finished:
    start = time.time()
    more = {} if fold.start is None else {"start": fold.start}
    try:
        record = objective.fold(
            fold.trial, fold.index, fold.n_trials, fold.callback, **more
        )
    except SystemExit:
        # An estimator does not decide when the search ends.
        record = objective.failed_fold(
            fold.trial, fold.index, traceback.format_exc(), time.time() - start
        )
    return Finished(record, start, time.time())


def portable(error: BaseException) -> bytes:
    """Return an exception as bytes, with its traceback as a note.

    Parameters
    ----------
    error : exception
        One that cannot be pickled becomes a RuntimeError with its text.

    Returns
    -------
    bytes
        For :func:`pickle.loads`.
    """
    text = "".join(traceback.format_exception(error))
    error.add_note(f"In a worker process:\n{text}")
    try:
        data = cloudpickle.dumps(error)
        pickle.loads(data)
    except Exception:
        data = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}\n{text}"))
    return bytes(data)


def _set_filters(filters: list[tuple[Any, ...]]) -> None:
    warnings.resetwarnings()
    for action, message, category, module, line in filters:
        if message is None and module is None:
            # The category may be a tuple here.
            warnings.simplefilter(action, category, line, append=True)
            continue
        warnings.filterwarnings(
            action,
            getattr(message, "pattern", message) or "",
            category,
            getattr(module, "pattern", module) or "",
            line,
            append=True,
        )
