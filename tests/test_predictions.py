# SPDX-License-Identifier: BSD-3-Clause
"""Out-of-fold predictions: alignment, rows left out, memory maps, searches."""

import copy
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.svm import SVC, LinearSVC

from accsmbo import AccSMBOSearchCV, SMBOSearchCV
from accsmbo._predictions import FoldAverage, PredictionStore, fold_predictions
from accsmbo.history import Evaluation, History, Trial
from accsmbo.search import GridSearchCV, RandomizedSearchCV

IRIS = load_iris(return_X_y=True)


def trial(number):
    return Trial(number=number, params={"a": number}, unit=np.zeros(1))


def told(store, values):
    """Tell a store one trial for each (number, folds or None, loss)."""
    history = History()
    for number, folds, loss in values:
        records = tuple({"predictions": fold} for fold in folds)
        history.append(trial(number), Evaluation(value=loss, folds=records))
        store.update(history)
    return history


SPLITS = [(np.array([2, 3]), np.array([0, 1])), (np.array([0, 1]), np.array([2, 3]))]


def folds(value):
    return [np.full((2, 2), value, np.float32), np.full((2, 2), value + 0.5, "f4")]


def test_predictions_equal_cross_val_predict():
    X, y = IRIS
    cv = StratifiedKFold(3)
    search = GridSearchCV(
        LogisticRegression(max_iter=500), {"C": [0.1, 1]}, cv=cv, keep_predictions=True
    ).fit(X, y)
    kept = search.predictions_
    assert kept.values.dtype == np.float32
    assert not kept.values.flags.writeable
    np.testing.assert_array_equal(kept.rows, np.arange(len(y)))
    np.testing.assert_array_equal(kept.classes, [0, 1, 2])
    for params, values in zip(kept.params, kept.values, strict=True):
        expected = cross_val_predict(
            LogisticRegression(max_iter=500, **params),
            X,
            y,
            cv=cv,
            method="predict_proba",
        )
        np.testing.assert_allclose(values, expected, atol=1e-6)
    assert "predictions" not in search.history_[0][1].folds[0]


@pytest.mark.parametrize("search_class", [AccSMBOSearchCV, SMBOSearchCV])
def test_every_search_keeps_them(search_class):
    X, y = (part[:441] for part in load_diabetes(return_X_y=True))
    search = search_class(
        Ridge(),
        {"alpha": loguniform(1e-3, 10)},
        n_iter=4,
        cv=KFold(3),
        scoring="neg_mean_squared_error",
        random_state=0,
        keep_predictions=True,
        n_jobs=2,
        **({"solver": "estimator"} if search_class is AccSMBOSearchCV else {}),
    ).fit(X, y)
    assert search.predictions_.values.shape == (4, len(y), 1)
    assert search.predictions_.classes is None
    assert search.predictions_.params == search.cv_results_["params"]
    loss = np.mean((search.predictions_.values[:, :, 0] - y) ** 2, axis=1)
    scores = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(loss, -scores, rtol=1e-5)


def test_asynchronous_and_resumed_searches_keep_them(tmp_path):
    X, y = IRIS

    def search(n_iter, **kwargs):
        return SMBOSearchCV(
            Ridge(),
            {"alpha": loguniform(1e-3, 10)},
            n_iter=n_iter,
            cv=3,
            random_state=0,
            keep_predictions=True,
            **kwargs,
        ).fit(X, y)

    with ThreadPoolExecutor(2) as executor:
        kept = search(6, executor=executor).predictions_
    assert kept.numbers == list(range(6))
    path = tmp_path / "journal.jsonl"
    first = search(3, storage=path).predictions_
    resumed = search(5, storage=path).predictions_
    assert resumed.numbers == list(range(5))
    np.testing.assert_array_equal(resumed.values[:3], first.values)


def test_nothing_is_kept_by_default():
    search = RandomizedSearchCV(Ridge(), {"alpha": [1, 2]}, n_iter=2).fit(*IRIS)
    assert not hasattr(search, "predictions_")


@pytest.mark.parametrize("cv", [ShuffleSplit(2, test_size=0.2, random_state=0)])
def test_rows_that_no_fold_tests_are_left_out(cv):
    X, y = IRIS
    search = GridSearchCV(Ridge(), {"alpha": [1, 2]}, cv=cv, keep_predictions=True)
    kept = search.fit(X, y).predictions_
    tested = np.union1d(*[test for _, test in cv.split(X)])
    np.testing.assert_array_equal(kept.rows, tested)
    assert kept.values.shape == (2, len(tested), 1)


def test_rows_tested_twice_hold_the_mean():
    X, y = IRIS
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    search = GridSearchCV(Ridge(), {"alpha": [1]}, cv=cv, keep_predictions=True)
    kept = search.fit(X, y).predictions_
    total = np.zeros(len(y))
    for train, test in cv.split(X):
        total[test] += Ridge(alpha=1).fit(X[train], y[train]).predict(X[test])
    np.testing.assert_allclose(kept.values[0, :, 0], total / 2, atol=1e-5)


