# SPDX-License-Identifier: BSD-3-Clause
"""The rules of racing against hand-computed cases and their stated error."""

import numpy as np
import pytest
from scipy import stats

from accsmbo.fidelity._rules import Differences, is_worse, is_worse_by_test


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
    assert is_worse(Differences(np.array(d), 5), 0.05) is out


def test_paired_test_against_a_hand_computed_t():
    # mean 0.3, s = 0.1, K = 5, k = 3: t = 0.3 / (0.1 sqrt(1/3 - 1/5)) = 8.2158, 2 df.
    differences = Differences(np.array([0.2, 0.3, 0.4]), 5)
    assert differences.standard_error == pytest.approx(0.3 / 8.215838)
    chance = stats.t.sf(8.215838, 2)
    assert chance == pytest.approx(0.00725, abs=1e-5)
    assert is_worse_by_test(differences, chance * 1.001)
    assert not is_worse_by_test(differences, chance * 0.999)


def test_pooled_standard_error_by_hand():
    # own squares 0.02 of 2 df, others 0.1 of 4: s^2 = 0.02.
    pooled = Differences(np.array([0.2, 0.3, 0.4]), 5, squares=0.1, weight=4.0)
    assert pooled.degrees == 6
    expected = np.sqrt(0.02 * (1 / 3 - 1 / 5))
    assert pooled.standard_error == pytest.approx(expected)
    one = Differences(np.array([0.5]), 5, squares=0.1, weight=4.0)
    assert one.standard_error == pytest.approx(np.sqrt(0.025 * 0.8))
    assert is_worse_by_test(one, stats.t.sf(0.5 / np.sqrt(0.02), 4) * 1.001)


@pytest.mark.parametrize("d", [[5.0], [-0.2, -0.3], [0.0, 0.0], [0.1, -0.1]])
def test_paired_test_keeps_what_it_cannot_judge(d):
    assert not is_worse_by_test(Differences(np.array(d), 5), 0.5)


def test_paired_test_drops_what_is_worse_by_a_constant():
    assert is_worse_by_test(Differences(np.array([0.1, 0.1]), 5), 1e-9)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("weight", [0, 4])
def test_paired_test_keeps_its_error_level_at_each_look(k, weight):
    """Of what is dropped at one look, the share that wins is the stated error."""
    level, rng, won = 0.2, np.random.default_rng(0), []
    for _ in range(4000):
        d = rng.normal(size=5) + rng.normal(scale=3.0)
        squares = float(rng.chisquare(weight)) if weight else 0.0
        if is_worse_by_test(Differences(d[:k], 5, squares, weight), level):
            won.append(d.mean() < 0.0)
    assert np.mean(won or [0.0]) < level
    assert (len(won) > 500) == (k > 1 or weight > 0)
