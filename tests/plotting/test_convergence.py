# SPDX-License-Identifier: BSD-3-Clause
"""ConvergenceDisplay: curves by hand, scikit-learn's Display convention, errors."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from accsmbo import SMBOSearchCV
from accsmbo.history import Evaluation, History, Trial
from accsmbo.plotting import ConvergenceDisplay


def history_of(*values):
    history = History()
    for i, value in enumerate(values):
        trial = Trial(number=i, params={}, unit=np.empty(0))
        failed = value is None
        history.append(
            trial, Evaluation(value=value, error="failed" if failed else None)
        )
    return history


def test_the_curve_is_the_running_minimum():
    display = ConvergenceDisplay.from_history(history_of(3.0, 4.0, 1.0, 2.0))
    np.testing.assert_array_equal(display.curves[""], [[3, 3, 1, 1]])
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), [3, 3, 1, 1])
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), [1, 2, 3, 4])


def test_failed_trials_count_as_evaluations_and_hide_nothing():
    display = ConvergenceDisplay.from_history(history_of(None, 2.0, None, 1.0))
    np.testing.assert_array_equal(display.curves[""], [[np.nan, 2, 2, 1]])


def test_several_runs_become_median_and_quartiles():
    runs = [history_of(v, v / 2) for v in (1.0, 2.0, 3.0, 4.0, 5.0)]
    display = ConvergenceDisplay.from_history({"runs": runs})
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), [3, 1.5])
    (band,) = display.ax_.collections
    extents = band.get_paths()[0].get_extents()
    assert (extents.ymin, extents.ymax) == (1.0, 4.0)


def test_runs_of_unequal_length():
    display = ConvergenceDisplay.from_history([history_of(2.0, 1.0), history_of(4.0)])
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), [3, 1])


def test_all_failed_and_empty_histories_are_drawn_empty():
    for history in (history_of(None, None), history_of()):
        display = ConvergenceDisplay.from_history(history)
        assert np.isnan(display.lines_[0].get_ydata()).all()


def test_display_convention():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = ConvergenceDisplay.from_history(
        {"first": history_of(2.0, 1.0), "second": history_of(3.0, 0.5)}, ax=ax
    )
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["first", "second"]
    assert ax.get_xlabel() == "Evaluations"
    assert ax.get_ylabel() == "Best loss"
    assert display.plot() is display
    assert display.ax_ is not ax


def test_searches_show_their_score():
    X, y = np.zeros((20, 1)), np.arange(20) % 2
    search = SMBOSearchCV(
        DummyClassifier(),
        {"strategy": ["prior", "uniform"]},
        n_iter=2,
        cv=2,
        scoring="balanced_accuracy",
    ).fit(X, y)
    display = ConvergenceDisplay.from_history({"search": search})
    assert display.ax_.get_ylabel() == "Best balanced accuracy"
    assert display.lines_[0].get_ydata()[-1] == search.best_score_


def test_lines_differ_without_colour():
    named = {f"method {i}": history_of(1.0 / (i + 1)) for i in range(4)}
    lines = ConvergenceDisplay.from_history(named).lines_
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines}) == 4


def test_nothing_to_show_is_an_error():
    for nothing in ({}, [], {"name": []}):
        with pytest.raises(ValueError, match=r"at least one history, got none\. Give"):
            ConvergenceDisplay.from_history(nothing)


def test_something_else_is_an_error():
    message = r"must hold History objects.*got 3 \(of type int\). Give search.history_"
    with pytest.raises(TypeError, match=message):
        ConvergenceDisplay.from_history(3)


def test_without_matplotlib_the_error_says_how_to_get_it():
    code = (
        "import sys; sys.modules['matplotlib.pyplot'] = None\n"
        "from accsmbo.history import History\n"
        "from accsmbo.plotting import ConvergenceDisplay\n"
        "try:\n    ConvergenceDisplay.from_history(History())\n"
        "except ImportError as error:\n    print(error)"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "ConvergenceDisplay.plot requires matplotlib" in output
    assert 'pip install "accsmbo[plot]"' in output