def test_masks_and_repeated_rows_of_a_fold():
    mask = np.array([True, False, True, False])
    average = FoldAverage([(~mask, mask), (mask, np.array([0, 0]))], 4)
    np.testing.assert_array_equal(average.rows, [0, 2])
    result = average([np.array([[3.0], [5.0]]), np.array([[6.0], [0.0]])])
    np.testing.assert_allclose(result, [[3.0], [5.0]])


def test_classes_missing_in_a_fold_are_aligned():
    X, y = IRIS
    names = np.array(["a", "b", "c"])[y]
    search = GridSearchCV(
        LogisticRegression(max_iter=500),
        {"C": [1]},
        cv=KFold(3),  # sorted rows: each fold lacks a class
        keep_predictions=True,
    ).fit(X, names)
    values = search.predictions_.values[0]
    np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-6)
    for k in range(3):
        assert (values[y == k, k] == 0).all()


def test_votes_of_a_classifier_without_probabilities():
    X, y = IRIS
    model = LinearSVC().fit(X[:100], y[:100])
    votes = fold_predictions(model, X[:100], np.arange(3))
    np.testing.assert_array_equal(votes.argmax(axis=1), model.predict(X[:100]))
    np.testing.assert_array_equal(np.unique(votes), [0, 1])


def test_precomputed_kernels():
    X, y = IRIS
    search = GridSearchCV(
        SVC(kernel="precomputed"), {"C": [1, 10]}, cv=3, keep_predictions=True
    ).fit(X @ X.T, y)
    assert search.predictions_.values.shape == (2, len(y), 3)


def test_failed_candidates_are_not_kept():
    X, y = IRIS
    search = GridSearchCV(
        LogisticRegression(max_iter=500), {"C": [1, -1]}, keep_predictions=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    assert search.predictions_.params == [{"C": 1}]
    assert search.predictions_.numbers == [0]


def test_trials_without_all_folds_are_not_kept():
    store = PredictionStore(np.arange(4), SPLITS, np.arange(2))
    told(
        store,
        [(0, folds(0), 1.0), (1, folds(0)[:1], 1.0), (2, [None, folds(0)[0]], 1.0)],
    )
    assert store.result().numbers == [0]


def test_an_empty_store():
    kept = PredictionStore(np.arange(4), SPLITS, np.arange(2)).result()
    assert kept.values.shape == (0, 4, 2)
    assert len(kept) == 0


@pytest.mark.parametrize("limit", [0, 70, 10**6])
def test_memory_map_beyond_the_limit_in_the_order_of_asking(limit):
    store = PredictionStore(np.arange(4), SPLITS, np.arange(2), memory_limit=limit)
    order = [3, 0, 4, 1, 2]  # an asynchronous search tells in any order
    history = told(store, [(number, folds(number), 1.0) for number in order])
    assert "predictions" not in history[0][1].folds[0]
    kept = store.result()
    assert isinstance(kept.values, np.memmap) == (limit < 10**6)
    assert kept.numbers == [0, 1, 2, 3, 4]
    assert kept.params == [{"a": number} for number in range(5)]
    for number, values in enumerate(kept.values):
        np.testing.assert_array_equal(values[:2], number)
        np.testing.assert_array_equal(values[2:], number + 0.5)
    assert repr(kept).endswith("of shape (5, 4, 2))")


def test_the_temporary_file_goes_with_the_result_and_stays_behind_pickles():
    store = PredictionStore(np.arange(4), SPLITS, np.arange(2), memory_limit=0)
    told(store, [(0, folds(0), 1.0)])
    kept = store.result()
    path = store._path
    restored = pickle.loads(pickle.dumps(kept))
    np.testing.assert_array_equal(restored.values, kept.values)
    assert not isinstance(restored.values, np.memmap)
    assert path.exists()
    del kept
    assert not path.exists()
    np.testing.assert_array_equal(restored.values[0, :2], 0)


def test_copies_share_the_predictions():
    store = PredictionStore(np.arange(4), SPLITS, np.arange(2))
    told(store, [(0, folds(0), 1.0)])
    kept = store.result()
    assert copy.copy(kept) is kept
    assert copy.deepcopy(kept) is kept
    assert clone(kept, safe=False) is kept


def test_an_estimator_that_predicts_nothing_to_keep_is_refused():
    search = GridSearchCV(KMeans(), {"n_clusters": [2]}, keep_predictions=True)
    with pytest.raises(ValueError, match="keep_predictions must be False unless"):
        search.fit(IRIS[0])


def test_a_resumed_search_object_keeps_only_its_own_predictions():
    search = GridSearchCV(Ridge(), {"alpha": [1, 2]}, keep_predictions=True)
    search.fit(*IRIS)
    search.set_params(keep_predictions=False).fit(*IRIS)
    assert not hasattr(search, "predictions_")
