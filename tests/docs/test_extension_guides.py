# SPDX-License-Identifier: BSD-3-Clause
"""The three examples of the extension guides keep the contracts that they explain."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from accsmbo import AccSMBOSearchCV, Real, minimize
from accsmbo.hypergradients import hypergradient
from accsmbo.optimizers import SMBO
from accsmbo.testing import check_inner_problem, check_optimizer, check_surrogate

FOLDER = Path(__file__).parents[2] / "docs" / "extend"


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def smooth_data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 20))
    return X, X @ np.sin(np.linspace(0, 3, 20)) + rng.standard_normal(60)


def test_the_surrogate_passes_and_drives_a_search():
    surrogate = load("quadratic_surrogate").QuadraticSurrogate()
    check_surrogate(surrogate)
    history = minimize(
        lambda p: (p["x"] - 0.3) ** 2,
        {"x": Real(-1, 2)},
        optimizer=SMBO(surrogate=surrogate),
        n_trials=10,
        random_state=0,
    )
    assert history.best_value < 1e-4


@pytest.mark.parametrize("weighted", [False, True])
def test_the_inner_problem_passes(weighted):
    module = load("smooth_ridge")
    X, y = smooth_data()
    weight = np.random.default_rng(1).random(60) if weighted else None
    check_inner_problem(
        module.SmoothRidgeProblem,
        module.SmoothRidge(alpha=2.0, ridge=0.5),
        X,
        y,
        sample_weight=weight,
    )


def test_the_model_is_searched_with_gradients():
    model = load("smooth_ridge").SmoothRidge()
    X, y = smooth_data()
    _, gradient = hypergradient(model, {"alpha": 1.0}, X, y, cv=3)
    assert np.isfinite(gradient["alpha"])
    search = AccSMBOSearchCV(
        model,
        {"alpha": Real(1e-3, 1e4, log=True)},
        n_iter=8,
        cv=3,
        random_state=0,
        solver="gradients",
    ).fit(X, y)
    assert all(e.gradient for e in search.history_.evaluations)
    plain = clone(search).set_params(solver="estimator").fit(X, y)
    np.testing.assert_allclose(search.best_score_, plain.best_score_, atol=1e-3)


def test_the_optimizer_passes_and_finds_a_minimum():
    LocalSearch = load("local_search").LocalSearch
    check_optimizer(LocalSearch())
    history = minimize(
        lambda p: (p["x"] - 0.3) ** 2,
        {"x": Real(-1, 2)},
        optimizer=LocalSearch(),
        n_trials=40,
        random_state=0,
    )
    assert history.best_value < 1e-3
