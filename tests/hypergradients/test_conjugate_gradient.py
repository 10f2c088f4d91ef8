# SPDX-License-Identifier: BSD-3-Clause
"""Conjugate gradients against a dense solve."""

import numpy as np

from accsmbo.hypergradients._conjugate_gradient import conjugate_gradient

rng = np.random.default_rng(0)
ROOT = rng.standard_normal((6, 6))
H = ROOT.T @ ROOT + np.eye(6)
B = rng.standard_normal(6)


def product(v):
    return H @ v, ROOT @ v


def test_solution_and_image():
    x, image, residual = conjugate_gradient(
        product, B, preconditioner=np.diag(H), rtol=1e-12
    )
    np.testing.assert_allclose(x, np.linalg.solve(H, B))
    np.testing.assert_allclose(image, ROOT @ x)
    assert residual <= 1e-12


def test_a_good_start_is_kept_and_a_bad_one_dropped():
    exact = np.linalg.solve(H, B)
    options = {"preconditioner": np.ones(6), "rtol": 1e-6, "max_iter": 0}
    np.testing.assert_array_equal(
        conjugate_gradient(product, B, start=exact, **options)[0], exact
    )
    x, image, residual = conjugate_gradient(product, B, start=1e6 * B, **options)
    assert not x.any()
    assert image is None
    assert residual == 1.0


def test_zero_right_hand_side_and_negative_curvature():
    x, _, residual = conjugate_gradient(
        product, np.zeros(6), preconditioner=np.ones(6), rtol=1e-6
    )
    assert not x.any()
    assert residual == 0.0
    x, _, _ = conjugate_gradient(
        lambda v: (-v, v), B, preconditioner=np.ones(6), rtol=1e-6
    )
    assert not x.any()
