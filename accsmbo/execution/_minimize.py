# SPDX-License-Identifier: BSD-3-Clause
"""minimize(): a black box without an estimator."""

import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sklearn.base import clone

from accsmbo._validation import check_integer
from accsmbo.exceptions import SearchInterruptedWarning
from accsmbo.execution._plan import plan
from accsmbo.execution._runner import StopReason, run
from accsmbo.history import Evaluation, History, Trial
from accsmbo.optimizers import SMBO, Optimizer
from accsmbo.space import Space

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
            return self.func(dict(trial.params)), None
        except Exception:
            return None, traceback.format_exc()

    def combine(
        self, folds: Sequence[tuple[Any, str | None]], start: float, end: float
    ) -> Evaluation:
        answer, error = folds[0]
        value, gradient = answer if isinstance(answer, tuple) else (answer, None)
        return Evaluation(
            value=None if value is None else float(value),
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
    n_jobs: int | None = None,
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
        Seconds; no call starts later.
    n_jobs : int or None, default=None
        Number of parallel calls, through joblib.
    random_state : int, RandomState, Generator or None, default=None
        Seed; None: that of ``optimizer``.

    Returns
    -------
    History
        All finished trials; ``best_params`` and ``best_value`` are those of the best.

    Raises
    ------
    TypeError
        If ``func`` cannot be called.
    ValueError
        If ``n_trials`` < 1, or the space is invalid, or every call failed.

    Warns
    -----
    SearchInterruptedWarning
        If it was interrupted from the keyboard.

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
            f"func must be callable, got {func!r} (of type {type(func).__name__}). "
            "Give a function of one dict of parameters."
        )
    check_integer("n_trials", n_trials, minimum=1)
    optimizer = SMBO() if optimizer is None else clone(optimizer)
    seed = optimizer.random_state if random_state is None else random_state
    optimizer.set_params(space=Space(space), random_state=seed)
    optimizer, n_trials = plan(optimizer, n_trials, "n_trials")
    reason = run(
        optimizer,
        _FunctionObjective(func),
        n_trials=n_trials,
        timeout=timeout,
        n_jobs=n_jobs,
    )
    return _checked(optimizer.history, reason, n_trials)


def _checked(history: History, reason: StopReason, n_trials: int) -> History:
    if len(history) and history.best is None:
        raise ValueError(
            f"func must return a finite loss at least once, but all {len(history)} "
            f"calls failed. The first error was:\n{history[0][1].error}"
        )
    if reason is StopReason.INTERRUPTED:
        warnings.warn(
            f"minimize was interrupted after {len(history)} of {n_trials} trials; "
            "the history holds those that finished.",
            SearchInterruptedWarning,
            stacklevel=3,
        )
    return history
