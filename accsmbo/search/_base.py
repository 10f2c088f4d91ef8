# SPDX-License-Identifier: BSD-3-Clause
"""BaseOptimizerSearchCV: scikit-learn's search interface around our own loop."""

import copy
import time
from collections.abc import Iterator
from numbers import Integral, Real
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from accsmbo._predictions import PredictionStore
from accsmbo._sklearn_private import (
    SPLITTERS_RETURN,
    BaseSearchCV,
    HasMethods,
    Interval,
    SearchCallbacks,
    StrOptions,
    check_method_params,
    fit_context,
)
from accsmbo.evaluation import CrossValidationObjective
from accsmbo.execution import StopReason, TwoStacks, run
from accsmbo.fidelity import Selection
from accsmbo.history import Route
from accsmbo.optimizers import AccSMBO
from accsmbo.search._endings import AfterTrial
from accsmbo.search._names import check_names
from accsmbo.search._progress import Progress
from accsmbo.search._results import SearchResults
from accsmbo.search._study import search_journal, seeded
from accsmbo.stopping import of_scores
from accsmbo.storage import JournalStorage

__all__ = ["BaseOptimizerSearchCV", "Plan"]


class Plan(NamedTuple):
    """What a search runs: objective, budget, who hands out work, and the route."""

    objective: CrossValidationObjective
    n_trials: int
    scheduler: Any = None
    route: Route | None = None


