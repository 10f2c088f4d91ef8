# SPDX-License-Identifier: BSD-3-Clause
"""Cases 05 to 23: what a user may write as a space, and what reaches the estimator."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from accsmbo import Categorical, Integer, Real, SMBOSearchCV, Space, minimize
from accsmbo.optimizers import SMBO, RandomSearch
from tests._searches import (
    MODEL_BASED,
    SAMPLING,
    SEARCHES,
    Log,
    Recorder,
    make_search,
    small_data,
)

N_ITER = 12  # beyond every initial design


def fitted(cls, estimator, space, n_iter=N_ITER, **kwargs):
    kwargs = {"cv": 2, "error_score": "raise"} | kwargs
    return make_search(cls, estimator, space, n_iter=n_iter, **kwargs).fit(
        *small_data()
    )


def values_tried(search, name):
    return [params[name] for params in search.cv_results_["params"]]


def ask_and_tell(optimizer, n, value=lambda params: 0.0):
    trials = []
    for _ in range(n):
        trials.append(optimizer.ask())
        optimizer.tell(trials[-1], value(trials[-1].params))
    return trials


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize(
    "choices",
    [
        ["rbf", "linear"],
        ("rbf", "linear"),
        np.array(["rbf", "linear"]),
        np.array(["rbf", "linear"], dtype=object),
        pd.Series(["rbf", "linear"]),
    ],
    ids=["list", "tuple", "array", "object array", "Series"],
)
def test_strings_reach_the_estimator_as_str(cls, choices):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/691 (case 05)."""
    search = fitted(cls, SVC(), {"kernel": choices, "C": [0.1, 0.5, 1.0]}, n_iter=6)
    kernels = values_tried(search, "kernel")
    assert {type(kernel) for kernel in kernels} == {str}
    assert set(kernels) == {"rbf", "linear"}
    assert json.loads(json.dumps(search.best_params_)) == search.best_params_


@pytest.mark.parametrize("cls", SEARCHES)
def test_the_very_objects_of_the_list_reach_set_params(cls):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/691 (case 05)."""
    choices = [None, "text", 3, 2.5, True, (1, 2), {"k": 1}, b"x", len, "é"]
    log = Log()
    search = fitted(cls, Recorder(log=log), {"a": choices}, n_iter=10, refit=False)
    for value, choice in zip(values_tried(search, "a"), choices, strict=True):
        assert value is choice
    # On the way into the estimator scikit-learn clones values, so that no fit can
    # change another's.
    for call, choice in zip(log[::2], choices, strict=True):
        assert type(call["a"]) is type(choice)
        assert call["a"] == choice


@pytest.mark.parametrize("cls", SAMPLING)
def test_numbers_are_plain_and_results_survive_json(cls):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/691 (case 05)."""
    space = {
        "a": stats.randint(1, 100),
        "b": stats.loguniform(1e-3, 1e3),
        "c": np.array([1, 2, 4]),
    }
    search = fitted(cls, Recorder(), space)
    for params in search.cv_results_["params"]:
        assert {k: type(v) for k, v in params.items()} == {
            "a": int,
            "b": float,
            "c": int,
        }
    assert json.loads(json.dumps(search.cv_results_["params"]))
    assert json.loads(json.dumps(search.best_params_)) == search.best_params_


@pytest.mark.parametrize("optimizer", [SMBO, RandomSearch])
def test_integers_stay_int_beside_reals(optimizer):
    """See https://github.com/huawei-noah/HEBO/issues/7 (case 07)."""
    space = Space(
        {"depth": Integer(1, 50), "rate": Real(0, 1), "big": Integer(1, 2**53)}
    )
    trials = ask_and_tell(optimizer(space, random_state=0), 15)
    for trial in trials:
        assert type(trial.params["depth"]) is int
        assert type(trial.params["big"]) is int
        assert type(trial.params["rate"]) is float


