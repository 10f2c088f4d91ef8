# SPDX-License-Identifier: BSD-3-Clause
"""The one loop that submits work: ask, evaluate fold by fold, tell."""

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from accsmbo.exceptions import SpaceExhausted
from accsmbo.history import Evaluation, History, Trial
from accsmbo.optimizers import Optimizer

__all__ = ["Objective", "StopReason", "run"]

# Trials of an optimizer that does not adapt are submitted in rounds of so many.
N_UNADAPTIVE = 64


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
        """Run one fold; its record must be picklable."""

    def combine(self, folds: Sequence[Any], start: float, end: float) -> Evaluation:
        """Make an evaluation of all records of a trial."""


class StopReason(Enum):
    """Why a run ended."""

    BUDGET = "all trials of the budget were evaluated"
    EXHAUSTED = "every point of the finite space was evaluated"
    TIMEOUT = "the time limit was reached"
    CALLBACK = "a callback asked to stop"
    INTERRUPTED = "it was interrupted"


@dataclass(frozen=True)
class _Task:
    """One fold of one trial, as a worker gets it."""

    objective: Objective
    trial: Trial
    index: int
    n_trials: int
    deadline: float
    callback: Mapping[str, Any]

    def __call__(self) -> tuple[Any, float, float]:
        """Run the fold; a fold that would start after the deadline is not run."""
        start = time.time()
        record = None
        if start < self.deadline:
            record = self.objective.fold(
                self.trial, self.index, self.n_trials, self.callback
            )
        return record, start, time.time()


def run(
    optimizer: Optimizer,
    objective: Objective,
    *,
    n_trials: int,
    timeout: float | None = None,
    n_jobs: int | None = None,
    pre_dispatch: int | str = "2*n_jobs",
    callback: Callable[[History], bool] | None = None,
    fold_callback: Callable[[int], Mapping[str, Any]] | None = None,
) -> StopReason:
    """Evaluate trials until the budget, the space or the time is used up.

    Folds and candidates run in parallel through joblib. An interrupt ends the run; the
    trials told before it stay in ``optimizer.history``.

    Parameters
    ----------
    optimizer : Optimizer
        Asked and told.
    objective : Objective
        What to evaluate.
    n_trials : int
        Largest number of trials.
    timeout : float or None, default=None
        Seconds; no fold starts later.
    n_jobs : int or None, default=None
        As in joblib.
    pre_dispatch : int or str, default="2*n_jobs"
        As in joblib.
    callback : callable or None, default=None
        Called with the history after each trial; a true answer ends the run.
    fold_callback : callable or None, default=None
        Called with the running number of each fold as it is submitted; returns the
        ``callback`` argument of ``objective.fold``.

    Returns
    -------
    StopReason
        Why the run ended.
    """
    deadline = math.inf if timeout is None else time.time() + timeout
    parallel = Parallel(n_jobs=n_jobs, pre_dispatch=pre_dispatch, return_as="generator")
    per_round = math.ceil(effective_n_jobs(n_jobs) / objective.n_folds)
    stop: StopReason | None = None
    try:
        with parallel:
            while stop is None:
                left = n_trials - optimizer.n_asked
                n_asked = min(left, per_round if optimizer.adaptive else N_UNADAPTIVE)
                trials, stop = _ask(optimizer, n_asked)
                if n_asked == left:
                    stop = stop or StopReason.BUDGET
                tasks = _tasks(objective, trials, n_trials, deadline, fold_callback)
                results = parallel(tasks)
                ended = _collect(optimizer, objective, trials, results, callback)
                results.close()
                stop = ended or stop
    except KeyboardInterrupt:
        stop = StopReason.INTERRUPTED
    for trial in optimizer.pending:
        optimizer.forget(trial)
    return stop


def _ask(optimizer: Optimizer, n: int) -> tuple[list[Trial], StopReason | None]:
    trials: list[Trial] = []
    try:
        for _ in range(n):
            trials.append(optimizer.ask())
    except SpaceExhausted:
        return trials, StopReason.EXHAUSTED
    return trials, None


def _tasks(
    objective: Objective,
    trials: Iterable[Trial],
    n_trials: int,
    deadline: float,
    fold_callback: Callable[[int], Mapping[str, Any]] | None,
) -> Iterator[Any]:
    for trial in trials:
        for i in range(objective.n_folds):
            number = trial.number * objective.n_folds + i
            callback = fold_callback(number) if fold_callback else {}
            task = _Task(objective, trial, i, n_trials, deadline, callback)
            yield delayed(task)()


def _collect(
    optimizer: Optimizer,
    objective: Objective,
    trials: Iterable[Trial],
    results: Iterator[tuple[Any, float, float]],
    callback: Callable[[History], bool] | None,
) -> StopReason | None:
    """Tell each trial when its last fold is in; results come in order."""
    for trial in trials:
        folds, starts, ends = zip(
            *itertools.islice(results, objective.n_folds), strict=True
        )
        if any(fold is None for fold in folds):
            return StopReason.TIMEOUT
        optimizer.tell(trial, objective.combine(folds, min(starts), max(ends)))
        if callback and callback(optimizer.history):
            return StopReason.CALLBACK
    return None
