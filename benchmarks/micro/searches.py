# SPDX-License-Identifier: BSD-3-Clause
"""Whole searches, and what the loop itself costs."""

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from accsmbo import AccSMBOSearchCV, Real, SMBOSearchCV
from accsmbo.search import RandomizedSearchCV


class Nothing(ClassifierMixin, BaseEstimator):
    """A classifier that costs nothing, so that all time is the search's."""

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y):
        self.classes_ = [0, 1]
        return self

    def predict(self, X):
        return [0] * len(X)


class Fit:
    """Fit of a search over a model that costs nothing, and over a real one."""

    def setup(self):
        X, y = load_digits(return_X_y=True)
        self.X, self.y = X[:300] / 16, y[:300] % 2
        self.space = {"C": Real(1e-3, 1e3, log=True)}

    def search(self, cls, model, **settings):
        return cls(model, self.space, n_iter=15, cv=3, random_state=0, **settings).fit(
            self.X, self.y
        )

    def time_random_nothing(self):
        self.search(RandomizedSearchCV, Nothing())

    def time_smbo_nothing(self):
        self.search(SMBOSearchCV, Nothing())

    def time_accsmbo_logistic(self):
        self.search(AccSMBOSearchCV, LogisticRegression(), scoring="neg_log_loss")

    def peakmem_accsmbo_logistic(self):
        self.search(AccSMBOSearchCV, LogisticRegression(), scoring="neg_log_loss")
