# SPDX-License-Identifier: BSD-3-Clause
"""AccSMBO: gradients, densities, both, neither; descents and turns."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm, uniform

from accsmbo import Categorical, Real, Space
from accsmbo.acquisition import MetaAcquisition
from accsmbo.exceptions import DensityWarning
from accsmbo.history import Trial
from accsmbo.metalearning import EmpiricalDensity, PriorDensity, SourceTask
from accsmbo.optimizers import SMBO, AccSMBO, InitialDesign, LocalFirst
from accsmbo.optimizers._local_first import LocalState
from accsmbo.surrogates import (
    DerivativeGaussianProcess,
    GaussianProcess,
    MultiKernelGaussianProcess,
)
from accsmbo.surrogates._joint_likelihood import JointData

PLANE = {"x": Real(-1.0, 1.0), "y": Real(-1.0, 1.0)}


def valley(p):
    x, y = p["x"] - 0.3, p["y"] + 0.4
    value = 1.0 + x**2 + 3 * y**2 + x * y
    return value, {"x": 2 * x + y, "y": 6 * y + x}


def run(optimizer, f, n, with_gradient=True):
    for _ in range(n):
        trial = optimizer.ask()
        value, gradient = f(trial.params)
        optimizer.tell(trial, value, gradient if with_gradient else None)
    return optimizer.history


def gap(history):
    return history.best_value - 1.0


def test_gradients_find_the_bottom_of_a_valley_at_once():
    assert gap(run(AccSMBO(PLANE, random_state=0), valley, 8)) < 1e-3


@pytest.mark.parametrize(
    "surrogate", [None, MultiKernelGaussianProcess(), GaussianProcess()]
)
@pytest.mark.parametrize("local_first", [LocalFirst(), None])
def test_every_surrogate_serves(surrogate, local_first):
    optimizer = AccSMBO(
        PLANE, surrogate=surrogate, local_first=local_first, random_state=0
    )
    assert gap(run(optimizer, valley, 15)) < 0.05


def test_without_gradient_and_density_it_is_smbo():
    runs = [
        run(cls(PLANE, random_state=3), valley, 9, with_gradient=False)
        for cls in (AccSMBO, SMBO)
    ]
    assert np.array_equal(runs[0].values, runs[1].values)


def test_one_point_is_the_design_where_it_has_a_full_gradient():
    optimizer = AccSMBO(PLANE, initial_design=InitialDesign(8), random_state=0)
    history = run(optimizer, valley, 2)
    assert history.trials[0].params == {"x": 0.0, "y": 0.0}
    direction = history.trials[1].unit - 0.5
    assert direction[0] > 0 > direction[1]


def test_partly_known_gradients_and_choices():
    space = PLANE | {"kind": Categorical(["a", "b", "c"])}

    def f(p):
        value, gradient = valley(p)
        return value + {"a": 0.2, "b": 0.0, "c": 0.5}[p["kind"]], {"x": gradient["x"]}

    history = run(AccSMBO(space, random_state=0), f, 25)
    assert gap(history) < 0.05
    assert history.best_params["kind"] == "b"


def test_a_second_minimum_is_found():
    def f(p):
        x = p["x"]
        value = 1 + 0.3 * (x + 0.5) ** 2 - 0.5 * np.exp(-(((x - 0.7) / 0.1) ** 2))
        bump = np.exp(-(((x - 0.7) / 0.1) ** 2))
        return value, {"x": 0.6 * (x + 0.5) + 0.5 * bump * 2 * (x - 0.7) / 0.01}

    history = run(AccSMBO({"x": Real(-1.0, 1.0)}, random_state=0), f, 14)
    assert history.best_params["x"] == pytest.approx(0.68, abs=0.05)


def test_wrong_signs_do_not_break_it():
    rng = np.random.default_rng(0)

    def f(p):
        value, gradient = valley(p)
        sign = -1.0 if rng.random() < 0.2 else 1.0
        return value, {k: sign * v for k, v in gradient.items()}

    assert gap(run(AccSMBO(PLANE, random_state=0), f, 25)) < 0.01


def test_failed_trials_do_not_count():
    optimizer = AccSMBO(PLANE, random_state=0)
    for i in range(12):
        trial = optimizer.ask()
        value, gradient = valley(trial.params)
        if i in (0, 3):
            optimizer.tell(trial, error="no")
        else:
            optimizer.tell(trial, value, gradient)
    assert gap(optimizer.history) < 0.01


def test_equal_and_zero_losses():
    def f(p):
        return 0.0, {"x": 0.0, "y": 0.0}

    assert len(run(AccSMBO(PLANE, random_state=0), f, 8)) == 8


def test_pending_points_are_not_asked_again():
    optimizer = AccSMBO(PLANE, random_state=0)
    run(optimizer, valley, 3)
    units = np.array([optimizer.ask().unit for _ in range(6)])
    distance = np.abs(units[:, None] - units[None]).max(axis=2) + np.eye(6)
    assert distance.min() > 1e-6


def test_seed_repeats():
    a, b = (run(AccSMBO(PLANE, random_state=1), valley, 10).values for _ in range(2))
    assert np.array_equal(a, b)


def tasks(n, at=0.9, runs=60):
    rng = np.random.default_rng(0)
    return [
        SourceTask(
            f"set {i}",
            [{"x": float(np.clip(rng.normal(at, 0.05), -1, 1)), "y": at}],
            n_evaluations=runs,
        )
        for i in range(n)
    ]


def test_mode_comes_first_only_with_many_good_tasks():
    firsts = {}
    for label, n, runs in (("many", 20, 60), ("few", 19, 60), ("poor", 20, 10)):
        density = EmpiricalDensity().fit_tasks(tasks(n, runs=runs), PLANE)
        optimizer = AccSMBO(PLANE, density=density, random_state=0)
        firsts[label] = optimizer.ask().params
    assert firsts["many"]["x"] == pytest.approx(0.9, abs=0.1)
    assert firsts["few"] == firsts["poor"] == {"x": 0.0, "y": 0.0}


def test_gradients_follow_the_mode():
    density = EmpiricalDensity().fit_tasks(tasks(20), PLANE)
    optimizer = AccSMBO(PLANE, density=density, random_state=0)
    assert gap(run(optimizer, valley, 10)) < 0.01
    assert optimizer.n_surrogate_failures_ == 0


def test_inner_solves_tighten():
    optimizer = AccSMBO(PLANE, initial_tolerance=1e-2, tolerance=2e-3, random_state=0)
    history = run(optimizer, valley, 4)
    assert np.allclose([t.tolerance for t in history.trials], [1e-2, 3e-3, 2e-3, 2e-3])


def test_density_moves_the_first_model_based_points():
    density = PriorDensity({"x": norm(0.9, 0.1)})
    units = [
        run(AccSMBO(PLANE, density=d, random_state=0), valley, 7, False).trials
        for d in (density, None)
    ]
    near = [sum(abs(t.params["x"] - 0.9) < 0.3 for t in trials[4:]) for trials in units]
    assert near[0] > near[1]


def test_too_few_tasks_are_ignored_with_a_warning():
    density = EmpiricalDensity().fit_tasks(tasks(2), PLANE)
    optimizer = AccSMBO(PLANE, density=density, random_state=0)
    with pytest.warns(DensityWarning, match="rests on 2 source tasks .* needs 1 more"):
        optimizer.ask()


def test_density_of_another_space_is_carried_over():
    density = EmpiricalDensity().fit_tasks(tasks(20), PLANE)
    space = {"step__x": Real(0.0, 2.0), "step__z": Real(0.0, 1.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = AccSMBO(space, density=density, random_state=0).ask()
    assert first.params["step__x"] == pytest.approx(0.9, abs=0.1)


def test_rate_zero_is_no_density():
    density = EmpiricalDensity().fit_tasks(tasks(20), PLANE)
    runs = [
        run(AccSMBO(PLANE, density=d, rate=r, random_state=0), valley, 8).values
        for d, r in ((density, 0.0), (None, 1.0))
    ]
    assert np.array_equal(*runs)


def test_wrong_rate():
    with pytest.raises(ValueError, match=r"rate must lie in \[0, 1\], got 2"):
        AccSMBO(PLANE, rate=2.0).ask()


def points(*rows):
    U = np.array(rows, dtype=float)
    return U, 1 + ((U - 0.5) ** 2).sum(axis=1), 2 * (U - 0.5)


def test_every_fifth_turn_is_the_models():
    local, state = LocalFirst(), LocalState()
    U, y, G = points([0.1, 0.1])
    turns = [local.propose(state, U, y, G) is None for _ in range(10)]
    assert np.flatnonzero(turns).tolist() == [4, 9]


def test_radius_grows_and_shrinks_by_results():
    local, state = LocalFirst(), LocalState()
    U, y, G = points([0.1, 0.1])
    step = local.propose(state, U, y, G)
    U, y, G = points([0.1, 0.1], step)
    local.propose(state, U, y, G)
    assert state.descent.radius == pytest.approx(0.32)
    last = state.descent.proposed[-1]
    U, G = np.vstack([U, last]), np.vstack([G, last])
    local.propose(state, U, np.append(y, 9.0), G)
    assert state.descent.radius == pytest.approx(0.32 * 0.35)
    assert state.descent.failures == 1


def test_no_gradient_no_step():
    U, y, _ = points([0.1, 0.1])
    nothing = np.full(U.shape, np.nan)
    assert LocalFirst().propose(LocalState(), U, y, nothing) is None


def test_a_new_descent_starts_apart_after_a_turn_of_the_model():
    local, state = LocalFirst(), LocalState()
    U, y, G = points([0.5, 0.5], [0.55, 0.5], [0.1, 0.9])
    y[0], G[0] = 0.5, 0.0
    assert local.propose(state, U, y, G) is None
    step = local.propose(state, U, y, G)
    assert state.descent.centre == 2
    assert np.abs(step - U[2]).max() <= 0.2


def after(n, **settings):
    """Return an optimizer with a density, after n trials without gradients."""
    density = PriorDensity({"x": uniform(0, 1)})
    space = {"x": Real(0.0, 1.0)}
    optimizer = AccSMBO(space, density=density, random_state=0, **settings)
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, trial.params["x"])
    return optimizer


def test_proposals_that_nobody_takes_do_not_make_the_density_fade():
    optimizer = after(6)
    before = optimizer._acquisition_of(optimizer.observations()).step
    optimizer.propose(10)
    assert optimizer._acquisition_of(optimizer.observations()).step == before
    optimizer.ask()
    optimizer.ask()
    assert optimizer._acquisition_of(optimizer.observations()).step == before + 2


def test_every_second_step_is_plain():
    kinds = [
        isinstance(optimizer._acquisition_of(optimizer.observations()), MetaAcquisition)
        for optimizer in map(after, range(4, 9))
    ]
    assert kinds == [True, False, True, False, True]
    # the same among the proposals of one epoch
    optimizer = after(4)
    epoch = [
        isinstance(
            optimizer._acquisition_of(optimizer.observations(), ahead), MetaAcquisition
        )
        for ahead in range(4)
    ]
    assert epoch == [True, False, True, False]


def test_four_candidates_of_one_epoch():
    """What racing chooses among: with and without gradients, and with a density."""
    for with_gradient in (True, False):
        density = EmpiricalDensity().fit_tasks(tasks(5), PLANE)
        optimizer = AccSMBO(PLANE, density=density, random_state=0)
        run(optimizer, valley, 6, with_gradient=with_gradient)
        units = np.array([trial.unit for trial in optimizer.propose(4)])
        assert units.shape == (4, 2)
        assert len(np.unique(units, axis=0)) == 4


def told_at_random(n, d):
    """Return an AccSMBO that was told so many random points."""
    optimizer = AccSMBO({f"x{j}": Real(-1.0, 2.0) for j in range(d)}, random_state=0)
    rng = np.random.default_rng(0)
    subspace = Space(optimizer.space).subspaces[0]
    for i, unit in enumerate(rng.random((n, d))):
        trial = Trial(i, subspace.to_params(unit), unit)
        optimizer.restore(trial)
        x = np.array(list(trial.params.values()))
        gradient = dict(zip(trial.params, 2 * x, strict=True))
        optimizer.tell(trial, 1.0 + float(x @ x), gradient)
    return optimizer


@pytest.mark.parametrize(("n", "d"), [(700, 2), (3000, 2), (700, 10)])
def test_no_matrix_of_the_model_grows_with_the_number_of_trials(monkeypatch, n, d):
    sizes, learnt = [], []
    factor, likelihood = JointData.covariance, JointData.penalised_likelihood

    def covariance(data, hyper):
        sizes.append(len(data.t))
        return factor(data, hyper)

    def penalised(data, *args):
        learnt.append(len(data.t))
        return likelihood(data, *args)

    monkeypatch.setattr(JointData, "covariance", covariance)
    monkeypatch.setattr(JointData, "penalised_likelihood", penalised)
    optimizer = told_at_random(n, d)
    for _ in range(2):
        optimizer.ask()
    assert max(sizes) <= 600 + len(optimizer.pending)
    assert max(learnt) <= 300


def test_a_large_history_keeps_the_best_points_and_their_gradients():
    optimizer = told_at_random(1000, 2)
    known = optimizer.observations()
    model = DerivativeGaussianProcess().fit(known.U, known.y, gradient=known.gradient)
    best = known.U[np.argsort(known.y)[:50]]
    mean, _, slope, _ = model.predict_gradient(best)
    assert np.allclose(mean, np.sort(known.y)[:50], atol=1e-2)
    assert np.allclose(slope, known.gradient[np.argsort(known.y)[:50]], atol=0.1)
    assert model.n_derivatives_ == 300
