# SPDX-License-Identifier: BSD-3-Clause
"""Penalised likelihood: gradient against differences, value against its definition."""

import numpy as np
import pytest

from accsmbo.surrogates import RBF, Matern32, Matern52, MaternSum, Priors
from accsmbo.surrogates._kernels import scaled_distance
from accsmbo.surrogates._likelihood import Layout, penalised_likelihood
from accsmbo.testing import check_gradient

CATEGORICAL = np.array([False, False, True])


def data(n=18):
    rng = np.random.default_rng(0)
    U = rng.random((n, 3))
    U[:, 2] = (rng.integers(3, size=n) + 0.5) / 3
    y = np.sin(5 * U[:, 0]) + U[:, 2] + 0.1 * rng.standard_normal(n)
    return U, (y - y.mean()) / y.std(), 0.1 * rng.random(n)


@pytest.mark.parametrize("kernel", [Matern52(), Matern32(), RBF(), MaternSum()])
@pytest.mark.parametrize("warped", [[], [0, 1]])
@pytest.mark.parametrize("known_noise", [False, True])
def test_gradient(kernel, warped, known_noise):
    U, y, N = data()
    layout = Layout(CATEGORICAL, np.array(warped, np.intp), known_noise)
    priors = layout.priors(Priors())
    rng = np.random.default_rng(1)
    theta = np.array([p.mean for p in priors]) + 0.3 * rng.standard_normal(len(priors))

    def nll(x):
        N_used = N if known_noise else np.zeros_like(N)
        return penalised_likelihood(x, kernel, layout, priors, U, y, N_used, 1.0)

    check_gradient(lambda x: nll(x)[0], lambda x: nll(x)[1], theta)


def test_value_is_the_definition():
    U, y, _ = data()
    layout = Layout(CATEGORICAL, np.zeros(0, np.intp), False)
    priors = layout.priors(Priors())
    theta = np.array([0.1, -0.4, 0.2, -3.0])
    nll, _ = penalised_likelihood(
        theta, Matern52(), layout, priors, U, y, np.zeros(len(y)), 1.0
    )
    s = scaled_distance(U, U, np.exp(theta[:3]), CATEGORICAL)
    R = Matern52().value(s) + 1.0 + np.exp(theta[3]) * np.eye(len(y))
    q = y @ np.linalg.solve(R, y) + 2.0
    shift = [(t - p.mean) / p.sd for t, p in zip(theta, priors, strict=True)]
    expected = (len(y) + 2) / 2 * np.log(q) + 0.5 * np.linalg.slogdet(R)[1]
    assert nll == pytest.approx(expected + 0.5 * np.sum(np.square(shift)), rel=1e-12)


def test_layout_unpacks_in_its_own_order():
    layout = Layout(CATEGORICAL, np.array([0, 1], np.intp), True)
    hyper = layout.unpack(np.log([1.0, 2.0, 3.0, 0.5, 4.0, 5.0, 6.0, 7.0, 8.0]))
    np.testing.assert_allclose(hyper.length_scales, [1.0, 2.0, 3.0])
    assert hyper.noise == pytest.approx(0.5)
    np.testing.assert_allclose(hyper.warp_a, [4.0, 5.0, 1.0])
    np.testing.assert_allclose(hyper.warp_b, [6.0, 7.0, 1.0])
    assert hyper.noise_factor == pytest.approx(8.0)
