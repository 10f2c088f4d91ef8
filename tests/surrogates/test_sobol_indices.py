# SPDX-License-Identifier: BSD-3-Clause
"""sobol_indices against functions whose indices are known in closed form."""

import numpy as np
import pytest

from accsmbo.surrogates import sobol_indices

A, B = 7.0, 0.1


def ishigami(U):
    x = np.pi * (2 * U - 1)
    bent = B * x[:, 2] ** 4 * np.sin(x[:, 0])
    return np.sin(x[:, 0]) + A * np.sin(x[:, 1]) ** 2 + bent


# Saltelli et al. (2008), Global Sensitivity Analysis: The Primer, section 4.
V1 = 0.5 * (1 + B * np.pi**4 / 5) ** 2
V2 = A**2 / 8
V13 = B**2 * np.pi**8 * (1 / 18 - 1 / 50)
VARIANCE = V1 + V2 + V13


@pytest.mark.parametrize("seed", range(3))
def test_ishigami(seed):
    found = sobol_indices(ishigami, 3, tolerance=0.003, random_state=seed)
    np.testing.assert_allclose(
        found.first_order, np.array([V1, V2, 0]) / VARIANCE, atol=0.01
    )
    np.testing.assert_allclose(
        found.total, np.array([V1 + V13, V2, V13]) / VARIANCE, atol=0.01
    )
    assert found.variance == pytest.approx(VARIANCE, rel=0.01)
    assert found.mean == pytest.approx(A / 2, abs=0.01)


def test_a_linear_function_and_its_stated_accuracy():
    weights = np.array([3.0, 2.0, 1.0, 0.0])
    exact = weights**2 / np.sum(weights**2)
    found = sobol_indices(lambda U: 1e6 + U @ weights, 4)
    assert found.variance == pytest.approx(np.sum(weights**2) / 12, rel=0.01)
    for estimate, error in (
        (found.first_order, found.first_order_error),
        (found.total, found.total_error),
    ):
        assert error.max() <= 0.01
        assert np.all(np.abs(estimate - exact) <= 5 * error + 1e-12)
    assert found.first_order[3] == found.total[3] == 0


def test_errors_are_the_scatter_between_seeds():
    runs = [
        sobol_indices(ishigami, 3, max_evaluations=1, random_state=s) for s in range(40)
    ]
    scatter = np.std([run.first_order for run in runs], axis=0)
    stated = np.sqrt(np.mean([run.first_order_error**2 for run in runs], axis=0))
    np.testing.assert_allclose(stated, scatter, rtol=0.4)


def test_more_evaluations_are_spent_until_the_tolerance_is_met():
    coarse = sobol_indices(ishigami, 3, tolerance=0.1)
    fine = sobol_indices(ishigami, 3, tolerance=0.005)
    assert coarse.n_evaluations < fine.n_evaluations
    assert max(fine.first_order_error.max(), fine.total_error.max()) <= 0.005
    counted = []

    def counting(U):
        counted.append(len(U))
        return ishigami(U)

    bounded = sobol_indices(counting, 3, tolerance=0.0, max_evaluations=30_000)
    assert sum(counted) == bounded.n_evaluations <= 30_000


def test_the_same_seed_gives_the_same_result():
    first, second = (sobol_indices(ishigami, 3, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(first.total, second.total)


def test_a_pure_interaction_of_two_choices():
    # f = +1 where both are in the same half, else -1: nothing alone, all together.
    found = sobol_indices(
        lambda U: np.sign((U[:, 0] - 0.5) * (U[:, 1] - 0.5) + 1e-300), 2
    )
    np.testing.assert_allclose(found.first_order, 0.0, atol=0.03)
    np.testing.assert_allclose(found.total, 1.0, atol=0.03)


def test_a_constant_function_has_no_shares():
    found = sobol_indices(lambda U: np.full(len(U), 0.1), 2)
    assert found.variance == 0.0
    assert not found.first_order.any()
    assert not found.total.any()


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="n_dims must be at least 1, got 0"):
        sobol_indices(ishigami, 0)
    with pytest.raises(ValueError, match=r"must return 128 finite values"):
        sobol_indices(lambda U: np.full(len(U), np.nan), 1)
    with pytest.raises(ValueError, match=r"array of shape \(128, 1\)"):
        sobol_indices(lambda U: U, 1)
