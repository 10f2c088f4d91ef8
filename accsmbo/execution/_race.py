# SPDX-License-Identifier: BSD-3-Clause
"""Race: which folds of a trial run, and when; the plain form runs them all at once."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from accsmbo.history import Evaluation, Trial
from accsmbo.optimizers import Optimizer

__all__ = ["Race", "WholeTrials"]


class Race(Protocol):
    """Decides fold by fold. The loop asks it; it never sees a worker or a clock.

    What is seen of a candidate after one fold often says enough to give it up, for a
    fraction of the cost. A run calls `open` for each new trial and `next` after each of
    its folds but the last. A trial that is given up is told as `corrected` says, so
    that the optimizer still learns from it.

    See Also
    --------
    Racing : Gives a search a race against the best candidate so far.
    run : Takes one.
    Objective : Where the folds come from.

    Examples
    --------
    The race of `Racing` without a search around it:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import get_scorer
    >>> from sklearn.model_selection import StratifiedKFold
    >>> from sklearn.svm import SVC
    >>> from accsmbo import Real
    >>> from accsmbo.evaluation import CrossValidationObjective
    >>> from accsmbo.execution import run
    >>> from accsmbo.fidelity import Racing
    >>> from accsmbo.optimizers import RandomSearch
    >>> X, y = load_iris(return_X_y=True)
    >>> objective = CrossValidationObjective(
    ...     SVC(), X, y, splits=list(StratifiedKFold(5).split(X, y)),
    ...     scorer=get_scorer("accuracy"),
    ... )
    >>> optimizer = RandomSearch({"C": Real(1e-4, 1e4, log=True)}, random_state=0)
    >>> reason = run(
    ...     optimizer, objective, n_trials=20, race=Racing().race(objective)
    ... )
    >>> sum(len(e.folds) for e in optimizer.history.evaluations) < 90  # of 100
    True
    """

    @property
    def width(self) -> int:
        """How many folds of the next trial run at once."""

    def begin(self, optimizer: Optimizer, *, steady: bool) -> None:
        """Take over the history; ``steady``: decide by the order of telling alone."""

    def open(self, trial: Trial) -> Sequence[int]:
        """Return the folds of a new trial to run first."""

    def next(self, trial: Trial, records: Mapping[int, Any]) -> Sequence[int] | None:
        """Return the folds to run now that these are finished; None: give it up."""

    def corrected(self, trial: Trial, evaluation: Evaluation) -> Evaluation:
        """Return what to tell of a trial, which may have been given up."""

    def told(self, trial: Trial, evaluation: Evaluation) -> None:
        """Note what the optimizer was told."""


class WholeTrials:
    """Every trial gets all folds, all at once.

    Parameters
    ----------
    n_folds : int
        Folds of a trial.
    """

    def __init__(self, n_folds: int) -> None:
        self.width = n_folds

    def begin(self, optimizer: Optimizer, *, steady: bool) -> None:
        """Nothing to take over."""

    def open(self, trial: Trial) -> Sequence[int]:
        """Return all folds."""
        return range(self.width)

    def next(self, trial: Trial, records: Mapping[int, Any]) -> Sequence[int]:
        """Return no more folds."""
        return ()

    def corrected(self, trial: Trial, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation: no trial is given up."""
        return evaluation

    def told(self, trial: Trial, evaluation: Evaluation) -> None:
        """Nothing to note."""
