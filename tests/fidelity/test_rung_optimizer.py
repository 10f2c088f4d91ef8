# SPDX-License-Identifier: BSD-3-Clause
"""RungOptimizer: asking, telling, waiting, learning, forgetting, restoring."""

import numpy as np
import pytest

from accsmbo import Real, Space
from accsmbo.exceptions import NothingReady, SpaceExhausted
from accsmbo.execution._resume import resume
from accsmbo.fidelity._rung_optimizer import RungOptimizer
from accsmbo.history import Evaluation
from accsmbo.optimizers import SMBO, AccSMBO, GridSearch, RandomSearch

SPACE = Space({"x": Real(0.0, 1.0)})


def rungs(inner=None, n=9, levels=(1, 3, 9), **kwargs):
    inner = inner or RandomSearch(SPACE, random_state=0)
    kwargs = {"brackets": [(0, n)], "factor": 3.0} | kwargs
    return RungOptimizer(inner, levels=list(levels), **kwargs)


def loss(trial):
    """Return a loss that falls with the resource, in the order of (x - 0.3)^2."""
    return (trial.params["x"] - 0.3) ** 2 + 1.0 / trial.fidelity


def run(optimizer, loss=loss):
    asked = []
    while True:
        try:
            trial = optimizer.ask()
        except SpaceExhausted:
            return asked
        asked.append(trial)
        value = loss(trial)
        optimizer.tell(trial, **({"error": "x"} if value is None else {"value": value}))


def test_the_best_get_all_of_the_resource():
    trials = run(rungs())
    assert [t.fidelity for t in trials] == [1.0] * 9 + [3.0] * 3 + [9.0]
    assert [t.number for t in trials] == list(range(13))
    distance = [abs(t.params["x"] - 0.3) for t in trials]
    assert distance[12] == min(distance)
    assert sorted(distance[9:12]) == sorted(distance[:9])[:3]


def test_a_promotion_has_the_params_and_the_seed_of_its_candidate():
    optimizer = rungs(parameter="n_estimators")
    trials = run(optimizer)
    first = {t.unit.tobytes(): t for t in trials[:9]}
    for trial in trials[9:]:
        origin = first[trial.unit.tobytes()]
        assert trial.seed == origin.seed
        assert trial.params["x"] == origin.params["x"]
        assert trial.params["n_estimators"] == int(trial.fidelity)
        assert type(trial.params["n_estimators"]) is int


def test_waiting_says_so_and_changes_nothing():
    optimizer = rungs(n=3, levels=(1, 3))
    trials = [optimizer.ask() for _ in range(3)]
    for _ in range(2):
        with pytest.raises(NothingReady, match="got 3 pending trials"):
            optimizer.ask()
    for trial in trials:
        optimizer.tell(trial, loss(trial))
    assert optimizer.ask().fidelity == 3.0


def test_workers_that_would_wait_start_the_next_bracket():
    optimizer = rungs(brackets=[(0, 3), (1, 2)], levels=(1, 3))
    trials = [optimizer.ask() for _ in range(5)]
    assert [t.fidelity for t in trials] == [1.0, 1.0, 1.0, 3.0, 3.0]
    with pytest.raises(NothingReady):
        optimizer.ask()


def test_failed_trials_are_not_promoted():
    trials = run(rungs(), lambda t: None if t.params["x"] < 0.5 else loss(t))
    assert all(t.params["x"] >= 0.5 for t in trials if t.fidelity > 1)
    assert len(run(rungs(), lambda t: None)) == 9


def test_a_finite_space_ends_early_and_its_best_goes_on():
    grid = GridSearch(Space({"x": [0.1, 0.3, 0.5, 0.9]}))
    trials = run(rungs(grid, n=9))
    assert [t.fidelity for t in trials] == [1.0] * 4 + [3.0, 9.0]
    assert trials[-1].params["x"] == 0.3


@pytest.mark.parametrize("inner", [SMBO, AccSMBO])
def test_the_inner_optimizer_learns_one_loss_for_each_candidate(inner):
    optimizer = rungs(inner(SPACE, random_state=0), n=18)
    run(optimizer)
    known = optimizer.optimizer_.history
    assert len(known) == 18
    assert [t.number for t in known.trials] == list(range(18))
    expected = [(t.params["x"] - 0.3) ** 2 + 1 / 9 for t in known.trials]
    # every loss changes by the same from rung to rung here
    np.testing.assert_allclose(known.values, expected)
    assert abs(known.best_params["x"] - 0.3) < 0.02


def test_a_model_of_the_least_alone_does_not_decide():
    def misleading(trial):
        x, with_all = trial.params["x"], trial.fidelity > 1
        return (x - 0.2) ** 2 if with_all else (x - 0.9) ** 2

    optimizer = rungs(SMBO(SPACE, random_state=0), n=27, levels=(1, 3))
    x = np.array([t.params["x"] for t in run(optimizer, misleading)][:27])
    random = [i for i in range(4, 27) if i % 3]
    model = [i for i in range(4, 27) if i % 3 == 0]
    assert np.ptp(x[random]) > 0.8
    assert (np.abs(x[model] - 0.9) < 0.01).sum() >= 3
    assert (np.abs(x[random] - 0.9) < 0.01).sum() <= 1


