# SPDX-License-Identifier: BSD-3-Clause
"""Trial, Evaluation and History: what a run asked, what came back, in order."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Evaluation", "History", "Route", "Span", "Trial"]


@dataclass(frozen=True, eq=False)
class Trial:
    """One point that an optimizer asks to evaluate.

    It holds all that a worker needs, and nothing of the optimizer: it can be pickled
    and evaluated anywhere. A model that draws random numbers should take them from
    `seed`; then the result does not depend on who computes it or when.

    Attributes
    ----------
    number : int
        Position in the order of asking, from 0.
    params : dict
        Parameter values by name: the user's own objects or plain int/float.
    unit : ndarray of shape (n_dims,)
        Canonical point in the unit cube of its subspace, read-only.
    subspace : int
        Index into ``space.subspaces``.
    seed : int
        Seed for this trial alone, whatever worker runs it.
    tolerance : float or None
        Accuracy asked of the inner solve; None: the estimator's own.
    fidelity : float or None
        Amount of resource; None: all of it.

    See Also
    --------
    Optimizer : Its ``ask`` returns trials.
    Evaluation : What comes back.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from accsmbo import SMBO, Real
    >>> optimizer = SMBO({"C": Real(1e-3, 1e3, log=True)}, random_state=0)
    >>> trial = optimizer.ask()
    >>> SVC(**trial.params, random_state=trial.seed).C, trial.unit
    (1.0, array([0.5]))
    """

    number: int
    params: dict[str, Any]
    unit: NDArray[np.float64]
    subspace: int = 0
    seed: int = 0
    tolerance: float | None = None
    fidelity: float | None = None


class Route(NamedTuple):
    """How a search finds and scores its candidates, and why this way.

    Every candidate is fitted and scored by the estimator itself; a route says what else
    is done to need fewer of them. It depends on estimator, space, metric, splits and
    weights alone.

    Attributes
    ----------
    solver : {"joint", "gradients", "estimator"}
        "joint": one candidate from training and tuning at once, confirmed by the
        estimator's own fits; "gradients": the estimator's own fits, the first ones with
        the gradient of their score; "estimator": the estimator's own fits alone.
    reason : str
        Why; where a search changed its solver on the way, why it did.

    See Also
    --------
    History : Its attribute `route`.
    AccSMBOSearchCV : Its argument `solver`, and its method `solver_for`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from accsmbo import AccSMBOSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = AccSMBOSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}).fit(X, y)
    >>> search.history_.route.solver
    'estimator'
    """

    solver: str
    reason: str


class Span(NamedTuple):
    """When a worker ran one fold.

    The spans of a history show how busy the workers were, and what they waited for.

    Attributes
    ----------
    worker : int
        Number of the worker, from 0.
    start, end : float
        Seconds since the epoch.

    See Also
    --------
    Evaluation : Holds those of its folds.
    WorkerTimelineDisplay : Draws them, one row a worker.

    Examples
    --------
    >>> from accsmbo import Real, minimize
    >>> history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=5,
    ...                    random_state=0)
    >>> spans = [span for e in history.evaluations for span in e.spans]
    >>> busy = sum(span.end - span.start for span in spans)
    >>> len(spans), busy <= spans[-1].end - spans[0].start
    (5, True)
    """

    worker: int
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one trial gave.

    The loss, and what is known about it. Optimizers learn from `value`, `gradient` and
    `noise`, and offer `warm_start` to later trials; the rest is for the reader. A
    failed trial has an `error` in place of a value, and stays in the history.

    Attributes
    ----------
    value : float or None
        Loss (smaller is better); None where the trial failed.
    gradient : mapping of str to float, or None
        d value / d parameter in the parameter's own units, for those known.
    noise : float or None
        Standard error of ``value``, in its units; None: unknown.
    error : str or None
        The first traceback, where the trial failed.
    folds : tuple of dict
        One record per fold that was run: scores, times, errors.
    fold_indices : tuple of int or None
        Which folds the records are of, where the trial was given up before all were
        run; ``value`` is then an estimate. None: all, in order.
    start_time, end_time : float or None
        Seconds since the epoch.
    warm_start : object
        State that a later, neighbouring trial may start from.
    spans : tuple of Span
        Who ran the finished folds and when, in order of finishing.

    See Also
    --------
    Trial : What was asked.
    History : Pairs of trials and evaluations.
    CrossValidationObjective : Makes one of the folds of an estimator.

    Examples
    --------
    >>> from accsmbo import SMBO, Real
    >>> from accsmbo.history import Evaluation
    >>> optimizer = SMBO({"x": Real(-1, 2)}, random_state=0)
    >>> optimizer.tell(optimizer.ask(), Evaluation(value=0.3, noise=0.05))
    >>> optimizer.tell(optimizer.ask(), Evaluation(error="out of memory"))
    >>> [evaluation.failed for evaluation in optimizer.history.evaluations]
    [False, True]
    """

    value: float | None = None
    gradient: Mapping[str, float] | None = None
    noise: float | None = None
    error: str | None = None
    folds: tuple[dict[str, Any], ...] = ()
    fold_indices: tuple[int, ...] | None = None
    start_time: float | None = None
    end_time: float | None = None
    warm_start: Any = field(default=None, repr=False)
    spans: tuple[Span, ...] = field(default=(), repr=False)

    @property
    def failed(self) -> bool:
        """Whether there is no finite value."""
        return self.value is None or not math.isfinite(self.value)

    @property
    def partial(self) -> bool:
        """Whether the trial was given up before all folds were run."""
        return self.fold_indices is not None


