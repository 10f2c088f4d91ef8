# SPDX-License-Identifier: BSD-3-Clause
"""SourceTask: what an earlier search on one data set found."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["MIN_TASKS", "SourceTask", "good_points", "without"]

# Fewer source tasks say nothing.
MIN_TASKS = 3
# A task whose scores lie closer together, or whose best is shared by a larger part of
# its runs, tells nothing about its hyperparameters.
SMALLEST_RANGE = 0.02
LARGEST_TIE = 0.2
# Runs from which on the best of a task is known well.
MANY_RUNS = 50


@dataclass(frozen=True, eq=False)
class SourceTask:
    """Hyperparameters tried on one data set and what they scored.

    Meta-data from anywhere become a density by way of such tasks: spreadsheets, other
    tuners, competitions. Histories, OpenML and auto-sklearn's archives have readers
    that make them. Scores are compared within a task only, so that each may have a
    metric of its own. A task whose scores vary by less than 0.02, or whose best is
    shared by more than a fifth of the runs, is left out; one with fewer than 50 runs
    lends its best configuration alone; all weigh the same unless ``weight`` says
    otherwise.

    Attributes
    ----------
    name : str
        Of the data set.
    params : list of dict
        What was tried; of a task that records its best only, that.
    scores : list of float or None
        Greater is better, one for each of `params`, or None where only the best were
        recorded, best first.
    kin : str or None
        Name shared by data sets so alike that one must not stand in for the other.
    n_evaluations : int or None
        How many configurations the best are the best of; None: ``len(params)``.
    weight : float
        Relative to other tasks.
    origin : dict
        Where it comes from: data set, metric, budget, versions.

    See Also
    --------
    EmpiricalDensity : Learns from them, by ``fit_tasks``.
    shipped_tasks : Those in the package.

    Examples
    --------
    >>> from accsmbo import Real
    >>> from accsmbo.metalearning import EmpiricalDensity, SourceTask
    >>> tried = [{"C": 0.01}, {"C": 1.0}, {"C": 100.0}]
    >>> accuracy = {"iris": [0.80, 0.97, 0.95], "wine": [0.61, 0.98, 0.96],
    ...             "digits": [0.90, 0.96, 0.92], "constant": [0.5, 0.5, 0.5]}
    >>> tasks = [SourceTask(name, tried, scores) for name, scores in accuracy.items()]
    >>> [task.informative for task in tasks]
    [True, True, True, False]
    >>> density = EmpiricalDensity().fit_tasks(
    ...     tasks, {"C": Real(1e-3, 1e3, log=True)}, exclude=["digits"])
    >>> density.n_tasks_, density.dropped_
    (2, ['constant'])
    """

    name: str
    params: list[dict[str, Any]]
    scores: list[float] | None = None
    kin: str | None = None
    n_evaluations: int | None = None
    weight: float = 1.0
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def well_sampled(self) -> bool:
        """Whether its best is known well."""
        n = len(self.params) if self.n_evaluations is None else self.n_evaluations
        return n >= MANY_RUNS

    @property
    def informative(self) -> bool:
        """Whether its scores tell good from bad hyperparameters."""
        if self.scores is None:
            return bool(self.params)
        scores = np.array(self.scores, dtype=float)
        scores = scores[np.isfinite(scores)]
        if len(scores) < 2 or np.ptp(scores) < SMALLEST_RANGE:
            return False
        ties = np.isclose(scores, scores.max(), rtol=0.0, atol=1e-12)
        return bool(ties.mean() <= LARGEST_TIE or ties.sum() == 1)


def good_points(task: SourceTask, top: int) -> list[dict[str, Any]]:
    """Return the best params of a task, the best first; fewer of small tasks.

    Parameters
    ----------
    task : SourceTask
        An earlier search.
    top : int
        How many; of a task with fewer than 50 runs only the best.
    """
    if task.scores is None:
        return list(task.params[:top])
    scores = np.array(task.scores, dtype=float)
    order = np.argsort(-np.where(np.isfinite(scores), scores, -np.inf), kind="stable")
    n = top if task.well_sampled else 1
    return [task.params[i] for i in order[:n]]


def without(tasks: Iterable[SourceTask], exclude: Iterable[str]) -> list[SourceTask]:
    """Return the tasks that neither bear nor are kin to one of the names.

    Parameters
    ----------
    tasks : iterable of SourceTask
        Earlier searches.
    exclude : iterable of str
        Names of data sets; their kin is left out too. Case does not matter.
    """
    tasks = list(tasks)
    names = {name.lower() for name in exclude}
    kin = {t.kin for t in tasks if t.kin and t.name.lower() in names}
    return [t for t in tasks if t.name.lower() not in names and t.kin not in kin]
