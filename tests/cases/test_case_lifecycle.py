# SPDX-License-Identifier: BSD-3-Clause
"""Cases 01, 03 and 57 to 63: versions, clone, second fits, seeds."""

import inspect
import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from accsmbo import Categorical, Integer, Real, SMBOSearchCV
from accsmbo.optimizers import SMBO, RandomSearch
from tests._searches import (
    MODEL_BASED,
    SAMPLING,
    SEARCHES,
    Recorder,
    make_search,
    small_data,
)

SPACE = {"a": Real(0, 1), "b": Integer(1, 100), "c": ["x", "y"]}


def candidates(search):
    return search.cv_results_["params"]


@pytest.mark.parametrize("cls", SAMPLING)
def test_integer_dimensions_work_with_warnings_as_errors(cls):
    """See the reports of case 01.

    https://github.com/scikit-optimize/scikit-optimize/issues/1138
    https://github.com/scikit-optimize/scikit-optimize/issues/1200
    """
    X, y = small_data()
    space = {
        "max_depth": Integer(1, 20),
        "min_samples_leaf": stats.randint(1, 10),
        "max_features": Integer(1, 3, log=True),
    }
    search = make_search(
        cls, DecisionTreeClassifier(random_state=0), space, n_iter=20, cv=2
    ).fit(X, y)
    assert len(candidates(search)) == 20
    for params in candidates(search):
        assert {type(value) for value in params.values()} == {int}


