# SPDX-License-Identifier: BSD-3-Clause
"""Quadratic trend: its covariance is that of random quadratics, derivatives."""

import numpy as np

from accsmbo.surrogates._trend import (
    polynomial,
    polynomial_diagonal,
    polynomial_gradient,
)
from accsmbo.testing import check_gradient

CATEGORICAL = np.array([False, True, False])


def points(n, seed=0):
    return np.random.default_rng(seed).random((n, 3))


def test_is_the_inner_product_of_quadratic_features():
    U, V = points(5), points(4, seed=1)

    def features(Z):
        x, y = ((2 * Z[:, [0, 2]] - 1) * np.sqrt(1.5)).T
        root = np.sqrt(2)
        return np.stack([root * x, root * y, x * x, y * y, root * x * y], axis=1)

    expected = features(U) @ features(V).T
    np.testing.assert_allclose(polynomial(U, V, CATEGORICAL), expected, atol=1e-12)


def test_diagonal():
    U = points(6)
    np.testing.assert_allclose(
        polynomial_diagonal(U, CATEGORICAL), np.diag(polynomial(U, U, CATEGORICAL))
    )


def test_gradient_is_zero_along_categories_and_right_elsewhere():
    U, V = points(4), points(6, seed=1)
    weights = np.random.default_rng(2).standard_normal((4, 6))
    check_gradient(
        lambda Z: float((weights * polynomial(Z, V, CATEGORICAL)).sum()),
        lambda Z: polynomial_gradient(Z, weights, CATEGORICAL, V),
        U,
    )
    assert not polynomial_gradient(U, weights, CATEGORICAL, V)[:, 1].any()
