# SPDX-License-Identifier: BSD-3-Clause
"""`selection=` and `stop_when=` of every search reach the run and the results."""

import numpy as np
import pytest

from accsmbo import Real, minimize
from accsmbo.execution import StopReason, run
from accsmbo.fidelity import Selection
from accsmbo.history import Evaluation
from accsmbo.optimizers import RandomSearch
from accsmbo.search import GridSearchCV, HOAGSearchCV
from tests._searches import SEARCHES, Recorder, make_search, small_data

SPACE = {"a": [1, 2, 3, 4], "b": [0.5, 1.5, 2.5]}


class After:
    """True once so many trials are told."""

    def __init__(self, n):
        self.n = n

    def should_stop(self, optimizer):
        return len(optimizer.history) >= self.n


class Later(Selection):
    """Only the later half of the candidates may win; says what it was given."""

    def check(self, objective, optimizer):
        if objective.n_folds == 2:
            raise ValueError("two folds are refused")

    def adapt(self, objective):
        objective.error_score = -1.0
        return objective

    def wrap(self, optimizer, n_trials, objective):
        assert objective.error_score == -1.0
        return optimizer, n_trials - 1

    def may_win(self, records):
        return np.arange(len(records)) >= len(records) // 2

    def columns(self, records):
        return {"told": np.array([trial.number for trial, _ in records])}


def value(estimator):
    return -estimator.a


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_selection_is_asked_by_every_search(cls):
    X, y = small_data()
    search = make_search(
        cls, Recorder(value=value), SPACE, n_iter=12, cv=3, selection=Later()
    )
    search.fit(X, y)
    assert search.cv_results_["told"].tolist() == list(range(11))
    scores = search.cv_results_["mean_test_score"]
    assert search.best_index_ == 5 + np.argmax(scores[5:])
    assert search.best_score_ < scores.max()
    with pytest.raises(ValueError, match="two folds are refused"):
        search.set_params(cv=2).fit(X, y)


def test_a_callable_refit_may_not_choose_what_may_not_win():
    X, y = small_data()
    search = GridSearchCV(Recorder(value=value), SPACE, cv=3, selection=Later())
    assert search.set_params(refit=lambda results: 7).fit(X, y).best_index_ == 7
    with pytest.raises(ValueError, match=r"refit must return .* got 2, which sel"):
        search.set_params(refit=lambda results: 2).fit(X, y)


def test_no_candidate_may_win_is_an_error():
    class Never(Later):
        def may_win(self, records):
            return np.zeros(len(records), dtype=bool)

    X, y = small_data()
    search = GridSearchCV(Recorder(), SPACE, cv=3, selection=Never())
    with pytest.raises(ValueError, match="none of the 11 got it before"):
        search.fit(X, y)


@pytest.mark.parametrize("cls", SEARCHES)
def test_stop_when_ends_every_search(cls):
    X, y = small_data()
    search = make_search(
        cls, Recorder(), SPACE, n_iter=10, cv=2, stop_when=[After(99), After(4)]
    )
    assert len(search.fit(X, y).history_) == 4


def test_stop_when_ends_minimize_and_a_resumed_run_does_not_go_on(tmp_path):
    def func(params):
        return params["x"] ** 2

    for _ in range(2):
        history = minimize(
            func,
            {"x": Real(-1, 1)},
            stop_when=After(3),
            storage=tmp_path / "study.jsonl",
            random_state=0,
        )
        assert len(history) == 3


def test_run_says_that_a_condition_was_met():
    class Zero:
        n_folds = 1

        def fold(self, trial, index, n_trials=None, callback=None):
            return 0.0

        def combine(self, folds, start, end):
            return Evaluation(value=folds[0])

    optimizer = RandomSearch({"x": Real(0, 1)}, random_state=0)
    reason = run(optimizer, Zero(), n_trials=5, stop_when=After(2))
    assert reason is StopReason.CONDITION


@pytest.mark.parametrize("wrong", [After, [After(1), "soon"], (3,)])
def test_stop_when_must_have_should_stop(wrong):
    with pytest.raises(TypeError, match=r"stop_when must be .*should_stop"):
        minimize(lambda p: 0.0, {"x": Real(0, 1)}, n_trials=2, stop_when=wrong)


@pytest.mark.parametrize("cls", [*SEARCHES, HOAGSearchCV])
def test_bad_arguments_are_named(cls):
    X, y = small_data()
    for name, wrong in {"selection": "racing", "stop_when": 3}.items():
        search = make_search(cls, Recorder(), SPACE, **{name: wrong})
        with pytest.raises(ValueError, match=f"The '{name}' parameter"):
            search.fit(X, y)
