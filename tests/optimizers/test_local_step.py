# SPDX-License-Identifier: BSD-3-Clause
"""Local steps: minima of quadratics and cubics, boxes, brackets."""

import numpy as np
import pytest

from accsmbo.optimizers._local_step import (
    bfgs_hessian,
    cubic_minimum,
    cubic_step,
    quasi_newton_step,
)


def test_cubic_minimum_is_exact():
    def f(x):
        return x**3 - 2 * x**2 + x / 2 + 1

    def slope(x):
        return 3 * x**2 - 4 * x + 0.5

    expected = (4 + np.sqrt(10)) / 6  # the larger root of the slope
    for here, there in ((0.9, 1.5), (1.5, 0.9), (1.0, 1.1)):
        h = there - here
        found = cubic_minimum(h, f(there) - f(here), slope(here), slope(there))
        assert here + found == pytest.approx(expected)


def test_cubic_without_minimum():
    assert cubic_minimum(1.0, -1.0, -1.0, -1.0) is None  # a falling line


@pytest.mark.parametrize("i", [0, 1])
def test_bracketed_step_finds_the_minimum_of_a_parabola(i):
    x = np.array([0.2, 0.7])
    f, g = (x - 0.4) ** 2, 2 * (x - 0.4)
    step, gain = cubic_step(x, f, g, i, 1.0, 0.1)
    assert x[i] + step[0] == pytest.approx(0.4)
    assert gain == pytest.approx(f[i])


def test_first_step_goes_downhill_by_the_given_length():
    step, gain = cubic_step(np.array([0.5]), np.ones(1), np.array([3.0]), 0, 0.2, 0.1)
    assert step == pytest.approx(-0.1)
    assert gain == pytest.approx(0.15)
    flat, gain = cubic_step(np.array([0.5]), np.ones(1), np.zeros(1), 0, 0.2, 0.1)
    assert (flat[0], gain) == (0.0, 0.0)


def test_step_stays_in_radius_and_interval():
    x = np.array([0.05, 0.15])
    step, _ = cubic_step(x, x, np.ones(2), 0, 0.2, 0.1)
    assert step == pytest.approx(-0.05)
    step, _ = cubic_step(x + 0.5, x, np.ones(2), 0, 0.2, 0.1)
    assert step == pytest.approx(-0.2)


def test_bracket_is_never_left():
    x = np.array([0.2, 0.3])
    step, _ = cubic_step(x, np.array([1.0, 1.0]), np.array([-1e-9, 5.0]), 0, 1.0, 0.1)
    assert 0.2 < x[0] + step[0] < 0.3


def quadratic(d=3, seed=0):
    A = np.random.default_rng(seed).normal(size=(d, d))
    H = A @ A.T + np.eye(d)
    X = 0.5 + 0.1 * np.random.default_rng(seed + 1).normal(size=(2 * d + 1, d))
    return H, X, (X - 0.45) @ H


def test_hessian_meets_the_nearest_secant_equation():
    _, X, G = quadratic()
    B = bfgs_hessian(X - X[0], G - G[0], G[0], 0.1)
    nearest = 1 + np.argmin(np.linalg.norm(X[1:] - X[0], axis=1))
    assert np.allclose(B @ (X[nearest] - X[0]), G[nearest] - G[0])
    assert np.linalg.eigvalsh(B).min() > 0


def test_hessian_without_curvature():
    B = bfgs_hessian(np.zeros((1, 2)), np.zeros((1, 2)), np.array([3.0, 4.0]), 0.1)
    assert np.allclose(B, 50.0 * np.eye(2))


def test_quasi_newton_lowers_a_quadratic_in_the_box():
    H, X, G = quadratic()
    values = 0.5 * np.einsum("ij,ij->i", X - 0.45, G)
    step, gain = quasi_newton_step(X, G, 0, 0.2, 0.1)
    assert np.abs(step).max() <= 0.2
    after = X[0] + step - 0.45
    assert gain > 0
    assert 0.5 * after @ H @ after < values[0]


def test_bounds_hold():
    X, G = np.array([[0.0, 0.98]]), np.array([[1.0, -5.0]])
    step, _ = quasi_newton_step(X, G, 0, 0.2, 0.1)
    assert step[0] == 0.0
    assert step[1] == pytest.approx(0.02)
