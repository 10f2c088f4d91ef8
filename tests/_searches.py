# SPDX-License-Identifier: BSD-3-Clause
"""The search classes as the tests construct them, and estimators that keep records."""

import inspect

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

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
