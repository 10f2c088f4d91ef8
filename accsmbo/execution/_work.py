# SPDX-License-Identifier: BSD-3-Clause
"""What a worker runs: one fold of one trial, inside the caller's settings.

The objective with its data reaches a process once, however many folds it runs there:
as a file whose large arrays are mapped into memory, as bytes that a cluster has
scattered, or as it is where the worker is a thread.
"""

import mmap
import os
import pickle
import shutil
import socket
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

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
        """Hold the thread pools of this process to ``n_threads``, now and later."""
        for name in THREAD_VARIABLES:
            os.environ[name] = str(self.n_threads)
        threadpool_limits(limits=self.n_threads)


class Source(Protocol):
    """Where a worker finds its work."""

    def open(self) -> Work:
        """Return the work; cheap after the first call in a process."""


@dataclass(frozen=True)
class Stored:
    """Work in a folder that the caller owns; workers map its large arrays.

    Attributes
    ----------
    folder : str
        Holds the pickle, and the large arrays one after another.
    """

    folder: str

    @classmethod
    def save(cls, work: Work) -> "Stored":
        """Write the work to a new folder; ``remove`` deletes it."""
        large: list[pickle.PickleBuffer] = []

        def keep_small(buffer: pickle.PickleBuffer) -> bool:
            if buffer.raw().nbytes < MIN_MAPPED_BYTES:
                return True
            large.append(buffer)
            return False

        data = cloudpickle.dumps(work, protocol=5, buffer_callback=keep_small)
        folder = Path(tempfile.mkdtemp(prefix="accsmbo-"))
        places = []
        with open(folder / "arrays", "wb") as file:
            for buffer in large:
                file.write(bytes(-file.tell() % ALIGNMENT))
                places.append((file.tell(), buffer.raw().nbytes))
                file.write(buffer.raw())
        (folder / "work").write_bytes(pickle.dumps((data, places)))
        return cls(str(folder))

    def open(self) -> Work:
        """Return the work, with large arrays read-only and shared by all processes."""
        return _load_stored(self.folder)

    def remove(self) -> None:
        """Delete the folder; processes that have mapped it are not affected."""
        shutil.rmtree(self.folder, ignore_errors=True)


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
def _load_stored(folder: str) -> Work:
    data, places = pickle.loads((Path(folder) / "work").read_bytes())
    buffers: list[memoryview] = []
    if places:
        with open(Path(folder) / "arrays", "rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        buffers = [mapped[start : start + n] for start, n in places]
    return _prepared(pickle.loads(data, buffers=buffers))


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
            start = time.time()
            more = {} if fold.start is None else {"start": fold.start}
            record = work.objective.fold(
                fold.trial, fold.index, fold.n_trials, fold.callback, **more
            )
            return Finished(record, start, time.time())
    except (Exception, KeyboardInterrupt) as error:
        if work.at_home:
            return Raised(error)
        return Raised(portable(error))


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
