# SPDX-License-Identifier: BSD-3-Clause
"""Cases 47 to 55: groups, weights, routing, splits."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    LeaveOneGroupOut,
    LeavePGroupsOut,
    ShuffleSplit,
    StratifiedGroupKFold,
)

from accsmbo import Real
from tests._searches import (
    SAMPLING,
    SEARCHES,
    Log,
    Recorder,
    make_search,
    rows_of,
    small_data,
)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize(
    "cv",
    [
        GroupKFold(3),
        GroupShuffleSplit(3, random_state=0),
        LeaveOneGroupOut(),
        LeavePGroupsOut(2),
        StratifiedGroupKFold(3),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_groups_stay_together_in_every_fold(cls, cv):
    """See the reports of case 47.

    https://github.com/scikit-learn/scikit-learn/issues/19841
    https://github.com/scikit-learn/scikit-learn/issues/22126
    """
    X, y = small_data()
    groups = np.arange(len(y)) // 8
    log = Log()
    search = make_search(cls, Recorder(log=log), {"a": [1, 2]}, n_iter=2, cv=cv)
    if not isinstance(cv, StratifiedGroupKFold):  # has no error of its own for this
        with pytest.raises(ValueError, match="groups"):
            search.fit(X, y)
    search.fit(X, y, groups=groups)
    assert len(log) == 2 * search.n_splits_ + 1
    for call in log[:-1]:
        train = rows_of(X, call["X"])
        test = np.setdiff1d(np.arange(len(y)), train)
        assert set(groups[train]).isdisjoint(groups[test])


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.filterwarnings("ignore:The scoring .* does not support sample_weight")
def test_weights_are_cut_to_each_training_fold(cls):
    """See the reports of case 49.

    https://github.com/scikit-optimize/scikit-optimize/issues/783
    https://github.com/scikit-optimize/scikit-optimize/issues/1132
    """
    X, y = small_data()
    weights = np.arange(1.0, len(y) + 1)
    for given in (weights, list(weights)):
        log = Log()
        search = make_search(cls, Recorder(log=log), {"a": [1, 2]}, n_iter=2, cv=4)
        search.fit(X, y, sample_weight=given)
        assert len(log) == 9
        for call in log:
            rows = rows_of(X, call["X"])
            np.testing.assert_array_equal(call["sample_weight"], weights[rows])


@pytest.mark.parametrize("cls", SEARCHES)
def test_an_unused_argument_is_an_error(cls):
    """See the reports of case 49.

    https://github.com/scikit-optimize/scikit-optimize/issues/783
    https://github.com/scikit-optimize/scikit-optimize/issues/1132
    """
    X, y = small_data()

    class NoWeights(ClassifierMixin, BaseEstimator):
        def __init__(self, a=1):
            self.a = a

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return np.full(len(X), self.classes_[0])

    search = make_search(cls, NoWeights(), {"a": [1, 2]}, n_iter=2, cv=2)
    for name in ("sample_weight", "wrong_name"):
        with pytest.raises((TypeError, ValueError), match=name):
            search.fit(X, y, **{name: np.ones(len(y))})


@pytest.mark.parametrize("cls", SEARCHES)
@config_context(enable_metadata_routing=True)
def test_weights_equal_repeated_rows_in_fit_and_score(cls):
    """See https://github.com/scikit-learn/scikit-learn/issues/30743 (case 51)."""
    X, y = small_data()
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    folds = np.arange(len(y)) // 2 % 2

    def splits(of):
        return [(np.flatnonzero(of != k), np.flatnonzero(of == k)) for k in (0, 1)]

    def search(cv):
        estimator = LogisticRegression(tol=1e-10, max_iter=10_000)
        scorers = {"accuracy": "accuracy", "log_loss": "neg_log_loss"}
        scoring = {
            name: get_scorer(scorer).set_score_request(sample_weight=True)
            for name, scorer in scorers.items()
        }
        return make_search(
            cls,
            estimator.set_fit_request(sample_weight=True),
            {"C": [0.01, 0.1, 1.0]},
            n_iter=3,
            cv=cv,
            scoring=scoring,
            refit="log_loss",
            return_train_score=True,
        )

    weighted = search(splits(folds)).fit(X, y, sample_weight=weights)
    repeated = search(splits(folds[rows])).fit(
        X[rows], y[rows], sample_weight=np.ones(len(rows))
    )
    columns = [k for k in weighted.cv_results_ if "_accuracy" in k or "_log_loss" in k]
    assert len(columns) > 10
    for key in columns:
        np.testing.assert_allclose(
            weighted.cv_results_[key], repeated.cv_results_[key], atol=1e-5
        )
    assert weighted.best_params_ == repeated.best_params_


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_single_split_is_fine(cls):
    """See https://github.com/optuna/optuna/issues/5196 (case 55)."""
    X, y = small_data()
    rows = np.arange(len(y))
    for split in ([(rows[:30], rows[30:])], [(list(rows[:30]), list(rows[30:]))]):
        search = make_search(
            cls, LogisticRegression(), {"C": [0.1, 1.0]}, n_iter=2, cv=split
        ).fit(X, y)
        assert search.n_splits_ == 1
        np.testing.assert_array_equal(search.cv_results_["std_test_score"], 0)
    shuffled = make_search(
        cls,
        LogisticRegression(),
        {"C": [0.1, 1.0]},
        n_iter=2,
        cv=ShuffleSplit(1, random_state=0),
    ).fit(X, y)
    assert shuffled.n_splits_ == 1


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_generator_is_read_once_and_serves_two_fits(cls):
    """See https://github.com/optuna/optuna/issues/5196 (case 55)."""
    X, y = small_data()
    rows = np.arange(len(y))
    generator = ((rows[20 * k :][:20], rows[20 * (1 - k) :][:20]) for k in (0, 1))
    search = make_search(
        cls, LogisticRegression(), {"C": [0.1, 1.0]}, n_iter=2, cv=generator
    )
    first = search.fit(X, y).cv_results_["mean_test_score"]
    assert search.cv is generator
    second = search.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("cls", SAMPLING)
def test_all_candidates_see_the_same_splits(cls):
    """See https://github.com/optuna/optuna/issues/5196 (case 55)."""
    X, y = small_data()
    log = Log()
    cv = ShuffleSplit(2, random_state=np.random.RandomState(0))
    search = make_search(
        cls, Recorder(log=log), {"a": Real(0, 1)}, n_iter=7, cv=cv, refit=False
    ).fit(X, y)
    assert search.n_splits_ == 2
    for k in (0, 1):
        folds = [call["X"] for call in log[k::2]]
        assert len(folds) == 7
        for fold in folds:
            np.testing.assert_array_equal(fold, folds[0])
