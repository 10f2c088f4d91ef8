# SPDX-License-Identifier: BSD-3-Clause
"""minimize(): a black box without an estimator."""

import functools
import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any

from sklearn.base import clone

from accsmbo._digest import digest
from accsmbo._validation import check_integer, check_is, shown
from accsmbo._warnings import warn_user
from accsmbo.exceptions import SearchInterruptedWarning
from accsmbo.execution._executors import check_execution
from accsmbo.execution._plan import plan
from accsmbo.execution._runner import run
from accsmbo.execution._scheduler import Scheduler
from accsmbo.execution._stop_reason import StopReason
from accsmbo.execution._study import (
    as_storage,
    open_journal,
    resume_hint,
    study_seed,
)
from accsmbo.history import Evaluation, History, Trial
from accsmbo.optimizers import SMBO, Optimizer
from accsmbo.space import Space
from accsmbo.storage import JournalStorage

__all__ = ["minimize"]


class _FunctionObjective:
    """A plain function of the params as an objective with one fold."""

    n_folds = 1

    def __init__(self, func: Callable[[dict[str, Any]], Any]) -> None:
        self.func = func

    def fold(
        self,
        trial: Trial,
        index: int,
        n_trials: int | None = None,
        callback: Mapping[str, Any] | None = None,
    ) -> tuple[Any, str | None]:
        try:
            answer = self.func(dict(trial.params))
            value, gradient = answer if isinstance(answer, tuple) else (answer, None)
            value = float(value)
        except Exception:
            return None, traceback.format_exc()
        if not math.isfinite(value):
            return None, f"the value is not finite: {value!r}"
        return (value, gradient), None

    def failed_fold(
        self, trial: Trial, index: int, error: str, seconds: float
    ) -> tuple[Any, str | None]:
        return None, error

    def combine(
        self, folds: Sequence[tuple[Any, str | None]], start: float, end: float
    ) -> Evaluation:
        answer, error = folds[0]
        value, gradient = answer or (None, None)
        return Evaluation(
            value=value,
            gradient=gradient,
            error=error,
            start_time=start,
            end_time=end,
        )


