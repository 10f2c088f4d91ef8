# SPDX-License-Identifier: BSD-3-Clause
"""MetaAcquisition: its formula, its gradient, its fading."""

import numpy as np
import pytest

from accsmbo import Categorical, Real
from accsmbo.acquisition import (
    ExpectedImprovement,
    LogExpectedImprovement,
    LowerConfidenceBound,
    MetaAcquisition,
    ProbabilityOfImprovement,
)
from accsmbo.metalearning import EmpiricalDensity
from accsmbo.surrogates import GaussianProcess

SPACE = {"a": Real(0.0, 1.0), "b": Real(0.0, 1.0), "c": Categorical(["x", "y"])}
FUNCTIONS = {
    "ei": ExpectedImprovement(),
    "log ei": LogExpectedImprovement(),
    "pi": ProbabilityOfImprovement(),
    "lcb": LowerConfidenceBound(),
}


def setting():
    rng = np.random.default_rng(0)
    points = np.c_[rng.normal(0.3, 0.1, (12, 2)), np.full(12, 0.25)]
    density = EmpiricalDensity().fit(np.clip(points, 0, 1), SPACE)
    U = density.space_.subspaces[0].snap(rng.random((8, 3)))
    y = ((U[:, :2] - 0.6) ** 2).sum(axis=1)
    model = GaussianProcess().fit(U, y, categorical=[False, False, True])
    V = density.space_.subspaces[0].snap(rng.random((15, 3)))
    return density, model, V, float(y.min())


@pytest.mark.parametrize("form", ["mixture", "pibo"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradient_matches_central_differences(function, form):
    density, model, V, best = setting()
    meta = MetaAcquisition(function, density, form=form, step=1, rate=0.8)
    a, gradient = meta.evaluate_with_gradient(model, V, best)
    assert np.allclose(a, meta.evaluate(model, V, best))
    assert not gradient[:, 2].any()
    for j in range(2):
        e = np.eye(3)[j] * 1e-6
        up, down = (meta.evaluate(model, V + s * e, best) for s in (1, -1))
        numeric = (up - down) / 2e-6
        good = a > a.max() - 25
        assert np.allclose(gradient[good, j], numeric[good], rtol=1e-3, atol=1e-3)


def test_mixture_formula():
    density, model, V, best = setting()
    w = 0.7 * np.exp(-2 / 5)
    q = density.pdf(V) / density.peak()
    expected = ExpectedImprovement().evaluate(model, V, best) * (1 - w + w * q)
    for function in (ExpectedImprovement(), LogExpectedImprovement()):
        meta = MetaAcquisition(function, density, rate=0.7, step=2)
        assert np.allclose(np.exp(meta.evaluate(model, V, best)), expected)


def test_pibo_formula():
    density, model, V, best = setting()
    q = density.pdf(V) / density.peak()
    expected = ExpectedImprovement().evaluate(model, V, best) * q ** (10 / 4)
    meta = MetaAcquisition(
        ExpectedImprovement(), density, form="pibo", strength=10.0, step=3
    )
    assert np.allclose(np.exp(meta.evaluate(model, V, best)), expected)


@pytest.mark.parametrize("form", ["mixture", "pibo"])
def test_converges_to_the_plain_function(form):
    density, model, V, best = setting()
    plain = LogExpectedImprovement().evaluate(model, V, best)
    late = MetaAcquisition(LogExpectedImprovement(), density, form=form, step=10**5)
    assert np.allclose(late.evaluate(model, V, best), plain, atol=1e-3)
    off = MetaAcquisition(LogExpectedImprovement(), density, form=form, rate=0.0)
    assert np.array_equal(off.evaluate(model, V, best), plain)


def test_any_sign_of_function_prefers_the_dense():
    density, _, _, _ = setting()
    model = GaussianProcess().fit([[0.5, 0.5, 0.25]], [5.0], categorical=[0, 0, 1])
    V = np.array([[0.3, 0.3, 0.25], [0.7, 0.7, 0.25]])
    meta = MetaAcquisition(LowerConfidenceBound(), density)
    dense, sparse = meta.evaluate(model, V, 5.0)
    assert dense > sparse


def test_partials_are_those_of_the_plain_function():
    density, _, _, _ = setting()
    mean, std = np.array([0.1, 0.2]), np.array([1.0, 2.0])
    meta = MetaAcquisition(ExpectedImprovement(), density)
    plain = ExpectedImprovement().partials(mean, std, 0.0)
    assert np.array_equal(meta.partials(mean, std, 0.0), plain)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate": 1.5}, r"rate must lie in \[0, 1\], got 1.5"),
        ({"fade": 0.0}, "fade must be positive, got 0.0"),
        ({"form": "sum"}, "form must be 'mixture' or 'pibo', got 'sum'"),
    ],
)
def test_wrong_arguments(arguments, message):
    density, model, V, best = setting()
    with pytest.raises(ValueError, match=message):
        MetaAcquisition(ExpectedImprovement(), density, **arguments).evaluate(
            model, V, best
        )
