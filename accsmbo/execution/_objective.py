# SPDX-License-Identifier: BSD-3-Clause
"""Objective: what the runner evaluates."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from accsmbo.history import Evaluation, Trial

__all__ = ["Objective"]


class Objective(Protocol):
    """What the runner evaluates: a trial is one or several independent folds.

    The folds of a trial are the units of work: workers run :meth:`fold` anywhere and in
    any order, so that objective and records must be picklable; the other methods run
    beside the optimizer. What costs time belongs into `fold`.

    See Also
    --------
    CrossValidationObjective : That of an estimator.
    run : Evaluates an objective on any workers.
    minimize : For functions that return a loss.

    Examples
    --------
    A simulation, run three times for each trial; the optimizer learns how noisy it is:

    >>> import numpy as np
    >>> from accsmbo import SMBO, Real
    >>> from accsmbo.execution import run
    >>> from accsmbo.history import Evaluation
    >>> class Simulation:
    ...     n_folds = 3
    ...     def fold(self, trial, index, n_trials=None, callback=None):
    ...         rng = np.random.default_rng([trial.seed, index])
    ...         return trial.params["x"] ** 2 + 0.1 * rng.normal()
    ...     def failed_fold(self, trial, index, error, seconds):
    ...         return np.nan
    ...     def combine(self, folds, start, end):
    ...         noise = np.std(folds, ddof=1) / np.sqrt(len(folds))
    ...         return Evaluation(value=float(np.mean(folds)), noise=float(noise))
    >>> optimizer = SMBO({"x": Real(-1, 2)}, random_state=0)
    >>> run(optimizer, Simulation(), n_trials=8).name, len(optimizer.history)
    ('BUDGET', 8)
    """

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
