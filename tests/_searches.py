# SPDX-License-Identifier: BSD-3-Clause
"""The search classes as the tests construct them, and estimators that keep records."""

import inspect

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV

import accsmbo
import accsmbo.search

MODEL_BASED = [accsmbo.AccSMBOSearchCV, accsmbo.SMBOSearchCV]
SEARCHES = [
    *MODEL_BASED,
    accsmbo.search.RandomizedSearchCV,
    accsmbo.search.GridSearchCV,
]
SAMPLING = SEARCHES[:3]


def make_search(cls, estimator, space, **kwargs):
    """Construct any search; a grid has no `n_iter`, and maybe no `random_state`."""
    known = inspect.signature(cls).parameters
    kwargs = {"random_state": 0} | kwargs
    for name in {"n_iter", "random_state"} - set(known):
        kwargs.pop(name, None)
    return cls(estimator, space, **kwargs)


def rows_of(X, part):
    """Positions in X of the rows of `part`."""
    return [int(np.flatnonzero((x == X).all(axis=1))[0]) for x in part]


def assert_rows_are_plain(search, X, y, *, fit_params=None, score_params=None):
    """Check every row of ``cv_results_`` against scikit-learn's own evaluation.

    A row that says it is approximate must lie within its stated error.
    """
    results = search.cv_results_
    errors = results.get("score_error_estimate", np.zeros(len(results["params"])))
    for params, mean, error in zip(
        results["params"], results["mean_test_score"], errors, strict=True
    ):
        scores = plain_scores(search, params, X, y, fit_params, score_params)
        np.testing.assert_allclose(mean, np.mean(scores), rtol=1e-12, atol=error)
    best = plain_scores(search, search.best_params_, X, y, fit_params, score_params)
    np.testing.assert_allclose(search.best_score_, np.mean(best), rtol=1e-12)


def plain_scores(search, params, X, y, fit_params=None, score_params=None):
    """Score a candidate fold by fold as ``cross_val_score`` does."""
    grid = GridSearchCV(
        clone(search.estimator),
        {name: [value] for name, value in params.items()},
        scoring=search.scoring,
        cv=search.cv,
        refit=False,
    )
    grid.fit(X, y, **(fit_params or {}), **(score_params or {}))
    return [grid.cv_results_[f"split{i}_test_score"][0] for i in range(grid.n_splits_)]


class Recorder(ClassifierMixin, BaseEstimator):
    """Predicts the first class; notes what reaches `fit`.

    Parameters
    ----------
    a, b, c : object
        Anything to search over.
    log : Log or None
        Gets one dict for each fit.
    value : callable or None
        Score of the fitted estimator; None: 0 for all.
    """

    def __init__(self, a=None, b=None, c=None, log=None, value=None):
        self.a = a
        self.b = b
        self.c = c
        self.log = log
        self.value = value

    def fit(self, X, y=None, sample_weight=None, **fit_params):
        self.classes_ = np.unique(y)
        self.n_features_in_ = np.shape(X)[1]
        if self.log is not None:
            weights = None if sample_weight is None else np.array(sample_weight)
            self.log.append(
                {
                    "a": self.a,
                    "b": self.b,
                    "c": self.c,
                    "X": np.array(X),
                    "y": np.array(y),
                    "sample_weight": weights,
                    **fit_params,
                }
            )
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y=None):
        return 0.0 if self.value is None else float(self.value(self))


class Log(list):
    """A list that clone does not copy."""

    def __deepcopy__(self, memo):
        return self

    def __sklearn_clone__(self):
        return self


def small_data(n=40, n_features=3, seed=0):
    """Two classes, balanced, read-only."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, n_features)) + y[:, None]
    X.flags.writeable = y.flags.writeable = False
    return X, y