@pytest.mark.parametrize("cls", SEARCHES)
def test_the_signature_is_our_own(cls):
    """See the reports of case 03.

    https://github.com/scikit-optimize/scikit-optimize/issues/762
    https://github.com/scikit-optimize/scikit-optimize/issues/978
    """
    parameters = inspect.signature(cls).parameters
    kinds = {parameter.kind for parameter in parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    assert inspect.Parameter.VAR_POSITIONAL not in kinds
    positional = [
        name
        for name, p in parameters.items()
        if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    assert positional[0] == "estimator"
    assert positional[1] in ("param_distributions", "param_grid")
    assert len(positional) == 2
    search = cls(LogisticRegression(), {"C": [1.0]})
    assert set(search.get_params(deep=False)) == set(parameters)
    for name in ("fit_params", "iid"):
        assert name not in parameters
        with pytest.raises(TypeError, match=name):
            cls(LogisticRegression(), {"C": [1.0]}, **{name: {}})


@pytest.mark.parametrize("cls", SEARCHES)
def test_defaults_are_those_of_sklearn(cls):
    """See the reports of case 03.

    https://github.com/scikit-optimize/scikit-optimize/issues/762
    https://github.com/scikit-optimize/scikit-optimize/issues/978
    """
    defaults = {
        "scoring": None,
        "n_jobs": None,
        "refit": True,
        "cv": None,
        "verbose": 0,
        "pre_dispatch": "2*n_jobs",
        "return_train_score": False,
    }
    parameters = inspect.signature(cls).parameters
    assert {name: parameters[name].default for name in defaults} == defaults
    assert np.isnan(parameters["error_score"].default)


SPACES = {
    "dict": {"C": stats.loguniform(0.1, 10), "fit_intercept": [True, False]},
    "list": [{"C": (0.1, 1.0)}, {"C": np.array([2.0, 3.0])}],
    "dimensions": {"C": Real(0.1, 10, log=True), "max_iter": Integer(100, 200)},
    "categorical": {"C": Categorical([0.1, 1.0, 10.0], ordered=True)},
    "range": {"max_iter": range(100, 103)},
}


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.parametrize("kind", SPACES)
def test_clone_before_and_after_fit(cls, kind):
    """See https://github.com/optuna/optuna/issues/4084 (case 57)."""
    X, y = small_data()
    space = SPACES[kind]
    before = pickle.dumps(space)
    search = make_search(cls, LogisticRegression(), space, n_iter=3, cv=2)
    assert search.param_distributions is space
    assert clone(search).get_params().keys() == search.get_params().keys()
    search.fit(X, y)
    assert search.param_distributions is space
    assert pickle.dumps(space) == before
    again = clone(search)
    assert not hasattr(again, "best_params_")
    assert candidates(again.fit(X, y)) == candidates(search)


@pytest.mark.parametrize("cls", SEARCHES)
def test_clone_inside_a_pipeline_and_inside_a_search(cls):
    """See https://github.com/optuna/optuna/issues/4084 (case 57)."""
    X, y = small_data()
    inner = make_search(cls, LogisticRegression(), {"C": [0.1, 1.0]}, n_iter=2, cv=2)
    pipeline = make_pipeline(StandardScaler(), inner)
    scores = cross_val_score(clone(pipeline), X, y, cv=2)
    assert np.isfinite(scores).all()
    name = f"{cls.__name__.lower()}__estimator__fit_intercept"
    outer = make_search(cls, pipeline, {name: [True, False]}, n_iter=2, cv=2)
    clone(outer).fit(X, y)
    assert outer.fit(X, y).best_estimator_[-1].best_params_["C"] in (0.1, 1.0)


@pytest.mark.parametrize("cls", SEARCHES)
def test_set_params_reaches_the_estimator(cls):
    """See https://github.com/optuna/optuna/issues/4084 (case 57)."""
    search = make_search(cls, LogisticRegression(), {"C": [0.1, 1.0]}, n_iter=2)
    search.set_params(estimator__max_iter=7, cv=4)
    assert search.estimator.max_iter == 7
    assert clone(search).estimator.max_iter == 7
    assert search.get_params()["cv"] == 4


@pytest.mark.parametrize("cls", MODEL_BASED)
@pytest.mark.parametrize("given", [None, SMBO(random_state=0), RandomSearch()])
def test_a_second_fit_starts_afresh(cls, given):
    """See https://github.com/optuna/optuna-integration/issues/118 (case 59)."""
    X, y = small_data()
    search = make_search(
        cls, Recorder(value=lambda e: e.a), SPACE, n_iter=7, cv=2, optimizer=given
    )
    first = candidates(search.fit(X, y))
    assert len(search.history_) == len(first) == 7
    assert not hasattr(given, "history_")
    second = candidates(search.fit(X, y))
    assert len(search.history_) == 7
    assert first == second
    assert search.optimizer is given


@pytest.mark.parametrize("cls", MODEL_BASED)
def test_data_of_the_first_fit_do_not_leak_into_the_second(cls):
    """See https://github.com/optuna/optuna-integration/issues/118 (case 59)."""
    X, y = small_data()
    search = make_search(
        cls, LogisticRegression(), {"C": Real(1e-3, 1e3, log=True)}, n_iter=8, cv=2
    )
    search.fit(X[:20], y[:20])
    reused = candidates(search.fit(X[20:], y[20:]))
    fresh = candidates(clone(search).fit(X[20:], y[20:]))
    assert reused == fresh


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_failed_second_fit_leaves_no_old_results(cls):
    """See https://github.com/optuna/optuna-integration/issues/118 (case 59)."""
    X, y = small_data()
    search = make_search(cls, LogisticRegression(), {"C": [0.1, 1.0]}, n_iter=2, cv=2)
    search.fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        search.fit(X, y[:-1])
    assert not hasattr(search, "best_params_")
    assert not hasattr(search, "best_estimator_")


@pytest.mark.parametrize("optimizer", [SMBO, RandomSearch])
def test_the_initial_design_does_not_depend_on_the_batch_size(optimizer):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/1130 (case 61)."""

    def first(n, batch):
        run = optimizer(SPACE, random_state=0)
        trials = []
        while len(trials) < n:
            asked = [run.ask() for _ in range(batch)]
            for trial in asked:
                run.tell(trial, trial.params["a"])
            trials += asked
        return [(trial.params, trial.seed) for trial in trials[:n]]

    n = 4 if optimizer is SMBO else 14
    assert first(n, 1) == first(n, 7) == first(n, 2)


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.parametrize("seed", [0, np.int64(0), np.uint32(0)], ids=repr)
def test_zero_is_a_seed(cls, seed):
    """See https://github.com/rodrigo-arenas/Sklearn-genetic-opt/issues/94 (case 63)."""
    X, y = small_data()

    def run(random_state):
        search = make_search(
            cls,
            Recorder(value=lambda e: -((e.a - 0.4) ** 2)),
            SPACE,
            n_iter=9,
            cv=2,
            random_state=random_state,
        )
        return candidates(search.fit(X, y))

    assert run(seed) == run(0)
    assert run(1) != run(0)


@pytest.mark.parametrize("cls", SAMPLING)
def test_the_global_generator_is_neither_used_nor_seeded(cls):
    """See https://github.com/rodrigo-arenas/Sklearn-genetic-opt/issues/94 (case 63)."""
    X, y = small_data()
    runs = []
    for _ in range(2):
        np.random.seed(17)  # noqa: NPY002
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        search = make_search(
            cls, Recorder(), SPACE, n_iter=9, cv=2, random_state=0
        ).fit(X, y)
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
        runs.append(candidates(search))
        np.random.seed(18)  # noqa: NPY002
    assert runs[0] == runs[1]


@pytest.mark.parametrize("cls", SAMPLING)
def test_a_random_state_object_is_accepted(cls):
    """See https://github.com/rodrigo-arenas/Sklearn-genetic-opt/issues/94 (case 63)."""
    X, y = small_data()

    def run():
        search = make_search(
            cls,
            Recorder(),
            SPACE,
            n_iter=6,
            cv=2,
            random_state=np.random.RandomState(0),
        )
        return candidates(search.fit(X, y))

    assert run() == run()


@pytest.mark.parametrize("optimizer", [SMBO, RandomSearch])
def test_zero_is_a_seed_for_optimizers(optimizer):
    """See https://github.com/rodrigo-arenas/Sklearn-genetic-opt/issues/94 (case 63)."""

    def run(seed):
        asked = optimizer(SPACE, random_state=seed)
        trials = []
        for _ in range(8):
            trials.append(asked.ask())
            asked.tell(trials[-1], trials[-1].params["a"])
        return [(t.params, t.seed) for t in trials]

    assert run(0) == run(np.int64(0)) == run(0)
    assert run(0) != run(1)


def test_the_seed_of_the_search_does_not_touch_the_estimator():
    """See https://github.com/rodrigo-arenas/Sklearn-genetic-opt/issues/94 (case 63)."""
    X, y = small_data()
    estimator = RandomForestClassifier(n_estimators=5, random_state=3)
    search = SMBOSearchCV(
        estimator, {"max_depth": [1, 2]}, n_iter=2, cv=2, random_state=0
    ).fit(X, y)
    assert search.best_estimator_.random_state == 3
