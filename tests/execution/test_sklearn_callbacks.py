# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's own callbacks, set on a search or its estimator, with workers."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from accsmbo.search import GridSearchCV, RandomizedSearchCV
from tests._searches import small_data

pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.callback.tests._utils import RecordingCallback

X, y = small_data(60)
SPACE = {"C": stats.loguniform(1e-2, 1e2)}
WORKERS = {
    "serial": dict,
    "processes": lambda: {"n_jobs": 2},
    "threads": lambda: {"executor": ThreadPoolExecutor(2)},
}


def search(estimator=None, **kwargs):
    estimator = LogisticRegression() if estimator is None else estimator
    return RandomizedSearchCV(
        estimator, SPACE, n_iter=4, cv=2, random_state=0, **kwargs
    )


def scores(**kwargs):
    """All scores that a monitor of the estimator has logged: a run for each fit."""
    monitor = ScoringMonitor(scoring="accuracy")
    estimator = LogisticRegression().set_callbacks(monitor)
    search(estimator, **kwargs).fit(X, y)
    runs = monitor.get_logs(select="all")
    return sorted(
        [(row["task_id_path"], row["accuracy"]) for row in run.data] for run in runs
    )


@pytest.mark.parametrize("workers", ["processes", "threads"])
def test_a_monitor_of_the_estimator_logs_the_same_with_workers(workers):
    serial = scores()
    assert len(serial) == 4 * 2 + 1
    assert scores(**WORKERS[workers]()) == serial


@pytest.mark.parametrize("workers", WORKERS)
def test_each_task_of_a_search_begins_and_ends_once(workers):
    callback = RecordingCallback()
    search(**WORKERS[workers]()).set_callbacks(callback).fit(X, y)
    # fit, search, 4 candidates times 2 folds, refit
    assert callback.count_hooks("on_fit_task_begin") == 11
    assert callback.count_hooks("on_fit_task_end") == 11
    assert callback.count_hooks("setup") == callback.count_hooks("teardown") == 1


@pytest.mark.parametrize("workers", WORKERS)
def test_a_progress_bar_runs_to_its_end(workers, capsys):
    pytest.importorskip("rich")
    search(**WORKERS[workers]()).set_callbacks(ProgressBar()).fit(X, y)
    output = capsys.readouterr().out
    assert output.count("candidate-split-evaluation") >= 8
    assert "refit-with-best-params" in output


class DiesOnce(LogisticRegression):
    """Ends its process the first time it is fitted with C above 5."""

    def __init__(self, C=1.0, folder=None):
        super().__init__(C=C)
        self.folder = folder

    def fit(self, X, y):
        path = os.path.join(str(self.folder), "died")
        if self.C > 5 and not os.path.exists(path):
            open(path, "x").close()
            os._exit(1)
        return super().fit(X, y)


def test_a_fold_that_is_run_again_keeps_its_task(tmp_path):
    callback = RecordingCallback()
    grid = GridSearchCV(
        DiesOnce(folder=tmp_path), {"C": [0.1, 10.0, 1.0]}, cv=2, n_jobs=2
    )
    grid.set_callbacks(callback).fit(X, y)
    assert (tmp_path / "died").exists()
    assert not any(e.failed for e in grid.history_.evaluations)
    # fit, search, 3 candidates times 2 folds, refit
    assert callback.count_hooks("on_fit_task_begin") == 9 + 1
    assert callback.count_hooks("on_fit_task_end") == 9
