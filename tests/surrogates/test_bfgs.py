# SPDX-License-Identifier: BSD-3-Clause
"""Box-constrained BFGS: known minima, bounds, several starts at once."""

import numpy as np
from scipy.optimize import minimize, rosen, rosen_der

from accsmbo.surrogates._bfgs import minimize_bfgs

LOW, HIGH = np.zeros(2), np.ones(2)


def quadratic(x):
    centre = np.array([0.3, 0.7])
    scale = np.array([1.0, 50.0])
    return ((x - centre) ** 2 * scale).sum(1), 2.0 * (x - centre) * scale


def test_minimum_of_a_quadratic_from_several_starts():
    starts = np.array([[0.0, 0.0], [1.0, 0.2], [0.5, 0.5]])
    x, f = minimize_bfgs(
        quadratic, starts, LOW, HIGH, max_calls=40, max_step=0.5, tolerance=1e-12
    )
    np.testing.assert_allclose(x, np.tile([0.3, 0.7], (3, 1)), atol=1e-4)
    np.testing.assert_allclose(f, 0.0, atol=1e-7)


def test_minimum_on_a_bound_agrees_with_scipy():
    def function(x):
        values = np.array([rosen(row) for row in x])
        return values, np.array([rosen_der(row) for row in x])

    low, high = np.array([-2.0, -2.0]), np.array([0.5, 2.0])
    expected = minimize(
        rosen,
        [-1.0, 1.0],
        jac=rosen_der,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
    )
    x, f = minimize_bfgs(
        function,
        np.array([[-1.0, 1.0]]),
        low,
        high,
        max_calls=200,
        max_step=1.0,
        tolerance=1e-14,
    )
    np.testing.assert_allclose(x[0], expected.x, atol=1e-3)
    assert f[0] <= expected.fun + 1e-4


def test_never_worse_than_the_start_and_within_bounds():
    def rough(x):
        return np.sin(40 * x).sum(1), 40 * np.cos(40 * x)

    starts = np.random.default_rng(0).random((8, 2))
    before = rough(starts)[0]
    x, f = minimize_bfgs(rough, starts, LOW, HIGH, max_calls=5, max_step=0.2)
    assert np.all(f <= before)
    assert x.min() >= 0.0
    assert x.max() <= 1.0
    np.testing.assert_array_equal(f, rough(x)[0])


def test_infinite_values_are_not_accepted():
    def walled(x):
        values, gradient = quadratic(x)
        return np.where(x[:, 0] > 0.25, np.inf, values), gradient

    x, f = minimize_bfgs(
        walled, np.array([[0.1, 0.1]]), LOW, HIGH, max_calls=30, max_step=0.5
    )
    assert np.isfinite(f).all()
    assert x[0, 0] <= 0.25


def test_number_of_calls_is_bounded():
    calls = []

    def counted(x):
        calls.append(len(x))
        return quadratic(x)

    minimize_bfgs(counted, np.full((4, 2), 0.9), LOW, HIGH, max_calls=3, max_step=0.1)
    assert calls == [4, 4, 4]
