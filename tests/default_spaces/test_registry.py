# SPDX-License-Identifier: BSD-3-Clause
"""Registered spaces: third parties, subclasses, arguments."""

import pytest
from sklearn import linear_model
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from accsmbo.default_spaces import default_space, register_default_space
from accsmbo.default_spaces._registry import _REGISTRY
from accsmbo.space import Real


class Mine(BaseEstimator):
    def __init__(self, rate=0.1, layers=2):
        self.rate = rate
        self.layers = layers


class Narrow(Mine):
    def __init__(self, rate=0.1):
        self.rate = rate


class ScaledRidge(linear_model.Ridge):
    pass


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(
        "accsmbo.default_spaces._registry._REGISTRY", registry := dict(_REGISTRY)
    )
    return registry


@pytest.mark.usefixtures("registry")
def test_third_parties_register_a_space():
    qualified_name = f"{Mine.__module__}.Mine"
    space = {"rate": Real(0.1, 1.0), "layers": [1, 2, 3]}
    register_default_space(qualified_name, space)
    assert default_space(Mine()) == space
    assert default_space(Narrow()) == {"rate": space["rate"]}
    register_default_space(
        qualified_name, lambda params: {"layers": [1, params["layers"]]}
    )
    assert default_space(make_pipeline(Mine(layers=7))) == {"mine__layers": [1, 7]}
    register_default_space(qualified_name, lambda params: [params])
    with pytest.raises(TypeError, match=r"default space of .*Mine must be a dict"):
        default_space(Mine())


def test_subclasses_have_the_space_of_their_base():
    assert default_space(ScaledRidge()) == default_space(linear_model.Ridge())


@pytest.mark.parametrize(
    ("qualified_name", "space", "error", "match"),
    [
        (Mine, {}, TypeError, r"qualified_name must be a string .*__module__"),
        ("Mine", {}, ValueError, r"qualified_name must be .*got 'Mine'. Put"),
        ("pack..Mine", {}, ValueError, r"qualified_name must be .*got 'pack..Mine'"),
        ("pack.Mine", [1], TypeError, r"default space of pack.Mine must be a dict"),
        ("pack.Mine", {"rate": 0.1}, TypeError, r"'rate' needs to be"),
    ],
)
def test_registration_checks_its_arguments(qualified_name, space, error, match):
    with pytest.raises(error, match=match):
        register_default_space(qualified_name, space)
