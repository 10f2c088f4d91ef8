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
Y     (n, c) one-hot truth, or regression targets
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AccuracyObjective",
    "CallableObjective",
    "EnsembleObjective",
    "LikelihoodObjective",
    "SquaredErrorObjective",
]

# Work arrays of one step stay in the second-level cache.
BLOCK_BYTES = 1 << 19
# Entries of one dot product in the working dtype.
PIECE = 16384
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
        self.true = _true_columns(predictions, codes)

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
        self.true = _true_columns(predictions, codes)
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
        for place, member in enumerate(members):
            own, true = self.predictions[member], self.true[member]
            if not everything:
                own, true = own.take(open_, axis=0), true.take(open_)
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
        settled = np.count_nonzero(~is_open & (leader == self.codes))
        open_ = np.flatnonzero(is_open)
        # Gathering rows costs about as much as three fifths of the work it saves.
        return (open_, settled) if len(open_) < 0.6 * len(rows) else (rows, 0)


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


class _RightPredictions:
    """Counts, for one member at a time, the rows whose argmax is the true class.

    The largest of c neighbours in a flat array is found by doubling windows, all
    of it contiguous: max over 2, 4, ... columns, then of two overlapping windows.
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

    def __call__(self, own: NDArray[Any], own_true: NDArray[Any]) -> int:
        true = own_true + self.true_total
        best = self._largest_other(own)
        right = np.count_nonzero(true > best)
        ties = true == best
        if ties.any():
            tied = np.flatnonzero(ties)
            both = self.total[tied] + own[tied]
            right += np.count_nonzero(both.argmax(axis=1) == self.codes[tied])
        return right

    def _largest_other(self, own: NDArray[Any]) -> NDArray[Any]:
        size, c = self.others.size, self.c
        now, spare = self.work
        np.add(own.ravel(), self.others, out=now)
        window = 1
        length = size
        while 2 * window <= c:
            length -= window
            np.maximum(now[:length], now[window : length + window], out=spare[:length])
            now, spare = spare, now
            window *= 2
        first = now[0 : size - c + 1 : c]
        if window == c:
            return first
        return np.maximum(first, now[c - window : size - window + 1 : c])


def _true_columns(predictions: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[Any]:
    """Copy the true class's column of each member: T."""
    rows = np.arange(len(codes))
    true = np.empty(predictions.shape[:2], predictions.dtype)
    for member, own in enumerate(predictions):
        true[member] = own[rows, codes]
    return true


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
