# SPDX-License-Identifier: BSD-3-Clause
"""The rules of racing against hand-computed cases and their stated error."""

import numpy as np
import pytest
from scipy import stats

from accsmbo.fidelity._rules import is_worse, is_worse_by_test


@pytest.mark.parametrize(
    ("d", "out"),
    [
        ([0.1], True),
        ([-0.1], False),
        ([0.0], False),
        ([0.3, -0.2], True),
        ([0.2, -0.2], False),
        ([0.1, -0.3, 0.1], False),
    ],
)
def test_aggressive_compares_means(d, out):
    assert is_worse(np.array(d), 5, 0.05) is out


def test_paired_test_against_a_hand_computed_t():
    # mean 0.3, s = 0.1, K = 5, k = 3: t = 0.3 / (0.1 sqrt(1/3 - 1/5)) = 8.2158, 2 df.
    d = np.array([0.2, 0.3, 0.4])
    chance = stats.t.sf(8.215838, 2)
    assert chance == pytest.approx(0.00725, abs=1e-5)
    assert is_worse_by_test(d, 5, 3 * chance * 1.001)
    assert not is_worse_by_test(d, 5, 3 * chance * 0.999)


@pytest.mark.parametrize("d", [[5.0], [-0.2, -0.3], [0.0, 0.0], [0.1, -0.1]])
def test_paired_test_keeps_what_it_cannot_judge(d):
    assert not is_worse_by_test(np.array(d), 5, 0.5)


def test_paired_test_drops_what_is_worse_by_a_constant():
    assert is_worse_by_test(np.array([0.1, 0.1]), 5, 1e-9)


@pytest.mark.parametrize("n_folds", [3, 5, 10])
def test_paired_test_keeps_its_error_level(n_folds):
    level, rng, n_wrong, n_races = 0.1, np.random.default_rng(0), 0, 3000
    for d in rng.normal(size=(n_races, n_folds)):
        looks = range(2, n_folds)
        dropped = any(is_worse_by_test(d[:k], n_folds, level) for k in looks)
        n_wrong += dropped and d.mean() < 0.0
    assert n_wrong / n_races < level
    assert n_wrong > 0
