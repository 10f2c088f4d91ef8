# SPDX-License-Identifier: BSD-3-Clause
"""Space and Subspace: parsing, canonical points, both directions, messages."""

import json
import math
import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import ParameterGrid
from sklearn.tree import DecisionTreeClassifier

from accsmbo.space import Categorical, Integer, Real, Space

DIMENSIONS = [
    Real(-1.0, 2.0),
    Real(1e-4, 0.2, log=True),
    Real(-1e308, 1e308),
    Integer(-3, 5),
    Integer(1, 10**6, log=True),
    Categorical(["a", None, True, (1, 2)]),
    Categorical([30, 1, 4], ordered=True),
]


def only_dimension(spec):
    return Space({"x": spec}).subspaces[0].dimensions["x"]


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=repr)
def test_every_coordinate_decodes_inside_the_bounds_and_both_ends_are_reached(
    dimension,
):
    values = [dimension.from_unit(u) for u in np.linspace(0, 1, 2001)]
    if isinstance(dimension, Categorical):
        assert all(any(v is c for c in dimension.choices) for v in values)
        assert len({id(v) for v in values}) == dimension.n_levels
    else:
        assert min(values) == dimension.low
        assert max(values) == dimension.high


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=repr)
def test_the_unit_coordinate_is_canonical(dimension):
    u = np.linspace(0, 1, 501)
    snapped = dimension.snap(u)
    np.testing.assert_allclose(dimension.snap(snapped), snapped, rtol=0, atol=1e-15)
    for before, after in zip(u, snapped, strict=True):
        value = dimension.from_unit(before)
        assert dimension.to_unit(value) == pytest.approx(after, abs=1e-12)


@pytest.mark.parametrize("dimension", DIMENSIONS[:2], ids=repr)
def test_derivative_is_that_of_from_unit(dimension):
    for u in (0.1, 0.5, 0.9):
        value = dimension.from_unit(u)
        difference = dimension.from_unit(u + 1e-6) - dimension.from_unit(u - 1e-6)
        assert dimension.derivative(value) == pytest.approx(difference / 2e-6, rel=1e-6)


def test_derivative_through_a_distribution_is_one_over_its_density():
    normal = only_dimension(stats.norm(2.0, 3.0))
    value = normal.from_unit(0.7)
    difference = normal.from_unit(0.7 + 1e-6) - normal.from_unit(0.7 - 1e-6)
    assert normal.derivative(value) == pytest.approx(difference / 2e-6, rel=1e-6)


@pytest.mark.parametrize(
    ("distribution", "dimension"),
    [
        (stats.uniform(2, 3), Real(2, 5)),
        (stats.loguniform(1e-3, 10), Real(1e-3, 10, log=True)),
        (stats.loguniform(0.1, 1, scale=10), Real(1, 10, log=True)),
        (stats.randint(1, 4), Integer(1, 3)),
        (stats.randint(1, 4, loc=2), Integer(3, 5)),
    ],
)
def test_known_distributions_become_dimensions(distribution, dimension):
    assert only_dimension(distribution) == dimension


@pytest.mark.parametrize(
    "distribution",
    [
        stats.norm(1, 2),
        stats.truncnorm(-1, 2),
        stats.expon(scale=3),
        stats.loguniform(1, 10, loc=5),
        stats.poisson(3),
        stats.binom(5, 0.5),
    ],
    ids=lambda d: d.dist.name,
)
def test_other_distributions_are_searched_through_their_quantiles(distribution):
    dimension = only_dimension(distribution)
    u = (np.arange(4000) + 0.5) / 4000
    values = np.array([dimension.from_unit(x) for x in u])
    assert np.mean(values) == pytest.approx(distribution.mean(), rel=0.01)
    assert np.std(values) == pytest.approx(distribution.std(), rel=0.02)
    for value in values[::400].tolist():
        assert dimension.from_unit(dimension.to_unit(value)) == pytest.approx(value)


class OnlyRvs:
    """A distribution that can do nothing but be sampled."""

    def rvs(self, random_state=None):
        return random_state.choice(["a", "b", "c"])


def test_an_object_with_only_rvs_is_sampled():
    dimension = only_dimension(OnlyRvs())
    assert set(dimension.choices) == {"a", "b", "c"}
    assert all(type(choice) is str for choice in dimension.choices)


@pytest.mark.parametrize(
    "choices",
    [[2, 9], (2, 9), range(2, 10, 7), np.array([2, 9]), np.array([2, 9], dtype="i4")],
    ids=lambda c: type(c).__name__,
)
def test_a_sequence_is_choices_ordered_where_they_are_numbers(choices):
    dimension = only_dimension(choices)
    assert dimension.choices == (2, 9)
    assert all(type(choice) is int for choice in dimension.choices)
    assert not dimension.categorical


def test_a_pandas_series_is_choices():
    pandas = pytest.importorskip("pandas")
    assert only_dimension(pandas.Series([0.5, 2.0])).choices == (0.5, 2.0)
    assert only_dimension(pandas.Series(["x", "y"])).choices == ("x", "y")


def test_ordered_numbers_are_embedded_by_rank_and_enumerated_as_listed():
    dimension = only_dimension([100, 1, 10])
    assert dimension.values() == [100, 1, 10]
    assert [dimension.to_unit(v) for v in (1, 10, 100)] == pytest.approx(
        [1 / 6, 1 / 2, 5 / 6]
    )


def test_any_object_is_returned_as_it_is():
    objects = [None, True, 1, 1.0, "1", (1,), {"a": 1}, max, DecisionTreeClassifier()]
    objects.append(np.arange(3))
    dimension = only_dimension(objects)
    assert len(dimension.choices) == len(objects)
    for thing in objects:
        assert dimension.from_unit(dimension.to_unit(thing)) is thing


