# SPDX-License-Identifier: BSD-3-Clause
"""Estimators, transformers, pipelines and metrics that no route may know by name."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    mean_squared_error,
)
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

try:
    from imblearn.pipeline import Pipeline as ResamplingPipeline
    from imblearn.under_sampling import RandomUnderSampler
except ImportError:  # not a test dependency
    ResamplingPipeline = RandomUnderSampler = None


class HalfLogistic(LogisticRegression):
    """Fits on the first half of the rows: same class of model, other solution."""

    def fit(self, X, y, sample_weight=None):
        half = X[: max(len(y) // 2, 1)], y[: max(len(y) // 2, 1)]
        weight = None if sample_weight is None else sample_weight[: len(half[1])]
        return (
            super().fit(*half, weight)
            if len(np.unique(half[1])) > 1
            else (super().fit(X, y, sample_weight))
        )


class ShiftedRidge(Ridge):
    """A parameter more than its parent, which moves the solution."""

    def __init__(self, alpha=1.0, *, shift=0.5):
        super().__init__(alpha=alpha)
        self.shift = shift

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.intercept_ = self.intercept_ + self.shift
        return self


class BlurredSVC(SVC):
    """Other decisions than its parent's after the same fit."""

    def decision_function(self, X):
        return super().decision_function(X) * 0.5 + 0.1

    def predict(self, X):
        scores = self.decision_function(X)
        chosen = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[np.asarray(chosen, dtype=int)]


class OwnScoreRidge(Ridge):
    """Its own ``score`` is no R2."""

    def score(self, X, y, sample_weight=None):
        return -mean_absolute_error(y, self.predict(X), sample_weight=sample_weight)


class FreeLogistic(ClassifierMixin, BaseEstimator):
    """Takes any parameters, which ``get_params`` lists only once they are set."""

    def __init__(self, C=1.0, **free):
        self.C = C
        self.free = free

    def get_params(self, deep=True):
        return {"C": self.C, **self.free}

    def set_params(self, **params):
        self.C = params.pop("C", self.C)
        self.free = self.free | params
        return self

    def fit(self, X, y, **fit_params):
        self.model_ = LogisticRegression(C=self.C, **self.free).fit(X, y, **fit_params)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class Fragile(LogisticRegression):
    """Fails for the larger half of its range of C."""

    def fit(self, X, y, sample_weight=None):
        if self.C > 1.0:
            raise RuntimeError("C is too large for this model")
        return super().fit(X, y, sample_weight)


class Columns(TransformerMixin, BaseEstimator):
    """Keeps the columns of a boolean mask.

    Parameters
    ----------
    mask : array-like of bool
        One entry a column.
    """

    def __init__(self, mask=None):
        self.mask = mask

    def fit(self, X, y=None):
        self.n_features_in_ = dense(X).shape[1]
        return self

    def transform(self, X):
        return dense(X)[:, np.flatnonzero(np.asarray(self.mask))]


class Jitter(TransformerMixin, BaseEstimator):
    """Training rows differ from what ``transform`` makes of them."""

    def fit(self, X, y=None):
        self.scale_ = 0.1
        return self

    def fit_transform(self, X, y=None):
        X = dense(X)
        noise = np.random.default_rng(0).normal(size=X.shape)
        return X + self.fit(X).scale_ * noise

    def transform(self, X):
        return dense(X)


class FailsOnOnePart(TransformerMixin, BaseEstimator):
    """Raises where the training part does not hold a certain row.

    Parameters
    ----------
    value : float
        Entry of the first column that must be there.
    error : type
        What is raised.
    """

    def __init__(self, value=0.0, error=ValueError):
        self.value = value
        self.error = error

    def fit(self, X, y=None):
        if not np.isclose(dense(X)[:, 0], self.value, rtol=1e-6).any():
            raise self.error("the row is missing")
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


class Halving(BaseEstimator):
    """A sampler: leaves every second row of the training part."""

    def fit_resample(self, X, y):
        return X[::2], y[::2]


class SamplingPipeline(Pipeline):
    """Resamples by its first step, on training rows alone."""

    def fit(self, X, y=None, **params):
        X, y = clone(self.steps[0][1]).fit_resample(X, y)
        self.rest_ = Pipeline(self.steps[1:]).fit(X, y, **params)
        return self

    @property
    def classes_(self):
        return self.rest_.classes_

    def predict(self, X):
        return self.rest_.predict(X)

    def predict_proba(self, X):
        return self.rest_.predict_proba(X)

    def decision_function(self, X):
        return self.rest_.decision_function(X)

    def score(self, X, y=None, sample_weight=None):
        return self.rest_.score(X, y)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "rest_")


class DoublingPipeline(Pipeline):
    """A subclass that hands twice the features to its steps."""

    def fit(self, X, y=None, **params):
        return super().fit(2.0 * X, y, **params)


def dense(X):
    """Return rows as an array."""
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def cube(X):
    """Return entries to the power of three over a hundred."""
    return X**3 / 100


def identity(X):
    """Return its argument."""
    return X


def one_float(estimator, X, y):
    """Score: share of rows predicted right, or minus the absolute error."""
    predicted = estimator.predict(X)
    if hasattr(estimator, "classes_"):
        return float(np.mean(np.asarray(predicted) == np.asarray(y).reshape(-1)))
    return -mean_absolute_error(y, predicted)


def several_floats(estimator, X, y):
    """Scores by name."""
    first = one_float(estimator, X, y)
    return {"first": first, "second": -first, "third": 1.0}


def fails_on_few(estimator, X, y):
    """Score that is not defined on parts of fewer than 15 rows."""
    if len(y) < 15:
        raise ValueError("too few rows to score")
    return one_float(estimator, X, y)


def weighted_error(y, predicted, sample_weight=None):
    """Loss of a scorer: the share of wrong rows, or the squared error."""
    y = np.asarray(y)
    if y.dtype.kind in "fc":
        return mean_squared_error(y, predicted, sample_weight=sample_weight)
    return 1.0 - accuracy_score(y, predicted, sample_weight=sample_weight)


def scaled_log_loss(y, proba, factor=2.0, **kwargs):
    """Log loss times a factor: a metric that wraps a known one."""
    return factor * log_loss(y, proba, **kwargs)


def worst_row(results):
    """Callable ``refit``: the candidate with the lowest mean test score."""
    name = next(n for n in results if n.startswith("mean_test_"))
    return int(np.nanargmin(results[name])) if np.isfinite(results[name]).any() else 0


def last_row(results):
    """Callable ``refit``: the last candidate."""
    return len(results["params"]) - 1


def keeps_quiet(history):
    """Answer as a callback that never ends a search."""
    return False
