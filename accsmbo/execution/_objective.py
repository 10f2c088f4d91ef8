# SPDX-License-Identifier: BSD-3-Clause
"""Objective: what the runner evaluates."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from accsmbo.history import Evaluation, Trial

__all__ = ["Objective"]


class Objective(Protocol):
    """What the runner evaluates: a trial is one or several independent folds."""

    @property
    def n_folds(self) -> int:
        """Number of folds of one trial."""

    def fold(
        self,
        trial: Trial,
        index: int,
        n_trials: int | None = None,
        callback: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run one fold; its record must be picklable.

        Where :meth:`combine` sets ``warm_start``, one state for each fold, ``start`` is
        a further argument: the state that the optimizer's ``start_of`` gives.
        """

    def failed_fold(self, trial: Trial, index: int, error: str, seconds: float) -> Any:
        """Return the record of a fold whose worker was lost or ended."""

    def combine(self, folds: Sequence[Any], start: float, end: float) -> Evaluation:
        """Make an evaluation of all records of a trial."""
