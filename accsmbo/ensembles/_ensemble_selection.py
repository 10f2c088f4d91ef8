# SPDX-License-Identifier: BSD-3-Clause
"""What ensemble selection does for classifiers and regressors alike."""

import time
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import check_cv

from accsmbo._predictions import FoldAverage, OutOfFoldPredictions
from accsmbo._sklearn_private import Interval, StrOptions, fit_context
from accsmbo.ensembles._cross_fit import cross_fit, fit_all, warn_about_failures
from accsmbo.ensembles._greedy_selection import (
    Selection,
    greedy_selection,
    top_k_selection,
)
from accsmbo.ensembles._objectives import SCORES
from accsmbo.ensembles._weighted_average import WeightedAverage

__all__ = ["EnsembleSelection"]


class EnsembleSelection(WeightedAverage):
    """Base: out-of-fold predictions, selection, final members."""

    _parameter_constraints: dict = {
        "estimators": [list, tuple, None],
        "predictions": [OutOfFoldPredictions, None],
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(set(SCORES)), callable, None],
        "greater_is_better": ["boolean"],
        "selection": [StrOptions({"greedy", "top-k"})],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "n_initial": [Interval(Integral, 0, None, closed="left")],
        "n_bags": [Interval(Integral, 1, None, closed="left")],
        "members": [StrOptions({"refit", "folds"})],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimators=None,
        *,
        predictions=None,
        n_members=5,
        metric=None,
        greater_is_better=False,
        selection="greedy",
        max_rounds=100,
        patience=None,
        n_initial=0,
        n_bags=1,
        members="refit",
        cv=None,
        n_jobs=None,
        random_state=None,
    ):
        self.estimators = estimators
        self.predictions = predictions
        self.n_members = n_members
        self.metric = metric
        self.greater_is_better = greater_is_better
        self.selection = selection
        self.max_rounds = max_rounds
        self.patience = patience
        self.n_initial = n_initial
        self.n_bags = n_bags
        self.members = members
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def from_search(cls, search, *, n_members=5, **params):
        """Make an ensemble of the candidates of a search; ``fit`` it next.

        Parameters
        ----------
        search : search estimator
            Fitted, with ``keep_predictions=True``.
        n_members : int, default=5
            Largest number of distinct members.
        **params : dict of str to object
            Further arguments of the constructor.

        Returns
        -------
        ensemble : object
            Not fitted: ``fit(X, y)`` with the data of the search selects the members
            and fits them.

        Raises
        ------
        NotFittedError
            If the search was not fitted.
        ValueError
            If it kept no predictions.
        """
        if not hasattr(search, "cv_results_"):
            raise NotFittedError(
                f"search must be fitted, got an unfitted {type(search).__name__}. "
                "Call search.fit(X, y) first."
            )
        kept = getattr(search, "predictions_", None)
        if kept is None:
            raise ValueError(
                f"search must have kept its out-of-fold predictions, but this "
                f"{type(search).__name__} has no predictions_. Fit it with "
                "keep_predictions=True."
            )
        estimators = [
            clone(search.estimator).set_params(**clone(candidate, safe=False))
            for candidate in kept.params
        ]
        return cls(estimators, predictions=kept, n_members=n_members, **params)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Select members and fit them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data; with ``predictions`` the data they were made for.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target.

        Returns
        -------
        self : object
            The fitted ensemble.

        Raises
        ------
        ValueError
            If there is no estimator, or ``predictions`` do not belong to ``y``.
        """
        start = time.perf_counter()
        X, y = self._check_X_y(X, y)
        estimators = self._estimators()
        values, rows, splits, models = self._predict_out_of_fold(estimators, X, y)
        self.selection_ = self._select(values, y[rows])
        self.weights_ = self.selection_.weights
        chosen = np.flatnonzero(self.weights_)
        self._fit_members(estimators, chosen, X, y, splits, models)
        if not hasattr(self, "classes_"):
            self._keep_variances(values, y[rows])
        self.fit_time_ = time.perf_counter() - start
        return self

    def _estimators(self):
        plain = _plain(self.estimators)
        if not plain or not all(hasattr(e, "fit") for e in plain):
            raise ValueError(
                "estimators must be a list of at least one estimator, or of (name, "
                f"estimator) pairs, got {self.estimators!r}. Pass it, or use "
                f"{type(self).__name__}.from_search(search)."
            )
        return plain

    def _predict_out_of_fold(self, estimators, X, y):
        """Return predictions, their rows, the folds, and fold models by estimator."""
        classes = getattr(self, "classes_", None)
        self.n_fits_ = 0
        if self.predictions is not None:
            self._check_predictions(y, classes, len(estimators))
            kept = self.predictions
            return kept.values, kept.rows, kept.splits, None
        cv = check_cv(self.cv, y, classifier=classes is not None)
        splits = list(cv.split(X, y))
        results = cross_fit(
            estimators,
            X,
            y,
            splits,
            classes,
            n_jobs=self.n_jobs,
            keep_models=self.members == "folds",
        )
        self.n_fits_ += len(estimators) * len(splits)
        warn_about_failures([r.error for r in results], "candidates")
        known = [
            (i, np.asarray(r.prediction))
            for i, r in enumerate(results)
            if r.error is None
        ]
        shape = known[0][1].shape
        values = np.full((len(results), *shape), np.nan, dtype=np.float32)
        for i, prediction in known:
            values[i] = prediction
        rows = FoldAverage(splits, len(y)).rows
        return values, rows, splits, [r.models for r in results]

    def _check_predictions(self, y, classes, n_estimators):
        kept = self.predictions
        if len(kept) != n_estimators or len(kept) == 0:
            raise ValueError(
                "predictions must be those of the estimators, got predictions of "
                f"{len(kept)} candidates and {n_estimators} estimators. Use "
                f"{type(self).__name__}.from_search(search)."
            )
        kept.check_target(y, classes)

    def _select(self, values: NDArray[Any], y: NDArray[Any]) -> Selection:
        classes = getattr(self, "classes_", None)
        arguments = {
            "n_members": self.n_members,
            "score": self.metric or ("squared_error" if classes is None else "nll"),
            "greater_is_better": self.greater_is_better,
            "labels": classes,
            "random_state": self.random_state,
        }
        if classes is None and y.ndim == 1:
            values = values[:, :, 0]
        if self.selection == "top-k":
            return top_k_selection(values, y, **arguments)
        return greedy_selection(
            values,
            y,
            max_rounds=self.max_rounds,
            patience=self.patience,
            n_initial=self.n_initial,
            n_bags=self.n_bags,
            **arguments,
        )

    def _fit_members(self, estimators, chosen, X, y, splits, models):
        """Fit the chosen on all data or on the folds; failures give up their weight."""
        rows = [None] if self.members == "refit" else [train for train, _ in splits]
        if self.members == "folds" and models is not None:
            fitted = [model for i in chosen for model in models[i]]
            errors: list = [None] * len(fitted)
        else:
            fitted, errors = fit_all(
                [estimators[i] for i in chosen for _ in rows],
                X,
                y,
                rows=rows * len(chosen),
                n_jobs=self.n_jobs,
            )
            self.n_fits_ += len(fitted)
        failed = warn_about_failures(errors, "members")
        owners = np.repeat(chosen, len(rows))
        self.failed_members_ = [int(owners[i]) for i in failed]
        weights = np.repeat(self.weights_[chosen] / len(rows), len(rows))
        weights[failed] = 0
        self.member_indices_ = owners[weights > 0]
        self._set_members(fitted, weights)

    def _keep_variances(self, values, y):
        """Mean squared error of each member on the rows it was not trained on."""
        truth = y.reshape(len(y), -1)
        errors = {
            i: np.mean((values[i] - truth) ** 2, axis=0)
            for i in np.unique(self.member_indices_)
        }
        variances = np.array([errors[i] for i in self.member_indices_])
        self.member_variances_ = variances[:, 0] if y.ndim == 1 else variances

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        return self._with_member_tags(tags, _plain(self.estimators))


def _plain(estimators):
    """Drop the names of (name, estimator) pairs."""
    return [e[1] if isinstance(e, tuple) else e for e in estimators or []]
