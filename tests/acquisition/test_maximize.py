# SPDX-License-Identifier: BSD-3-Clause
"""maximize_acquisition: the maximum is found, seen points never come back."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from accsmbo.acquisition import (
    AcquisitionFunction,
    LogExpectedImprovement,
    LowerConfidenceBound,
    maximize_acquisition,
)
from accsmbo.space import Categorical, Integer, Real, Space
from accsmbo.surrogates import GaussianProcess, RandomForestSurrogate


def subspace(spec):
    return Space(spec).subspaces[0]


MIXED = {
    "a": Real(0.0, 1.0),
    "b": Real(1e-3, 1e3, log=True),
    "c": Integer(1, 100, log=True),
    "d": Categorical(["x", "y", "z", "w"]),
}


def fitted(space, n=30, seed=0, surrogate=None):
    rng = np.random.default_rng(seed)
    U = space.snap(rng.random((n, space.n_dims)))
    y = ((U - 0.3) ** 2).sum(axis=1)
    model = surrogate or GaussianProcess()
    return model.fit(U, y, categorical=space.categorical), U, y


def test_beats_a_dense_search_on_a_continuous_space():
    space = subspace({"a": Real(0, 1), "b": Real(0, 1)})
    gp, U, y = fitted(space)
    acquisition, best = LogExpectedImprovement(), float(y.min())
    u = maximize_acquisition(
        acquisition, space, surrogate=gp, best=best, seen=U, starts=U[:3]
    )
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 60)] * 2), -1).reshape(-1, 2)
    start = grid[np.argmax(acquisition.evaluate(gp, grid, best))]
    polished = minimize(
        lambda x: -acquisition.evaluate(gp, x[None], best)[0],
        start,
        bounds=[(0, 1)] * 2,
    )
    assert acquisition.evaluate(gp, u, best)[0] >= -polished.fun - 0.02


def test_mixed_space_agrees_with_all_discrete_neighbours():
    space = subspace(MIXED)
    gp, U, y = fitted(space, 40)
    acquisition, best = LowerConfidenceBound(0.5), float(y.min())
    u = maximize_acquisition(
        acquisition, space, surrogate=gp, best=best, seen=U, starts=U[:5]
    )
    value = acquisition.evaluate(gp, u, best)[0]
    for c, d in itertools.product(space.grid_coordinates(2), space.grid_coordinates(3)):
        other = u.copy()
        other[0, 2:] = c, d
        assert acquisition.evaluate(gp, other, best)[0] <= value + 0.05


@pytest.mark.parametrize("surrogate", [GaussianProcess(), RandomForestSurrogate()])
def test_points_are_canonical_distinct_and_ordered(surrogate):
    space = subspace(MIXED)
    model, U, y = fitted(space, surrogate=surrogate)
    acquisition, best = LogExpectedImprovement(), float(y.min())
    C = maximize_acquisition(
        acquisition, space, surrogate=model, best=best, seen=U, starts=U, n_points=10
    )
    assert C.shape == (10, 4)
    np.testing.assert_array_equal(space.snap(C), C)
    assert len(np.unique(C, axis=0)) == 10
    assert np.all(np.diff(acquisition.evaluate(model, C, best)) <= 1e-9)


def test_finite_space_is_enumerated_and_exhausted():
    space = subspace({"a": [1, 2, 3], "b": Categorical(["x", "y"])})
    gp, U, y = fitted(space, 4)
    found = maximize_acquisition(
        LogExpectedImprovement(),
        space,
        surrogate=gp,
        best=float(y.min()),
        seen=U,
        n_points=10,
    )
    everything = np.vstack([np.unique(U, axis=0), found])
    assert len(everything) == len(np.unique(everything, axis=0)) == 6
    nothing = maximize_acquisition(
        LogExpectedImprovement(),
        space,
        surrogate=gp,
        best=0.0,
        seen=everything,
    )
    assert nothing.shape == (0, 2)


def test_seen_points_are_excluded():
    space = subspace({"a": Integer(1, 1500)})
    gp, _, y = fitted(space, 10)
    seen = space.grid_coordinates(0)[:, None]
    left = maximize_acquisition(
        LowerConfidenceBound(),
        space,
        surrogate=gp,
        best=float(y.min()),
        seen=np.delete(seen, 400, axis=0),
        n_random=12_000,
    )
    np.testing.assert_array_equal(left, seen[400:401])


def test_the_same_generator_gives_the_same_point():
    space = subspace(MIXED)
    gp, U, y = fitted(space)
    runs = [
        maximize_acquisition(
            LogExpectedImprovement(),
            space,
            surrogate=gp,
            best=float(y.min()),
            seen=U,
            starts=U[:2],
            rng=np.random.default_rng(5),
        )
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*runs)


def test_nan_of_an_acquisition_function_is_never_chosen():
    class Holes(AcquisitionFunction):
        def evaluate(self, surrogate, U, best):
            return np.where(U[:, 0] < 0.5, np.nan, -U[:, 0])

    space = subspace({"a": Real(0, 1)})
    u = maximize_acquisition(
        Holes(), space, surrogate=None, best=0.0, seen=np.zeros((0, 1)), n_refined=0
    )
    assert u[0, 0] >= 0.5


def test_many_choices_and_huge_integers():
    space = subspace(
        {"a": Categorical([str(i) for i in range(3000)]), "b": Integer(1, 10**7)}
    )
    gp, U, y = fitted(space, 20)
    u = maximize_acquisition(
        LogExpectedImprovement(),
        space,
        surrogate=gp,
        best=float(y.min()),
        seen=U,
        starts=U[:2],
    )
    np.testing.assert_array_equal(space.snap(u), u)
