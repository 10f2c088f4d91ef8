# SPDX-License-Identifier: BSD-3-Clause
"""A search has the methods of the estimator inside it, and no others."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from tests._searches import SEARCHES, make_search, small_data

METHODS = [
    "decision_function",
    "inverse_transform",
    "predict",
    "predict_log_proba",
    "predict_proba",
    "score_samples",
    "transform",
]


class Sub(BaseEstimator):
    """Has every method but the hidden one."""

    def __init__(self, param=1, hidden=None):
        self.param = param
        self.hidden = hidden

    def fit(self, X, y=None):
        self.classes_ = [0, 1]
        return self

    def score(self, X, y=None):
        return 1.0

    def __getattr__(self, name):
        if name not in METHODS or name == self.__dict__.get("hidden"):
            raise AttributeError(name)

        def method(X):
            check_is_fitted(self)
            return np.full(len(X), len(name))

        return method


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("method", METHODS)
def test_method_exists_exactly_if_the_estimator_has_it(cls, method):
    X, y = small_data()
    search = make_search(cls, Sub(), {"param": [1, 2]}, cv=2, n_iter=2)
    with pytest.raises(NotFittedError):
        getattr(search, method)(X)
    search.fit(X, y)
    np.testing.assert_array_equal(
        getattr(search, method)(X), np.full(len(X), len(method))
    )
    hidden = make_search(cls, Sub(hidden=method), {"param": [1, 2]}, cv=2, n_iter=2)
    assert not hasattr(hidden, method)
    hidden.fit(X, y)
    assert not hasattr(hidden, method)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize(
    ("estimator", "space", "present", "absent"),
    [
        (
            LogisticRegression(),
            {"C": [0.1, 1.0]},
            {"predict", "predict_proba", "predict_log_proba", "decision_function"},
            {"transform", "inverse_transform", "score_samples"},
        ),
        (
            LinearSVC(),
            {"C": [0.1, 1.0]},
            {"predict", "decision_function"},
            {"predict_proba", "predict_log_proba", "transform"},
        ),
        (Ridge(), {"alpha": [0.1, 1.0]}, {"predict"}, {"predict_proba", "transform"}),
        (
            PCA(),
            {"n_components": [1, 2]},
            {"transform", "inverse_transform", "score_samples"},
            {"predict", "predict_proba"},
        ),
    ],
)
def test_delegation_to_estimators_of_sklearn(cls, estimator, space, present, absent):
    X, y = small_data()
    search = make_search(cls, estimator, space, cv=2, n_iter=2)
    for fitted in (False, True):
        if fitted:
            search.fit(X, y)
        assert all(hasattr(search, name) for name in present)
        assert not any(hasattr(search, name) for name in absent)
    for name in present - {"inverse_transform"}:
        np.testing.assert_array_equal(
            getattr(search, name)(X), getattr(search.best_estimator_, name)(X)
        )


@pytest.mark.parametrize("cls", SEARCHES)
def test_classes_features_and_tags_are_those_of_the_estimator(cls):
    X, y = small_data()
    search = make_search(cls, LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, n_iter=2)
    assert is_classifier(search)
    assert not is_regressor(search)
    assert not hasattr(search, "classes_")
    search.fit(X, y)
    np.testing.assert_array_equal(search.classes_, [0, 1])
    assert search.n_features_in_ == X.shape[1]
    assert not hasattr(search, "feature_names_in_")
    assert is_regressor(make_search(cls, Ridge(), {"alpha": [0.1, 1.0]}))


@pytest.mark.parametrize("cls", SEARCHES)
def test_score_uses_scoring_and_an_estimator_without_y_works(cls):
    X, y = small_data()
    search = make_search(
        cls, LogisticRegression(), {"C": [0.1, 1]}, cv=2, n_iter=2, scoring="roc_auc"
    ).fit(X, y)
    best = search.best_estimator_
    assert search.score(X, y) == search.scorer_(best, X, y)
    assert search.score(X, y) != best.score(X, y)
    space = {"n_clusters": [2, 3]}
    kmeans = make_search(cls, KMeans(n_init=1), space, cv=2, n_iter=2).fit(X)
    assert kmeans.score(X) == kmeans.best_estimator_.score(X)


@pytest.mark.parametrize("cls", SEARCHES)
def test_pickle_keeps_predictions_and_records(cls):
    X, y = small_data()
    search = make_search(cls, LogisticRegression(), {"C": [0.1, 1]}, cv=2, n_iter=2)
    assert pickle.loads(pickle.dumps(search)).get_params()["cv"] == 2
    search.fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert again.best_params_ == search.best_params_
    assert len(again.history_) == len(search.history_)


@pytest.mark.parametrize("cls", SEARCHES)
def test_unfitted_search_says_so(cls):
    X, y = small_data()
    search = make_search(cls, LogisticRegression(), {"C": [0.1, 1]})
    with pytest.raises(NotFittedError, match=f"{cls.__name__} instance is not fitted"):
        search.predict(X)
    with pytest.raises(NotFittedError, match=f"{cls.__name__} instance is not fitted"):
        search.score(X, y)


@pytest.mark.parametrize("cls", SEARCHES)
def test_without_refit_the_error_names_refit(cls):
    X, y = small_data()
    space = {"fit_intercept": [True, False]}
    search = make_search(cls, LinearRegression(), space, cv=2, n_iter=2, refit=False)
    search.fit(X, y)
    with pytest.raises(AttributeError, match="refit=False"):
        search.predict(X)
