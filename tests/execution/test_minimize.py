# SPDX-License-Identifier: BSD-3-Clause
"""minimize(): values, gradients, failures, limits, messages."""

import time

import pytest

from accsmbo import Integer, Real, minimize
from accsmbo.exceptions import SearchInterruptedWarning
from accsmbo.optimizers import SMBO, RandomSearch

SPACE = {"x": Real(-2, 2), "n": Integer(0, 3)}


def bowl(params):
    return (params["x"] - 1) ** 2 + params["n"]


def test_it_finds_the_minimum_of_a_bowl():
    history = minimize(bowl, SPACE, n_trials=30, random_state=0)
    assert len(history) == 30
    assert history.best_params["n"] == 0
    assert history.best_value < 1e-2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_budget_is_kept_and_the_seed_repeats(n_jobs):
    runs = [
        minimize(
            bowl,
            SPACE,
            n_trials=7,
            random_state=0,
            n_jobs=n_jobs,
            deterministic=True,
        )
        for _ in range(2)
    ]
    assert [t.params for t in runs[0].trials] == [t.params for t in runs[1].trials]
    assert len(runs[0]) == 7


def test_a_given_optimizer_is_cloned():
    optimizer = RandomSearch(random_state=0)
    history = minimize(bowl, SPACE, optimizer=optimizer, n_trials=3)
    assert len(history) == 3
    assert optimizer.space is None
    again = minimize(bowl, SPACE, optimizer=optimizer, n_trials=3)
    assert [t.params for t in history.trials] == [t.params for t in again.trials]


def test_a_pair_is_value_and_gradient():
    history = minimize(
        lambda p: (p["x"] ** 2, {"x": 2 * p["x"]}), {"x": Real(-1, 1)}, n_trials=3
    )
    trial, evaluation = history[0]
    assert evaluation.gradient == {"x": 2 * trial.params["x"]}


def test_failures_are_kept_with_their_reason_and_do_not_end_the_run():
    def half(params):
        if params["x"] < 0:
            raise RuntimeError("too small")
        return params["x"]

    history = minimize(half, {"x": Real(-1, 1)}, n_trials=12, random_state=0)
    assert len(history) == 12
    failed = [e for e in history.evaluations if e.failed]
    assert failed
    assert all("RuntimeError: too small" in e.error for e in failed)
    assert history.best_params["x"] >= 0


def test_all_failing_shows_the_first_error():
    def broken(params):
        raise RuntimeError("broken for good")

    with pytest.raises(ValueError, match=r"(?s)all 5 calls failed.*broken for good"):
        minimize(broken, SPACE, n_trials=5, random_state=0)


def test_no_call_starts_after_the_timeout():
    def slow(params):
        time.sleep(0.05)
        return params["x"]

    start = time.time()
    history = minimize(
        slow, SPACE, optimizer=RandomSearch(), n_trials=10_000, timeout=0.3
    )
    assert time.time() - start < 5
    assert 1 <= len(history) < 10_000


def test_an_interrupt_keeps_what_has_finished():
    calls = []

    def interrupted(params):
        calls.append(params)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return params["x"]

    with pytest.warns(SearchInterruptedWarning, match="after 3 of 10 trials") as caught:
        history = minimize(interrupted, SPACE, n_trials=10, random_state=0)
    assert caught[0].filename == __file__
    assert "goes on" not in str(caught[0].message)
    assert [t.params for t in history.trials] == calls[:3]


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"n_trials": 0}, ValueError, "n_trials must be an integer >= 1, got 0"),
        ({"n_trials": 2.5}, TypeError, "n_trials must be an integer >= 1, got 2.5"),
        ({"func": 3}, TypeError, "func must be callable, got 3"),
        ({"space": {}}, ValueError, "must name at least one parameter"),
        (
            {"optimizer": SMBO(points_to_evaluate=[{"x": 9, "n": 0}])},
            ValueError,
            r"params\['x'\] must be a value of",
        ),
    ],
)
def test_bad_arguments_are_named(kwargs, error, message):
    with pytest.raises(error, match=message):
        minimize(**{"func": bowl, "space": SPACE, "n_trials": 3, **kwargs})
