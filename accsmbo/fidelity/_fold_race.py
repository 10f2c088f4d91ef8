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
from accsmbo.fidelity._rules import Differences, Rule
from accsmbo.history import Evaluation, Trial
from accsmbo.optimizers import Optimizer

__all__ = ["FoldRace"]

FloatArray = NDArray[np.float64]

# Keeps the orders of the folds apart from the draws of the optimizer.
FOLD_STREAM = 0xF01D
# The spread of a challenger's differences is pooled with that of so many trials, worth
# so many degrees of freedom: spreads grow with the difference itself.
N_CLOSE = 5
MAX_WEIGHT = 4


@dataclass(frozen=True)
class _Incumbent:
    losses: FloatArray

    @property
    def mean(self) -> float:
        return float(self.losses.mean())


@dataclass(frozen=True)
class _Known:
    """What a challenger is compared with: the incumbent and the first `n_told` of L."""

    incumbent: _Incumbent | None
    n_told: int


class FoldRace:
    """The folds of challengers run one after the other; losers are given up.

    Each challenger has an order of folds of its own: an incumbent that is lucky on one
    fold would keep out everyone who meets it there first. While there is no incumbent,
    one trial runs with all folds at once.

    Parameters
    ----------
    objective : CrossValidationObjective
        Gives the loss of a fold.
    rule : callable
        ``rule(differences, level)`` -> whether the challenger is out.
    level : float
        Second argument of the rule.
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
        self._pinned: dict[int, _Known] = {}

    @property
    def width(self) -> int:
        """How many folds of the next trial run at once."""
        return self._n_folds if self._incumbent is None else 1

    def begin(self, optimizer: Optimizer, *, steady: bool) -> None:
        """Take over the history.

        Parameters
        ----------
        optimizer : Optimizer
            Its seed is that of the orders of folds.
        steady : bool
            Compare a challenger with what was known at its opening, not at its latest
            fold, so that timing has no part in it.
        """
        self._seed = optimizer.seed
        self._steady = steady
        for trial, evaluation in optimizer.history:
            self.told(trial, evaluation)

    def order(self, trial: Trial) -> tuple[int, ...]:
        """Return the folds in the order in which a trial runs them.

        Parameters
        ----------
        trial : Trial
            Its number tells.

        Returns
        -------
        tuple of int
            A random one, the same for the same seed of the search.
        """
        rng = np.random.default_rng([self._seed, FOLD_STREAM, trial.number])
        return tuple(int(i) for i in rng.permutation(self._n_folds))

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
            self._pinned[trial.number] = self._now
        if self._incumbent is None and self._leader is None:
            self._leader = trial.number
            return self.order(trial)
        return self.order(trial)[:1]

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
        known = self._reference(trial)
        if known.incumbent is not None:
            differences = self._differences(losses, known.incumbent, known.n_told)
            if self._rule(differences, self._level):
                return None
        return (self.order(trial)[len(records)],)

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
        known = self._reference(trial)
        incumbent = known.incumbent
        if incumbent is None or evaluation.failed or not evaluation.partial:
            return evaluation
        losses = self._losses_of(evaluation)
        differences = self._differences(losses, incumbent, known.n_told)
        return replace(
            evaluation,
            value=incumbent.mean + differences.mean,
            noise=differences.standard_error,
            gradient=None,
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

    @property
    def _now(self) -> _Known:
        return _Known(self._incumbent, len(self._losses))

    def _reference(self, trial: Trial) -> _Known:
        return self._pinned[trial.number] if self._steady else self._now

    def _losses_of(self, evaluation: Evaluation) -> FloatArray:
        indices = evaluation.fold_indices or range(self._n_folds)
        return self._row(dict(zip(indices, evaluation.folds, strict=True)))

    def _row(self, records: Mapping[int, Any]) -> FloatArray:
        row = np.full(self._n_folds, np.nan)
        for index, record in records.items():
            row[index] = self._objective.loss(record)
        return row

    def _differences(
        self, losses: FloatArray, incumbent: _Incumbent, n_told: int
    ) -> Differences:
        """Return d, and the spread of the trials whose mean difference is closest."""
        d = (losses - incumbent.losses)[np.isfinite(losses)]
        told = self._losses[:n_told]
        others = [row for row in told if row is not incumbent.losses]
        D = np.array(others).reshape(-1, self._n_folds) - incumbent.losses
        n = np.isfinite(D).sum(axis=1)
        D, n = D[n > 1], n[n > 1]
        if not len(D):
            return Differences(d, self._n_folds)
        means = np.nanmean(D, axis=1)
        close = np.argsort(np.abs(means - d.mean()), kind="stable")[:N_CLOSE]
        squares = float(np.nansum((D[close] - means[close, None]) ** 2))
        degrees = float((n[close] - 1).sum())
        weight = min(degrees, MAX_WEIGHT)
        return Differences(d, self._n_folds, squares * weight / degrees, weight)
