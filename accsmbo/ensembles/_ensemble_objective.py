# SPDX-License-Identifier: BSD-3-Clause
"""The loss of an ensemble that grows by one member at a time.

An objective holds the sum of the members taken so far and says what the loss would
be with one more. ``screen`` does so for many members in the arithmetic of the
predictions, one pass over them, in blocks; ``refine`` repeats it in float64 for
those that rounding cannot tell from the best. Everything here is a loss.

Notation
--------
M     members
n     samples
c     classes (or outputs)
P     (M, n, c) predictions, float32 or float64, never copied
T     (M, n) the true class's column of P
S     (n, c) sum of the members taken, float64
t     number of members taken; member m would make the ensemble (S + P_m) / (t + 1)
"""

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CallableObjective", "EnsembleObjective", "true_columns"]

# Work arrays of one step stay in the second-level cache.
BLOCK_BYTES = 1 << 19
# A copy of the true class's columns beyond this many bytes goes to a temporary file.
MEMORY_LIMIT = 1 << 27
# Rounding of float32 sums, as a multiple of eps; generous, it only costs time.
ROUNDING = 40


class EnsembleObjective:
    """Sum of the members taken, and the loss with one more.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n_samples, n_outputs)
        float32 or float64, C-contiguous (a memory map will do).
    pool : ndarray of int
        Members that may be asked about; others may hold anything.
    """

    def __init__(self, predictions: NDArray[Any], pool: NDArray[np.intp]) -> None:
        self.predictions = predictions
        self.pool = pool
        self.n_members, self.n_samples, self.n_outputs = predictions.shape
        self.eps = float(np.finfo(predictions.dtype).eps)
        self.reset()

    def reset(self) -> None:
        """Empty the ensemble."""
        self.count = 0
        self.total = np.zeros((self.n_samples, self.n_outputs))

    def add(self, member: int) -> None:
        """Take one member in."""
        self.total += self.predictions[member]
        self.count += 1

    def screen(self, members: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the losses with each of the members, to working precision."""
        return self.refine(members)

    def margin(self, losses: NDArray[np.float64]) -> float:
        """Return how far the screened losses may be off."""
        return 0.0

    def refine(self, members: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the losses with each of the members, in float64."""
        return np.array(
            [
                self.loss_of((self.total + self.predictions[member]) / (self.count + 1))
                for member in members
            ]
        )

    def loss(self) -> float:
        """Return the loss of the ensemble as it stands."""
        return self.loss_of(self.total / self.count)

    def loss_of(self, mean: NDArray[np.float64]) -> float:
        """Return the loss of one prediction of shape (n_samples, n_outputs)."""
        raise NotImplementedError


class CallableObjective(EnsembleObjective):
    """Any ``score(y_true, prediction)``, called once a member and round.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n_samples, n_outputs)
        Predictions.
    pool : ndarray of int
        Members that may be asked about.
    loss : callable
        Takes one prediction of shape (n_samples, n_outputs); smaller is better.
    """

    def __init__(
        self,
        predictions: NDArray[Any],
        pool: NDArray[np.intp],
        loss: Callable[[NDArray[np.float64]], float],
    ) -> None:
        self._loss = loss
        super().__init__(predictions, pool)

    def loss_of(self, mean: NDArray[np.float64]) -> float:
        """Return the loss of one prediction; NaN counts as infinite."""
        loss = float(self._loss(mean))
        return np.inf if np.isnan(loss) else loss


def true_columns(predictions: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[Any]:
    """Copy the true class's column of each member: T; to disk where it is large."""
    rows = np.arange(len(codes))
    shape, dtype = predictions.shape[:2], predictions.dtype
    true: NDArray[Any]
    if shape[0] * shape[1] * dtype.itemsize > MEMORY_LIMIT:
        with tempfile.TemporaryFile() as file:
            true = np.memmap(file, dtype, shape=shape)
    else:
        true = np.empty(shape, dtype)
    for member, own in enumerate(predictions):
        true[member] = own[rows, codes]
    return true
