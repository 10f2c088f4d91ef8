# SPDX-License-Identifier: BSD-3-Clause
"""The design operator against the matrix it stands for."""

import numpy as np
import pytest
from scipy import sparse

from accsmbo.hypergradients._design import Design, raw_outputs, raw_outputs_vjp

rng = np.random.default_rng(0)
X = rng.standard_normal((8, 5)) * (rng.random((8, 5)) < 0.5)
X[:, [1, 3]] = 0.0
X.setflags(write=False)


@pytest.mark.parametrize("constant", [0.0, 2.0])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("k", [None, 3])
def test_products(container, constant, k):
    design = Design(container(X), constant, np.float64)
    full = np.column_stack([X, np.full(8, constant)]) if constant else X
    shape = () if k is None else (k,)
    w = rng.standard_normal((full.shape[1], *shape))
    r = rng.standard_normal((8, *shape))
    reduced = design.reduce(w)
    np.testing.assert_allclose(design.dot(reduced), full @ design.expand(reduced))
    expected = full.T @ r
    np.testing.assert_allclose(design.expand(design.adjoint(r)), expected)
    np.testing.assert_allclose(
        design.expand(design.squared_adjoint(r)), (full**2).T @ r
    )
    squares = design.expand(design.column_squares())
    np.testing.assert_allclose(squares, (full**2).sum(axis=0))
    np.testing.assert_allclose(raw_outputs(w, container(X), constant), full @ w)
    np.testing.assert_allclose(raw_outputs_vjp(container(X), r, constant), expected)


@pytest.mark.parametrize("constant", [0.0, 2.0])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_weighted_gram(container, constant):
    design, d = Design(container(X), constant, np.float64), rng.random(8)
    dense = design.dot(np.eye(design.size))
    np.testing.assert_allclose(
        design.weighted_gram(d), dense.T @ (d[:, None] * dense), atol=1e-12
    )


def test_empty_columns_are_dropped_and_come_back_as_zeros():
    design = Design(sparse.csr_array(X), 1.0, np.float32)
    assert (design.size, design.n_features) == (4, 5)
    w = design.expand(np.arange(1.0, 5.0))
    np.testing.assert_array_equal(w, [1, 0, 2, 0, 3, 4])
    np.testing.assert_array_equal(design.reduce(w), [1, 2, 3, 4])
