# SPDX-License-Identifier: BSD-3-Clause
"""A small orthonormal basis of coefficients, with its images carried along.

B    (k, p)   orthonormal rows, flattened coefficients
F    (k, n)   X B^T transposed: outputs of each row, training (or all) rows
V    (k, m)   outputs of each row, validation rows
M_g  (k, k)   B diag(base_g) B^T, the penalty of hyperparameter g in the basis
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from accsmbo.hypergradients._inner_problem import Array
from accsmbo.linear_model._work import PASS, VECTOR, Work

__all__ = ["Basis"]

NEW = 1e-4  # share of a direction that must be new
FIRST_SIZE = 12  # rows there is room for at first: most runs need no more
SIZE = 18  # rows kept; beyond, the oldest are merged into the current solution
KEPT = 8  # latest rows that survive the merge


class Basis:
    """Orthonormal directions of one fold; memory (p + n + m) floats for each.

    Parameters
    ----------
    shape : tuple of int
        Numbers of coefficients, training outputs and validation outputs.
    bases : sequence of ndarray
        Strengths at value 1 for each hyperparameter, like the coefficients.
    dtype : dtype
        Precision.
    work : Work, default=None
        Charged with orthogonalisations and merges.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        bases: Sequence[Array],
        dtype: Any,
        work: Work | None = None,
    ) -> None:
        self.work = work or Work()
        self.bases = [base.ravel() for base in bases]
        self._arrays = [np.empty((FIRST_SIZE, size), dtype) for size in shape]
        self.penalties = [np.zeros((0, 0)) for _ in bases]
        self.k = 0

    @property
    def B(self) -> Array:
        """Return the directions."""
        return self._arrays[0][: self.k]

    @property
    def F(self) -> Array:
        """Return their outputs on the training rows."""
        return self._arrays[1][: self.k]

    @property
    def V(self) -> Array:
        """Return their outputs on the validation rows."""
        return self._arrays[2][: self.k]

    @property
    def full(self) -> bool:
        """Return whether :meth:`merge` must come before the next direction."""
        return self.k == SIZE

    def add(self, direction: Array, image: Array, validation: Array) -> bool:
        """Add what is new of a direction (two passes of Gram-Schmidt).

        Parameters
        ----------
        direction, image, validation : ndarray
            Coefficients and their outputs, flattened or not.

        Returns
        -------
        bool
            Whether there was anything new.
        """
        self._charge(4 * VECTOR * self.k + 4 * PASS, 30 + 4 * len(self.bases))
        new = [a.ravel().copy() for a in (direction, image, validation)]
        first = float(np.linalg.norm(new[0]))
        for _ in range(2 if self.k else 0):
            h = self.B @ new[0]
            for array, rows in zip(new, (self.B, self.F, self.V), strict=True):
                array -= h @ rows
        norm = float(np.linalg.norm(new[0]))
        if not norm > NEW * first:
            return False
        if self.k == len(self._arrays[0]):
            self._grow()
        for array, rows in zip(new, self._arrays, strict=True):
            np.divide(array, array.dtype.type(norm), out=rows[self.k])
        self.k += 1
        self._extend_penalties()
        return True

    def merge(self, c: Array) -> Array:
        """Shrink to the current solution and the latest rows.

        Parameters
        ----------
        c : ndarray of shape (k,)
            Current solution in the basis.

        Returns
        -------
        ndarray of shape (KEPT + 1,)
            The same solution in the new basis.
        """
        self._charge((KEPT + 1) * self.k, 12)
        latest = np.eye(self.k)[:, -KEPT:]
        T = np.linalg.qr(np.column_stack([c, latest]))[0]
        weights = T.T.astype(self._arrays[0].dtype)
        for rows in self._arrays:
            rows[: T.shape[1]] = weights @ rows[: self.k]
        self.penalties = [T.T @ M @ T for M in self.penalties]
        self.k = T.shape[1]
        return np.asarray(T.T @ c)

    def _charge(self, multiply_adds: float, calls: float) -> None:
        width = sum(rows.shape[1] for rows in self._arrays)
        precision = self._arrays[0].dtype.itemsize / 8
        self.work.charge(multiply_adds * width * precision, calls)

    def _grow(self) -> None:
        for i, rows in enumerate(self._arrays):
            self._arrays[i] = np.empty((SIZE, rows.shape[1]), rows.dtype)
            self._arrays[i][: len(rows)] = rows

    def _extend_penalties(self) -> None:
        k, last = self.k, self.B[-1]
        for g, base in enumerate(self.bases):
            grown = np.zeros((k, k))
            grown[:-1, :-1] = self.penalties[g]
            grown[-1] = grown[:, -1] = self.B @ (base * last)
            self.penalties[g] = grown
