# SPDX-License-Identifier: BSD-3-Clause
"""Conditions of stop_when: when they are met, signs, no side effects, bad input."""

import math

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from accsmbo import AccSMBOSearchCV, Real, SMBOSearchCV, Space, minimize
from accsmbo.fidelity import SuccessiveHalving
from accsmbo.optimizers import HOAG, SMBO, AccSMBO, GridSearch, RandomSearch
from accsmbo.optimizers._views import VIEWS
from accsmbo.search import GridSearchCV, HOAGSearchCV, RandomizedSearchCV
from accsmbo.stopping import (
    ExpectedImprovementBelow,
    NoImprovement,
    StopCondition,
    TargetReached,
    of_scores,
)
from accsmbo.surrogates import GaussianProcess
from tests._searches import Recorder, make_search, small_data

LINE = {"x": Real(0.0, 1.0)}


def told(values, optimizer=None):
    """Return an optimizer that knows these losses; None: a failed trial."""
    optimizer = optimizer or RandomSearch(LINE, random_state=0)
    for value in values:
        trial = optimizer.ask()
        if value is None:
            optimizer.tell(trial, error="no luck")
        else:
            optimizer.tell(trial, value)
    return optimizer


@pytest.mark.parametrize(
    ("values", "tolerance", "stops"),
    [
        ([3.0, 2.0, 2.0, 2.0], 0.0, False),
        ([3.0, 2.0, 2.0, 2.0, 2.5], 0.0, True),
        ([3.0, 2.0, None, None, None], 0.0, True),
        ([None, None, None], 0.0, True),
        ([None, None], 0.0, False),
        ([3.0, 2.95, 2.9, 2.85], 0.2, True),
        ([3.0, 2.9, 2.75, 2.7], 0.2, False),
        ([], 0.0, False),
    ],
)
def test_no_improvement_counts_from_the_last_one(values, tolerance, stops):
    assert NoImprovement(3, tolerance).should_stop(told(values)) is stops


def test_target_is_reached_from_above_as_a_loss_and_from_below_as_a_score():
    optimizer = told([-0.7, -0.9])
    assert TargetReached(-0.9).should_stop(optimizer)
    assert not TargetReached(-0.91).should_stop(optimizer)
    assert TargetReached(0.9).of_scores().should_stop(optimizer)
    assert not TargetReached(0.91).of_scores().should_stop(optimizer)


def test_signs_turn_in_lists_and_only_where_there_is_one():
    class Own:
        def should_stop(self, optimizer):
            return False

    own, none = Own(), NoImprovement(4)
    turned = of_scores([TargetReached(2.0), none, own])
    assert turned[0].value == -2.0
    assert turned[1:] == [none, own]
    assert of_scores(TargetReached(2.0)).value == -2.0
    assert of_scores(None) is None


def test_expected_improvement_is_that_of_the_model_on_a_fine_grid():
    optimizer = SMBO(LINE, random_state=0)
    for _ in range(9):
        trial = optimizer.ask()
        optimizer.tell(trial, math.sin(9 * trial.params["x"]) + trial.params["x"])
    seen = optimizer.observations()
    _, t, slope = VIEWS[0].select(seen.y, 1)
    model = GaussianProcess().fit(seen.U, t)
    mean, std = model.predict(np.linspace(0, 1, 4001)[:, None])
    z = (t.min() - mean) / std
    expected = std * (norm.pdf(z) + z * norm.cdf(z)) / slope[np.argmin(t)]
    np.testing.assert_allclose(
        optimizer.expected_improvement(), expected.max(), rtol=0.02
    )


def test_losses_in_other_units_have_their_expected_improvement_in_these_units():
    found = []
    for unit in (1.0, 1000.0):
        optimizer = SMBO(LINE, random_state=0)
        for _ in range(8):
            trial = optimizer.ask()
            optimizer.tell(trial, unit * (trial.params["x"] - 0.3) ** 2)
        found.append(optimizer.expected_improvement() / unit)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


def test_alternatives_count_by_the_best_of_them():
    space = Space([{"a": Real(0.0, 1.0)}, {"b": Real(0.0, 1.0)}])
    optimizer = SMBO(space, random_state=0)
    for _ in range(24):
        trial = optimizer.ask()
        (name, x), *_ = trial.params.items()
        worse = 50.0 if name == "b" else 0.0
        optimizer.tell(trial, (x - 0.3) ** 2 + worse)
    assert optimizer.expected_improvement() < 1e-2
    assert optimizer._improvement_left(1, optimizer.history.best_value) < 1e-6


