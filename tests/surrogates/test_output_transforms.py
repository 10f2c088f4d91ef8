# SPDX-License-Identifier: BSD-3-Clause
"""Output transforms: order, moments, derivatives, hard data."""

import numpy as np
import pytest
from scipy.stats import yeojohnson

from accsmbo.surrogates._output_transforms import (
    EXPONENTS,
    HalfRank,
    Standardize,
    YeoJohnson,
    _yeo_johnson,
)

TRANSFORMS = [Standardize(), HalfRank(), YeoJohnson()]


def losses(n=30, seed=0):
    return np.exp(2.0 * np.random.default_rng(seed).standard_normal(n))


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
@pytest.mark.parametrize("scale", [1.0, 1e300, 1e-300])
def test_order_and_moments(transform, scale):
    y = losses() / losses().max() * scale
    t, slope = transform.transform(y)
    np.testing.assert_array_equal(np.argsort(t), np.argsort(y))
    assert t.mean() == pytest.approx(0.0, abs=1e-12)
    assert t.std() == pytest.approx(1.0, rel=1e-12)
    assert np.all(slope > 0)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
@pytest.mark.parametrize("value", [0.0, 1.0, -1e300, 1e-300])
def test_equal_losses_become_zeros(transform, value):
    t, slope = transform.transform(np.full(7, value))
    np.testing.assert_array_equal(t, 0.0)
    np.testing.assert_array_equal(slope, 1.0)


@pytest.mark.parametrize("power", [-2.0, 0.0, 0.7, 2.0, 3.0])
def test_yeo_johnson_agrees_with_scipy(power):
    y = np.linspace(-3.0, 4.0, 15)
    ours = _yeo_johnson(y[None, :], np.array([[power]]))[0]
    np.testing.assert_allclose(ours, yeojohnson(y, lmbda=power), rtol=1e-12)


def test_yeo_johnson_finds_the_likelihood_maximum():
    y = losses(200)
    standard = (y - y.mean()) / y.std()
    t, _ = YeoJohnson().transform(y)
    power = float(np.clip(yeojohnson(standard)[1], EXPONENTS[0], EXPONENTS[-1]))
    expected = yeojohnson(standard, lmbda=power)
    expected = (expected - expected.mean()) / expected.std()
    np.testing.assert_allclose(t, expected, atol=0.15)


def test_half_rank_keeps_the_good_half_and_ranks_the_bad():
    y = np.array([1.0, 2.0, 4.0, 5.0, 1e6])
    t, _ = HalfRank().transform(y)
    good = np.diff(t[:3])
    assert good[1] == pytest.approx(2.0 * good[0])
    assert t[4] - t[3] < 3.0 * (t[2] - t[0])


def test_slopes_are_derivatives():
    y = losses(9)
    t, slope = YeoJohnson().transform(y)
    between = np.argsort(y)
    secants = np.diff(t[between]) / np.diff(y[between])
    low, high = slope[between][1:], slope[between][:-1]
    assert np.all(secants >= np.minimum(low, high) - 1e-12)
    assert np.all(secants <= np.maximum(low, high) + 1e-12)


def test_half_rank_squeezes_the_noise_of_bad_losses():
    """Above the median the slope is that between the neighbours, below it is one."""
    y = np.array([0.0, 1.0, 2.0, 3.0, 103.0, 203.0])
    t, slope = HalfRank().transform(y)
    assert slope[0] == pytest.approx((t[1] - t[0]) / 1.0)
    assert slope[5] == pytest.approx((t[5] - t[4]) / 100.0)
    # numpy.gradient weighs unequal neighbours by distance: 1 below, 100 above.
    below, above = (t[3] - t[2]) / 1.0, (t[4] - t[3]) / 100.0
    assert slope[3] == pytest.approx((100.0 * below + above) / 101.0)


def test_half_rank_gives_equal_losses_one_slope():
    slope = HalfRank().transform(np.array([0.0, 1.0, 2.0, 5.0, 5.0, 5.0]))[1]
    assert np.all(np.isfinite(slope))
    assert slope[3] == slope[4] == slope[5]
