# SPDX-License-Identifier: BSD-3-Clause
"""What an optimizer learns from failed trials: to keep away from where they were."""

from itertools import pairwise

import numpy as np
import pytest

from accsmbo import Real
from accsmbo.exceptions import Converged
from accsmbo.optimizers import HOAG, SMBO, AccSMBO, RandomSearch
from accsmbo.optimizers._observations import with_failures
from accsmbo.optimizers._views import VIEWS
from accsmbo.surrogates import RandomForestSurrogate

N_TRIALS = 20
PLANE = {"x": Real(0.0, 1.0), "z": Real(0.0, 1.0)}
CHOICE = {"x": Real(0.0, 1.0), "c": ["good", "bad"]}


def in_half(params):
    return params["x"] > 0.5


def of_choice(params):
    return params["c"] == "bad"


def flat(params):
    return -0.9, dict.fromkeys(params, 0.0)


def bowl(params):
    distances = {k: v - 0.35 for k, v in params.items() if k != "c"}
    value = 1.0 + sum(d**2 for d in distances.values())
    return value, {k: 2 * d for k, d in distances.items()}


def n_failing(optimizer, f, fails, *, gradients, last):
    failed = []
    for _ in range(N_TRIALS):
        trial = optimizer.ask()
        failed.append(fails(trial.params))
        if failed[-1]:
            optimizer.tell(trial, error="no")
        else:
            value, gradient = f(trial.params)
            optimizer.tell(trial, value, gradient if gradients else None)
    return sum(failed[-last:])


MAKERS = {
    "gaussian process": lambda s: SMBO(PLANE, random_state=s),
    "forest": lambda s: SMBO(PLANE, surrogate=RandomForestSurrogate(), random_state=s),
    "gradients": lambda s: AccSMBO(PLANE, random_state=s),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    ("f", "fails"), [(flat, in_half), (bowl, in_half), (bowl, of_choice)]
)
def test_a_model_learns_where_trials_fail(name, f, fails):
    """At random half of the trials fail; the tie with the worst gave up to all ten."""
    counts = []
    for seed in range(4):
        optimizer = MAKERS[name](seed)
        if fails is of_choice:
            optimizer.set_params(space=CHOICE)
        counts.append(
            n_failing(optimizer, f, fails, gradients=name == "gradients", last=10)
        )
    assert np.mean(counts) <= 3.0


@pytest.mark.parametrize(
    "values",
    [[2.0], [2.0, 2.0], [0.0], [-3.0], [1.0, 5.0], [1e-300, 1e300], [-1e308, 1e308]],
)
def test_a_failure_is_strictly_worse_than_the_worst(values):
    optimizer = RandomSearch(PLANE, random_state=0)
    for value in [*values, None]:
        trial = optimizer.ask()
        optimizer.tell(trial, value, error="no" if value is None else None)
    y = optimizer.observations().y
    assert np.isfinite(y).all()
    assert y[-1] > max(values)


@pytest.mark.parametrize("view", VIEWS)
def test_failures_leave_the_scale_of_finished_trials_alone(view):
    y = np.random.default_rng(0).lognormal(sigma=3.0, size=14)
    failed = np.zeros(20, dtype=bool)
    failed[::4] = failed[1] = True
    finished = view.select(y, 2)
    rows, t, slope = with_failures(failed, *finished)
    n = len(finished[0])
    np.testing.assert_array_equal(rows[:n], np.flatnonzero(~failed)[finished[0]])
    np.testing.assert_array_equal(rows[n:], np.flatnonzero(failed))
    np.testing.assert_array_equal(t[:n], finished[1])
    np.testing.assert_array_equal(slope[:n], finished[2])
    assert (t[n:] > finished[1].max()).all()
    assert np.ptp(t) <= 2.0 * np.ptp(finished[1]) * (1 + 1e-12)


def test_a_failure_by_chance_does_not_keep_gradients_from_the_minimum():
    for seed in range(3):
        optimizer = AccSMBO(PLANE, random_state=seed)
        for i in range(12):
            trial = optimizer.ask()
            if i in (0, 3):
                optimizer.tell(trial, error="killed")
            else:
                optimizer.tell(trial, *bowl(trial.params))
        assert optimizer.history.best_value < 1.0 + 1e-3


def test_a_descent_steps_back_from_a_failure():
    optimizer = HOAG({"x": Real(0.0, 1.0)}, random_state=0)
    steps, x = [], None
    for _ in range(8):
        try:
            trial = optimizer.ask()
        except Converged:
            break
        if x is not None:
            steps.append(abs(trial.params["x"] - x))
        if trial.params["x"] < 0.5:
            optimizer.tell(trial, error="no")
        else:
            x = trial.params["x"]
            optimizer.tell(trial, 1.0 + x, {"x": 1.0})
    assert len(steps) > 2
    assert all(b < a for a, b in pairwise(steps))
