# SPDX-License-Identifier: BSD-3-Clause
"""Every private scikit-learn name that accsmbo uses, each with its reason.

- ``BaseSearchCV``: delegation, tags, routing, scorers, result format and HTML of a
  search, exactly as ``GridSearchCV`` has them.
- ``fit_context``: validates ``_parameter_constraints`` and closes callbacks around fit.
- ``HasMethods``, ``Interval``, ``StrOptions``: the vocabulary of those constraints.
- ``MultimetricScorer``: tells which metrics a search computes.
- ``Scorer``, ``PassthroughScorer``: scorers whose metric can be read off, and those
  that ask the estimator for its ``score``.
- ``check_method_params``: slices fit parameters that have one entry per sample.
- ``fit_and_score``: fits and scores one fold with scikit-learn's error handling, texts
  and verbosity; ``insert_error_scores`` and ``warn_or_raise_about_fit_failures``
  complete it, and scikit-learn's own tests match their texts.
- ``safe_indexing``, ``safe_split``: rows of any kind of data (frames, sparse matrices,
  lists), and of precomputed kernels, as every scikit-learn search takes them.
"""

import inspect
from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.metrics._scorer import _MultimetricScorer as MultimetricScorer
from sklearn.metrics._scorer import _PassthroughScorer as PassthroughScorer
from sklearn.metrics._scorer import _Scorer as Scorer
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _fit_and_score as fit_and_score
from sklearn.model_selection._validation import (
    _insert_error_scores as insert_error_scores,
)
from sklearn.model_selection._validation import (
    _warn_or_raise_about_fit_failures as warn_or_raise_about_fit_failures,
)
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _check_method_params as check_method_params

__all__ = [
    "SPLITTERS_RETURN",
    "BaseSearchCV",
    "HasMethods",
    "Interval",
    "MultimetricScorer",
    "PassthroughScorer",
    "Scorer",
    "SearchCallbacks",
    "StrOptions",
    "check_method_params",
    "fit_and_score",
    "fit_context",
    "insert_error_scores",
    "safe_indexing",
    "safe_split",
    "warn_or_raise_about_fit_failures",
]

HAS_CALLBACKS = "callback_ctx" in inspect.signature(fit_and_score).parameters
# How scikit-learn words that a splitter contradicts itself; its tests match it.
SPLITTERS_RETURN = "return" if HAS_CALLBACKS else "returned"


class SearchCallbacks:
    """The callback tasks of a search (scikit-learn >= 1.9); inert without callbacks.

    Tasks are named as in scikit-learn's own searches: ``fit``, under it ``search`` with
    a ``candidate-split-evaluation`` for each fold, and ``refit-with-best-params``.

    Parameters
    ----------
    search : estimator
        The search that is being fitted.
    X, y : array-like
        What ``fit`` was given.
    sample_weight : array-like or None
        Weights given to ``fit``.
    """

    def __init__(self, search: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self._search = search
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"X": X, "y": y, "metadata": metadata}
        self._root: Any = None
        self._tasks: Any = None
        self._evaluations: dict[int, Any] = {}
        if HAS_CALLBACKS and (
            getattr(search, "_skl_callbacks", None)
            or hasattr(search, "_parent_callback_ctx")
        ):
            context = search._init_callback_context(
                max_subtasks=1 + (search.refit is not False)
            )
            self._root = self._begin(context, **self._data)

    @property
    def active(self) -> bool:
        """Whether anyone listens."""
        return self._root is not None

    def _begin(self, context: Any, **data: Any) -> Any:
        context.call_on_fit_task_begin(estimator=self._search, **data)
        return context

    def begin_search(self, n_evaluations: int) -> None:
        """Open the task that holds the evaluations, ``n_evaluations`` at most."""
        if self._root is not None:
            context = self._root.subcontext(
                task_name="search",
                max_subtasks=n_evaluations,
                sequential_subtasks=False,
            )
            self._tasks = self._begin(context)

    def evaluation(self, task_id: int) -> dict[str, Any]:
        """Return the arguments that ``fit_and_score`` needs to report one fold.

        A fold that is run again, because its worker died, keeps its task.
        """
        if self._tasks is None:
            return {}
        if task_id not in self._evaluations:
            self._evaluations[task_id] = self._tasks.subcontext(
                task_name="candidate-split-evaluation", task_id=task_id
            )
        return {"caller": self._search, "callback_ctx": self._evaluations[task_id]}

    def end_search(self) -> None:
        """Close the task that holds all evaluations."""
        if self._tasks is not None:
            self._tasks.call_on_fit_task_end(estimator=self._search)

    def refit(self, estimator: Any, fit: Any) -> None:
        """Call ``fit()`` of the final estimator inside its own task."""
        if self._root is None:
            fit()
            return
        context = self._root.subcontext(task_name="refit-with-best-params")
        with context.propagate_callback_context(estimator):
            self._begin(context, **self._data)
            fit()
        context.call_on_fit_task_end(estimator=self._search, **self._data)

    def end(self) -> None:
        """Close the root task."""
        if self._root is not None:
            self._root.call_on_fit_task_end(estimator=self._search, **self._data)
