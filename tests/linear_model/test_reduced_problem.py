# SPDX-License-Identifier: BSD-3-Clause
"""The training problem in a small basis: starts, precision and products."""

import numpy as np
import pytest

from accsmbo.hypergradients._losses import LogisticLoss, TweedieLoss
from accsmbo.linear_model._reduced_problem import MANY_ROWS, ReducedProblem, _gram


def poisson(seed=0, n=60, k=4):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(k, n))
    y = rng.poisson(np.exp(0.3 * F.sum(axis=0))).astype(float)
    return problem(TweedieLoss(y, np.ones(n), 1.0), F)


def problem(loss, F):
    signs = np.ones(1)
    return ReducedProblem(loss, F, F[:, :9], [np.eye(len(F))], signs, outer)


def outer(f):
    return float((f**2).sum()), 2 * f


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_start_beyond_the_range_of_the_exponential_does_no_harm(dtype):
    reduced, x = poisson().with_dtype(dtype), np.zeros(1)
    near = reduced.solve(np.zeros(4), x, tolerance=1e-10)
    far = reduced.solve(np.full(4, 1e4), x, tolerance=1e-10)
    assert np.abs(near.c).max() > 0.1
    np.testing.assert_array_equal(far.c, near.c)


def test_single_precision_solves_the_same_problem():
    x = np.array([0.7])
    double = poisson().solve(np.zeros(4), x, tolerance=1e-12)
    single = poisson().with_dtype(np.float32).solve(np.zeros(4), x, tolerance=1e-7)
    np.testing.assert_allclose(single.c, double.c, atol=2e-3)  # root of the tolerance
    assert single.value == pytest.approx(double.value, rel=1e-5)
    np.testing.assert_allclose(single.slope, double.slope, rtol=5e-3)


@pytest.mark.parametrize("k", [1, MANY_ROWS, MANY_ROWS + 1])
@pytest.mark.parametrize("n", [3, 5000])
def test_the_gram_matrix_is_that_of_its_definition(k, n):
    rng = np.random.default_rng(k)
    F, weight = rng.normal(size=(k, n)), rng.random(n)
    expected = np.einsum("in,n,jn->ij", F, weight, F)
    np.testing.assert_allclose(_gram(F, weight), expected, atol=1e-10 * n)


def test_thinned_rows_keep_the_weight_of_all():
    rng = np.random.default_rng(0)
    labels = np.sign(rng.normal(size=1000))
    full = problem(LogisticLoss(labels, np.ones(1000)), rng.normal(size=(3, 1000)))
    thin = full.thinned(100)
    assert thin.F.shape == (3, 100)
    assert thin.loss.weight.sum() == pytest.approx(1000)
    assert full.thinned(900) is full
