# SPDX-License-Identifier: BSD-3-Clause
"""HOAG: converges, says so, restarts, and refuses steps along broken gradients."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from accsmbo.exceptions import Converged
from accsmbo.hypergradients import (
    FoldHypergradient,
    GroupRidgeProblem,
    Penalty,
    register_inner_problem,
)
from accsmbo.linear_model import GroupRidge
from accsmbo.optimizers import HOAG
from accsmbo.space import Categorical, Integer, Real

SPACE = {"x": Real(-4.0, 8.0), "y": Real(-6.0, 6.0)}


def bowl(params):
    x, y = params["x"] - 1.0, params["y"] + 2.0
    value = 1.0 + x**2 + 5 * y**2 + x * y
    return value, {"x": 2 * x + y, "y": 10 * y + x}


def two_basins(params):
    x = params["x"]
    return 2 + (x**2 - 1) ** 2 + 0.3 * x, {"x": 4 * x * (x**2 - 1) + 0.3}


def run(optimizer, function, n=60):
    """Return the params asked until HOAG says that it has converged."""
    asked = []
    for _ in range(n):
        try:
            trial = optimizer.ask()
        except Converged:
            break
        asked.append(trial)
        optimizer.tell(trial, *function(trial.params))
    return asked


def test_converges_and_says_so():
    optimizer = HOAG(SPACE)
    asked = run(optimizer, bowl)
    assert optimizer.history.best_value < 1 + 1e-3
    assert len(asked) < 20
    assert optimizer.converged_
    with pytest.raises(
        Converged, match=f"HOAG has converged after {len(asked)} trials"
    ):
        optimizer.ask()


def test_starts_at_the_centre_and_tightens_the_inner_solves():
    asked = run(HOAG(SPACE), bowl)
    assert asked[0].params == {"x": 2.0, "y": 0.0}
    tolerances = [trial.tolerance for trial in asked]
    assert tolerances[0] == 1e-2
    assert tolerances == sorted(tolerances, reverse=True)
    assert min(tolerances) >= 3e-4


@pytest.mark.parametrize(
    ("bounds", "expected"), [((2.0, 5.0), 2.0), ((-5.0, 0.0), 0.0)]
)
def test_minimum_at_a_bound(bounds, expected):
    optimizer = HOAG({"x": Real(*bounds)})
    run(optimizer, lambda p: (3 + (p["x"] - 1) ** 2, {"x": 2 * (p["x"] - 1)}))
    assert optimizer.converged_
    assert optimizer.history.best_params["x"] == pytest.approx(expected, abs=1e-2)


def test_restarts_find_the_other_basin():
    space = {"x": Real(-1.0, 3.0)}
    local = HOAG(space, random_state=0)
    run(local, two_basins)
    assert local.history.best_params["x"] > 0
    restarted = HOAG(space, n_restarts=2, random_state=0)
    run(restarted, two_basins)
    assert restarted.history.best_params["x"] < -0.9
    assert restarted.history.best_value < local.history.best_value


def test_restarts_where_the_gradient_vanishes_at_once():
    def plateau(params):
        x = params["x"]
        flat = 1 / (1 + np.exp(-20 * (x - 0.3)))
        return 1 + flat, {"x": 20 * flat * (1 - flat)}

    optimizer = HOAG({"x": Real(0.0, 2.0)}, random_state=0)
    run(optimizer, plateau)
    assert optimizer.history.best_value < 1.1


def test_same_seed_same_run():
    runs = [
        [
            t.params
            for t in run(
                HOAG({"x": Real(-1.0, 3.0)}, n_restarts=2, random_state=0), two_basins
            )
        ]
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_coordinates_without_a_gradient_stay():
    space = {**SPACE, "kind": Categorical(["a", "b", "c"]), "n": Integer(1, 9)}
    asked = run(HOAG(space), bowl)
    assert {t.params["kind"] for t in asked} == {"b"}
    assert {t.params["n"] for t in asked} == {5}


def test_points_to_evaluate_come_first_and_the_best_is_the_start():
    given = [{"x": 7.0, "y": 5.0}, {"x": 1.2, "y": -2.1}]
    asked = run(HOAG(SPACE, points_to_evaluate=given), bowl)
    assert [t.params for t in asked[:2]] == [pytest.approx(p) for p in given]
    assert abs(asked[2].params["x"] - 1.2) < 2


def test_pending_trials_give_other_points():
    optimizer = HOAG(SPACE, random_state=0)
    trials = [optimizer.ask() for _ in range(3)]
    assert len({t.params["x"] for t in trials}) == 3
    for trial in trials:
        optimizer.tell(trial, *bowl(trial.params))
    run(optimizer, bowl)
    assert optimizer.history.best_value < 1 + 2e-3


def test_failed_trials_shrink_the_step():
    def walled(params):
        if params["x"] < 0.5:
            raise ZeroDivisionError
        return bowl(params)

    optimizer = HOAG(SPACE)
    for _ in range(40):
        try:
            trial = optimizer.ask()
        except Converged:
            break
        try:
            optimizer.tell(trial, *walled(trial.params))
        except ZeroDivisionError as error:
            optimizer.tell(trial, error=error)
    assert optimizer.history.best_value < 1.05


def test_first_trial_failed():
    optimizer = HOAG(SPACE, random_state=0)
    optimizer.tell(optimizer.ask(), error="no")
    run(optimizer, bowl)
    assert optimizer.history.best_value < 1 + 2e-3


def test_no_gradient_at_all():
    optimizer = HOAG(SPACE)
    optimizer.tell(optimizer.ask(), 1.0)
    with pytest.raises(ValueError, match="HOAG needs gradients"):
        optimizer.ask()


@pytest.mark.parametrize("size", [1e37, np.inf])
def test_exploding_gradients_are_refused(size):
    """See https://github.com/QB3/sparse-ho/issues/122 (case 83)."""

    def explosive(params):
        value, gradient = bowl(params)
        if params["x"] < 1.5:
            gradient = dict.fromkeys(gradient, size)
        return value, gradient

    optimizer = HOAG(SPACE)
    with pytest.warns(UserWarning, match="refused, the last good point kept"):
        asked = run(optimizer, explosive)
    assert all(np.isfinite(list(t.params.values())).all() for t in asked)
    assert optimizer.history.best_value < 1.6


