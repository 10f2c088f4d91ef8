# SPDX-License-Identifier: BSD-3-Clause
"""GridSearch: order, resolution, repeats."""

import pytest
from sklearn.model_selection import ParameterGrid

from accsmbo.optimizers import GridSearch
from accsmbo.space import Integer, Real


def all_params(optimizer):
    return [optimizer.ask().params for _ in range(optimizer.n_points())]


def test_the_order_is_that_of_parameter_grid():
    spec = [{"b": [3, 1, 3], "a": ["x", "y"]}, {"c": [None, 2.5], "d": [7]}]
    assert all_params(GridSearch(spec)) == list(ParameterGrid(spec))


def test_continuous_dimensions_are_cut_into_points_with_both_ends():
    grid = GridSearch(
        {"C": Real(0.01, 100, log=True), "n": Integer(1, 2)}, resolution=3
    )
    found = all_params(grid)
    assert [p["C"] for p in found[::2]] == pytest.approx([0.01, 1.0, 100.0])
    assert [p["n"] for p in found[:2]] == [1, 2]


def test_a_resolution_of_one_is_the_centre():
    assert all_params(GridSearch({"x": Real(0, 4)}, resolution=1)) == [{"x": 2.0}]


def test_a_bad_resolution_is_refused():
    with pytest.raises(ValueError, match="resolution must be an integer >= 1, got 0"):
        GridSearch({"x": Real(0, 1)}, resolution=0).ask()
