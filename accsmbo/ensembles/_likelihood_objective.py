# SPDX-License-Identifier: BSD-3-Clause
"""Negative log-likelihood of a growing ensemble.

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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo.ensembles._ensemble_objective import (
    BLOCK_BYTES,
    ROUNDING,
    EnsembleObjective,
    true_columns,
)

__all__ = ["LikelihoodObjective"]


class LikelihoodObjective(EnsembleObjective):
    """Negative log-likelihood; only T is read.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n_samples, n_classes)
        Probabilities.
    pool : ndarray of int
        Members that may be asked about.
    codes : ndarray of shape (n_samples,)
        Column of the true class.
    """

    # A product of four probabilities >= eps does not underflow in float32.
    GROUP = 4

    def __init__(
        self,
        predictions: NDArray[Any],
        pool: NDArray[np.intp],
        codes: NDArray[np.intp],
    ) -> None:
        self.rows = np.arange(len(codes))
        self.codes = codes
        super().__init__(predictions, pool)
        self.true = true_columns(predictions, codes)

    def screen(self, members: NDArray[np.intp]) -> NDArray[np.float64]:
        """Mean of -log((S + T_m) / (t + 1)), a quarter of the logarithms."""
        dtype = self.true.dtype
        total = self.total[self.rows, self.codes].astype(dtype)
        floor = dtype.type(self.eps * (self.count + 1))
        clip = total.min() < floor
        sums = np.empty(len(members))
        step = max(1, BLOCK_BYTES // total.nbytes)
        work = np.empty((step, self.n_samples), dtype)
        for start in range(0, len(members), step):
            block = members[start : start + step]
            likelihood = work[: len(block)]
            for row, member in zip(likelihood, block, strict=True):
                np.add(self.true[member], total, out=row)
            if clip:
                np.maximum(likelihood, floor, out=likelihood)
            sums[start : start + step] = _log_sums(likelihood, self.GROUP)
        return np.log(self.count + 1) - sums / self.n_samples

    def margin(self, losses: NDArray[np.float64]) -> float:
        """Bound the rounding of the logarithms, the largest being log(t + 1)."""
        scale = 1 + np.log(self.count + 1) + abs(float(losses.min()))
        return ROUNDING * self.eps * scale

    def refine(self, members: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the loss from the true class's column alone."""
        total = self.total[self.rows, self.codes]
        return np.array(
            [
                self._loss((total + self.true[member]) / (self.count + 1))
                for member in members
            ]
        )

    def loss_of(self, mean: NDArray[np.float64]) -> float:
        """Return the negative log-likelihood of one prediction."""
        return self._loss(mean[self.rows, self.codes])

    def _loss(self, likelihood: NDArray[np.float64]) -> float:
        return -float(np.mean(np.log(np.clip(likelihood, self.eps, 1 - self.eps))))


def _log_sums(values: NDArray[Any], group: int) -> NDArray[Any]:
    """Sum of logarithms along the rows, taken of products of ``group`` entries."""
    length = values.shape[1] // group
    product = values[:, :length]
    for part in range(1, group):
        np.multiply(
            product, values[:, part * length : (part + 1) * length], out=product
        )
    sums = np.log(product, out=product).sum(axis=1)
    rest = values[:, group * length :]
    return sums + np.log(rest).sum(axis=1) if rest.size else sums