@pytest.mark.parametrize("gradients", [False, True], ids=["values", "gradients"])
def test_asking_for_the_expected_improvement_changes_nothing(gradients):
    def run(asks):
        optimizer = AccSMBO(
            {"x": Real(-1.0, 2.0), "y": Real(-1.0, 2.0)}, random_state=3
        )
        points = []
        for _ in range(9):
            trial = optimizer.ask()
            x, y = trial.params["x"], trial.params["y"]
            points.append((x, y))
            gradient = {"x": 2 * x, "y": 4 * y} if gradients else None
            optimizer.tell(trial, 1.0 + x**2 + 2 * y**2, gradient)
            if asks:
                optimizer.expected_improvement()
        return points

    assert run(True) == run(False)


def test_the_gradient_bounds_what_is_left_of_a_convex_loss():
    optimizer = AccSMBO({"x": Real(0.0, 4.0), "y": Real(0.0, 2.0)}, random_state=0)
    for _ in range(3):
        trial = optimizer.ask()
        x, y = trial.params["x"], trial.params["y"]
        optimizer.tell(trial, (x - 3) ** 2 + 2 * y, {"x": 2 * x - 6, "y": 2})
        left = optimizer.expected_improvement()
    best, value = optimizer.history.best_params, optimizer.history.best_value
    x, y = best["x"], best["y"]
    gap = (6 - 2 * x) * (4 - x) if x < 3 else (2 * x - 6) * x
    assert 0.0 <= left <= gap + 2 * y + 1e-12
    assert value <= gap + 2 * y


def test_the_projected_gradient_ends_a_run_at_the_bound():
    optimizer = AccSMBO({"x": Real(0.0, 1.0)}, random_state=0)
    condition = ExpectedImprovementBelow(1e-6)
    n = 0
    while n < 30 and not (n and condition.should_stop(optimizer)):
        n += 1
        trial = optimizer.ask()
        x = trial.params["x"]
        optimizer.tell(trial, 1.0 + x, {"x": 1.0})
    assert n < 15
    assert optimizer.history.best_params["x"] == 0.0


def test_expected_improvement_waits_for_the_design_and_for_a_success():
    condition = ExpectedImprovementBelow(1e9)
    optimizer = SMBO(LINE, random_state=0)
    assert not condition.should_stop(told([None] * 5, optimizer))
    optimizer = SMBO(LINE, random_state=0)
    assert not condition.should_stop(told([1.0, 2.0, 3.0], optimizer))
    assert condition.should_stop(told([0.5], optimizer))


def test_a_used_up_space_has_nothing_left():
    optimizer = told([3.0, 1.0, 2.0, 4.0, 5.0], SMBO({"n": [1, 2, 3, 4, 5]}))
    assert optimizer.expected_improvement() == 0.0


def test_given_points_come_first():
    optimizer = SMBO(LINE, points_to_evaluate=[{"x": i / 9} for i in range(9)])
    for _ in range(8):
        trial = optimizer.ask()
        optimizer.tell(trial, trial.params["x"])
    assert optimizer.expected_improvement() == math.inf


@pytest.mark.parametrize("optimizer", [RandomSearch(LINE), HOAG(LINE)])
def test_expected_improvement_needs_a_model(optimizer):
    with pytest.raises(ValueError, match=r"with a model.*Use NoImprovement"):
        ExpectedImprovementBelow(0.1).should_stop(optimizer)


def test_a_grid_is_evaluated_to_its_end():
    grid = told([1.0, 1.0], GridSearch({"n": [1, 2, 3]}))
    assert not ExpectedImprovementBelow(1e9).should_stop(grid)


