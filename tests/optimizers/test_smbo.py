# SPDX-License-Identifier: BSD-3-Clause
"""SMBO: finds minima, keeps the contract, survives failures, cases from practice."""

import pickle
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from accsmbo.acquisition import LowerConfidenceBound
from accsmbo.exceptions import SpaceExhausted, SurrogateFailedWarning
from accsmbo.optimizers import SMBO, InitialDesign
from accsmbo.optimizers._smbo import MAX_GP_POINTS, _effort, wants_forest
from accsmbo.optimizers._views import VIEWS, turn
from accsmbo.space import Categorical, Integer, Real
from accsmbo.surrogates import GaussianProcess, RandomForestSurrogate
from accsmbo.testing import check_optimizer

SPACE = {"x": Real(-5.0, 10.0), "y": Real(0.0, 15.0)}
MIXED = {**SPACE, "k": Categorical(["a", "b", "c"]), "n": Integer(1, 64, log=True)}


def branin(params):
    x, y = params["x"], params["y"]
    bowl = (y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6) ** 2
    return float(bowl + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10)


def mixed(params):
    extra = {"a": 1.0, "b": 0.0, "c": 3.0}[params["k"]]
    return branin(params) + extra + 0.2 * (np.log2(params["n"]) - 3) ** 2


def run(optimizer, function, n):
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, function(trial.params))
    return optimizer


@pytest.mark.parametrize(
    "optimizer",
    [SMBO(), SMBO(surrogate=RandomForestSurrogate(5))],
    ids=["default", "forest"],
)
def test_contract(optimizer):
    check_optimizer(optimizer)


def test_branin_is_solved():
    found = run(SMBO(SPACE, random_state=0), branin, 35)
    assert found.history.best_value < 0.3979 + 0.02


def test_mixed_space_is_solved():
    found = run(SMBO(MIXED, random_state=1), mixed, 45)
    assert found.history.best_value < 0.3979 + 0.3
    assert found.history.best_params["k"] == "b"


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_losses_of_any_magnitude(scale):
    found = run(SMBO(SPACE, random_state=0), lambda p: scale * branin(p) / 400, 20)
    assert found.history.best_value < scale * 3.0 / 400
    assert found.n_surrogate_failures_ == 0


def test_infinite_loss_is_a_failed_trial_for_the_model():
    def cliff(params):
        return np.inf if params["x"] > 5 else branin(params)

    found = run(SMBO(SPACE, random_state=0), cliff, 25)
    assert found.n_surrogate_failures_ == 0
    late = [t.params["x"] for t in found.history.trials[12:]]
    assert np.mean(np.array(late) > 5) < 0.5


def test_constructor_only_stores():
    surrogate, acquisition = GaussianProcess(), LowerConfidenceBound()
    design = InitialDesign(3)
    optimizer = SMBO(
        SPACE, surrogate=surrogate, acquisition=acquisition, initial_design=design
    )
    assert optimizer.surrogate is surrogate
    assert optimizer.acquisition is acquisition
    assert optimizer.initial_design is design
    assert clone(optimizer).get_params().keys() == optimizer.get_params().keys()
    run(optimizer, branin, 6)
    assert not hasattr(surrogate, "hyperparameters_")


def test_given_points_come_first_and_count_as_design():
    given = [{"x": 1.0, "y": 2.0}, {"x": -1.0, "y": 3.0}]
    optimizer = SMBO(SPACE, points_to_evaluate=given, random_state=0)
    asked = [optimizer.ask().params for _ in range(4)]
    for params, expected in zip(asked[:2], given, strict=True):
        assert params == pytest.approx(expected)
    assert asked[2] == {"x": 2.5, "y": 7.5}


def test_pending_points_are_spread_out():
    optimizer = run(SMBO(SPACE, random_state=0), branin, 15)
    units = np.array([optimizer.ask().unit for _ in range(6)])
    distance = np.sqrt(((units[:, None] - units[None]) ** 2).sum(-1))
    assert distance[np.triu_indices(6, 1)].min() >= 0.02


def test_noisy_loss_with_known_noise_does_not_chase_luck():
    rng = np.random.default_rng(0)
    optimizer = SMBO({"x": Real(-1.0, 1.0)}, random_state=0)
    for _ in range(30):
        trial = optimizer.ask()
        value = trial.params["x"] ** 2 + 0.1 * rng.standard_normal()
        optimizer.tell(trial, value, noise=0.1)
    late = np.array([t.params["x"] for t in optimizer.history.trials[15:]])
    assert np.median(np.abs(late)) < 0.3


def test_the_loss_to_improve_on_is_one_without_noise():
    """A lucky noisy loss is not the incumbent."""
    optimizer = SMBO({"x": Real(0.0, 1.0)}, random_state=0)
    for value in (1.0, 0.5, -3.0, 0.7, 0.8):
        noise = 2.0 if value == -3.0 else None
        optimizer.tell(optimizer.ask(), value, noise=noise)
    observations = optimizer.observations()
    best = optimizer._posterior(observations)[1]
    rows, t, _ = VIEWS[turn(observations.n_asked)].select(observations.y, 1)
    assert best == t[rows == 1]


