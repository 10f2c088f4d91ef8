# SPDX-License-Identifier: BSD-3-Clause
"""Acquisition functions: closed forms, tails, derivatives."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from accsmbo.acquisition import (
    ExpectedImprovement,
    LogExpectedImprovement,
    LowerConfidenceBound,
    ProbabilityOfImprovement,
)
from accsmbo.acquisition._normal import DIRECT, SERIES, log_h
from accsmbo.surrogates import GaussianProcess
from accsmbo.testing import check_gradient

FUNCTIONS = [
    ExpectedImprovement(),
    ExpectedImprovement(0.1),
    LogExpectedImprovement(),
    LogExpectedImprovement(0.1),
    ProbabilityOfImprovement(0.05),
    LowerConfidenceBound(1.5),
]
MEAN = np.array([-0.5, 0.0, 0.3, 2.0])
STD = np.array([0.2, 1.0, 0.4, 0.1])


def test_expected_improvement_is_the_integral():
    best, mean, std = 0.2, 0.3, 0.4
    expected, _ = quad(
        lambda f: max(best - f, 0.0) * norm.pdf(f, mean, std), mean - 4, best
    )
    value = ExpectedImprovement().value(np.array([mean]), np.array([std]), best)
    assert value[0] == pytest.approx(expected, rel=1e-8)


def test_log_expected_improvement_is_its_logarithm():
    ei = ExpectedImprovement().value(MEAN, STD, 0.1)
    log_ei = LogExpectedImprovement().value(MEAN, STD, 0.1)
    np.testing.assert_allclose(np.exp(log_ei), ei, rtol=1e-10)


def test_probability_of_improvement_is_the_normal_one():
    value = ProbabilityOfImprovement().value(MEAN, STD, 0.1)
    np.testing.assert_allclose(value, norm.logcdf((0.1 - MEAN) / STD), rtol=1e-10)


@pytest.mark.parametrize("z", [-30.0, -99.0, -101.0, -1e4, -1e8])
def test_log_h_in_the_tail_agrees_with_its_series(z):
    # h(z) = phi(z)/z^2 (1 - 3/z^2 + 15/z^4 - ...), error below the first omitted term
    w = z**-2.0
    series = norm.logpdf(z) + np.log(w) + np.log1p(-3 * w + 15 * w**2 - 105 * w**3)
    tolerance = max(945 * w**4 * 2, 1e-11 * abs(series), 1e-12)
    assert log_h(np.array([z]))[0] == pytest.approx(series, abs=tolerance)


@pytest.mark.parametrize("z", [-5.0, -2.0, -1.0, -0.9, 0.0, 3.0, 40.0])
def test_log_h_near_the_incumbent_is_the_definition(z):
    expected = np.log(norm.pdf(z) + z * norm.cdf(z))
    assert log_h(np.array([z]))[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("edge", [DIRECT, SERIES])
def test_log_h_is_continuous_where_its_form_changes(edge):
    z = np.array([edge - 1e-9, edge + 1e-9])
    below, above = log_h(z)
    assert above - below == pytest.approx(2e-9 * max(1.5, -edge), abs=1e-9)


def test_far_from_the_incumbent_all_is_finite():
    mean, std = np.array([1e300, 1.0, 1e5]), np.array([1.0, 0.0, 1e-8])
    for function in FUNCTIONS[:5]:
        for part in function.partials(mean, std, 0.0):
            assert np.isfinite(part).all(), function


@pytest.mark.parametrize("function", FUNCTIONS, ids=repr)
def test_partial_derivatives(function):
    best = 0.1
    _, by_mean, by_std = function.partials(MEAN, STD, best)
    check_gradient(
        lambda m: function.value(m, STD, best).sum(), lambda _: by_mean, MEAN
    )
    check_gradient(
        lambda s: function.value(MEAN, s, best).sum(),
        lambda _: by_std,
        STD,
        step=1e-6,
        rtol=1e-4,
    )


@pytest.mark.parametrize(
    "function", [*FUNCTIONS, LogExpectedImprovement(augmented=True)], ids=repr
)
@pytest.mark.parametrize("warp", [False, True])
def test_gradient_through_a_surrogate(function, warp):
    rng = np.random.default_rng(0)
    U = rng.random((20, 3))
    U[:, 2] = (rng.integers(2, size=20) + 0.5) / 2
    y = np.sin(5 * U[:, 0]) + U[:, 1] ** 2 + U[:, 2]
    gp = GaussianProcess(warp=warp).fit(U, y, categorical=[False, False, True])
    best = float(y.min())
    u = np.array([0.2, 0.9])

    def along(x):
        point = np.append(x, 0.25)[None, :]
        return function.evaluate(gp, point, best)[0]

    def gradient(x):
        point = np.append(x, 0.25)[None, :]
        value, by_u = function.evaluate_with_gradient(gp, point, best)
        assert value[0] == pytest.approx(along(x))
        assert by_u[0, 2] == 0.0
        return by_u[0, :2]

    check_gradient(along, gradient, u, rtol=1e-4)


def test_augmented_discount_is_huang_s_factor():
    class Certain:
        noise_ = 0.3

        def predict(self, U):
            return MEAN, STD

    U = np.zeros((4, 1))
    plain = LogExpectedImprovement().evaluate(Certain(), U, 0.1)
    discounted = LogExpectedImprovement(augmented=True).evaluate(Certain(), U, 0.1)
    factor = 1.0 - 0.3 / np.sqrt(STD**2 + 0.09)
    np.testing.assert_allclose(discounted - plain, np.log(factor), rtol=1e-10)


def test_augmented_without_noise_is_plain():
    class Exact:
        def predict(self, U):
            return MEAN, STD

    U = np.zeros((4, 1))
    values = [
        LogExpectedImprovement(augmented=flag).evaluate(Exact(), U, 0.1)
        for flag in (False, True)
    ]
    np.testing.assert_array_equal(*values)