class WeightedLasso(GroupRidge):
    """Lasso with one strength per feature; only its inner problem is needed."""


class WeightedLassoProblem(GroupRidgeProblem):
    def penalty(self, estimator):
        ridge = super().penalty(estimator)
        return Penalty(0.0, ridge.l2, d_l1=ridge.d_l2)


def test_weighted_lasso_on_a_wide_sparse_set():
    """See https://github.com/QB3/sparse-ho/issues/122 (case 83)."""
    register_inner_problem(WeightedLasso, WeightedLassoProblem)
    rng = np.random.default_rng(0)
    n, p = 45, 60
    X = sparse.csr_array(rng.random((n, p)) * (rng.random((n, p)) < 0.2))
    y = X[:, :5].sum(axis=1) + 0.1 * rng.standard_normal(n)
    names = [f"alpha__{k}" for k in range(p)]
    fold = FoldHypergradient(
        WeightedLasso(groups=np.arange(p)),
        X,
        y,
        np.arange(30),
        np.arange(30, n),
        names=names,
        scoring="neg_mean_squared_error",
    )
    optimizer = HOAG({name: Real(1e-6, 1e3, log=True) for name in names})
    losses, warm = [], None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(30):
            try:
                trial = optimizer.ask()
            except Converged:
                break
            result = fold(trial.params, tolerance=trial.tolerance, warm_start=warm)
            warm = result.warm_start
            losses.append(result.loss)
            assert np.isfinite(warm["w"]).all()
            optimizer.tell(trial, result.loss, result.gradient)
    assert np.isfinite(losses).all()
    assert min(losses) < 0.6 * losses[0]
