# SPDX-License-Identifier: BSD-3-Clause
"""Kumaraswamy warping: identity, monotone, derivatives."""

import numpy as np

from accsmbo.surrogates._warping import warp, warp_gradient
from accsmbo.testing import check_gradient

U = np.linspace(0.0, 1.0, 11)[:, None] * np.ones(2)
U.setflags(write=False)


def test_unit_exponents_are_the_identity():
    np.testing.assert_allclose(warp(U, np.ones(2), np.ones(2)), U, atol=2e-6)


def test_known_value():
    z = warp(np.array([[0.5]]), np.array([2.0]), np.array([3.0]))
    np.testing.assert_allclose(z, 1.0 - 0.75**3, atol=1e-5)


def test_monotone_and_within_the_unit_interval():
    for a, b in ((0.2, 5.0), (5.0, 0.2), (0.2, 0.2), (5.0, 5.0)):
        z = warp(U, np.full(2, a), np.full(2, b))
        assert np.all(np.diff(z, axis=0) >= 0)
        assert z.min() >= 0.0
        assert z.max() <= 1.0


def test_derivatives():
    V = np.array([[0.1, 0.5], [0.7, 0.93]])
    a, b = np.array([0.6, 2.0]), np.array([1.7, 0.4])
    z, by_u, by_log_a, by_log_b = warp_gradient(V, a, b)
    np.testing.assert_allclose(z, warp(V, a, b))
    check_gradient(lambda x: warp(x, a, b).sum(), lambda _: by_u, V, step=1e-6)
    log_a, log_b = np.log(a), np.log(b)
    check_gradient(
        lambda x: warp(V, np.exp(x), b).sum(), lambda _: by_log_a.sum(0), log_a
    )
    check_gradient(
        lambda x: warp(V, a, np.exp(x)).sum(), lambda _: by_log_b.sum(0), log_b
    )


def test_derivatives_are_finite_at_the_ends():
    for a, b in ((0.2, 5.0), (5.0, 0.2)):
        for part in warp_gradient(U, np.full(2, a), np.full(2, b)):
            assert np.isfinite(part).all()
