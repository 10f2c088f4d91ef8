# SPDX-License-Identifier: BSD-3-Clause
"""Kernels: values against scikit-learn's, slopes against differences, distances."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

from accsmbo.surrogates import RBF, Matern32, Matern52, MaternSum
from accsmbo.surrogates._kernels import scaled_distance

KERNELS = [Matern52(), Matern32(), RBF(), MaternSum(), MaternSum(0.5, 2.0)]
NUMERIC = np.zeros(3, bool)


def points(n, seed=0):
    return np.random.default_rng(seed).random((n, 3))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Matern52(), sk.Matern([0.3, 1.0, 2.0], nu=2.5)),
        (Matern32(), sk.Matern([0.3, 1.0, 2.0], nu=1.5)),
        (RBF(), sk.RBF([0.3, 1.0, 2.0])),
    ],
)
def test_value_agrees_with_sklearn(ours, theirs):
    U, V = points(9), points(5, seed=1)
    s = scaled_distance(U, V, np.array([0.3, 1.0, 2.0]), NUMERIC)
    np.testing.assert_allclose(ours.value(s), theirs(U, V), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_slope_agrees_with_differences(kernel):
    s = np.array([1e-3, 0.1, 1.0, 7.0, 40.0])
    numerical = (kernel.value(s + 1e-6) - kernel.value(s - 1e-6)) / 2e-6
    k, slope = kernel.value_and_slope(s)
    np.testing.assert_allclose(slope, numerical, rtol=1e-4, atol=1e-9)
    np.testing.assert_array_equal(k, kernel.value(s))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_one_and_finite_slope_at_distance_zero(kernel):
    k, slope = kernel.value_and_slope(np.zeros(1))
    assert k[0] == pytest.approx(1.0, abs=1e-15)
    assert np.isfinite(slope[0])
    assert slope[0] < 0


def test_categories_count_one_where_they_differ():
    categorical = np.array([False, True])
    U = np.array([[0.0, 0.25], [0.5, 0.75]])
    s = scaled_distance(U, U, np.array([0.5, 2.0]), categorical)
    np.testing.assert_allclose(s, [[0.0, 1.25], [1.25, 0.0]])


def test_all_choices_are_equally_far():
    categorical = np.array([True])
    U = (np.arange(4)[:, None] + 0.5) / 4
    s = scaled_distance(U, U, np.ones(1), categorical)
    np.testing.assert_array_equal(s, 1.0 - np.eye(4))
