# SPDX-License-Identifier: BSD-3-Clause
"""What hyper-deep ensembles do for classifiers and regressors alike."""

import time
import warnings
from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import (
    ShuffleSplit,
    StratifiedShuffleSplit,
    check_cv,
)

from accsmbo._predictions import FoldAverage, OutOfFoldPredictions
from accsmbo._sklearn_private import HasMethods, Interval, StrOptions, fit_context
from accsmbo._validation import root_seed
from accsmbo.default_spaces import default_space
from accsmbo.ensembles._candidates import (
    Candidate,
    Trainer,
    search_candidates,
    stratify,
)
from accsmbo.ensembles._cross_fit import fit_all, has_seed, warn_about_failures
from accsmbo.ensembles._greedy_selection import greedy_selection
from accsmbo.ensembles._objectives import SCORES
from accsmbo.ensembles._weighted_average import WeightedAverage
from accsmbo.optimizers import Optimizer, RandomSearch
from accsmbo.space import Space

__all__ = ["HyperDeepEnsemble"]

# Share of the rows held out for selection where no cv is given; the paper's.
HOLDOUT = 0.2


class HyperDeepEnsemble(WeightedAverage):
    """Base: Algorithm 1 and its parts."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        "param_distributions": [dict, list, tuple, Space, None],
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "strategy": [StrOptions({"hyper-deep", "row", "hyper"})],
        "optimizer": [Optimizer, None],
        "predictions": [OutOfFoldPredictions, None],
        "metric": [StrOptions(set(SCORES)), callable, None],
        "greater_is_better": ["boolean"],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "cv": ["cv_object"],
        "refit": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator,
        param_distributions=None,
        *,
        n_members=3,
        n_candidates=50,
        strategy="hyper-deep",
        optimizer=None,
        predictions=None,
        metric=None,
        greater_is_better=False,
        max_rounds=100,
        patience=1,
        cv=None,
        refit=True,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_members = n_members
        self.n_candidates = n_candidates
        self.strategy = strategy
        self.optimizer = optimizer
        self.predictions = predictions
        self.metric = metric
        self.greater_is_better = greater_is_better
        self.max_rounds = max_rounds
        self.patience = patience
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def row(cls, estimator, param_distributions=None, **params):
        """Make a fixed-initialisation hyper ensemble: one seed, many configurations.

        Parameters
        ----------
        estimator : estimator
            What to tune.
        param_distributions : dict, list of dict, Space or None, default=None
            Its space.
        **params : dict of str to object
            Further arguments of the constructor.

        Returns
        -------
        ensemble : object
            Not fitted, ``strategy="row"``.
        """
        return cls(estimator, param_distributions, strategy="row", **params)

    @classmethod
    def hyper(cls, estimator, param_distributions=None, **params):
        """Make a hyper ensemble: a seed for each configuration, no stratification.

        Like NES-RS; the paper's "hyper ens".

        Parameters
        ----------
        estimator : estimator
            What to tune.
        param_distributions : dict, list of dict, Space or None, default=None
            Its space.
        **params : dict of str to object
            Further arguments of the constructor.

        Returns
        -------
        ensemble : object
            Not fitted, ``strategy="hyper"``.
        """
        return cls(estimator, param_distributions, strategy="hyper", **params)

    @classmethod
    def from_search(cls, search, **params):
        """Make an ensemble that starts from the candidates of a search.

        Parameters
        ----------
        search : search estimator
            Fitted, with ``keep_predictions=True``.
        **params : dict of str to object
            Further arguments of the constructor.

        Returns
        -------
        ensemble : object
            Not fitted: ``fit(X, y)`` with the data of the search.

        Raises
        ------
        ValueError
            If the search kept no predictions.
        """
        kept = getattr(search, "predictions_", None)
        if kept is None:
            raise ValueError(
                "search must be fitted and have kept its out-of-fold predictions, but "
                f"this {type(search).__name__} has no predictions_. Fit it with "
                "keep_predictions=True."
            )
        return cls(clone(search.estimator), predictions=kept, **params)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Search, select, train more seeds, select again, fit the members.

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
            If ``predictions`` do not belong to ``y``; the first error of a fit, if
            all failed.
        """
        start = time.perf_counter()
        X, y = self._check_X_y(X, y)
        root = np.random.SeedSequence(root_seed(self.random_state))
        split_seed, tie_seed, search_seed, *seeds = (
            int(value) % 2**31 for value in root.generate_state(3 + self.n_members)
        )
        trainer = self._trainer(X, y, split_seed)
        rows = FoldAverage(trainer.splits, len(y)).rows
        found = self._first_candidates(trainer, y[rows], search_seed, seeds)
        selected = self._select(found, y[rows], tie_seed)
        self.row_selection_ = selected
        if self.strategy == "hyper-deep" and self._can_stratify():
            chosen = [found[i] for i in np.flatnonzero(selected.weights)]
            found = stratify(trainer, chosen, seeds)
            selected = self._select(found, y[rows], tie_seed)
        warn_about_failures(trainer.errors, "candidates")
        self.selection_ = selected
        self._fit_members(found, trainer, y[rows])
        self.n_fits_ = trainer.n_fits
        self.fit_time_ = time.perf_counter() - start
        return self

    def _trainer(self, X, y, seed):
        classes = getattr(self, "classes_", None)
        if self.predictions is not None:
            self._check_predictions(y, classes)
            splits = self.predictions.splits
        elif self.cv is None:
            splits = list(_holdout(y, classes, seed).split(X, y))
        else:
            cv = check_cv(self.cv, y, classifier=classes is not None)
            splits = list(cv.split(X, y))
        return Trainer(
            self.estimator,
            X,
            y,
            splits,
            classes,
            keep_models=not self.refit,
            n_jobs=self.n_jobs,
        )

    def _check_predictions(self, y, classes):
        self.predictions.check_target(y, classes)
        if not self.refit:
            raise ValueError(
                "refit must be True with predictions, got False: a search keeps "
                "predictions, not models. Leave refit as it is."
            )

    def _first_candidates(self, trainer, truth, search_seed, seeds):
        """Line 1 of Algorithm 1: the models of a search."""
        if self.predictions is not None:
            kept = self.predictions
            return [
                Candidate(trainer.configured(params, None), params, None, values)
                for params, values in zip(kept.params, kept.values, strict=True)
            ]
        space = self.param_distributions
        space = default_space(self.estimator) if space is None else space
        optimizer = clone(self.optimizer) if self.optimizer else RandomSearch()
        optimizer.set_params(space=Space(space), random_state=search_seed)
        found = search_candidates(
            trainer,
            optimizer,
            self.n_candidates,
            truth=truth,
            score=self._metric(),
            greater_is_better=self.greater_is_better,
            seed=None if self.strategy == "hyper" else seeds[0],
        )
        self.history_ = optimizer.history
        if not found:
            warn_about_failures(trainer.errors, "candidates")
        return found

    def _can_stratify(self):
        if has_seed(self.estimator):
            return True
        warnings.warn(
            f"{type(self.estimator).__name__} has no random_state, so training a "
            "configuration again gives the same model; the ensemble is that of "
            "strategy='row'.",
            UserWarning,
            stacklevel=4,
        )
        return False

    def _metric(self):
        default = "nll" if hasattr(self, "classes_") else "squared_error"
        return self.metric or default

    def _select(self, candidates, truth, seed):
        classes = getattr(self, "classes_", None)
        values = np.stack([candidate.prediction for candidate in candidates])
        if classes is None and truth.ndim == 1:
            values = values[:, :, 0]
        return greedy_selection(
            values,
            truth,
            n_members=self.n_members,
            score=self._metric(),
            greater_is_better=self.greater_is_better,
            max_rounds=self.max_rounds,
            patience=self.patience,
            labels=classes,
            random_state=seed,
        )

    def _fit_members(self, found, trainer, truth):
        """Fit the chosen on all data, or keep the models of their folds."""
        places = np.flatnonzero(self.selection_.weights)
        chosen = [found[i] for i in places]
        weights = self.selection_.weights[places]
        self.failed_members_ = []
        if self.refit:
            estimators = [candidate.estimator for candidate in chosen]
            members, errors = fit_all(
                estimators, trainer.X, trainer.y, n_jobs=self.n_jobs
            )
            trainer.n_fits += len(members)
            self.failed_members_ = warn_about_failures(errors, "members")
            weights[self.failed_members_] = 0
            owners = [c for c, w in zip(chosen, weights, strict=True) if w > 0]
        else:
            n_folds = len(trainer.splits)
            members = [model for candidate in chosen for model in candidate.models]
            owners = [candidate for candidate in chosen for _ in range(n_folds)]
            weights = np.repeat(weights / n_folds, n_folds)
        self._set_members(members, weights)
        self.member_params_ = [candidate.params for candidate in owners]
        self.member_seeds_ = [candidate.seed for candidate in owners]
        if not hasattr(self, "classes_"):
            self._keep_variances(owners, truth)

    def _keep_variances(self, owners, truth):
        """Mean squared error of each member on the rows it was not trained on."""
        target = truth.reshape(len(truth), -1)
        variances = np.array(
            [np.mean((owner.prediction - target) ** 2, axis=0) for owner in owners]
        )
        self.member_variances_ = variances[:, 0] if truth.ndim == 1 else variances

    def __sklearn_tags__(self):
        return self._with_member_tags(super().__sklearn_tags__(), [self.estimator])


def _holdout(y, classes, seed):
    """One split, stratified where every class has two rows."""
    if classes is not None and np.unique(y, return_counts=True)[1].min() > 1:
        return StratifiedShuffleSplit(1, test_size=HOLDOUT, random_state=seed)
    return ShuffleSplit(1, test_size=HOLDOUT, random_state=seed)