def minimize(
    func: Callable[[dict[str, Any]], Any],
    space: Any,
    *,
    optimizer: Optimizer | None = None,
    n_trials: int = 50,
    timeout: float | None = None,
    trial_timeout: float | None = None,
    memory_limit: int | None = None,
    n_jobs: int | None = None,
    executor: Any = None,
    scheduler: Scheduler | None = None,
    max_retries: int = 1,
    deterministic: bool = False,
    storage: Any = None,
    stop_when: Any = None,
    random_state: Any = None,
) -> History:
    """Minimise a function of named parameters.

    Parameters
    ----------
    func : callable
        ``func(params: dict)`` -> loss (smaller is better), or a pair of the loss and
        its gradient, a dict of name -> d loss / d parameter. A call that raises, or
        whose loss is not finite, is a failed trial and does not end the run.
    space : Space, dict or list of dict
        What to search.
    optimizer : Optimizer or None, default=None
        None: :class:`~accsmbo.optimizers.SMBO`. It is cloned; its own space must be
        None or is replaced.
    n_trials : int, default=50
        Largest number of calls; a finite space that fits in is evaluated whole.
    timeout : float or None, default=None
        Seconds for all calls. Worker processes are ended then; otherwise no call
        starts later.
    trial_timeout : float or None, default=None
        Seconds for each call, in worker processes; a call that takes longer is ended
        and has failed.
    memory_limit : int or None, default=None
        Bytes that a call may allocate, in worker processes (Linux).
    n_jobs : int or None, default=None
        Number of parallel calls, as in joblib; more than one run in worker processes.
    executor : int, object with ``submit`` or None, default=None
        Where to call in place of ``n_jobs``: a number of worker processes, a
        ``concurrent.futures`` executor, a Dask client, ...
    scheduler : Scheduler or None, default=None
        Which proposal a free worker gets; None: the newest one.
        :class:`~accsmbo.execution.TwoStacks` is the other kind.
    max_retries : int, default=1
        How often a call is tried again after its worker died.
    deterministic : bool, default=False
        Make the history independent of timing, see :func:`~accsmbo.execution.run`.
    storage : str, path-like, JournalStorage or None, default=None
        Journal to write to; one of the same study is resumed.
    stop_when : object with ``should_stop``, list of them or None, default=None
        When there is nothing left to gain, see :mod:`accsmbo.stopping`: each is asked
        after each call, and the first true answer ends the run.
    random_state : int, RandomState, Generator or None, default=None
        Seed; None: that of ``optimizer``.

    Returns
    -------
    History
        All finished trials; ``best_params`` and ``best_value`` are those of the best.

    Raises
    ------
    TypeError
        If ``func`` cannot be called, or ``stop_when`` has no ``should_stop``.
    ValueError
        If ``n_trials`` < 1, or the space is invalid, or every call failed, or the
        workers cannot keep a limit, or the journal holds another study.

    Warns
    -----
    SearchInterruptedWarning
        If it was interrupted from the keyboard, or ended early for want of workers or
        of disk space.

    Examples
    --------
    >>> from accsmbo import Real, minimize
    >>> history = minimize(lambda p: (p["x"] - 1) ** 2, {"x": Real(-2, 2)},
    ...                    n_trials=15, random_state=0)
    >>> abs(history.best_params["x"] - 1) < 0.1
    True
    """
    if not callable(func):
        raise TypeError(
            f"func must be callable, got {shown(func)} "
            f"(of type {type(func).__name__}). "
            "Give a function of one dict of parameters."
        )
    check_integer("n_trials", n_trials, minimum=1)
    # Before a journal is opened.
    check_execution(
        timeout=timeout,
        trial_timeout=trial_timeout,
        memory_limit=memory_limit,
        max_retries=max_retries,
        deterministic=deterministic,
        n_jobs=n_jobs,
        executor=executor,
    )
    kinds = (Optimizer, NoneType)
    check_is("optimizer", optimizer, kinds, "an optimizer such as SMBO(), or None")
    check_is("scheduler", scheduler, (Scheduler, NoneType), "TwoStacks() or None")
    optimizer = SMBO() if optimizer is None else clone(optimizer)
    seed = optimizer.random_state if random_state is None else random_state
    study = None if storage is None else as_storage(storage)
    if study is not None:
        seed = study_seed(study, seed)
    optimizer.set_params(space=Space(space), random_state=seed)
    optimizer, n_trials = plan(optimizer, n_trials, "n_trials")
    prints = functools.partial(_prints, study, func)
    with open_journal(study, optimizer, prints(), again=prints) as journal:
        reason = run(
            optimizer,
            _FunctionObjective(func),
            n_trials=n_trials,
            timeout=timeout,
            n_jobs=n_jobs,
            executor=executor,
            trial_timeout=trial_timeout,
            memory_limit=memory_limit,
            max_retries=max_retries,
            deterministic=deterministic,
            scheduler=scheduler,
            journal=journal,
            stop_when=stop_when,
        )
    return _checked(optimizer.history, reason, n_trials, study)


def _prints(study: JournalStorage | None, func: Any) -> dict[str, str]:
    return {} if study is None else {"func": digest(func)}


def _checked(
    history: History, reason: StopReason, n_trials: int, study: JournalStorage | None
) -> History:
    if len(history) and history.best is None:
        raise ValueError(
            f"func must return a finite loss at least once, but all {len(history)} "
            f"calls failed. The first error was:\n{history[0][1].error}"
        )
    if reason is StopReason.INTERRUPTED:
        warn_user(
            f"minimize was interrupted after {len(history)} of {n_trials} trials; "
            "the history holds those that finished." + resume_hint(study),
            SearchInterruptedWarning,
        )
    return history
