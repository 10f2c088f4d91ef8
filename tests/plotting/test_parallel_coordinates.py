# SPDX-License-Identifier: BSD-3-Clause
"""ParallelCoordinatesDisplay: a line a trial, at its coordinates, the best apart."""

import numpy as np
import pytest

from accsmbo import Real
from accsmbo.plotting import ParallelCoordinatesDisplay
from accsmbo.plotting._parallel_coordinates import ABSENT
from tests.inspection._studies import hard_history, run_random


def test_lines_pass_through_the_coordinates_of_their_trials():
    space = {"a": Real(0, 2), "b": ["u", "v"]}
    history = run_random(space, lambda p: p["a"], 6)
    display = ParallelCoordinatesDisplay.from_history(history)
    worst, best = np.max(history.values), np.min(history.values)
    for line, (trial, evaluation) in zip(display.lines_, history, strict=True):
        height = (evaluation.value - best) / (worst - best)
        np.testing.assert_allclose(line.get_ydata(), [*trial.unit, height])
    labels = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert labels == ["a", "b", "loss"]


def test_the_best_are_thicker_and_the_worse_fainter():
    history = run_random({"a": Real(0, 2)}, lambda p: p["a"], 12)
    display = ParallelCoordinatesDisplay.from_history(history, n_best=3)
    order = np.argsort(history.values)
    widths = np.array([line.get_linewidth() for line in display.lines_])[order]
    assert np.all(widths[:3] > 2 * widths[3])
    assert len(set(widths[3:])) == 1
    opacity = np.array([line.get_alpha() for line in display.lines_])[order]
    assert np.all(np.diff(opacity) < 0)
    assert opacity[-1] > 0.1


def test_alternatives_and_failures():
    history = hard_history()
    display = ParallelCoordinatesDisplay.from_history(history)
    display.figure_.draw_without_rendering()
    for line, (trial, evaluation) in zip(display.lines_, history, strict=True):
        y = line.get_ydata()
        absent = [name not in trial.params for name in display.names]
        np.testing.assert_array_equal(y[:-1] == ABSENT, absent)
        assert np.isnan(y[-1]) == evaluation.failed
        assert line.get_linestyle() == ("--" if evaluation.failed else "-")
    # The choice among alternatives stands on one axis with the values of both.
    texts = [text.get_text() for text in display.ax_.texts]
    assert {"trees", "linear", "kernel", "not used"} <= set(texts)


def test_chosen_parameters_and_axes():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = ParallelCoordinatesDisplay.from_history(
        hard_history(10), ["C", "n_layers"], ax=ax
    )
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.names == ["C", "n_layers"]
    assert display.plot().ax_ is not ax
    with pytest.raises(ValueError, match=r"which vary, got \['z'\]"):
        ParallelCoordinatesDisplay.from_history(hard_history(3), ["z"])
    constant = run_random({"x": [1]}, lambda p: 1.0, 1)
    with pytest.raises(ValueError, match="must be among"):
        ParallelCoordinatesDisplay.from_history(constant)


def test_all_failed_and_a_single_trial():
    for fails in (True, False):
        history = run_random(
            {"a": Real(0, 2)}, lambda p: 1.0, 1, fails=lambda p, fails=fails: fails
        )
        display = ParallelCoordinatesDisplay.from_history(history)
        display.figure_.draw_without_rendering()
        assert len(display.lines_) == 1
