# SPDX-License-Identifier: BSD-3-Clause
"""Ask and tell: pending trials, duplicates, shares, seeds, gradients, messages."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from accsmbo.exceptions import SpaceExhausted
from accsmbo.optimizers import SMBO, GridSearch, RandomSearch
from accsmbo.space import Integer, Real

MIXED = {"x": Real(0, 1), "n": Integer(1, 50, log=True), "k": ["a", "b", None]}
OPTIMIZERS = [RandomSearch, SMBO]


def asked(optimizer, n):
    """Ask and tell n trials; the loss prefers small values of everything."""
    trials = []
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, float(np.sum(trial.unit)))
        trials.append(trial)
    return trials


@pytest.mark.parametrize("cls", OPTIMIZERS)
@pytest.mark.parametrize("seed", [0, np.int64(0), 7])
def test_the_same_seed_gives_the_same_trials(cls, seed):
    first = asked(cls(MIXED, random_state=seed), 9)
    second = asked(cls(MIXED, random_state=seed), 9)
    assert [t.params for t in first] == [t.params for t in second]
    assert [t.seed for t in first] == [t.seed for t in second]
    other = asked(cls(MIXED, random_state=8), 9)
    assert [t.params for t in first] != [t.params for t in other]


@pytest.mark.parametrize("cls", OPTIMIZERS)
def test_a_seed_of_any_kind_is_taken(cls):
    for seed in (None, np.random.RandomState(0), np.random.default_rng(0)):
        assert len(asked(cls(MIXED, random_state=seed), 3)) == 3


@pytest.mark.parametrize("cls", [*OPTIMIZERS, GridSearch])
def test_a_finite_space_is_asked_whole_without_repeats_and_then_ends(cls):
    space = {"a": range(4), "b": ["x", "y"]}
    trials = asked(cls(space, random_state=0), 8)
    found = sorted(map(str, (t.params for t in trials)))
    assert found == sorted(map(str, ParameterGrid(space)))
    optimizer = cls(space, random_state=0)
    asked(optimizer, 8)
    with pytest.raises(SpaceExhausted, match="all 8"):
        optimizer.ask()


@pytest.mark.parametrize("cls", OPTIMIZERS)
def test_trials_asked_and_not_told_are_pending_and_distinct(cls):
    optimizer = cls({"a": range(6)}, random_state=0)
    trials = [optimizer.ask() for _ in range(6)]
    assert optimizer.pending == tuple(trials)
    assert len({t.params["a"] for t in trials}) == 6
    optimizer.tell(trials[3], 0.5)
    assert trials[3] not in optimizer.pending
    assert len(optimizer.history) == 1


@pytest.mark.parametrize("cls", OPTIMIZERS)
def test_alternatives_get_equal_shares(cls):
    space = [{"a": Real(0, 1)}, {"b": Real(0, 1), "c": [1, 2]}, {"d": [True, False]}]
    trials = asked(cls(space, random_state=0), 14)
    counts = np.bincount([t.subspace for t in trials])
    # The third holds two points only; the others share what it leaves.
    assert counts.tolist() == [6, 6, 2]


@pytest.mark.parametrize("cls", [*OPTIMIZERS, GridSearch])
def test_points_to_evaluate_come_first(cls):
    points = [{"a": 3, "b": "y"}, {"a": 0, "b": "x"}]
    optimizer = cls({"a": [0, 3], "b": ["x", "y"]}, points_to_evaluate=points)
    trials = [optimizer.ask() for _ in range(4)]
    assert [t.params for t in trials[:2]] == points
    assert len({str(t.params) for t in trials}) == 4


@pytest.mark.parametrize("cls", [*OPTIMIZERS, GridSearch])
def test_a_pickled_optimizer_goes_on_as_the_original(cls):
    optimizer = cls({"a": range(30)}, random_state=3)
    asked(optimizer, 6)
    copy = pickle.loads(pickle.dumps(optimizer))
    expected = [t.params for t in asked(optimizer, 5)]
    assert [t.params for t in asked(copy, 5)] == expected


@pytest.mark.parametrize("cls", [*OPTIMIZERS, GridSearch])
def test_a_clone_starts_afresh(cls):
    optimizer = cls({"a": range(5)}, random_state=0)
    asked(optimizer, 3)
    assert len(clone(optimizer).history) == 0


def test_observations_are_arrays_in_the_unit_cube():
    optimizer = RandomSearch(
        {"x": Real(1, 3), "c": Real(1, 100, log=True), "n": [1, 2]}, random_state=0
    )
    trials = [optimizer.ask() for _ in range(4)]
    optimizer.tell(trials[0], 2.0, {"x": 0.5, "c": 3.0, "n": 1.0}, noise=0.1)
    optimizer.tell(trials[1], error=RuntimeError("no"))
    optimizer.tell(trials[2], 5.0)
    seen = optimizer.observations()
    assert seen.subspace.names == ("c", "n", "x")
    np.testing.assert_array_equal(seen.U, [t.unit for t in trials[:3]])
    np.testing.assert_array_equal(seen.pending, [trials[3].unit])
    # A failed trial carries a loss above the worst by the spread of all, never NaN.
    np.testing.assert_array_equal(seen.y, [2.0, 8.0, 5.0])
    np.testing.assert_array_equal(seen.failed, [False, True, False])
    np.testing.assert_array_equal(seen.noise, [0.1, np.nan, np.nan])
    # d loss / d u = d loss / d param * d param / d u; a discrete one has none.
    expected = [3.0 * trials[0].params["c"] * np.log(100), np.nan, 0.5 * 2.0]
    np.testing.assert_allclose(seen.gradient[0], expected)
    assert np.isnan(seen.gradient[1:]).all()
    assert seen.n_asked == 4


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_a_failure(value):
    optimizer = RandomSearch(MIXED, random_state=0)
    optimizer.tell(optimizer.ask(), value)
    assert optimizer.history[0][1].failed
    assert "not finite" in optimizer.history[0][1].error
    assert optimizer.observations().y.tolist() == [0.0]


def test_tell_refuses_what_it_cannot_use():
    optimizer = RandomSearch(MIXED, random_state=0)
    trial = optimizer.ask()
    with pytest.raises(ValueError, match="exactly one of value and error, got value="):
        optimizer.tell(trial)
    with pytest.raises(ValueError, match="exactly one of value and error"):
        optimizer.tell(trial, 1.0, error="x")
    with pytest.raises(ValueError, match="unknown name 'y'; the trial has"):
        optimizer.tell(trial, 1.0, {"y": 1.0})
    optimizer.tell(trial, 1.0)
    with pytest.raises(ValueError, match="must be pending, got trial number 0"):
        optimizer.tell(trial, 1.0)


def test_ask_needs_a_space():
    with pytest.raises(ValueError, match=r"space must be given to RandomSearch.*None"):
        RandomSearch().ask()


def test_points_to_evaluate_outside_the_space_are_refused():
    optimizer = RandomSearch({"a": [1, 2]}, points_to_evaluate=[{"a": 9}])
    with pytest.raises(ValueError, match=r"params\['a'\] must be a value of"):
        optimizer.ask()
