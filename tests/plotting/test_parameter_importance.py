# SPDX-License-Identifier: BSD-3-Clause
"""ParameterImportanceDisplay: shares against hand computed ones, mixed, conditional."""

import numpy as np
import pytest

from accsmbo import Categorical, Integer, Real
from accsmbo.inspection import ALTERNATIVE
from accsmbo.plotting import ParameterImportanceDisplay
from tests.inspection._studies import hard_history, run_random


def shares(display):
    shown = display.importances
    return {
        name: (shown.first_order[i], shown.total[i])
        for i, name in enumerate(shown.names)
    }


def test_a_linear_function():
    space = {name: Real(0, 1) for name in "abc"}
    history = run_random(space, lambda p: 3 * p["a"] + p["b"], 40)
    found = shares(ParameterImportanceDisplay.from_history(history))
    assert found["a"] == pytest.approx((0.9, 0.9), abs=0.03)
    assert found["b"] == pytest.approx((0.1, 0.1), abs=0.03)
    assert found["c"] == pytest.approx((0.0, 0.0), abs=0.03)
    assert list(found) == ["a", "b", "c"]


def test_an_interaction_of_a_choice_and_a_number():
    # (2x - 1) s with s = 1 or -1: nothing alone, everything together.
    space = {"x": Real(0, 1), "s": Categorical(["plus", "minus"])}
    history = run_random(
        space, lambda p: (2 * p["x"] - 1) * (1 if p["s"] == "plus" else -1), 60
    )
    found = shares(ParameterImportanceDisplay.from_history(history))
    for name in "xs":
        assert found[name] == pytest.approx((0.0, 1.0), abs=0.05)


def test_a_mixed_space():
    # Variances: 1/12 of x; 4 * 2/3 / 9 of k in 1..3, scaled; 1/4 of the choice.
    space = {"x": Real(0, 1), "k": Integer(1, 3), "c": Categorical(["u", "v"])}
    history = run_random(space, lambda p: p["x"] + 0.5 * p["k"] + (p["c"] == "v"), 80)
    exact = np.array([1 / 12, 0.25 * 2 / 3, 1 / 4])
    exact /= exact.sum()
    found = shares(ParameterImportanceDisplay.from_history(history))
    for name, share in zip("xkc", exact, strict=True):
        assert found[name] == pytest.approx((share, share), abs=0.04)


def test_alternatives_by_the_law_of_total_variance():
    # f = x in the first alternative, 1 + 2 z in the second: means 1/2 and 2, variances
    # 1/12 and 4/12; within (1/12 + 4/12) / 2 = 5/24, between (3/4)^2 = 9/16.
    space = [{"x": Real(0, 1)}, {"z": Real(0, 1)}]
    history = run_random(space, lambda p: p.get("x", 1 + 2 * p.get("z", 0)), 40)
    display = ParameterImportanceDisplay.from_history(history)
    variance = 5 / 24 + 9 / 16
    found = shares(display)
    assert display.importances.std == pytest.approx(np.sqrt(variance), rel=0.02)
    assert found[ALTERNATIVE][0] == pytest.approx(9 / 16 / variance, abs=0.02)
    assert found["x"][0] == pytest.approx(1 / 24 / variance, abs=0.02)
    assert found["z"][0] == pytest.approx(4 / 24 / variance, abs=0.02)
    assert sum(first for first, _ in found.values()) == pytest.approx(1.0, abs=0.02)
    alone = shares(ParameterImportanceDisplay.from_history(history, subspace=1))
    assert alone["z"] == pytest.approx((1.0, 1.0), abs=0.02)


def test_an_alternative_without_parameters_counts():
    # Means 1/2 and 2, variances 1/12 and 0: within 1/24, between (3/4)^2.
    space = [{"x": Real(0, 1), "kind": ["a"]}, {"kind": ["b"]}]
    history = run_random(space, lambda p: p.get("x", 2.0), 30)
    found = shares(ParameterImportanceDisplay.from_history(history))
    variance = 1 / 24 + 9 / 16
    assert found[ALTERNATIVE][0] == pytest.approx(9 / 16 / variance, abs=0.01)
    assert found["x"][0] == pytest.approx(1 / 24 / variance, abs=0.01)


def test_display_convention_and_order():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = ParameterImportanceDisplay.from_history(hard_history(), ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    total = display.importances.total
    assert np.all(np.diff(total) <= 0)
    n = len(total)
    assert [bar.get_width() for bar in display.bars_[n:]] == pytest.approx(total)
    assert r"\$x_1^2\$ <b>&amp;" in [t.get_text() for t in ax.get_yticklabels()]
    display.figure_.draw_without_rendering()
    assert len(display.plot().ax_.get_yticks()) == n
    few = ParameterImportanceDisplay(display.importances, n_largest=2).plot()
    assert len(few.bars_) == 4


def test_the_same_history_gives_the_same_shares():
    first, second = (
        ParameterImportanceDisplay.from_history(hard_history(30)).importances
        for _ in range(2)
    )
    assert first.names == second.names
    np.testing.assert_array_equal(first.total, second.total)


def test_a_constant_loss_has_no_shares():
    history = run_random({"x": Real(0, 1)}, lambda p: 2.0, 5)
    display = ParameterImportanceDisplay.from_history(history)
    assert not display.importances.total.any()


def test_too_few_trials_are_an_error():
    history = run_random({"x": Real(0, 1)}, lambda p: 2.0, 1)
    with pytest.raises(ValueError, match="at least two successful trials"):
        ParameterImportanceDisplay.from_history(history)