def test_a_search_over_a_resource_asks_the_model_once_something_had_all_of_it():
    X, y = small_data()
    search = SMBOSearchCV(
        Recorder(value=score),
        {"b": Real(0.0, 1.0)},
        n_iter=9,
        cv=2,
        selection=SuccessiveHalving(min_resources=13),
        stop_when=ExpectedImprovementBelow(1e9),
        random_state=0,
    ).fit(X, y)
    assert (search.cv_results_["n_resources"] == 40).sum() == 1
    assert len(search.cv_results_["params"]) == 10


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (NoImprovement(0), "n_trials must be an integer >= 1, got 0"),
        (NoImprovement(2.5), "n_trials must be an integer"),
        (NoImprovement(2, -1.0), "tolerance must be 0 or more, got -1.0"),
        (ExpectedImprovementBelow(0), "tolerance must be positive, got 0"),
        (ExpectedImprovementBelow("x"), "tolerance must be a real number, got 'x'"),
        (TargetReached(math.nan), "value must be finite, got nan"),
    ],
    ids=["zero", "fraction", "negative", "none", "text", "nan"],
)
def test_bad_arguments_name_the_remedy(condition, message):
    with pytest.raises((ValueError, TypeError), match=message):
        condition.should_stop(told([1.0, 2.0]))


def test_the_base_asks_for_an_implementation():
    with pytest.raises(NotImplementedError):
        StopCondition().should_stop(RandomSearch(LINE))


def score(estimator):
    """Best at b = 0.3, where it is 1."""
    return 1.0 - (estimator.b - 0.3) ** 2


SPACES = {
    SMBOSearchCV: {"b": Real(0.0, 1.0)},
    RandomizedSearchCV: {"b": Real(0.0, 1.0)},
    GridSearchCV: {"b": [0.0, 0.9, 0.1, 0.3, 0.5, 0.7]},
}


@pytest.mark.parametrize("cls", SPACES)
def test_a_search_stops_at_a_score(cls):
    X, y = small_data()
    search = make_search(
        cls, Recorder(value=score), SPACES[cls], n_iter=40, cv=2
    ).set_params(stop_when=TargetReached(0.96))
    scores = search.fit(X, y).cv_results_["mean_test_score"]
    assert scores[-1] >= 0.96
    assert (scores[:-1] < 0.96).all()


def test_one_of_several_conditions_is_enough():
    X, y = small_data()
    search = SMBOSearchCV(
        Recorder(value=lambda _: 0.5),
        {"b": Real(0.0, 1.0)},
        n_iter=30,
        cv=2,
        stop_when=[TargetReached(0.9), NoImprovement(6)],
        random_state=0,
    )
    assert len(search.fit(X, y).cv_results_["params"]) == 7


@pytest.mark.parametrize("cls", [AccSMBOSearchCV, HOAGSearchCV])
def test_searches_with_gradients_stop_too(cls):
    X, y = small_data(60)
    search = cls(
        LogisticRegression(),
        {"C": Real(1e-4, 1e4, log=True)},
        n_iter=30,
        scoring="neg_log_loss",
        cv=3,
        random_state=0,
    )
    everything = search.fit(X, y).best_score_
    condition = (
        ExpectedImprovementBelow(1e-3)
        if cls is AccSMBOSearchCV
        else NoImprovement(4, 1e-3)
    )
    search.set_params(stop_when=condition).fit(X, y)
    assert len(search.cv_results_["params"]) < 15
    assert search.best_score_ > everything - 1e-3


def test_several_workers_stop_where_one_does_if_deterministic():
    X, y = small_data()
    numbers = []
    for n_jobs in (1, 2):
        search = SMBOSearchCV(
            Recorder(value=score),
            {"b": Real(0.0, 1.0)},
            n_iter=30,
            cv=2,
            n_jobs=n_jobs,
            deterministic=True,
            stop_when=ExpectedImprovementBelow(1e-3),
            random_state=0,
        ).fit(X, y)
        numbers.append([t.params["b"] for t in search.history_.trials])
    assert numbers[0] == numbers[1]
    assert 4 < len(numbers[0]) < 30


def loss(params):
    return (params["x"] - 0.3) ** 2


def test_a_resumed_run_stops_where_an_unbroken_one_does(tmp_path):
    condition = NoImprovement(5, 1e-3)
    whole = minimize(
        loss, LINE, n_trials=40, stop_when=condition, random_state=0
    ).trials
    path = tmp_path / "study.jsonl"
    for n_trials in (6, 40, 40):
        history = minimize(
            loss,
            LINE,
            n_trials=n_trials,
            stop_when=condition,
            storage=path,
            random_state=0,
        )
    assert [t.params for t in history.trials] == [t.params for t in whole]
    assert 6 < len(whole) < 40
