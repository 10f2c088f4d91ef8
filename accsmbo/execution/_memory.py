# SPDX-License-Identifier: BSD-3-Clause
"""MemoryLimit: what a fold may allocate in a worker process (Linux)."""

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
from scipy.linalg.blas import dgemm
from threadpoolctl import threadpool_limits

__all__ = ["MemoryLimit"]

# Large enough for BLAS to use all its threads.
WARM_SIZE = 256
# What buffers take differs by some pages from worker to worker.
ROUND = 10_000_000


class MemoryLimit:
    """Holds a block to so many bytes above what this process holds when it begins.

    The buffers of BLAS are allocated first, once and for all: without them numpy's
    BLAS ends the process, and scipy's tries again for ever.

    It begins in a new process, which has none yet.

    Parameters
    ----------
    extra : int
        Bytes of address space.
    n_threads : int
        How many threads may call BLAS at once.

    Attributes
    ----------
    smallest : int
        Bytes that the buffers of one thread take, rounded up. With less to spare one
        more thread that calls BLAS would still hang.
    """

    def __init__(self, extra: int, n_threads: int) -> None:
        self._extra = extra
        before = _held()
        with threadpool_limits(limits=1):
            _multiply()
        self.smallest = math.ceil((_held() - before) / ROUND) * ROUND
        _warm_up(n_threads)
        self._base = _held()

    def __enter__(self) -> None:
        _limit(_held() + self._extra)

    def __exit__(self, *error: object) -> None:
        _limit(None)

    @property
    def spent(self) -> bool:
        """Whether the blocks so far have kept more than one of them may allocate."""
        return _held() - self._base > self._extra


def _multiply() -> None:
    matrix = np.ones((WARM_SIZE, WARM_SIZE))
    matrix @ matrix
    # numpy and scipy may each have a BLAS of its own.
    dgemm(1.0, matrix, matrix)


def _warm_up(n_threads: int) -> None:
    """Call BLAS from so many threads at once."""
    barrier = Barrier(n_threads)

    def multiply(_: int) -> None:
        barrier.wait()
        _multiply()

    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(multiply, range(n_threads)))


def _held() -> int:
    """Return the address space of this process in bytes."""
    import resource

    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _limit(soft: int | None) -> None:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = sys.maxsize if hard == resource.RLIM_INFINITY else hard
    soft = hard if soft is None else min(soft, most)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
