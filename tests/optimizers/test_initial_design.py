# SPDX-License-Identifier: BSD-3-Clause
"""InitialDesign: centre first, canonical, spread out."""

import numpy as np
import pytest

from accsmbo.optimizers import InitialDesign
from accsmbo.space import Categorical, Integer, Real, Space

SPEC = {
    "a": Real(0.0, 1.0),
    "b": Integer(1, 9),
    "c": Categorical(["x", "y", "z"]),
}


def design(n, spec=SPEC, *, centre=True, seed=0):
    subspace = Space(spec).subspaces[0]
    points = InitialDesign(n, centre=centre).points(
        subspace, np.random.default_rng(seed)
    )
    return subspace, points


def test_begins_with_the_centre_and_first_choices():
    subspace, points = design(4)
    assert subspace.to_params(points[0]) == {"a": 0.5, "b": 5, "c": "x"}
    assert points.shape == (4, 3)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("centre", [True, False])
def test_size_and_canonical_points(n, centre):
    subspace, points = design(n, centre=centre)
    assert points.shape == (n, 3)
    np.testing.assert_array_equal(subspace.snap(points), points)


def test_covers_the_cube_evenly():
    _, points = design(65, {"a": Real(0, 1), "b": Real(0, 1)})
    counts, _, _ = np.histogram2d(*points[1:].T, bins=4, range=[[0, 1], [0, 1]])
    np.testing.assert_array_equal(counts, 4)


def test_same_generator_same_design_other_seed_other_design():
    np.testing.assert_array_equal(design(5)[1], design(5)[1])
    assert not np.array_equal(design(5)[1], design(5, seed=1)[1])


def test_space_of_constants():
    _, points = design(3, {"a": [7]})
    assert points.shape == (3, 0)


def test_size_is_checked():
    with pytest.raises(ValueError, match="n_points must be an integer >= 1, got 0"):
        design(0)
    with pytest.raises(TypeError, match="n_points must be an integer >= 1"):
        design(2.5)