def test_once_something_was_promoted_one_of_three_is_random():
    optimizer = rungs(
        SMBO(SPACE, random_state=0), brackets=[(0, 9), (0, 18)], levels=(1, 3)
    )
    trials = [t for t in run(optimizer) if t.fidelity == 1]
    x = np.array([t.params["x"] for t in trials[9:]])
    assert len(x) == 18
    near = np.abs(x - 0.3) < 0.1
    model = np.arange(9, 27) % 3 > 0
    assert near[model].mean() > near[~model].mean()
    assert near[model].mean() > 0.6


def test_a_candidate_is_pending_for_the_inner_one_only_until_its_first_result():
    optimizer = rungs(SMBO(SPACE, random_state=0), n=3, levels=(1, 3))
    trials = [optimizer.ask() for _ in range(3)]
    assert len(optimizer.optimizer_.pending) == 3
    for trial in trials:
        optimizer.tell(trial, loss(trial))
    optimizer.ask()
    assert len(optimizer.optimizer_.pending) == 0
    assert len(optimizer.pending) == 1
    assert len(optimizer.observations().y) == 3


def test_states_are_kept_while_a_candidate_may_go_on():
    optimizer = rungs(n=3, levels=(1, 3))
    trials = [optimizer.ask() for _ in range(3)]
    for trial in trials:
        told = Evaluation(value=loss(trial), warm_start=(trial.number,))
        optimizer.tell(trial, told)
    best = optimizer.history.best[0].number
    promoted = optimizer.ask()
    assert optimizer.start_of(promoted) == (best,)
    assert list(optimizer._states) == [best]
    optimizer.tell(promoted, 0.0)
    assert optimizer._states == {}
    assert all(e.warm_start is None for e in optimizer.history.evaluations)


def test_a_forgotten_candidate_goes_no_further():
    optimizer = rungs(n=3, levels=(1, 3))
    trials = [optimizer.ask() for _ in range(3)]
    optimizer.forget(trials[0])
    optimizer.forget(trials[0])
    for trial in trials[1:]:
        optimizer.tell(trial, loss(trial))
    assert optimizer.ask().params != trials[0].params
    assert len(optimizer.optimizer_.history) == 2


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_the_same_seed_gives_the_same_run(asynchronous):
    runs = []
    for _ in range(2):
        optimizer = rungs(SMBO(SPACE, random_state=5), asynchronous=asynchronous)
        runs.append([(t.params["x"], t.fidelity) for t in run(optimizer)])
    assert runs[0] == runs[1]


def events_of(optimizer, n):
    """Return the events of a run of n trials, the last of them pending."""
    events = []
    for number in range(n):
        trial = optimizer.ask()
        events.append(("asked", trial, None))
        if number < n - 1:
            evaluation = Evaluation(value=loss(trial))
            optimizer.tell(trial, evaluation)
            events.append(("told", trial, evaluation))
    return events


@pytest.mark.parametrize("n", [4, 11, 13])
def test_a_repeated_run_goes_on_as_if_unbroken(n):
    whole = [
        (t.params["x"], t.fidelity) for t in run(rungs(SMBO(SPACE, random_state=1)))
    ]
    events = events_of(rungs(SMBO(SPACE, random_state=1)), n)
    resumed = rungs(SMBO(SPACE, random_state=1))
    resume(resumed, events)
    (pending,) = resumed.pending
    resumed.tell(pending, loss(pending))
    run(resumed)
    assert [(t.params["x"], t.fidelity) for t in resumed.history.trials] == whole


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_larger_budget_takes_over_what_was_evaluated(asynchronous):
    first = rungs(n=9, asynchronous=asynchronous)
    events = events_of(first, 12)
    # another seed: nothing is asked again, so that the trials are taken over
    larger = rungs(
        RandomSearch(SPACE, random_state=77),
        n=27,
        levels=(1, 3, 9, 27),
        asynchronous=asynchronous,
        parameter="n_estimators",
    )
    resume(larger, events)
    (pending,) = larger.pending
    assert pending.params["n_estimators"] == pending.fidelity
    larger.tell(pending, loss(pending))
    run(larger)
    done = [(t.unit.tobytes(), t.fidelity) for t in larger.history.trials]
    assert len(set(done)) == len(done)
    assert sum(t.fidelity == 1.0 for t in larger.history.trials) == 27
    assert max(amount for _, amount in done) == 27.0
    assert larger.optimizer_.n_asked == 27


def test_proposals_are_left_to_ask():
    optimizer = rungs()
    assert optimizer.propose(4) == []
    assert optimizer.max_resources_ == 9
    optimizer.random_state = 3
    assert optimizer.optimizer.random_state == 3
    assert optimizer.space is optimizer.optimizer.space