class BaseOptimizerSearchCV(SearchResults):
    """Base of all searches: an optimizer proposes, cross-validation answers.

    A subclass implements ``_make_optimizer``, which returns an optimizer that has not
    started and the largest number of candidates.
    """

    _doc_link_module = "accsmbo"
    _doc_link_template = (
        "https://accsmbo.readthedocs.io/en/latest/generated/"
        "{estimator_module}.{estimator_name}.html"
    )

    _parameter_constraints: dict = {
        **BaseSearchCV._parameter_constraints,
        "timeout": [Interval(Real, 0, None, closed="neither"), None],
        "trial_timeout": [Interval(Real, 0, None, closed="neither"), None],
        "memory_limit": [Interval(Integral, 1, None, closed="left"), None],
        "executor": [
            HasMethods("submit"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "storage": [str, PathLike, JournalStorage, None],
        "selection": [Selection, None],
        "stop_when": [HasMethods("should_stop"), list, tuple, None],
        "deterministic": ["boolean"],
        "max_retries": [Interval(Integral, 0, None, closed="left")],
        "on_interrupt": [StrOptions({"stop", "raise"})],
        "keep_predictions": ["boolean"],
        "callbacks": [callable, list, tuple, None],
        "random_state": ["random_state"],
        "verbose": [Interval(Integral, 0, None, closed="left"), "boolean"],
    }

    def __init__(
        self,
        estimator,
        *,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        random_state=None,
        error_score=np.nan,
        return_train_score=False,
        timeout=None,
        trial_timeout=None,
        memory_limit=None,
        executor=None,
        storage=None,
        selection=None,
        stop_when=None,
        deterministic=False,
        max_retries=1,
        on_interrupt="stop",
        keep_predictions=False,
        callbacks=None,
    ):
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.random_state = random_state
        self.timeout = timeout
        self.trial_timeout = trial_timeout
        self.memory_limit = memory_limit
        self.executor = executor
        self.storage = storage
        self.selection = selection
        self.stop_when = stop_when
        self.deterministic = deterministic
        self.max_retries = max_retries
        self.on_interrupt = on_interrupt
        self.keep_predictions = keep_predictions
        self.callbacks = callbacks

    def _make_optimizer(self):
        """Return an optimizer that has not started, and the budget in candidates."""
        raise NotImplementedError

    def _seeded(self, optimizer):
        """Give an optimizer the seed of the study, where that is kept on disk."""
        return seeded(optimizer, self.storage)

    def _plan(self, optimizer, objective, n_trials):
        """Return what to run; the optimizer may get points to ask first."""
        scheduler = TwoStacks() if isinstance(optimizer, AccSMBO) else None
        return Plan(objective, n_trials, scheduler)

    def _final_route(self, optimizer, plan):
        """Return the route that was taken in the end."""
        return plan.route

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **params):
        """Search, and refit the best candidate on all data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Training data; for a precomputed kernel of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target; None for unsupervised learning.
        **params : dict of str to object
            Passed to the estimator's ``fit``, the scorer and the splitter, as in
            scikit-learn; entries with one value per sample are sliced to each fold.

        Returns
        -------
        self : object
            The fitted search.

        Raises
        ------
        ValueError
            If an argument or the space is invalid, or every candidate failed, or the
            workers cannot keep a limit, or ``storage`` holds another study.
        RuntimeError
            If another run has the journal open.
        Exception
            What a callback raised, once the results are set and the best is refitted.
        KeyboardInterrupt
            If interrupted before one candidate was finished, or at all with
            ``on_interrupt="raise"``.
        """
        begin = time.monotonic()
        self._forget_last_fit()
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        params = check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        callbacks = SearchCallbacks(self, X, y, params.get("sample_weight"))

        optimizer, n_trials = self._make_optimizer()
        check_names(self.estimator, optimizer.space)
        objective = self._make_objective(X, y, scorers, routed)
        if self.selection is not None:
            self.selection.check(objective, optimizer)
        plan = self._plan(optimizer, objective, n_trials)
        if self.selection is not None:
            objective = self.selection.adapt(plan.objective)
            optimizer, n_trials = self.selection.wrap(optimizer, n_trials, objective)
            plan = plan._replace(objective=objective, n_trials=n_trials)
        store = PredictionStore.of(plan.objective) if self.keep_predictions else None
        metric = self._metric_ahead(scorers)
        with search_journal(self, plan.objective, optimizer, metric) as journal:
            _note_route(journal, plan.route)
            reason, callback_error = self._run(
                optimizer, plan, begin, callbacks, store, journal, metric
            )
            optimizer.history.metric = metric
            optimizer.history.route = self._final_route(optimizer, plan)
            _note_route(journal, optimizer.history.route)
        self._store_results(optimizer, scorers, refit_metric, reason, plan.n_trials)
        if store is not None:
            store.update(optimizer.history)
            self.predictions_ = store.result()
        interrupted = reason is StopReason.INTERRUPTED
        self._interrupted = bool(interrupted and self.refit)
        if self.refit and not interrupted:
            self._refit_best(X, y, routed.estimator.fit, callbacks)
        callbacks.end()
        if callback_error is not None:
            raise callback_error
        if interrupted and self.on_interrupt == "raise":
            raise KeyboardInterrupt
        return self

    def refit_best(self, X, y=None, **fit_params):
        """Fit the best candidate on all data, after a search that was interrupted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target.
        **fit_params : dict of str to object
            Passed to the estimator's ``fit``.

        Returns
        -------
        self : object
            The search, now with ``best_estimator_``.

        Raises
        ------
        NotFittedError
            If there is no ``best_params_`` yet.
        """
        if not hasattr(self, "best_params_"):
            raise NotFittedError(
                f"refit_best needs best_params_, which this {type(self).__name__} does "
                "not have. Call fit first, with refit not False where several metrics "
                "are computed."
            )
        self._refit_best(X, y, fit_params, None)
        self._interrupted = False
        return self

    def __getattr__(self, name):
        # Reached only for attributes that do not exist.
        if name == "best_estimator_" and self.__dict__.get("_interrupted"):
            raise NotFittedError(
                f"This {type(self).__name__} was interrupted before the best candidate "
                "was fitted on all data. Call refit_best(X, y) to do that now, or use "
                "best_params_ and cv_results_."
            )
        # scikit-learn's tests demand that dir() of a search shows no public fitted
        # attribute beyond those of BaseSearchCV.
        if name in self.__dict__.get("_own", {}):
            return self._own[name]
        try:
            return self.__getattribute__(name)
        except AttributeError as error:
            if error.__cause__ is None:
                raise
            # Delegated methods: scikit-learn says why only in the cause.
            raise AttributeError(f"{error}. {error.__cause__}") from error.__cause__

    def __getstate__(self):
        state = super().__getstate__()
        if hasattr(self.executor, "submit"):
            # An executor lives in its process.
            state = {**state, "executor": None}
        return state

    def __sklearn_clone__(self):
        # The twin uses the same executor, which cannot be copied.
        bare = copy.copy(self)
        twin = BaseSearchCV.__sklearn_clone__(bare)
        twin.executor = self.executor
        return twin

    def _forget_last_fit(self):
        for name in [n for n in vars(self) if n.endswith("_") and n[0] != "_"]:
            delattr(self, name)
        self._interrupted = False
        self._own = {}

    def _cv(self):
        """Return ``cv``; an iterator can be read once only, so its splits are kept."""
        if not isinstance(self.cv, Iterator):
            return self.cv
        kept = self.__dict__.get("_kept_splits")
        if kept is None or kept[0] is not self.cv:
            self._kept_splits = (self.cv, list(self.cv))
        return self._kept_splits[1]

    def _make_objective(self, X, y, scorers, routed):
        cv = check_cv(self._cv(), y, classifier=is_classifier(self.estimator))
        self._checked_cv_orig = cv
        split_params = routed.splitter.split
        self.n_splits_ = cv.get_n_splits(X, y, **split_params)
        splits = list(cv.split(X, y, **split_params))
        if len(splits) != self.n_splits_:
            raise ValueError(
                f"cv.split and cv.get_n_splits {SPLITTERS_RETURN} inconsistent "
                f"results. Expected {self.n_splits_} splits, got {len(splits)}"
            )
        if not splits:
            raise ValueError(
                "No fits were performed. Was the CV iterator empty? "
                "Were there no candidates?"
            )
        return CrossValidationObjective(
            clone(self.estimator),
            X,
            y,
            splits=splits,
            scorer=scorers,
            metric=self.refit if isinstance(self.refit, str) else None,
            fit_params=routed.estimator.fit,
            score_params=routed.scorer.score,
            error_score=self.error_score,
            return_train_score=self.return_train_score,
            verbose=self.verbose,
            keep_predictions=self.keep_predictions,
        )

    def _run(self, optimizer, plan, begin, callbacks, store, journal, metric):
        objective, n_trials = plan.objective, plan.n_trials
        callbacks.begin_search(n_trials * objective.n_folds)
        selection = self.selection
        race = None if selection is None else selection.race(objective)
        some = {} if selection is None else {"at_most": True, "unit": selection.unit}
        if plan.route is not None:
            some |= {"route": plan.route}
        size = n_trials, objective.n_folds
        with Progress(self.verbose, *size, journal=journal, **some) as progress:
            after_trial = AfterTrial(progress, store, self.callbacks, metric)
            reason = run(
                optimizer,
                objective,
                n_trials=n_trials,
                timeout=self._seconds_left(begin),
                n_jobs=self.n_jobs,
                executor=self.executor,
                trial_timeout=self.trial_timeout,
                memory_limit=self.memory_limit,
                max_retries=self.max_retries,
                deterministic=self.deterministic,
                scheduler=plan.scheduler,
                race=race,
                journal=journal,
                stop_when=of_scores(self.stop_when),
                callback=after_trial,
                fold_callback=callbacks.evaluation,
            )
        callbacks.end_search()
        return reason, after_trial.error

    def _seconds_left(self, begin):
        if self.timeout is None:
            return None
        left = self.timeout - (time.monotonic() - begin)
        return max(left, np.finfo(float).tiny)  # a limit is above 0

    def _refit_best(self, X, y, fit_params, callbacks):
        # Parameters that are estimators are cloned too: best_params_ stays unfitted.
        estimator = clone(self.estimator).set_params(
            **clone(self.best_params_, safe=False)
        )
        target = () if y is None else (y,)
        start = time.time()
        if callbacks is None:
            estimator.fit(X, *target, **fit_params)
        else:
            callbacks.refit(estimator, lambda: estimator.fit(X, *target, **fit_params))
        self.refit_time_ = time.time() - start
        self.best_estimator_ = estimator
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_


def _note_route(journal, route):
    if journal is not None and route is not None:
        journal.routed(route)
