# SPDX-License-Identifier: BSD-3-Clause
"""Hessian solves against dense linear algebra, direct and by conjugate gradients."""

import numpy as np
import pytest
from scipy import sparse

from accsmbo.hypergradients import _hessian
from accsmbo.hypergradients._design import Design
from accsmbo.hypergradients._hessian import Hessian
from accsmbo.hypergradients._losses import LogisticLoss, SoftmaxLoss, SquaredHingeLoss

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 4))
SIGNS = np.where(rng.random((30, 3)) < 0.5, -1.0, 1.0)


def cases():
    labels = np.eye(3)[rng.integers(3, size=30)]
    weight = rng.random(30) + 0.5
    yield LogisticLoss(SIGNS[:, 0], weight), (5,)
    yield SquaredHingeLoss(SIGNS, weight), (5, 3)
    yield SoftmaxLoss(labels, weight), (5, 3)


@pytest.mark.parametrize("size", [0, 300], ids=["cg", "direct"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("case", range(3))
def test_solve(monkeypatch, case, masked, size):
    monkeypatch.setattr(_hessian, "DIRECT_SIZE", size)
    monkeypatch.setattr(_hessian, "DIRECT_SUPPORT", size)
    loss, shape = list(cases())[case]
    design = Design(X, 1.0, np.float64)
    w = 0.1 * rng.standard_normal(shape)
    l2 = rng.random(shape) + 0.1
    mask = rng.random(shape) < 0.6 if masked else None
    hessian = Hessian(design, loss.curvature(design.dot(w)), l2, mask)
    rhs = rng.standard_normal(shape)
    x, image = hessian.solve(rhs, rtol=1e-12)
    expected = rhs if mask is None else np.where(mask, rhs, 0)
    np.testing.assert_allclose(hessian.product(x)[0], expected, atol=1e-9)
    np.testing.assert_allclose(image, design.dot(x))
    if mask is not None:
        assert not x[~mask].any()


def test_shift_of_unpenalised_intercepts_is_no_obstacle():
    loss, shape = list(cases())[2]
    design = Design(X, 1.0, np.float64)
    l2 = np.ones(shape)
    l2[-1] = 0.0
    hessian = Hessian(design, loss.curvature(design.dot(np.zeros(shape))), l2)
    rhs = rng.standard_normal(shape)
    rhs -= rhs.mean(axis=1, keepdims=True)  # as every gradient by softmax outputs
    x, _ = hessian.solve(rhs, rtol=1e-12)
    np.testing.assert_allclose(hessian.product(x)[0], rhs, atol=1e-9)


def test_singular_matrix_is_solved_in_the_least_squares_sense():
    twins = np.column_stack([X[:, 0], X[:, 0]])
    design = Design(twins, 0.0, np.float64)
    loss = LogisticLoss(SIGNS[:, 0], np.ones(30))
    hessian = Hessian(design, loss.curvature(np.zeros(30)), np.zeros(2))
    x, _ = hessian.solve(np.ones(2), rtol=1e-12)
    np.testing.assert_allclose(hessian.product(x)[0], np.ones(2), rtol=1e-8)


def test_warm_start_of_conjugate_gradients(monkeypatch):
    monkeypatch.setattr(_hessian, "DIRECT_SIZE", 0)
    monkeypatch.setattr(_hessian, "DIRECT_SUPPORT", 0)
    loss, shape = next(cases())
    design = Design(X, 1.0, np.float64)
    mask = np.array([True, True, False, True, True])
    hessian = Hessian(design, loss.curvature(np.zeros(30)), np.ones(shape), mask)
    rhs = rng.standard_normal(shape)
    x, _ = hessian.solve(rhs, rtol=1e-12)
    again, image = hessian.solve(rhs, rtol=1e-6, start=x)
    np.testing.assert_array_equal(again, x)
    np.testing.assert_allclose(image, design.dot(x))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_small_supports_are_factorised_whatever_the_size(
    monkeypatch, container, constant
):
    monkeypatch.setattr(_hessian, "DIRECT_SIZE", 0)
    design = Design(container(X), constant, np.float64)
    loss = LogisticLoss(SIGNS[:, 0], np.ones(30))
    mask = np.array([True, False, True, False, True])[: design.size]
    l2 = np.arange(1.0, design.size + 1)
    hessian = Hessian(design, loss.curvature(np.zeros(30)), l2, mask)
    assert hessian.direct
    x, _ = hessian.solve(np.ones(design.size), rtol=1e-12)
    np.testing.assert_allclose(hessian.product(x)[0], mask, atol=1e-12)


def test_empty_columns_without_a_penalty_are_no_obstacle_to_cg(monkeypatch):
    monkeypatch.setattr(_hessian, "DIRECT_SIZE", 0)
    design = Design(X * [1, 1, 1, 0], 0.0, np.float64)
    loss = LogisticLoss(SIGNS[:, 0], np.ones(30))
    hessian = Hessian(design, loss.curvature(np.zeros(30)), np.zeros(4))
    x, _ = hessian.solve(np.array([1.0, 1.0, 1.0, 0.0]), rtol=1e-10)
    np.testing.assert_allclose(hessian.product(x)[0], [1, 1, 1, 0], atol=1e-8)


def test_columns_of_different_scale_keep_the_whole_diagonal(monkeypatch):
    monkeypatch.setattr(_hessian, "DIRECT_SIZE", 0)
    design = Design(X * [1, 1, 1, 1e4], 0.0, np.float64)
    loss = LogisticLoss(SIGNS[:, 0], np.ones(30))
    hessian = Hessian(design, loss.curvature(np.zeros(30)), np.ones(4))
    x, _ = hessian.solve(np.ones(4), rtol=1e-10)
    np.testing.assert_allclose(hessian.product(x)[0], np.ones(4), rtol=1e-8)
