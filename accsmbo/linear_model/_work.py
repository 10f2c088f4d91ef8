# SPDX-License-Identifier: BSD-3-Clause
"""A count of the work done, in place of a clock: the same data, the same count.

Everything is charged in multiply-adds of a product of two dense matrices in double
precision, and in calls of a NumPy-level step. Other operations count as so many
multiply-adds for each entry that they touch.
"""

import math
from typing import Any

import numpy as np

from accsmbo.hypergradients import NotDifferentiableError

__all__ = [
    "COUPLED",
    "ELEMENTS",
    "PASS",
    "VECTOR",
    "Work",
    "WorkSpent",
    "product_cost",
]

# Seconds of the reference core; benchmarks/studies/work_model.py fits both.
SECONDS_PER_MULTIPLY_ADD, SECONDS_PER_CALL = 5.1e-11, 1.5e-6
VECTOR = 3.0  # an entry of a dense matrix, times a vector: bound by the memory
SPARSE = 18.0  # an entry of a sparse matrix, times a vector
PASS = 8.0  # an entry of an array that is read and written
ELEMENTS = 160.0  # an output whose loss and derivatives are computed
COUPLED = 4.0  # times as many where the classes are coupled


class WorkSpent(NotDifferentiableError):
    """The limit is passed before anything is known."""


class Work:
    """What has been done so far.

    Parameters
    ----------
    limit : float, default=None
        Seconds of the reference core after which :meth:`charge` raises.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = math.inf if limit is None else limit
        self.multiply_adds, self.calls = 0.0, 0.0

    @property
    def seconds(self) -> float:
        """Seconds that this takes on the reference core."""
        arithmetic = SECONDS_PER_MULTIPLY_ADD * self.multiply_adds
        return arithmetic + SECONDS_PER_CALL * self.calls

    def charge(self, multiply_adds: float, calls: float = 1) -> None:
        """Add a step that is about to be done.

        Parameters
        ----------
        multiply_adds : float
            In double precision; half as many in single.
        calls : float, default=1
            Number of steps of NumPy in it.

        Raises
        ------
        WorkSpent
            If the limit is passed already.
        """
        if self.seconds > self.limit:
            raise WorkSpent(
                f"The penalties are not found within max_work={self.limit:.3g} "
                "seconds. Raise max_work or tune by evaluations (solver='estimator')."
            )
        self.multiply_adds += multiply_adds
        self.calls += calls


def product_cost(X: Any, n_vectors: float) -> float:
    """Return the multiply-adds of X or its transpose times some vectors.

    Parameters
    ----------
    X : {ndarray, sparse matrix}
        Rows.
    n_vectors : float
        Their number.

    Returns
    -------
    float
        By the entries stored, and the precision where it matters.
    """
    if hasattr(X, "indptr"):
        return float(SPARSE * X.nnz * n_vectors)
    # A few vectors gain nothing from blocks of the matrix, many do.
    each = VECTOR if n_vectors == 1 else min(3 * VECTOR * n_vectors, 40 + n_vectors)
    return float(np.dtype(X.dtype).itemsize / 8 * X.size * each)