@pytest.mark.parametrize("cls", SAMPLING)
def test_integers_stay_int_in_the_search_and_in_the_data_frame(cls):
    """See https://github.com/huawei-noah/HEBO/issues/7 (case 07)."""
    log = Log()
    space = {"a": Integer(1, 1000, log=True), "b": Real(0, 1), "c": range(1, 4)}
    search = fitted(cls, Recorder(log=log), space)
    assert {type(call["a"]) for call in log} == {int}
    assert {type(call["c"]) for call in log} == {int}
    frame = search.history_.to_frame()
    assert pd.api.types.is_integer_dtype(frame["param_a"])
    assert search.cv_results_["param_a"].dtype.kind == "i"
    assert search.cv_results_["param_b"].dtype.kind == "f"


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.parametrize(
    "pair",
    [
        [2, 9],
        (2, 9),
        np.array([2, 9]),
        pd.Series([2, 9], index=[7, 3]),
        range(2, 10, 7),
        [9, 2],
    ],
    ids=["list", "tuple", "array", "Series", "range", "descending"],
)
def test_two_number_list_is_choices(cls, pair):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/1064 (case 09)."""
    search = fitted(cls, Recorder(), {"a": pair, "b": [0.5, 1.5, 7.0]}, n_iter=6)
    assert set(values_tried(search, "a")) == {2, 9}
    assert set(values_tried(search, "b")) == {0.5, 1.5, 7.0}


def test_a_range_needs_an_explicit_object():
    """See https://github.com/scikit-optimize/scikit-optimize/issues/1064 (case 09)."""
    log = Log()
    fitted(SMBOSearchCV, Recorder(log=log), {"a": Integer(2, 9)}, n_iter=8)
    assert {call["a"] for call in log} == set(range(2, 10))


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("wrap", [list, Categorical], ids=["list", "Categorical"])
def test_tuples_of_different_lengths_pass_through(cls, wrap):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/950 (case 11)."""
    choices = [(5,), (5, 5)]
    estimator = MLPClassifier(solver="lbfgs", max_iter=2000, random_state=0)
    search = fitted(cls, estimator, {"hidden_layer_sizes": wrap(choices)}, n_iter=2)
    column = search.cv_results_["param_hidden_layer_sizes"]
    assert column.dtype == object
    assert column.ndim == 1
    assert list(column) == choices
    assert search.best_params_["hidden_layer_sizes"] in choices


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize(
    "choices",
    [
        [(1, 2), (3, 4)],
        [[1], [2, 3]],
        [{"x": 1}, {"x": 2}, None],
        [np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])],
        [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
        [max, min, lambda x: x],
        [Ridge(alpha=1.0), Ridge(alpha=2.0), None],
        [frozenset({1}), frozenset({1, 2})],
        ["", "x"],
        [math.nan, 1.0],
    ],
    ids=lambda choices: type(choices[0]).__name__,
)
def test_any_object_is_a_choice(cls, choices):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/950 (case 11)."""
    log = Log()
    search = fitted(
        cls, Recorder(log=log), {"a": choices, "b": [1, 2]}, n_iter=2 * len(choices)
    )
    assert len(search.cv_results_["params"]) == 2 * len(choices)
    column = search.cv_results_["param_a"]
    assert column.ndim == 1
    assert len(column) == 2 * len(choices)
    for params in search.cv_results_["params"]:
        assert any(params["a"] is choice for choice in choices)


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.parametrize(
    "booleans", [[True, False], (False, True), np.array([True, False])]
)
def test_booleans_are_bool_in_every_candidate(cls, booleans):
    """See https://github.com/automl/SMAC3/issues/630 (case 13)."""
    log = Log()
    space = {"a": booleans, "b": Real(0, 1), "c": [1, 2, 3]}
    search = fitted(cls, Recorder(log=log), space, n_iter=15)
    for params in search.cv_results_["params"]:
        assert params["a"] is True or params["a"] is False
        assert set(params) == {"a", "b", "c"}
    assert all(call["a"] is True or call["a"] is False for call in log)
    assert not search.cv_results_["param_a"].mask.any()


def test_booleans_and_integers_are_not_confused():
    """See https://github.com/automl/SMAC3/issues/630 (case 13)."""
    log = Log()
    choices = [True, 1, False, 0]
    fitted(SMBOSearchCV, Recorder(log=log), {"a": choices}, n_iter=4, refit=False)
    assert [call["a"] for call in log[::2]] == choices
    assert [type(call["a"]) for call in log[::2]] == [bool, int, bool, int]


class OnlyRvs:
    """A distribution of one's own, the least that scikit-learn takes."""

    def rvs(self, random_state=None):
        return int(random_state.randint(3)) * 10