def test_plain_values_survive_json():
    space = {
        "i": np.array([1, 2]),
        "f": np.array([0.5], dtype=np.float32),
        "b": np.array([True, False]),
        "s": np.array(["x", "y"]),
        "r": Real(0, 1),
        "n": Integer(1, 3, log=True),
    }
    params = Space(space).subspaces[0].to_params([0.3] * 5)
    assert json.loads(json.dumps(params)) == params
    assert [type(v) for v in params.values()] == [bool, float, int, int, float, str]


def test_constants_stay_out_of_the_cube():
    space = Space({"a": Integer(1, 1), "b": Real(2, 2), "c": ["only"], "d": Real(0, 1)})
    subspace = space.subspaces[0]
    assert subspace.names == ("d",)
    assert subspace.to_params([0.25]) == {"a": 1, "b": 2.0, "c": "only", "d": 0.25}
    assert subspace.to_unit(subspace.to_params([0.25])).tolist() == [0.25]


def test_grid_is_that_of_scikit_learn():
    spec = [{"b": [3, 1], "a": ["x", "y", "x"]}, {"c": [None, 2.5]}]
    assert list(Space(spec).grid()) == list(ParameterGrid(spec))
    assert Space(spec).grid_size == len(ParameterGrid(spec)) == 8
    assert Space(spec).size == 6


def test_size_is_infinite_where_a_dimension_is_continuous():
    assert math.isinf(Space([{"a": [1, 2]}, {"b": Real(0, 1)}]).size)
    assert Space({"a": Integer(0, 9), "b": ["x", "y"]}).size == 20


def test_the_order_of_a_dict_does_not_matter():
    assert Space({"a": [1, 2], "b": [3, 4]}) == Space({"b": [3, 4], "a": [1, 2]})


def test_a_space_can_be_pickled():
    space = Space({"a": stats.norm(0, 1), "b": [1, None], "c": Real(1, 9, log=True)})
    restored = pickle.loads(pickle.dumps(space))
    u = [0.2, 0.9, 0.5]
    assert restored.subspaces[0].to_params(u) == space.subspaces[0].to_params(u)


def test_locate_finds_the_alternative_that_holds_the_params():
    space = Space([{"a": [1, 2]}, {"a": [3], "b": Real(0, 1)}])
    index, u = space.locate({"a": 3, "b": 0.5})
    assert index == 1
    assert u.tolist() == [0.5]


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ({}, ValueError, r"must name at least one parameter, got \{\}.*Add one"),
        ([], ValueError, r"must name at least one parameter, got \[\].*Add one"),
        ({"C": []}, ValueError, r"'C' need to be a non-empty sequence, got: \[\]"),
        (
            {"C": 1},
            TypeError,
            r"'C' needs to be a list or a numpy array, but got 1 \(of type int\).*"
            r"wrapped in a list with one element. Write \[1\]",
        ),
        ({"C": "rbf"}, TypeError, r"got 'rbf' \(of type str\).*Write \['rbf'\]"),
        ({"C": {1, 2}}, TypeError, r"got \{1, 2\} \(of type set\)"),
        ({"C": np.ones((2, 2))}, ValueError, "one-dimensional.*shape.*Flatten"),
        ({1: [2]}, TypeError, "names must be strings, got 1.*get_params"),
        ("C", TypeError, "must be a dict or a list of dicts.*got 'C'.*Write it as"),
        ([{"C": [1]}, 3], TypeError, "must be a dict or a list of dicts"),
    ],
)
def test_a_bad_space_says_what_is_wrong_and_how_to_mend_it(spec, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        Space(spec)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Real(2, 1), ValueError, r"low must not exceed high.*low=2.*Swap them"),
        (lambda: Integer(5, 2), ValueError, r"low must not exceed high.*Integer\(2, 5"),
        (lambda: Real(0, 1, log=True), ValueError, "low must be > 0 with log=True.*0"),
        (lambda: Integer(0, 4, log=True), ValueError, "low must be > 0 with log=True"),
        (lambda: Real("a", 1), TypeError, "low must be a real number, got 'a'"),
        (lambda: Real(0, np.inf), ValueError, "high must be finite, got inf"),
        (lambda: Real(np.nan, 1), ValueError, "low must be finite, got nan"),
        (lambda: Integer(0.5, 2), TypeError, "low must be an integer.*got 0.5"),
        (lambda: Integer(True, 2), TypeError, "low must be an integer.*got True"),
        (lambda: Categorical("abc"), TypeError, r"choices.*got 'abc'.*\['abc'\]"),
        (lambda: Categorical([]), ValueError, "choices must hold at least one"),
    ],
)
def test_a_bad_dimension_says_what_is_wrong_and_how_to_mend_it(build, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        build()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 1.0}, r"got none for \['kernel'\]. Add them"),
        ({"C": 1.0, "kernl": "rbf"}, "unknown name 'kernl'.*Did you mean 'kernel'"),
        ({"C": 99.0, "kernel": "rbf"}, r"params\['C'\] must be a value of Real.*99.0"),
        ({"C": 1.0, "kernel": "sigmoid"}, r"params\['kernel'\].*got 'sigmoid'.*Change"),
    ],
)
def test_params_outside_the_space_are_refused(params, message):
    space = Space({"C": Real(0.1, 10), "kernel": ["rbf", "poly"]})
    with pytest.raises(ValueError, match=f"(?s){message}"):
        space.locate(params)
