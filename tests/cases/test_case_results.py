# SPDX-License-Identifier: BSD-3-Clause
"""Cases 39 to 45: distinct candidates, refit, several metrics, ranks."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV as SklearnGridSearchCV
from sklearn.tree import DecisionTreeClassifier

from accsmbo import Integer, Real, SMBOSearchCV
from tests._searches import SAMPLING, SEARCHES, Recorder, make_search, small_data


def distinct(search):
    return {tuple(params.items()) for params in search.cv_results_["params"]}


@pytest.mark.parametrize("cls", SAMPLING)
def test_candidates_are_distinct_while_any_are_left(cls):
    """See https://github.com/scikit-learn/scikit-learn/issues/29794 (case 39)."""
    X, y = small_data()
    search = make_search(cls, Recorder(), {"a": stats.randint(1, 4)}, n_iter=10, cv=2)
    search.fit(X, y)
    assert sorted(search.cv_results_["param_a"]) == [1, 2, 3]


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.parametrize(
    "space",
    [
        {"a": stats.randint(1, 13)},
        {"a": Integer(1, 1000, log=True), "b": [1]},
        {"a": [1, 2, 3], "b": [True, False], "c": ("x", "y")},
        {"a": stats.binom(30, 0.5)},
        [{"a": Integer(1, 7)}, {"b": Integer(1, 7)}],
    ],
    ids=["randint", "log integer", "choices", "binom", "alternatives"],
)
def test_no_point_twice_in_any_finite_space(cls, space):
    """See https://github.com/scikit-learn/scikit-learn/issues/29794 (case 39)."""
    X, y = small_data()
    search = make_search(cls, Recorder(), space, n_iter=11, cv=2).fit(X, y)
    assert len(distinct(search)) == 11


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("scoring", [None, "roc_auc", ["accuracy"]])
def test_best_exists_without_refit(cls, scoring):
    """See https://github.com/ray-project/tune-sklearn/issues/113 (case 41)."""
    X, y = small_data()
    search = make_search(
        cls,
        LogisticRegression(),
        {"C": [1e-3, 1.0, 10.0]},
        n_iter=3,
        cv=3,
        scoring=scoring,
        refit=False,
    ).fit(X, y)
    if isinstance(scoring, list):
        assert not hasattr(search, "best_params_")
    else:
        assert search.best_params_ == search.cv_results_["params"][search.best_index_]
        scores = search.cv_results_["mean_test_score"]
        assert search.best_score_ == scores[search.best_index_] == scores.max()
    for name in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(AttributeError, match="refit=False"):
            getattr(search, name)(X)
    assert not hasattr(search, "best_estimator_")
    assert not hasattr(search, "refit_time_")


SCORINGS = [
    ["accuracy", "f1_macro"],
    ("accuracy", "f1_macro"),
    {"accuracy": "accuracy", "f1_macro": "f1_macro"},
    lambda e, X, y: {
        "accuracy": e.score(X, y),
        "f1_macro": float(np.mean(e.predict(X) == y)) / 2,
    },
]


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("scoring", SCORINGS, ids=["list", "tuple", "dict", "callable"])
def test_several_metrics_give_the_keys_of_grid_search(cls, scoring):
    """See the reports of case 43.

    https://github.com/optuna/optuna/issues/2935
    https://github.com/optuna/optuna-integration/issues/187
    """
    X, y = small_data()
    space = {"C": [0.01, 1.0]}
    arguments = {
        "scoring": scoring,
        "refit": "f1_macro",
        "cv": 3,
        "return_train_score": True,
    }
    search = make_search(cls, LogisticRegression(), space, n_iter=2, **arguments)
    search.fit(X, y)
    grid = SklearnGridSearchCV(LogisticRegression(), space, **arguments).fit(X, y)
    assert set(grid.cv_results_) <= set(search.cv_results_)
    for key, expected in grid.cv_results_.items():
        if "time" not in key:
            np.testing.assert_array_equal(search.cv_results_[key], expected)
    assert search.best_params_ == grid.best_params_
    assert search.best_score_ == grid.best_score_
    assert search.objective_metric_ == "f1_macro"
    assert search.multimetric_ is True
    assert search.score(X, y) == grid.score(X, y)


