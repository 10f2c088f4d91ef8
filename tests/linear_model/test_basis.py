# SPDX-License-Identifier: BSD-3-Clause
"""The basis of a fold: orthonormal, its images carried along, merged when full."""

import numpy as np

from accsmbo.linear_model._basis import KEPT, SIZE, Basis


def test_a_basis_grows_to_its_size_and_is_merged_about_the_solution():
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(30, 40)), rng.normal(size=(9, 40))
    strength = rng.random(40)
    basis = Basis((40, 30, 9), [strength], np.float64)
    for _ in range(SIZE):
        assert not basis.full
        w = rng.normal(size=40)
        assert basis.add(w, X @ w, V @ w)
        assert_consistent(basis, X, V, strength)
    assert basis.full
    c = rng.normal(size=SIZE)
    w = c @ basis.B
    c = basis.merge(c)
    assert basis.k == KEPT + 1
    np.testing.assert_allclose(c @ basis.B, w)
    assert_consistent(basis, X, V, strength)


def assert_consistent(basis, X, V, strength):
    np.testing.assert_allclose(basis.B @ basis.B.T, np.eye(basis.k), atol=1e-10)
    np.testing.assert_allclose(basis.F, basis.B @ X.T, atol=1e-9)
    np.testing.assert_allclose(basis.V, basis.B @ V.T, atol=1e-9)
    expected = basis.B * strength @ basis.B.T
    np.testing.assert_allclose(basis.penalties[0], expected, atol=1e-10)


def test_a_direction_that_is_not_new_is_left_out():
    basis = Basis((5, 2, 1), [np.ones(5)], np.float32)
    w = np.arange(5.0, dtype=np.float32)
    assert basis.add(w, w[:2], w[:1])
    assert not basis.add(-2 * w, -2 * w[:2], -2 * w[:1])
    assert basis.k == 1
