# SPDX-License-Identifier: BSD-3-Clause
"""Brier score and squared error of a growing ensemble.

Notation
--------
M     members
n     samples
c     classes (or outputs)
P     (M, n, c) predictions, float32 or float64, never copied
S     (n, c) sum of the members taken, float64
t     number of members taken; member m would make the ensemble (S + P_m) / (t + 1)
Y     (n, c) one-hot truth, or regression targets
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo.ensembles._ensemble_objective import ROUNDING, EnsembleObjective

__all__ = ["SquaredErrorObjective"]

# Entries of one dot product in the working dtype.
PIECE = 16384


class SquaredErrorObjective(EnsembleObjective):
    """Mean over samples of the squared error summed over columns (Brier score).

    With R = S - t Y and q_m = |P_m - Y|^2 the loss with member m is
    (|R|^2 + 2 <R, P_m> - 2 <R, Y> + q_m) / (n (t + 1)^2): one matrix-vector
    product a round.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n_samples, n_outputs)
        Predictions.
    pool : ndarray of int
        Members that may be asked about.
    target : ndarray of shape (n_samples, n_outputs)
        One-hot truth, or regression targets.
    mean_outputs : bool, default=False
        Average over the columns too, as scikit-learn's mean squared error does.
    """

    def __init__(
        self,
        predictions: NDArray[Any],
        pool: NDArray[np.intp],
        target: NDArray[np.float64],
        *,
        mean_outputs: bool = False,
    ) -> None:
        super().__init__(predictions, pool)
        self.target = target
        self.divisor = self.n_samples * (self.n_outputs if mean_outputs else 1)
        self.flat = predictions.reshape(self.n_members, -1)
        self.own = np.full(self.n_members, np.nan)  # q_m
        self.largest_norm = 0.0
        for member in pool:
            own = self.flat[member]
            error = own - target.ravel()
            self.own[member] = error @ error
            self.largest_norm = max(self.largest_norm, float(np.linalg.norm(own)))

    def screen(self, members: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the formula of the class, products in the predictions' dtype."""
        residual = (self.total - self.count * self.target).ravel()
        work = residual.astype(self.flat.dtype)
        inner = self._products(members, work) - residual @ self.target.ravel()
        return (residual @ residual + 2 * inner + self.own[members]) / (
            self.divisor * (self.count + 1) ** 2
        )

    def margin(self, losses: NDArray[np.float64]) -> float:
        """Bound the rounding of the products, by Cauchy and Schwarz."""
        residual = float(np.linalg.norm(self.total - self.count * self.target))
        bound = 2 * residual * self.largest_norm
        return ROUNDING * self.eps * bound / (self.divisor * (self.count + 1) ** 2)

    def loss_of(self, mean: NDArray[np.float64]) -> float:
        """Return the squared error of one prediction."""
        error = (mean - self.target).ravel()
        return float(error @ error) / self.divisor

    def _products(
        self, members: NDArray[np.intp], vector: NDArray[Any]
    ) -> NDArray[np.float64]:
        """<R, P_m>, summed in float64 over short pieces of the vector."""
        # All rows at once is one BLAS call without a copy; few rows are gathered.
        many = 4 * len(members) > self.n_members
        products = np.zeros(self.n_members if many else len(members))
        with np.errstate(invalid="ignore"):
            for start in range(0, vector.size, PIECE):
                piece = slice(start, start + PIECE)
                rows = self.flat[:, piece] if many else self.flat[members, piece]
                products += rows @ vector[piece]
        return products[members] if many else products