DISTRIBUTIONS = {
    "loguniform": (stats.loguniform(0.1, 10), lambda v: 0.1 <= v <= 10),
    "reciprocal": (stats.reciprocal(1e-3, 1), lambda v: 1e-3 <= v <= 1),
    "uniform": (stats.uniform(2, 3), lambda v: 2 <= v <= 5),
    "randint": (stats.randint(1, 6), lambda v: v in range(1, 6)),
    "truncnorm": (stats.truncnorm(-1, 2, loc=5, scale=2), lambda v: 3 <= v <= 9),
    "expon": (stats.expon(scale=3), lambda v: 0 <= v < math.inf),
    "norm": (stats.norm(1, 2), math.isfinite),
    "beta": (stats.beta(2, 5), lambda v: 0 <= v <= 1),
    "poisson": (stats.poisson(4), lambda v: v >= 0 and v == int(v)),
    "geom": (stats.geom(0.3), lambda v: v >= 1 and v == int(v)),
    "bernoulli": (stats.bernoulli(0.3), lambda v: v in (0, 1)),
    "only rvs": (OnlyRvs(), lambda v: v in (0, 10, 20)),
}


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_are_taken(cls, name):
    """See the reports of case 15.

    https://github.com/scikit-optimize/scikit-optimize/issues/448
    https://github.com/scikit-optimize/scikit-optimize/issues/1054
    """
    distribution, is_possible = DISTRIBUTIONS[name]
    search = fitted(cls, Recorder(), {"a": distribution, "b": Real(0, 1)})
    tried = values_tried(search, "a")
    assert len(tried) == N_ITER
    assert all(is_possible(value) for value in tried)
    assert {type(value) for value in tried} <= {int, float}
    assert len(set(tried)) > 1


@pytest.mark.parametrize("name", ["loguniform", "truncnorm", "expon", "poisson"])
def test_random_search_follows_the_distribution(name):
    """See the reports of case 15.

    https://github.com/scikit-optimize/scikit-optimize/issues/448
    https://github.com/scikit-optimize/scikit-optimize/issues/1054
    """
    distribution, _ = DISTRIBUTIONS[name]
    optimizer = RandomSearch(
        Space({"a": distribution, "b": Real(0, 1)}), random_state=0
    )
    tried = np.array([optimizer.ask().params["a"] for _ in range(800)], dtype=float)
    levels = [0.1, 0.3, 0.5, 0.7, 0.9]
    for value in distribution.ppf(levels):
        assert np.mean(tried <= value) == pytest.approx(
            distribution.cdf(value), abs=0.06
        )


@pytest.mark.parametrize("cls", SAMPLING)
def test_equal_bounds_are_a_constant(cls):
    """See https://github.com/huawei-noah/HEBO/issues/9 (case 17)."""
    log = Log()
    space = {
        "a": Integer(1, 1),
        "b": Real(0.5, 0.5, log=True),
        "c": stats.loguniform(1e-2, 1e2),
    }
    search = fitted(cls, Recorder(log=log, value=lambda e: -e.c), space)
    assert all(call["a"] == 1 and call["b"] == 0.5 for call in log)
    assert type(log[0]["a"]) is int
    assert type(log[0]["b"]) is float
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(set(values_tried(search, "c"))) == N_ITER


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_space_of_constants_is_one_candidate(cls):
    """See https://github.com/huawei-noah/HEBO/issues/9 (case 17)."""
    search = make_search(cls, Recorder(), {"a": [3], "b": ["x"]}, cv=2, n_iter=1)
    search.fit(*small_data())
    assert search.cv_results_["params"] == [{"a": 3, "b": "x"}]


BOUNDS = [(1e-4, 0.2), (1e-7, 1e-1), (3e-300, 7e250), (0.1, 0.3), (1.1, 1.1 + 1e-12)]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_points_stay_in_the_closed_interval(bounds):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/586 (case 19)."""
    low, high = bounds
    rng = np.random.default_rng(0)
    for dimension in (Real(low, high, log=True), Real(low, high)):
        subspace = Space({"a": dimension, "b": Real(0, 1)}).subspaces[0]
        j = subspace.names.index("a")
        for u in [0.0, 1.0, 1e-17, 1 - 1e-16, *rng.random(10_000)]:
            point = np.full(2, 0.5)
            point[j] = u
            value = subspace.to_params(point)["a"]
            assert low <= value <= high
            assert 0 <= subspace.to_unit({"a": value, "b": 0.5})[j] <= 1
        ends = [subspace.to_params(np.full(2, u))["a"] for u in (0.0, 1.0)]
        assert ends == [low, high]


@pytest.mark.parametrize("bounds", [(1, 10), (1, 10_000), (7, 8), (3, 2**40)], ids=str)
@pytest.mark.parametrize("log", [True, False])
def test_integers_stay_in_the_closed_interval(bounds, log):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/586 (case 19)."""
    low, high = bounds
    subspace = Space({"a": Integer(low, high, log=log)}).subspaces[0]
    values = [subspace.to_params([u])["a"] for u in np.linspace(0, 1, 10_000)]
    assert min(values) == low
    assert max(values) == high
    assert all(type(value) is int for value in values)