@pytest.mark.parametrize("cls", SAMPLING)
def test_the_metric_named_by_refit_is_optimised(cls):
    """See the reports of case 43.

    https://github.com/optuna/optuna/issues/2935
    https://github.com/optuna/optuna-integration/issues/187
    """
    X, y = small_data()
    scoring = {
        "up": lambda e, X, y: e.a,
        "down": lambda e, X, y: -e.a,
    }
    space = {"a": Real(0, 1)}
    for refit, metric, sign in (("up", "up", 1), ("down", "down", -1)):
        search = make_search(
            cls, Recorder(), space, n_iter=12, cv=2, scoring=scoring, refit=refit
        ).fit(X, y)
        assert search.objective_metric_ == metric
        values = np.array([e.value for _, e in search.history_])
        tried = np.array([t.params["a"] for t, _ in search.history_])
        np.testing.assert_allclose(values, -sign * tried)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("refit", [False, lambda results: 1])
def test_without_a_name_the_first_metric_is_optimised(cls, refit):
    """See the reports of case 43.

    https://github.com/optuna/optuna/issues/2935
    https://github.com/optuna/optuna-integration/issues/187
    """
    X, y = small_data()
    scoring = {"zero": lambda e, X, y: e.a, "one": lambda e, X, y: -e.a}
    search = make_search(
        cls, Recorder(), {"a": [1, 2]}, n_iter=2, cv=2, scoring=scoring, refit=refit
    ).fit(X, y)
    assert search.objective_metric_ == "zero"
    np.testing.assert_array_equal([e.value for _, e in search.history_], [-1, -2])
    if callable(refit):
        assert search.best_index_ == 1
        assert not hasattr(search, "best_score_")


@pytest.mark.parametrize("cls", SEARCHES)
def test_refit_true_with_several_metrics_is_an_error(cls):
    """See the reports of case 43.

    https://github.com/optuna/optuna/issues/2935
    https://github.com/optuna/optuna-integration/issues/187
    """
    X, y = small_data()
    search = make_search(
        cls, Recorder(), {"a": [1, 2]}, n_iter=2, cv=2, scoring=["accuracy", "f1"]
    )
    with pytest.raises(
        ValueError, match="For multi-metric scoring, the parameter refit"
    ):
        search.fit(X, y)


@pytest.mark.parametrize("cls", SEARCHES)
def test_ranks_are_over_all_candidates(cls):
    """See the reports of case 45.

    https://github.com/scikit-optimize/scikit-optimize/issues/604
    https://github.com/scikit-optimize/scikit-optimize/issues/831
    """
    X, y = small_data()
    space = {"max_depth": [1, 2, 3, 4, 5], "min_samples_leaf": [1, 10]}
    search = make_search(
        cls,
        DecisionTreeClassifier(random_state=0),
        space,
        n_iter=10,
        cv=3,
        return_train_score=True,
    ).fit(X, y)
    results = search.cv_results_
    scores, ranks = results["mean_test_score"], results["rank_test_score"]
    assert len(ranks) == 10
    expected = [1 + int(np.sum(scores > score + 1e-12)) for score in scores]
    np.testing.assert_array_equal(ranks, expected)
    assert search.best_index_ == np.argmin(ranks)
    assert ranks.dtype.kind == "i"


@pytest.mark.parametrize("cls", SAMPLING)
def test_ranks_after_model_based_steps_and_nans(cls):
    """See the reports of case 45.

    https://github.com/scikit-optimize/scikit-optimize/issues/604
    https://github.com/scikit-optimize/scikit-optimize/issues/831
    """
    X, y = small_data()
    space = {"a": Real(0, 1), "b": [0, 1]}
    search = make_search(
        cls,
        Recorder(value=lambda e: np.nan if e.b else e.a),
        space,
        n_iter=14,
        cv=2,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        search.fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    ranks = search.cv_results_["rank_test_score"]
    finite = np.isfinite(scores)
    assert search.best_index_ == np.nanargmax(scores) == np.argmin(ranks)
    assert ranks[~finite].min() > ranks[finite].max()


def test_results_are_in_the_order_of_asking():
    """See the reports of case 45.

    https://github.com/scikit-optimize/scikit-optimize/issues/604
    https://github.com/scikit-optimize/scikit-optimize/issues/831
    """
    X, y = small_data()
    search = SMBOSearchCV(
        Recorder(), {"a": Real(0, 1)}, n_iter=12, cv=2, random_state=3
    )
    search.fit(X, y)
    asked = sorted(search.history_.trials, key=lambda trial: trial.number)
    assert [t.params for t in asked] == search.cv_results_["params"]
    np.testing.assert_array_equal([t.number for t in asked], np.arange(12))
