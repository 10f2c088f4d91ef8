# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of the hyperparameters: moments, gradients, clipping."""

import numpy as np
import pytest
from scipy.stats import loguniform

from accsmbo.ensembles._layers._distributions import LogUniform, SigmoidNormal

LOW, HIGH = np.array([1e-3, 1e-2]), np.array([1e3, 0.9])
STEP = 1e-6


def random_state_of(distribution, rng):
    """Return distributions somewhere inside the bounds, for three members."""
    xi = distribution.initial(3)
    if isinstance(distribution, LogUniform):
        width = xi[..., 1] - xi[..., 0]
        xi[..., 0] += rng.uniform(0.1, 0.4, size=width.shape) * width
        xi[..., 1] -= rng.uniform(0.1, 0.4, size=width.shape) * width
    else:
        xi += rng.normal(scale=0.3, size=xi.shape)
    return xi


def central_difference(function, values):
    gradient = np.empty_like(values)
    for index in np.ndindex(values.shape):
        kept = values[index]
        values[index] = kept + STEP
        above = function()
        values[index] = kept - STEP
        below = function()
        values[index] = kept
        gradient[index] = (above - below) / (2.0 * STEP)
    return gradient


@pytest.fixture(params=[LogUniform, SigmoidNormal])
def distribution(request):
    return request.param(LOW, HIGH)


def test_gradients_of_samples_and_entropy(distribution):
    rng = np.random.default_rng(0)
    xi = random_state_of(distribution, rng)
    log_lam, noise = distribution.sample(xi, 4, rng)
    R = rng.normal(size=log_lam.shape)
    numeric = central_difference(
        lambda: (distribution.log_values(xi, noise) * R).sum(), xi
    )
    analytic = distribution.backward(xi, noise, R)
    np.testing.assert_allclose(analytic, numeric, rtol=1e-6, atol=1e-8)
    numeric = central_difference(lambda: distribution.entropy(xi)[0], xi)
    analytic = distribution.entropy(xi)[1]
    np.testing.assert_allclose(analytic, numeric, rtol=1e-6, atol=1e-8)


def test_samples_and_means_stay_within_the_bounds(distribution):
    rng = np.random.default_rng(1)
    xi = random_state_of(distribution, rng)
    lam = np.exp(distribution.sample(xi, 1000, rng)[0])
    assert lam.shape == (3, 1000, 2)
    for values in (lam, distribution.mean(xi)[:, None]):
        assert (values >= LOW).all()
        assert (values <= HIGH).all()
    ranges = distribution.ranges(xi)
    assert (ranges[..., 0] < distribution.mean(xi)).all()
    assert (distribution.mean(xi) < ranges[..., 1]).all()


def test_log_uniform_equals_scipy():
    distribution = LogUniform(LOW, HIGH)
    xi = random_state_of(distribution, np.random.default_rng(2))
    frozen = loguniform(*np.exp(xi).transpose(2, 0, 1))
    np.testing.assert_allclose(distribution.mean(xi), frozen.mean(), rtol=1e-12)
    entropies = [loguniform(*np.exp(pair)).entropy() for pair in xi.reshape(-1, 2)]
    np.testing.assert_allclose(distribution.entropy(xi)[0], sum(entropies), rtol=1e-9)
    log_lam, noise = distribution.sample(xi, 5, np.random.default_rng(3))
    expected = np.log(frozen.ppf(noise.swapaxes(0, 1))).swapaxes(0, 1)
    np.testing.assert_allclose(log_lam, expected, rtol=1e-9)


def test_sigmoid_normal_by_hand():
    """phi(0) is the middle of the range; at sigma = 1 the entropy is Gaussian."""
    distribution = SigmoidNormal(np.array([1.0]), np.array([3.0]))
    xi = np.zeros((1, 1, 2))
    np.testing.assert_allclose(distribution.mean(xi), [[2.0]])
    np.testing.assert_allclose(
        distribution.entropy(xi)[0], 0.5 * np.log(2.0 * np.pi * np.e)
    )
    start = distribution.mean(distribution.initial(2))
    np.testing.assert_allclose(start, np.sqrt(3.0), rtol=1e-12)


def test_log_uniform_starts_with_the_full_range():
    xi = LogUniform(LOW, HIGH).initial(2)
    np.testing.assert_allclose(np.exp(xi), [np.stack([LOW, HIGH], axis=-1)] * 2)


def test_clipping_keeps_the_bounds_and_a_least_width():
    distribution = LogUniform(LOW, HIGH)
    low, high = np.log(LOW), np.log(HIGH)
    xi = np.array(
        [
            [[low[0] - 1.0, high[0] + 1.0], [low[1] - 2.0, low[1] - 1.0]],
            [[1.0, 0.9], [high[1] + 1.0, high[1] + 2.0]],
        ]
    )
    distribution.clip(xi)
    np.testing.assert_allclose(xi[0, 0], [low[0], high[0]])
    np.testing.assert_allclose(xi[0, 1], [low[1], low[1] + 0.01])
    np.testing.assert_allclose(xi[1, 0], [0.945, 0.955])
    np.testing.assert_allclose(xi[1, 1], [high[1] - 0.01, high[1]])


def test_clipping_keeps_the_gaussian_where_the_sigmoid_is_not_flat():
    distribution = SigmoidNormal(LOW, HIGH)
    xi = np.array([[[100.0, 50.0], [-100.0, -50.0]]])
    distribution.clip(xi)
    np.testing.assert_array_equal(xi, [[[15.0, 2.0], [-15.0, -7.0]]])
