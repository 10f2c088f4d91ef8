# SPDX-License-Identifier: BSD-3-Clause
"""run(): evaluate what an optimizer asks, on any workers, until a limit."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from accsmbo.execution._executors import check_execution, make_workers
from accsmbo.execution._loop import Loop
from accsmbo.execution._objective import Objective
from accsmbo.execution._race import Race, WholeTrials
from accsmbo.execution._resume import resume
from accsmbo.execution._scheduler import OneStack, Scheduler
from accsmbo.execution._signals import terminable, undisturbed
from accsmbo.execution._stop_reason import StopReason, as_conditions
from accsmbo.history import History
from accsmbo.optimizers import Optimizer
from accsmbo.storage import Journal

__all__ = ["run"]


@terminable()
def run(
    optimizer: Optimizer,
    objective: Objective,
    *,
    n_trials: int,
    timeout: float | None = None,
    n_jobs: int | None = None,
    executor: Any = None,
    trial_timeout: float | None = None,
    memory_limit: int | None = None,
    max_retries: int = 1,
    deterministic: bool = False,
    scheduler: Scheduler | None = None,
    race: Race | None = None,
    journal: Journal | None = None,
    stop_when: Any = None,
    callback: Callable[[History], bool] | None = None,
    fold_callback: Callable[[int], Mapping[str, Any]] | None = None,
) -> StopReason:
    """Evaluate trials until the budget, the space or the time is used up.

    A free worker gets the next fold of a trial that is under way, else a new trial.
    Whatever ends the run, the trials told before stay in ``optimizer.history``.

    Parameters
    ----------
    optimizer : Optimizer
        Asked and told.
    objective : Objective
        What to evaluate.
    n_trials : int
        Largest number of trials, those of an earlier run in the journal included.
    timeout : float or None, default=None
        Seconds. Our own worker processes are ended then; elsewhere no fold starts
        later.
    n_jobs : int or None, default=None
        As in joblib.
    executor : object or None, default=None
        None: as ``n_jobs`` says; an int: so many processes; or an object with
        ``submit``.
    trial_timeout : float or None, default=None
        Seconds for each trial from the start of its first fold; its workers are ended
        then, and it has failed.
    memory_limit : int or None, default=None
        Bytes that a fold may allocate above what its worker process held before.
    max_retries : int, default=1
        How often a trial is tried again after its worker died.
    deterministic : bool, default=False
        Make the history a function of the seed and the number of workers, whatever the
        timing: results are told in the order of asking, at the cost of waiting for the
        slowest of the trials under way. Where a trial has as many folds as there are
        workers, or more, and they are not raced, it is the history of one worker.
    scheduler : Scheduler or None, default=None
        None: :class:`OneStack`. Optimizers that do not learn always get that.
    race : Race or None, default=None
        Which folds of a trial run, and when. None: all of them at once.
    journal : Journal or None, default=None
        Its events are taken over first; then each trial is written to it, and at the
        end why it ended.
    stop_when : object with ``should_stop``, list of them or None, default=None
        Each is asked with the optimizer before the first trial of a resumed run and
        after each trial; the first true answer ends the run.
    callback : callable or None, default=None
        Called with the history after each trial; a true answer ends the run.
    fold_callback : callable or None, default=None
        Called with the running number of each fold as it is submitted; returns the
        ``callback`` argument of ``objective.fold``.

    Returns
    -------
    StopReason
        Why the run ended.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, the workers are said twice or cannot keep
        a limit, or ``stop_when`` holds something else.

    Warns
    -----
    SearchInterruptedWarning
        If the journal could not be written, or the executor broke.
    """
    check_execution(
        timeout=timeout,
        trial_timeout=trial_timeout,
        memory_limit=memory_limit,
        max_retries=max_retries,
        deterministic=deterministic,
        n_jobs=n_jobs,
        executor=executor,
    )
    conditions = as_conditions(stop_when)
    if journal is not None:
        # A condition may look at the model.
        resume(optimizer, journal.events, needed=None if conditions else n_trials)
        n_trials += optimizer.n_extra
    workers = make_workers(
        objective,
        executor=executor,
        n_jobs=n_jobs,
        trial_timeout=trial_timeout,
        memory_limit=memory_limit,
    )
    try:
        loop = Loop(
            optimizer,
            objective,
            workers,
            scheduler if scheduler and optimizer.adaptive else OneStack(),
            race or WholeTrials(objective.n_folds),
            n_trials=n_trials,
            deadline=math.inf if timeout is None else time.monotonic() + timeout,
            trial_timeout=math.inf if trial_timeout is None else trial_timeout,
            max_retries=max_retries,
            deterministic=deterministic,
            journal=journal,
            conditions=conditions,
            callback=callback,
            fold_callback=fold_callback,
        )
        reason = loop.run()
        return reason if journal is None else _recorded(journal, reason)
    finally:
        workers.close()
        for trial in optimizer.pending:
            optimizer.forget(trial)


def _recorded(journal: Journal, reason: StopReason) -> StopReason:
    try:
        with undisturbed():
            journal.ended(reason.name.lower())
    except KeyboardInterrupt:
        # It waited, perhaps as the second of two: what was told is not lost by it.
        return StopReason.INTERRUPTED
    return reason
