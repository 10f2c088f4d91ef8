# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy of a growing ensemble.

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
    ROUNDING,
    EnsembleObjective,
    true_columns,
)

__all__ = ["AccuracyObjective"]


class AccuracyObjective(EnsembleObjective):
    """Minus the share of samples whose largest probability is the true class's.

    A sample is left out of a round when no member could change its prediction:
    with lo and hi the smallest and largest probability any member gives, the
    leading class l is safe if S_l + lo_l > S_j + hi_j for all other j.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n_samples, n_classes)
        Probabilities.
    pool : ndarray of int
        Members that may be asked about.
    codes : ndarray of shape (n_samples,)
        Column of the true class; of equal columns the first is the prediction.
    """

    def __init__(
        self,
        predictions: NDArray[Any],
        pool: NDArray[np.intp],
        codes: NDArray[np.intp],
    ) -> None:
        self.codes = codes
        super().__init__(predictions, pool)
        self.true = true_columns(predictions, codes)
        self.low = predictions[pool[0]].copy()
        self.high = self.low.copy()
        for member in pool:
            np.minimum(self.low, predictions[member], out=self.low)
            np.maximum(self.high, predictions[member], out=self.high)

    def screen(self, members: NDArray[np.intp]) -> NDArray[np.float64]:
        """Count right predictions among the samples still open."""
        total = self.total.astype(self.predictions.dtype)
        open_, settled = self._open_samples(total)
        counts = np.full(len(members), settled, dtype=np.int64)
        if len(open_) == 0:
            return -counts / self.n_samples
        counter = _RightPredictions(total[open_], self.codes[open_])
        everything = len(open_) == self.n_samples
        # Into one array: allocating rows for each member costs more than the work.
        gathered = np.empty_like(counter.total)
        for place, member in enumerate(members):
            own, true = self.predictions[member], self.true[member]
            if not everything:
                own = np.take(own, open_, axis=0, out=gathered, mode="clip")
                true = true.take(open_)
            counts[place] += counter(own, true)
        return -counts / self.n_samples

    def refine(self, members: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the screened losses: counts are whole numbers."""
        return self.screen(members)

    def loss_of(self, mean: NDArray[np.float64]) -> float:
        """Return minus the accuracy of one prediction."""
        return -float(np.mean(mean.argmax(axis=1) == self.codes))

    def _open_samples(self, total: NDArray[Any]) -> tuple[NDArray[np.intp], int]:
        """Find samples whose prediction may change; count the right ones elsewhere."""
        rows = np.arange(self.n_samples)
        leader = total.argmax(axis=1)
        slack = ROUNDING * self.eps * (self.count + 1)
        rival = total + self.high
        rival[rows, leader] = -np.inf
        worst = total[rows, leader] + self.low[rows, leader]
        is_open = worst <= rival.max(axis=1) + slack
        settled = int(np.count_nonzero(~is_open & (leader == self.codes)))
        open_ = np.flatnonzero(is_open)
        # Gathering rows costs about as much as three fifths of the work it saves.
        return (open_, settled) if len(open_) < 0.6 * len(rows) else (rows, 0)


class _RightPredictions:
    """Counts, for one member at a time, the rows whose argmax is the true class.

    The largest of c neighbours in a flat array is found by doubling windows, all
    of it contiguous: max over 2, 4, ... columns, then over the few windows left.
    """

    def __init__(self, total: NDArray[Any], codes: NDArray[np.intp]) -> None:
        self.total = total
        self.codes = codes
        self.n, self.c = total.shape
        rows = np.arange(self.n)
        self.true_total = total[rows, codes]
        others = total.copy()
        others[rows, codes] = -np.inf
        self.others = others.ravel()
        self.work = (np.empty_like(self.others), np.empty_like(self.others))
        self.true, self.best = self.true_total.copy(), self.true_total.copy()
        self.flags = np.empty(self.n, dtype=bool)

    def __call__(self, own: NDArray[Any], own_true: NDArray[Any]) -> int:
        true = np.add(own_true, self.true_total, out=self.true)
        best = self._largest_other(own)
        right = int(np.count_nonzero(np.greater(true, best, out=self.flags)))
        at_least = np.count_nonzero(np.greater_equal(true, best, out=self.flags))
        if at_least > right:
            tied = np.flatnonzero(true == best)
            both = self.total[tied] + own[tied]
            right += int(np.count_nonzero(both.argmax(axis=1) == self.codes[tied]))
        return right

    def _largest_other(self, own: NDArray[Any]) -> NDArray[Any]:
        c = self.c
        now, spare = self.work
        np.add(own.ravel(), self.others, out=now)
        window = 1
        length = now.size
        while c > 3 * window:
            length -= window
            np.maximum(now[:length], now[window : length + window], out=spare[:length])
            now, spare = spare, now
            window *= 2
        # Two or three windows, the last one overlapping, cover the columns.
        last = now[c - window :: c][: self.n]
        best = np.maximum(now[::c][: self.n], last, out=self.best)
        if c > 2 * window:
            np.maximum(best, now[window::c][: self.n], out=best)
        return best