def test_forest_is_the_default_of_mostly_categorical_spaces():
    letters = Categorical(["a", "b", "c"])
    many = {f"c{i}": letters for i in range(9)}
    few = {f"c{i}": letters for i in range(4)}
    for space, kind in (
        ({**many, "x": Real(0, 1)}, RandomForestSurrogate),
        ({**few, "x": Real(0, 1)}, GaussianProcess),
        ({**many, **{f"x{i}": Real(0, 1) for i in range(9)}}, GaussianProcess),
    ):
        optimizer = run(SMBO(space, random_state=0), lambda p: float(len(str(p))), 5)
        assert all(isinstance(m, kind) for m in optimizer._models.values())
    subspace = SMBO({"x": Real(0, 1)}, random_state=0).observations(0).subspace
    assert not wants_forest(subspace, MAX_GP_POINTS)
    assert wants_forest(subspace, MAX_GP_POINTS + 1)


def test_fewer_candidates_where_each_costs_more():
    assert _effort(40) == {"n_random": 400, "n_local": 200, "n_refined": 4}
    assert _effort(2000) == {"n_random": 100, "n_local": 50, "n_refined": 2}


def test_a_run_goes_on_the_same_after_pickling():
    optimizer = run(SMBO(MIXED, random_state=0), mixed, 17)
    copy = pickle.loads(pickle.dumps(optimizer))
    for one in (optimizer, copy):
        run(one, mixed, 4)
    first, second = ([t.params for t in o.history.trials] for o in (optimizer, copy))
    assert first == second


class Broken(GaussianProcess):
    """Fails whenever it is fitted."""

    def fit(self, U, y, *, categorical=None, noise=None):
        raise np.linalg.LinAlgError("not today")


def test_surrogate_failure_falls_back_and_is_said_once():
    """See https://github.com/scikit-optimize/scikit-optimize/issues/324 (case 35)."""
    optimizer = SMBO(SPACE, surrogate=Broken(), random_state=0)
    with pytest.warns(SurrogateFailedWarning, match="not today.*Said once") as caught:
        run(optimizer, branin, 10)
    assert len(caught) == 1
    assert optimizer.n_surrogate_failures_ == 6
    units = {t.unit.tobytes() for t in optimizer.history.trials}
    assert len(units) == 10


@pytest.mark.parametrize("values", [[1.0] * 14, [1.0] * 8 + [0.5, 2.0] * 3])
def test_flat_objective_is_explored_without_warnings(values):
    """See the reports of case 33.

    https://github.com/scikit-optimize/scikit-optimize/issues/994
    https://github.com/scikit-optimize/scikit-optimize/issues/947
    """
    optimizer = SMBO({"x": Real(0.0, 1.0)}, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in values:
            optimizer.tell(optimizer.ask(), value)
    points = np.sort([t.params["x"] for t in optimizer.history.trials])
    assert len(np.unique(points)) == 14
    assert np.diff(points).max() < 0.3


def test_finite_space_ends():
    """See the reports of case 37.

    https://github.com/automl/SMAC3/issues/718
    https://github.com/automl/SMAC3/issues/25
    """
    optimizer = SMBO({"a": [1, 2], "b": Categorical(["x", "y"])}, random_state=0)
    run(optimizer, lambda p: float(p["a"]), 4)
    with pytest.raises(SpaceExhausted):
        optimizer.ask()


def test_no_duplicates_while_points_are_left():
    """See https://github.com/scikit-learn/scikit-learn/issues/29794 (case 39)."""
    optimizer = run(
        SMBO({"n": Integer(1, 12)}, random_state=0), lambda p: (p["n"] - 4) ** 2, 12
    )
    assert sorted(t.params["n"] for t in optimizer.history.trials) == list(range(1, 13))


@pytest.mark.parametrize("batch", [1, 3, 7])
def test_initial_design_does_not_depend_on_the_batch(batch):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/1130 (case 61)."""

    def first(batch):
        optimizer = SMBO(MIXED, random_state=0)
        points = []
        while len(points) < 4:
            trials = [optimizer.ask() for _ in range(batch)]
            points += [t.params for t in trials]
            for trial in trials:
                optimizer.tell(trial, mixed(trial.params))
        return points[:4]

    assert first(batch) == first(4)


def test_time_to_propose_is_bounded():
    """See https://github.com/scikit-optimize/scikit-optimize/issues/968 (case 75)."""
    rng = np.random.default_rng(0)
    space = {f"x{j}": Real(0.0, 1.0) for j in range(4)}
    points = [{k: float(rng.random()) for k in space} for _ in range(500)]
    optimizer = SMBO(space, points_to_evaluate=points, random_state=0)
    run(optimizer, lambda p: sum((v - 0.3) ** 2 for v in p.values()), 501)
    start = time.process_time()
    run(optimizer, lambda p: sum((v - 0.3) ** 2 for v in p.values()), 3)
    assert (time.process_time() - start) / 3 < 1.0
