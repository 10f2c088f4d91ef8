# SPDX-License-Identifier: BSD-3-Clause
"""Where an EmpiricalDensity can come from: own searches, OpenML, auto-sklearn."""

from collections.abc import Iterable
from typing import Any, Self

from accsmbo.metalearning._autosklearn import autosklearn_tasks
from accsmbo.metalearning._density import Density
from accsmbo.metalearning._histories import history_tasks
from accsmbo.metalearning._openml import openml_tasks
from accsmbo.metalearning._source_task import SourceTask

__all__ = ["DensityReaders"]


class DensityReaders(Density):
    """Constructors from records; a subclass implements `fit_tasks`."""

    def fit_tasks(
        self,
        tasks: Iterable[SourceTask],
        space: Any,
        *,
        exclude: Iterable[str] = (),
        source: str = "source tasks given",
    ) -> Self:
        """Learn from earlier searches."""
        raise NotImplementedError

    @classmethod
    def from_histories(
        cls,
        histories: Any,
        space: Any = None,
        *,
        half_life: float | None = 365.0,
        exclude: Iterable[str] = (),
        **settings: Any,
    ) -> Self:
        """Learn from the user's own past searches.

        Parameters
        ----------
        histories : sequence of object, or one
            Paths of journals, :class:`~accsmbo.history.History` objects, optimizers, or
            fitted searches: anything with ``history_`` or ``history``.
        space : Space, dict or list of dict, default=None
            Where the density is to live; None: the space of the first history.
        half_life : float or None, default=365
            Days after which a search counts half; None: age does not matter.
        exclude : iterable of str, default=()
            Names of histories (file names without suffix) to leave out.
        **settings : object
            Arguments of the constructor.

        Returns
        -------
        EmpiricalDensity
            Learned.
        """
        tasks, first_space = history_tasks(histories, half_life)
        return cls(**settings).fit_tasks(
            tasks,
            first_space if space is None else space,
            exclude=exclude,
            source=f"{len(tasks)} own searches",
        )

    @classmethod
    def from_openml(
        cls,
        flow: int,
        tasks: Iterable[int],
        space: Any,
        *,
        metric: str = "predictive_accuracy",
        size: int = 1000,
        exclude: Iterable[str] = (),
        **settings: Any,
    ) -> Self:
        """Learn from evaluations on OpenML, through the ``openml`` package.

        Parameters
        ----------
        flow : int
            Number of a flow, for example 8353 of scikit-learn's SVC.
        tasks : iterable of int
            Numbers of tasks.
        space : Space, dict or list of dict
            Where the density is to live.
        metric : str, default="predictive_accuracy"
            OpenML's name of the measure; greater must be better.
        size : int, default=1000
            Largest number of evaluations of each task.
        exclude : iterable of str, default=()
            Data sets to leave out.
        **settings : object
            Arguments of the constructor.

        Returns
        -------
        EmpiricalDensity
            Learned.

        Raises
        ------
        ImportError
            If ``openml`` is not installed.
        ConnectionError
            If the server cannot be reached.
        PermissionError
            If the server refuses the key.
        ValueError
            If there are no evaluations.
        """
        found = openml_tasks(flow, list(tasks), metric=metric, size=size)
        source = f"OpenML flow {flow}, {metric}, {len(found)} tasks"
        return cls(**settings).fit_tasks(found, space, exclude=exclude, source=source)

    @classmethod
    def from_autosklearn(
        cls,
        path: Any,
        method: str,
        space: Any,
        *,
        metric: str = "accuracy",
        task: str = "binary",
        sparse: bool = False,
        exclude: Iterable[str] = (),
        **settings: Any,
    ) -> Self:
        """Learn from an archive of auto-sklearn's meta-learning data.

        Parameters
        ----------
        path : path-like
            Folder ``metalearning/files``, or a tar archive of it.
        method : str
            Name of the method in auto-sklearn, for example ``"random_forest"``.
        space : Space, dict or list of dict
            Where the density is to live; parameter names as in scikit-learn.
        metric : str, default="accuracy"
            Name of the metric in auto-sklearn.
        task : {"binary", "multiclass", "regression"}, default="binary"
            Kind of task.
        sparse : bool, default=False
            Whether to take the data for sparse input.
        exclude : iterable of str, default=()
            Data sets to leave out.
        **settings : object
            Arguments of the constructor.

        Returns
        -------
        EmpiricalDensity
            Learned.
        """
        found = autosklearn_tasks(path, method, metric=metric, task=task, sparse=sparse)
        source = f"auto-sklearn archive, {method}, {metric}, {len(found)} data sets"
        return cls(**settings).fit_tasks(found, space, exclude=exclude, source=source)
