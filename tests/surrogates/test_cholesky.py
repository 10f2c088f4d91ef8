# SPDX-License-Identifier: BSD-3-Clause
"""Cholesky factors: jitter where needed, rows added, inverse."""

import numpy as np
import pytest

from accsmbo.surrogates._cholesky import (
    extend_cholesky,
    inverse_from_cholesky,
    jittered_cholesky,
    solve_lower,
)


def spd(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A @ A.T + n * np.eye(n)


def test_no_jitter_where_none_is_needed():
    R = spd(6)
    L, jitter = jittered_cholesky(R)
    assert jitter == 0.0
    np.testing.assert_allclose(L @ L.T, R, rtol=1e-12)


def test_jitter_grows_until_it_works():
    R = np.ones((5, 5))
    L, jitter = jittered_cholesky(R)
    assert 0.0 < jitter <= 1e-6
    np.testing.assert_allclose(L @ L.T, R, atol=1e-5)


def test_indefinite_matrix_is_an_error():
    with pytest.raises(np.linalg.LinAlgError, match="must be positive definite"):
        jittered_cholesky(np.array([[1.0, 5.0], [5.0, 1.0]]))


def test_extended_factor_equals_the_factor_of_the_whole():
    R = spd(9)
    L = jittered_cholesky(R[:6, :6])[0]
    whole = extend_cholesky(L, R[6:, :6], R[6:, 6:])
    np.testing.assert_allclose(whole, jittered_cholesky(R)[0], rtol=1e-10, atol=1e-12)


def test_extension_by_a_copy_of_a_point():
    R = spd(4)
    L = jittered_cholesky(R)[0]
    whole = extend_cholesky(L, R[:1], R[:1, :1])
    assert np.isfinite(whole).all()
    assert whole[4, 4] > 0


def test_inverse_and_triangular_solves():
    R = spd(7)
    L = jittered_cholesky(R)[0]
    np.testing.assert_allclose(inverse_from_cholesky(L), np.linalg.inv(R), rtol=1e-9)
    b = np.arange(7.0)
    np.testing.assert_allclose(L @ solve_lower(L, b), b, atol=1e-12)
    np.testing.assert_allclose(L.T @ solve_lower(L, b, transposed=True), b, atol=1e-12)
