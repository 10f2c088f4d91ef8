# SPDX-License-Identifier: BSD-3-Clause
"""Race: which folds of a trial run, and when; the plain form runs them all at once."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from accsmbo.history import Evaluation, Trial
from accsmbo.optimizers import Optimizer

__all__ = ["Race", "WholeTrials"]


class Race(Protocol):
    """Decides fold by fold. The loop asks it; it never sees a worker or a clock."""

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
