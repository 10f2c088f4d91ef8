# SPDX-License-Identifier: BSD-3-Clause
"""One race, fold by fold, by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from accsmbo import Real
from accsmbo.execution import run
from accsmbo.fidelity._fold_race import FoldRace
from accsmbo.fidelity._rules import is_worse
from accsmbo.history import Evaluation
from accsmbo.optimizers import RandomSearch

# Losses of four trials on three folds. Trial 0 leads. In the order 0, 1, 2:
# 1 is worse on the first fold; 2 is better on it and worse over two; 3 wins.
TABLE = np.array(
    [[0.2, 0.4, 0.6], [0.3, 0.0, 0.0], [0.1, 0.6, 0.0], [0.1, 0.4, 0.5]],
)


class Table:
    """An objective that reads its losses from a table."""

    def __init__(self, table):
        self.table = np.asarray(table, dtype=float)
        self.n_folds = self.table.shape[1]
        self.calls = []

    def fold(self, trial, index, n_trials=None, callback=None):
        self.calls.append((trial.number, index))
        return {"loss": self.table[trial.number, index]}

    def failed_fold(self, trial, index, error, seconds):
        return {"loss": np.nan}

    def loss(self, record):
        return float(record["loss"])

    def combine(self, folds, start, end):
        value = float(np.mean([fold["loss"] for fold in folds]))
        failed = not np.isfinite(value)
        return Evaluation(
            value=None if failed else value,
            error="not finite" if failed else None,
            gradient={"x": 1.0},
            folds=tuple(folds),
        )


class InOrder(FoldRace):
    """Folds in the order 0, 1, 2, ..."""

    def order(self, trial):
        return tuple(range(self._n_folds))


def race(table, cls=InOrder, rule=is_worse, seed=0, **kwargs):
    objective = Table(table)
    optimizer = RandomSearch({"x": Real(0, 1)}, random_state=seed)
    n_trials = len(objective.table)
    run(
        optimizer,
        objective,
        n_trials=n_trials,
        race=cls(objective, rule, 0.05),
        **kwargs,
    )
    return optimizer.history, objective.calls


def test_a_race_by_hand():
    history, calls = race(TABLE)
    assert calls == [
        *[(0, 0), (0, 1), (0, 2)],
        (1, 0),
        *[(2, 0), (2, 1)],
        *[(3, 0), (3, 1), (3, 2)],
    ]
    assert [e.fold_indices for e in history.evaluations] == [None, (0,), (0, 1), None]
    # 0.4 + 0.1, and 0.4 + mean(-0.1, 0.2)
    assert history.values == pytest.approx([0.4, 0.5, 0.45, 1 / 3])
    assert history.best[0].number == 3


def test_the_noise_of_a_dropped_trial_by_hand():
    history, _ = race(TABLE)
    noise = [e.noise for e in history.evaluations]
    assert noise[0] is None
    assert noise[3] is None
    # d = 0.1 alone: s is a quarter of its mean.
    assert noise[1] == pytest.approx(0.025 * np.sqrt(1 / 1 - 1 / 3))
    # d = -0.1, 0.2: squares 0.045 with one degree of freedom.
    assert noise[2] == pytest.approx(np.sqrt(0.045) * np.sqrt(1 / 2 - 1 / 3))


def test_the_spread_of_other_trials_by_hand():
    # Trial 1 has squares 0.02 (d = -0.2, 0, -0.1) and becomes the incumbent; against
    # it trial 0 has the same, 2 degrees of freedom. Trial 2 has one fold, d = 0.3.
    history, _ = race([[1.0, 1.0, 1.0], [0.8, 1.0, 0.9], [1.1, 0.0, 0.0]])
    assert history[2][1].value == pytest.approx(0.9 + 0.3)
    assert history[2][1].noise == pytest.approx(np.sqrt(0.02 / 2) * np.sqrt(2 / 3))


def test_a_dropped_trial_has_no_gradient():
    history, _ = race(TABLE)
    assert [e.gradient is None for e in history.evaluations] == [
        False,
        True,
        True,
        False,
    ]


def test_equal_means_go_on_and_do_not_change_the_incumbent():
    history, _ = race([[1.0, 2.0], [1.0, 2.0], [1.0, 1.5]])
    assert not any(e.partial for e in history.evaluations)
    assert history.best[0].number == 2


def test_a_fold_that_fails_ends_the_candidate():
    history, calls = race([[1, 1, 1], [0, np.nan, 0], [0, 0, 0]])
    assert [c for c in calls if c[0] == 1] == [(1, 0), (1, 1)]
    assert history[1][1].failed
    assert history[1][1].fold_indices == (0, 1)
    assert history.best[0].number == 2


def test_a_leader_that_fails_is_followed_by_another_with_all_folds():
    history, calls = race([[1, np.nan, 1], [2, 2, 2], [1, 1, 1]])
    assert len(calls) == 9
    assert [e.failed for e in history.evaluations] == [True, False, False]


@pytest.mark.parametrize("seed", range(5))
def test_what_holds_in_every_race(seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(30, 4)) + rng.normal(size=(30, 1))
    table[rng.random(table.shape) < 0.05] = np.nan
    history, calls = race(table, FoldRace, seed=seed)
    assert len(set(calls)) == len(calls)
    best = np.inf
    for trial, evaluation in history:
        if evaluation.partial and not evaluation.failed:
            assert evaluation.value > best
            assert evaluation.noise >= 0.0
        if not evaluation.partial and not evaluation.failed:
            assert evaluation.value == pytest.approx(table[trial.number].mean())
            best = min(best, evaluation.value)
    number = history.best[0].number
    assert sum(n == number for n, _ in calls) == 4


def test_orders_of_folds_are_a_function_of_the_seed_and_the_number():
    def orders(seed):
        optimizer = RandomSearch({"x": Real(0, 1)}, random_state=seed)
        started = FoldRace(SimpleNamespace(n_folds=8), is_worse, 0.05)
        started.begin(optimizer, steady=False)
        return [started.order(SimpleNamespace(number=i)) for i in range(5)]

    assert orders(1) == orders(1)
    assert len(set(orders(0) + orders(1))) > 8
    assert sorted(orders(0)[3]) == list(range(8))


def test_a_challenger_meets_the_incumbent_of_its_latest_fold():
    """Two challengers under way: the first wins, the second is compared with it."""
    table = Table([[2.0, 2.0], [1.0, 1.0], [1.5, 1.5]])
    optimizer = RandomSearch({"x": Real(0, 1)}, random_state=0)
    trials = [optimizer.ask() for _ in range(3)]
    for steady, expected in ((False, None), (True, (1,))):
        started = InOrder(table, is_worse, 0.05)
        started.begin(optimizer, steady=steady)
        for trial in trials[:1]:
            assert list(started.open(trial)) == [0, 1]
            started.told(trial, _full(table, trial))
        assert started.open(trials[1]) == (0,)
        assert started.open(trials[2]) == (0,)
        started.told(trials[1], _full(table, trials[1]))
        assert started.next(trials[2], {0: table.fold(trials[2], 0)}) == expected


def test_in_a_steady_race_later_trials_do_not_move_the_test():
    """The spread of trial 1, told in between, would change the noise of trial 2."""
    table = Table([[1.0, 1.0, 1.0], [1.0, 5.0, 9.0], [2.0, 3.0, 4.0]])
    optimizer = RandomSearch({"x": Real(0, 1)}, random_state=0)
    trials = [optimizer.ask() for _ in range(3)]
    noise = []
    for steady, between in ((True, False), (True, True), (False, True)):
        started = InOrder(table, is_worse, 0.05)
        started.begin(optimizer, steady=steady)
        started.open(trials[0])
        started.told(trials[0], _full(table, trials[0]))
        started.open(trials[1])
        started.open(trials[2])
        if between:
            started.told(trials[1], _full(table, trials[1]))
        records = [table.fold(trials[2], i) for i in range(2)]
        partial = replace(table.combine(records, 0.0, 1.0), fold_indices=(0, 1))
        noise.append(started.corrected(trials[2], partial).noise)
    # d = (1, 2): s^2 = 1/2 alone; with trial 1, whose d is (0, 4, 8) and counts with
    # its 2 degrees of freedom, (1/2 + 32) / 3.
    by_hand = [np.sqrt(s2 * (1 / 2 - 1 / 3)) for s2 in (0.5, 0.5, 32.5 / 3)]
    assert noise == pytest.approx(by_hand)


def _full(table, trial):
    folds = range(table.n_folds)
    return table.combine([table.fold(trial, i) for i in folds], 0.0, 1.0)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_several_workers_deterministic(n_jobs):
    rng = np.random.default_rng(1)
    table = rng.normal(size=(20, 3)) + rng.normal(size=(20, 1))
    runs = [
        race(table, FoldRace, n_jobs=n_jobs, deterministic=True)[0] for _ in range(2)
    ]
    told = [
        [(t.number, e.fold_indices, e.value, e.noise) for t, e in history]
        for history in runs
    ]
    assert told[0] == told[1]
    assert [t[0] for t in told[0]] == list(range(20))


def test_one_worker_deterministic_is_one_worker():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(20, 3)) + rng.normal(size=(20, 1))
    plain, steady = (race(table, FoldRace, deterministic=d)[0] for d in (False, True))
    assert np.array_equal(plain.values, steady.values)
