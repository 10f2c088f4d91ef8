# SPDX-License-Identifier: BSD-3-Clause
"""FoldRace: one race of candidates, fold by fold, against the best one so far.

Notation
--------
K       folds of a full evaluation
L       (n, K)  losses of the trials told so far, NaN where a fold was not run
b       (K,)    losses of the incumbent
d       (k,)    differences of a challenger to the incumbent on the k folds it has
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo.evaluation import CrossValidationObjective
from accsmbo.fidelity._rules import Rule
from accsmbo.history import Evaluation, Trial
from accsmbo.optimizers import Optimizer

__all__ = ["FoldRace"]

FloatArray = NDArray[np.float64]

# Keeps the order of the folds apart from the draws of the optimizer.
FOLD_STREAM = 0xF01D
# Trials whose worth the prior standard deviation of a challenger's differences has.
PRIOR_FOLDS = 2


@dataclass(frozen=True)
class _Incumbent:
    losses: FloatArray

    @property
    def mean(self) -> float:
        return float(self.losses.mean())


class FoldRace:
    """The folds of challengers run one after the other; losers are given up.

    While there is no incumbent, one trial runs with all folds at once.

    Parameters
    ----------
    objective : CrossValidationObjective
        Gives the loss of a fold.
    rule : callable
        ``rule(d, K, level)`` -> whether the challenger is out.
    level : float
        Third argument of the rule.

    Attributes
    ----------
    order : tuple of int
        Folds in the order in which every candidate runs them.
    """

    def __init__(
        self, objective: CrossValidationObjective, rule: Rule, level: float
    ) -> None:
        self._objective = objective
        self._rule = rule
        self._level = level
        self._n_folds = objective.n_folds
        self._incumbent: _Incumbent | None = None
        self._leader: int | None = None
        self._losses: list[FloatArray] = []
        self._pinned: dict[int, _Incumbent | None] = {}

    @property
    def width(self) -> int:
        """How many folds of the next trial run at once."""
        return self._n_folds if self._incumbent is None else 1

    def begin(self, optimizer: Optimizer, *, steady: bool) -> None:
        """Draw the order of the folds, and take over the history.

        Parameters
        ----------
        optimizer : Optimizer
            Its seed is that of the order.
        steady : bool
            Compare a challenger with the incumbent at its opening, not with the one
            at its latest fold, so that timing has no part in it.
        """
        rng = np.random.default_rng([optimizer.seed, FOLD_STREAM])
        self.order = tuple(int(i) for i in rng.permutation(self._n_folds))
        self._steady = steady
        for trial, evaluation in optimizer.history:
            self.told(trial, evaluation)

    def open(self, trial: Trial) -> Sequence[int]:
        """Return the folds of a new trial to run first.

        Parameters
        ----------
        trial : Trial
            Asked, not told.

        Returns
        -------
        sequence of int
            All folds where nothing can be compared yet, else one.
        """
        if self._steady:
            self._pinned[trial.number] = self._incumbent
        if self._incumbent is None and self._leader is None:
            self._leader = trial.number
            return self.order
        return self.order[:1]

    def next(self, trial: Trial, records: Mapping[int, Any]) -> Sequence[int] | None:
        """Return the folds to run next, None where the trial is out.

        Parameters
        ----------
        trial : Trial
            Under way.
        records : mapping of int to dict
            Its finished folds, not all.

        Returns
        -------
        sequence of int or None
            Empty where the others are running.
        """
        if trial.number == self._leader:
            return ()
        losses = self._row(records)
        run = np.isfinite(losses)
        if run.sum() < len(records):
            return None  # with a fold that failed, its mean cannot be finite
        incumbent = self._reference(trial)
        if incumbent is not None:
            d = losses[run] - incumbent.losses[run]
            if self._rule(d, self._n_folds, self._level):
                return None
        return (self.order[len(records)],)

    def corrected(self, trial: Trial, evaluation: Evaluation) -> Evaluation:
        """Return what to tell of a trial.

        The value of one that is out is the incumbent's mean over all folds plus the
        mean of d, so that folds that are hard for all do not count against it; its
        noise is the standard error of that mean for the folds that are missing,
        ``s sqrt(1/k - 1/K)``.

        Parameters
        ----------
        trial : Trial
            About to be told.
        evaluation : Evaluation
            Of the folds it ran.

        Returns
        -------
        Evaluation
            Unchanged where all folds were run. Otherwise without a gradient: that of
            some folds points elsewhere than that of all.
        """
        incumbent = self._reference(trial)
        if incumbent is None or evaluation.failed or not evaluation.partial:
            return evaluation
        losses = self._losses_of(evaluation)
        d = (losses - incumbent.losses)[np.isfinite(losses)]
        error = self._spread(d, incumbent) * np.sqrt(1.0 / len(d) - 1.0 / self._n_folds)
        return replace(
            evaluation,
            value=incumbent.mean + float(d.mean()),
            noise=float(error),
            gradient=None,
            error_estimate=None,
        )

    def told(self, trial: Trial, evaluation: Evaluation) -> None:
        """Note what the optimizer was told; the best with all folds is the incumbent.

        Parameters
        ----------
        trial : Trial
            Finished, given up or failed.
        evaluation : Evaluation
            What it gave.
        """
        self._pinned.pop(trial.number, None)
        if trial.number == self._leader:
            self._leader = None
        if evaluation.failed:
            return
        losses = self._losses_of(evaluation)
        self._losses.append(losses)
        if evaluation.partial:
            return
        if self._incumbent is None or losses.mean() < self._incumbent.mean:
            self._incumbent = _Incumbent(losses)

    def _reference(self, trial: Trial) -> _Incumbent | None:
        return self._pinned[trial.number] if self._steady else self._incumbent

    def _losses_of(self, evaluation: Evaluation) -> FloatArray:
        indices = evaluation.fold_indices or range(self._n_folds)
        return self._row(dict(zip(indices, evaluation.folds, strict=True)))

    def _row(self, records: Mapping[int, Any]) -> FloatArray:
        row = np.full(self._n_folds, np.nan)
        for index, record in records.items():
            row[index] = self._objective.loss(record)
        return row

    def _spread(self, d: FloatArray, incumbent: _Incumbent) -> float:
        """Return the standard deviation of a challenger's differences.

        Its own squares are pooled with those of the trials of two folds or more whose
        mean difference is closest to its own.
        """
        D = np.array(self._losses) - incumbent.losses
        n = np.isfinite(D).sum(axis=1)
        D, n = D[n > 1], n[n > 1]
        own = float(np.sum((d - d.mean()) ** 2))
        squares, weight = own, float(len(d) - 1)
        if len(D):
            means = np.nanmean(D, axis=1)
            close = np.argsort(np.abs(means - d.mean()), kind="stable")[:5]
            pooled = np.nansum((D[close] - means[close, None]) ** 2)
            squares += PRIOR_FOLDS * float(pooled) / float((n[close] - 1).sum())
            weight += PRIOR_FOLDS
        if weight == 0.0:
            return float(abs(d.mean()))
        return float(np.sqrt(squares / weight))
