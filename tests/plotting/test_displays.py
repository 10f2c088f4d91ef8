# SPDX-License-Identifier: BSD-3-Clause
"""Every display takes a history, a fitted search and a journal."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from accsmbo import SMBOSearchCV
from accsmbo.history import Evaluation
from accsmbo.plotting import (
    ConvergenceDisplay,
    ParallelCoordinatesDisplay,
    ParameterImportanceDisplay,
    SurrogateDisplay,
    WorkerTimelineDisplay,
)
from accsmbo.space import Real
from accsmbo.storage import JournalStorage
from tests.inspection._studies import run_random


@pytest.fixture(scope="module")
def search_and_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.jsonl"
    X, y = load_iris(return_X_y=True)
    search = SMBOSearchCV(
        LogisticRegression(max_iter=500),
        {"C": Real(1e-3, 10.0, log=True)},
        n_iter=4,
        cv=2,
        scoring=["accuracy", "neg_log_loss"],
        refit="neg_log_loss",
        random_state=0,
        storage=path,
    )
    return search.fit(X, y), path


def test_displays_show_the_results_of_a_search_wherever_they_are_kept(search_and_path):
    search, path = search_and_path
    for given in (search, search.history_, path):
        curve = ConvergenceDisplay.from_history(given).lines_[0].get_ydata()
        assert curve[-1] == search.best_score_
        assert len(WorkerTimelineDisplay.from_history(given).bars_) == 8


@pytest.mark.parametrize(
    "display",
    [
        ConvergenceDisplay,
        ParallelCoordinatesDisplay,
        ParameterImportanceDisplay,
        SurrogateDisplay,
        WorkerTimelineDisplay,
    ],
)
@pytest.mark.parametrize("kind", ["search", "history", "path", "text", "journal"])
def test_every_display_takes_them_all(display, kind, search_and_path):
    """And has scikit-learn's convention: plot returns the display with its axes."""
    import matplotlib.pyplot as plt
    from matplotlib.text import Text

    search, path = search_and_path
    given = {
        "search": search,
        "history": search.history_,
        "path": path,
        "text": str(path),
        "journal": JournalStorage(path),
    }[kind]
    shown = display.from_history(given)
    first = shown.figure_
    assert shown.plot() is shown
    assert shown.figure_ is not first
    axes = list(np.ravel(shown.ax_))
    assert axes[0].figure is shown.figure_
    figure, ax = plt.subplots()
    assert display.from_history(given, ax=ax).figure_ is figure
    labels = " ".join(text.get_text() for text in figure.findobj(Text))
    assert "C" in labels or display in (ConvergenceDisplay, WorkerTimelineDisplay)


def test_partial_trials_do_not_count_as_results():
    history = run_random({"x": Real(0, 1)}, lambda p: 1 + p["x"], 6)
    cheap = replace(history.trials[0], number=6, fidelity=0.1)
    history.append(cheap, Evaluation(value=-5.0))
    given_up = replace(history.trials[1], number=7)
    history.append(given_up, Evaluation(value=-6.0, fold_indices=(0,)))
    curve = ConvergenceDisplay.from_history(history).curves[""][0]
    assert len(curve) == 8
    assert curve[-1] == curve[5] >= 1.0
    lines = ParallelCoordinatesDisplay.from_history(history, n_best=2).lines_
    thick = [i for i, line in enumerate(lines) if line.get_linewidth() > 2]
    assert thick == sorted(np.argsort(history.values[:6])[:2])
