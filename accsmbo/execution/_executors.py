# SPDX-License-Identifier: BSD-3-Clause
"""What the user says about workers (executor, n_jobs, limits) -> workers."""

import math
import os
import sys
from numbers import Integral
from typing import Any

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend

from accsmbo._validation import check_integer, check_real
from accsmbo.execution._objective import Objective
from accsmbo.execution._processes import ProcessWorkers
from accsmbo.execution._work import Work
from accsmbo.execution._workers import (
    FutureWorkers,
    OwnThreads,
    SerialExecutor,
    Workers,
)

__all__ = ["check_execution", "check_executor", "make_workers"]


def check_execution(
    *,
    timeout: Any = None,
    trial_timeout: Any = None,
    memory_limit: Any = None,
    max_retries: Any = 1,
    deterministic: Any = False,
    n_jobs: Any = None,
    executor: Any = None,
) -> None:
    """Raise where an argument of a run is not what :func:`run` documents.

    Parameters
    ----------
    timeout, trial_timeout, memory_limit, max_retries, deterministic, n_jobs, executor
        Those of :func:`run`.

    Raises
    ------
    TypeError
        If one is of another kind.
    ValueError
        If one is out of its range, or the workers are said twice.
    """
    for name, seconds in (("timeout", timeout), ("trial_timeout", trial_timeout)):
        unlimited = seconds is None or seconds == math.inf
        if not unlimited and check_real(name, seconds) <= 0.0:
            raise ValueError(
                f"{name} must be above 0, got {seconds!r}. Give seconds, or None for "
                "no limit."
            )
    if memory_limit is not None:
        check_integer("memory_limit", memory_limit, minimum=1)
    check_integer("max_retries", max_retries, minimum=0)
    if not isinstance(deterministic, (bool, np.bool_)):
        raise TypeError(
            f"deterministic must be True or False, got {deterministic!r} (of type "
            f"{type(deterministic).__name__}). Give one of the two."
        )
    if n_jobs is not None and check_integer("n_jobs", n_jobs) == 0:
        raise ValueError(
            f"n_jobs must not be 0, got {n_jobs!r}. Give a number of workers, or -1 "
            "for one on each core."
        )
    check_executor(executor, n_jobs)


def check_executor(executor: Any, n_jobs: int | None) -> None:
    """Raise where the workers are not said once and clearly.

    Parameters
    ----------
    executor : object
        None, a number of processes, or an object with ``submit``.
    n_jobs : int or None
        As in joblib.

    Raises
    ------
    TypeError
        If ``executor`` is of another kind.
    ValueError
        If it is a number below 1, or both arguments are given.
    """
    if executor is None:
        return
    is_number = isinstance(executor, Integral) and not isinstance(executor, bool)
    if not is_number and not callable(getattr(executor, "submit", None)):
        raise TypeError(
            "executor must be None, an int (a number of processes) or an object with "
            f"submit, got {executor!r} (of type {type(executor).__name__}). Give for "
            "example concurrent.futures.ThreadPoolExecutor(4)."
        )
    if is_number and executor < 1:
        raise ValueError(
            f"executor must be at least 1 where it is a number, got {executor!r}. "
            "Give the number of processes."
        )
    if n_jobs is not None:
        raise ValueError(
            f"executor and n_jobs must not both be given, got n_jobs={n_jobs!r} and "
            f"executor={executor!r}. Leave n_jobs at None: the executor knows its size."
        )


def make_workers(
    objective: Objective,
    *,
    executor: Any = None,
    n_jobs: int | None = None,
    trial_timeout: float | None = None,
    memory_limit: int | None = None,
) -> Workers:
    """Return the workers for one run.

    Parameters
    ----------
    objective : Objective
        What they evaluate.
    executor : object or None, default=None
        None: as ``n_jobs`` says.
    n_jobs : int or None, default=None
        As in joblib: None is 1 outside of a ``joblib.parallel_config`` context, whose
        number and kind of workers are used inside; -1 is all cores.
    trial_timeout, memory_limit : float or int or None
        Limits that need worker processes; with one worker one process is started.

    Returns
    -------
    Workers
        To be closed.

    Raises
    ------
    ValueError
        If a limit is set that these workers, or this platform, cannot keep.
    """
    limited = trial_timeout is not None or memory_limit is not None
    if memory_limit is not None and sys.platform != "linux":
        raise ValueError(
            f"memory_limit must be None on {sys.platform}, got {memory_limit!r}: this "
            "platform does not limit the memory of a process."
        )
    if isinstance(executor, Integral):
        return _processes(objective, int(executor), memory_limit)
    if executor is None:
        executor, n = _from_joblib(n_jobs, limited=limited)
        if executor is None:
            return _processes(objective, n, memory_limit)
        if isinstance(executor, type):
            workers: Workers = OwnThreads(Work.of(objective, _share(n)), n)
            return _checked_limits(workers, "threads", limited=limited)
    workers = _on_executor(objective, executor)
    return _checked_limits(workers, executor, limited=limited)


def _processes(objective: Objective, n: int, memory_limit: int | None) -> Workers:
    work = Work.of(objective, _share(n))
    return ProcessWorkers(work, n, memory_limit=memory_limit)


def _share(n_workers: int) -> int:
    return max(1, int(cpu_count()) // n_workers)


def _from_joblib(n_jobs: int | None, *, limited: bool) -> tuple[Any, int]:
    """Return the executor that joblib's context stands for, and its size.

    None stands for processes of ours, OwnThreads for threads of ours.
    """
    backend, context_n_jobs = get_active_backend()
    n = int(backend.effective_n_jobs(context_n_jobs if n_jobs is None else n_jobs))
    client = getattr(backend, "client", None)
    if client is not None:
        return client, n
    if n == 1:
        return (None if limited else SerialExecutor()), 1
    shares = getattr(backend, "supports_sharedmem", False)
    return (OwnThreads if shares else None), n


def _on_executor(objective: Objective, executor: Any) -> Workers:
    if isinstance(executor, SerialExecutor):
        return FutureWorkers(executor, Work.of(objective, int(cpu_count())), 1)
    # Dask's executor keeps its client; a client of any kind that scatters will do.
    client = getattr(executor, "_client", executor)
    if hasattr(client, "scatter") and hasattr(client, "nthreads"):
        n = sum(client.nthreads().values()) or 1
        return FutureWorkers(
            client,
            Work.of(objective, _share(n)),
            n,
            scatter=lambda data: client.scatter(data, broadcast=True, hash=False),
            submit_options={"pure": False},
        )
    n = _size_of(executor)
    return FutureWorkers(executor, Work.of(objective, _share(n)), n)


def _size_of(executor: Any) -> int:
    """Return how many tasks an executor runs at once, the cores if it does not say."""
    for name in ("num_workers", "max_workers", "_max_workers"):
        n = getattr(executor, name, None)
        if isinstance(n, int) and n > 0:
            return n
    return os.cpu_count() or 1


def _checked_limits(workers: Workers, executor: Any, *, limited: bool) -> Workers:
    if limited:
        workers.close()
        raise ValueError(
            "trial_timeout and memory_limit need workers that the search can end, got "
            f"executor={executor!r}, whose workers it cannot. Use n_jobs or an int as "
            "executor (processes of the search's own), or set both to None."
        )
    return workers