@pytest.mark.parametrize("optimizer", [SMBO, RandomSearch])
def test_suggestions_are_accepted_as_points(optimizer):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/586 (case 19)."""
    space = Space(
        {
            "a": stats.loguniform(1e-4, 0.2),
            "b": Integer(1, 300, log=True),
            "c": stats.uniform(-0.3, 0.6),
        }
    )
    subspace = space.subspaces[0]
    for trial in ask_and_tell(optimizer(space, random_state=0), 20):
        np.testing.assert_allclose(
            subspace.to_unit(trial.params), trial.unit, rtol=0, atol=1e-9
        )


ALTERNATIVES = [
    {"reduce": [PCA()], "reduce__n_components": [1, 2], "C": stats.loguniform(0.1, 10)},
    {"reduce": [SelectKBest()], "reduce__k": [1, 2, 3], "C": stats.loguniform(0.1, 10)},
    {"reduce": ["passthrough"], "C": stats.loguniform(0.1, 10)},
]


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.parametrize("n_iter", [7, 24])
def test_each_alternative_gets_its_share_and_the_total_is_exact(cls, n_iter):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/476 (case 21)."""
    space = [
        {("last__C" if k == "C" else k): v for k, v in d.items()} for d in ALTERNATIVES
    ]
    pipeline = Pipeline([("reduce", "passthrough"), ("last", LogisticRegression())])
    search = fitted(cls, pipeline, space, n_iter=n_iter)
    kinds = [type(p["reduce"]).__name__ for p in search.cv_results_["params"]]
    counts = {kind: kinds.count(kind) for kind in ("PCA", "SelectKBest", "str")}
    assert sum(counts.values()) == n_iter == len(search.history_)
    assert min(counts.values()) >= n_iter // 6
    masked = search.cv_results_["param_reduce__k"].mask
    np.testing.assert_array_equal(masked, np.array(kinds) != "SelectKBest")


@pytest.mark.parametrize("cls", SAMPLING)
def test_small_alternatives_are_used_up_and_the_rest_goes_on(cls):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/476 (case 21)."""
    space = [{"a": [1, 2]}, {"b": Real(0, 1)}, {"c": [1]}]
    search = fitted(cls, Recorder(), space, n_iter=20)
    keys = [tuple(params) for params in search.cv_results_["params"]]
    assert len(keys) == 20
    assert keys.count(("a",)) == 2
    assert keys.count(("c",)) == 1


@pytest.mark.parametrize("cls", SEARCHES)
def test_the_result_is_the_value_not_its_index(cls):
    """See the reports of case 23.

    https://github.com/hyperopt/hyperopt/issues/511
    https://github.com/hyperopt/hyperopt/issues/492
    """
    search = fitted(
        cls, Recorder(value=lambda e: -e.a), {"a": [500, 200, 1000]}, n_iter=3
    )
    assert search.best_params_ == {"a": 200}
    assert list(search.cv_results_["param_a"]) == [500, 200, 1000]


def test_minimize_reports_the_value_the_user_wrote():
    """See the reports of case 23.

    https://github.com/hyperopt/hyperopt/issues/511
    https://github.com/hyperopt/hyperopt/issues/492
    """
    space = {"a": [512, 200, 1000], "b": ["x", "y"]}
    history = minimize(
        lambda p: p["a"] + (p["b"] == "x"), space, n_trials=6, random_state=0
    )
    assert history.best_params == {"a": 200, "b": "y"}
    frame = history.to_frame()
    assert set(frame["param_a"]) == {200, 512, 1000}
    assert set(frame["param_b"]) == {"x", "y"}


@pytest.mark.parametrize("cls", MODEL_BASED)
def test_best_params_can_be_set_again(cls):
    """See the reports of case 23.

    https://github.com/hyperopt/hyperopt/issues/511
    https://github.com/hyperopt/hyperopt/issues/492
    """
    X, y = small_data()
    space = {"max_depth": Integer(1, 5), "criterion": ["gini", "entropy"]}
    search = fitted(cls, DecisionTreeClassifier(random_state=0), space, n_iter=8)
    again = DecisionTreeClassifier(random_state=0, **search.best_params_).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    strategy = {"strategy": ["prior", "uniform"]}
    dummy = fitted(cls, DummyClassifier(), strategy, n_iter=2)
    assert dummy.best_params_["strategy"] in strategy["strategy"]