class History(Sequence[tuple[Trial, Evaluation]]):
    """Append-only record of a run: pairs (trial, evaluation) in order of telling.

    It behaves as a sequence of these pairs; failed trials are among them.

    Parameters
    ----------
    space : Space or None, default=None
        The space that the trials come from.

    Attributes
    ----------
    route : Route or None
        How a search found its candidates.
    metric : str or None
        Name of the metric whose negative the values are; None: they are losses.

    See Also
    --------
    accsmbo.JournalStorage : Histories on disk.

    Examples
    --------
    >>> from accsmbo import Real, minimize
    >>> history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=5,
    ...                    random_state=0)
    >>> len(history)
    5
    """

    def __init__(self, space: Any = None) -> None:
        self.space = space
        self.route: Route | None = None
        self.metric: str | None = None
        self._records: list[tuple[Trial, Evaluation]] = []

    def append(self, trial: Trial, evaluation: Evaluation) -> None:
        """Add one finished trial.

        Parameters
        ----------
        trial : Trial
            What was asked.
        evaluation : Evaluation
            What came back.
        """
        self._records.append((trial, evaluation))

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: Any) -> Any:
        return self._records[index]

    def __iter__(self) -> Iterator[tuple[Trial, Evaluation]]:
        return iter(self._records)

    def __repr__(self) -> str:
        value = None if self.best is None else self.best[1].value
        return f"History(n_trials={len(self)}, best_value={value})"

    @property
    def trials(self) -> list[Trial]:
        """Trials in order of telling."""
        return [trial for trial, _ in self._records]

    @property
    def evaluations(self) -> list[Evaluation]:
        """Evaluations in order of telling."""
        return [evaluation for _, evaluation in self._records]

    @property
    def values(self) -> NDArray[np.float64]:
        """Losses in order of telling, NaN where the trial failed; shape (n,)."""
        return np.array(
            [np.nan if e.failed else e.value for _, e in self._records], dtype=float
        )

    @property
    def best(self) -> tuple[Trial, Evaluation] | None:
        """The pair with the smallest loss over all folds, the first of equals.

        Where trials had different amounts of a resource, among those with the most.
        """
        finished = [r for r in self._records if not (r[1].failed or r[1].partial)]
        amounts = [_amount(trial) for trial, _ in finished]
        most = max(amounts, default=math.inf)
        finished = [
            r for r, amount in zip(finished, amounts, strict=True) if amount == most
        ]
        return min(finished, key=lambda r: (r[1].value, r[0].number), default=None)

    @property
    def best_params(self) -> dict[str, Any]:
        """Params of :attr:`best`.

        Raises
        ------
        ValueError
            If no trial has succeeded.
        """
        if self.best is None:
            raise ValueError(
                "best_params needs at least one successful trial, got "
                f"{len(self)} trials, all failed. Look at history.to_frame()['error']."
            )
        return self.best[0].params

    @property
    def best_value(self) -> float:
        """Loss of :attr:`best`; infinity if no trial has succeeded."""
        return math.inf if self.best is None else float(self.best[1].value)  # type: ignore[arg-type]

    def to_frame(self) -> "pd.DataFrame":
        """Return the history as a data frame, one row per trial.

        Returns
        -------
        pandas.DataFrame
            Columns ``number``, ``value``, ``param_*``, ``seed``, ``start_time``,
            ``end_time`` (seconds since the epoch), ``error``; ``fidelity`` where trials
            had different amounts of a resource.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "History.to_frame needs pandas: pip install pandas"
            ) from error
        names = dict.fromkeys(name for t in self.trials for name in t.params)
        rows = [
            {
                "number": trial.number,
                "value": np.nan if evaluation.failed else evaluation.value,
                **{f"param_{name}": trial.params.get(name) for name in names},
                "seed": trial.seed,
                "start_time": evaluation.start_time,
                "end_time": evaluation.end_time,
                "error": evaluation.error,
            }
            for trial, evaluation in self._records
        ]
        frame = pd.DataFrame(rows)
        amounts = [trial.fidelity for trial in self.trials]
        if any(amount is not None for amount in amounts):
            frame["fidelity"] = amounts
        return frame


def _amount(trial: Trial) -> float:
    return math.inf if trial.fidelity is None else trial.fidelity
