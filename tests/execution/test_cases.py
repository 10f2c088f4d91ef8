# SPDX-License-Identifier: BSD-3-Clause
"""Cases 61 and 65 to 75: seeds, hangs, dead workers, cores, limits, interrupts."""

import contextlib
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import FitFailedWarning

from accsmbo import Real, SMBOSearchCV, minimize
from accsmbo.exceptions import SearchInterruptedWarning
from accsmbo.optimizers import SMBO
from accsmbo.search import RandomizedSearchCV
from tests._searches import small_data
from tests.execution._functions import SPACE, loss

ROOT = Path(__file__).parents[2]
X, y = small_data()


class Estimator(ClassifierMixin, BaseEstimator):
    """Scores `a`; does what `how` says where `a` is 3."""

    def __init__(self, a=0, how="nothing", seconds=0.0):
        self.a = a
        self.how = how
        self.seconds = seconds

    def fit(self, X, y):
        if self.a == 3:
            getattr(self, self.how)()
        time.sleep(self.seconds)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y):
        return float(self.a)

    def nothing(self):
        pass

    def exit(self):
        os._exit(1)

    def interrupt(self):
        raise KeyboardInterrupt

    def sleep(self):
        time.sleep(3600)

    def allocate(self):
        held = []
        while True:
            held.append(np.ones(2_000_000))


@pytest.mark.parametrize("kwargs", [{}, {"n_jobs": 2}, {"n_jobs": 4}])
def test_the_design_does_not_depend_on_the_workers(kwargs):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/1130 (case 61)."""
    history = minimize(loss, SPACE, n_trials=8, random_state=0, **kwargs)
    first = {t.number: t.unit.tobytes() for t in history.trials}
    reference = SMBO(SPACE, random_state=0)
    assert [first[i] for i in range(4)] == [
        reference.ask().unit.tobytes() for _ in range(4)
    ]


def test_a_threaded_learner_in_two_workers_twice():
    """See the reports of case 65.

    https://github.com/scikit-learn/scikit-learn/issues/10538
    https://github.com/scikit-learn/scikit-learn/issues/10533
    https://github.com/scikit-learn/scikit-learn/issues/5115
    """
    estimator = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2)
    space = {"learning_rate": Real(0.01, 1.0, log=True)}
    start = time.monotonic()
    for _ in range(2):
        search = SMBOSearchCV(
            estimator, space, n_iter=4, cv=2, n_jobs=2, random_state=0
        ).fit(X, y)
        assert len(search.cv_results_["params"]) == 4
    assert time.monotonic() - start < 60


SPAWNED = """
import multiprocessing
from accsmbo import minimize
from tests.execution._functions import SPACE, loss

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    print(len(minimize(loss, SPACE, n_trials=6, n_jobs=2)))
"""


def test_the_spawn_start_method():
    """See the reports of case 65.

    https://github.com/scikit-learn/scikit-learn/issues/10538
    https://github.com/scikit-learn/scikit-learn/issues/10533
    https://github.com/scikit-learn/scikit-learn/issues/5115
    """
    result = subprocess.run(
        [sys.executable, "-c", SPAWNED],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert result.stdout.strip() == "6"


@pytest.mark.filterwarnings("ignore:One or more of the")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize(
    ("how", "limits", "reason"),
    [
        ("exit", {"n_jobs": 2}, "exit code 1"),
        ("sleep", {"trial_timeout": 2.0}, "longer than trial_timeout=2"),
        ("allocate", {"memory_limit": 300_000_000}, "MemoryError"),
    ],
)
def test_a_worker_that_ends_costs_one_candidate(how, limits, reason):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/879 (case 67)."""
    if how == "allocate" and sys.platform != "linux":
        pytest.skip("memory is limited on Linux only")
    search = RandomizedSearchCV(
        Estimator(how=how),
        {"a": [1, 2, 3, 4, 5]},
        n_iter=5,
        cv=2,
        return_train_score=True,
        **limits,
    ).fit(X, y)
    results = search.cv_results_
    np.testing.assert_array_equal(
        results["mean_test_score"], [1.0, 2.0, np.nan, 4.0, 5.0]
    )
    np.testing.assert_array_equal(
        np.isnan(results["mean_train_score"]), [0, 0, 1, 0, 0]
    )
    assert search.best_params_ == {"a": 5}
    failed = next(e for t, e in search.history_ if t.params["a"] == 3)
    assert reason in failed.error


def test_error_score_of_a_dead_worker():
    """See https://github.com/scikit-optimize/scikit-optimize/issues/879 (case 67)."""
    search = RandomizedSearchCV(
        Estimator(how="exit"),
        {"a": [1, 2, 3]},
        n_iter=3,
        cv=2,
        scoring={"one": score_a, "two": score_a},
        refit="one",
        n_jobs=2,
        max_retries=0,
        error_score=-1.0,
    )
    with pytest.warns(FitFailedWarning, match="fits failed out of a total of 6"):
        search.fit(X, y)
    for name in ("one", "two"):
        scores = search.cv_results_[f"mean_test_{name}"]
        np.testing.assert_array_equal(scores, [1.0, 2.0, -1.0])
    search.set_params(error_score="raise")
    with pytest.raises(RuntimeError, match=r"exit code 1, once.*\{'a': 3\}"):
        search.fit(X, y)


def score_a(estimator, X, y):
    return float(estimator.a)


def test_one_job_uses_one_core():
    """See https://github.com/scikit-optimize/scikit-optimize/issues/680 (case 69)."""
    program = (
        "import time\n"
        "from accsmbo import minimize\n"
        "from tests.execution._functions import SPACE, loss\n"
        "wall, cpu = time.perf_counter(), time.process_time()\n"
        "minimize(loss, SPACE, n_trials=40, random_state=0)\n"
        "wall, cpu = time.perf_counter() - wall, time.process_time() - cpu\n"
        "print(cpu / wall)\n"
    )
    free = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=free | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert float(result.stdout) < 1.2


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_time_limit_holds_within_one_fit(n_jobs):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/736 (case 71)."""
    search = RandomizedSearchCV(
        Estimator(seconds=0.3),
        {"a": Real(0, 1)},
        n_iter=100,
        cv=2,
        refit=False,
        n_jobs=n_jobs,
        random_state=0,
    )
    clone(search).set_params(n_iter=2).fit(X, y)  # processes are there
    search.set_params(timeout=1.5)
    start = time.monotonic()
    search.fit(X, y)
    assert time.monotonic() - start < 1.5 + 0.3 + 0.7
    assert 1 <= len(search.cv_results_["params"]) < 12
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("on_interrupt", ["stop", "raise"])
def test_an_interrupt_keeps_what_is_finished(n_jobs, on_interrupt, tmp_path):
    """See https://github.com/scikit-learn/scikit-learn/issues/17069 (case 73)."""
    search = RandomizedSearchCV(
        Estimator(how="interrupt", seconds=0.01),
        {"a": [1, 2, 4, 5, 3, 6]},
        n_iter=6,
        cv=2,
        n_jobs=n_jobs,
        on_interrupt=on_interrupt,
        storage=tmp_path / "study.jsonl",
    )
    raises = on_interrupt == "raise"
    expected = pytest.raises(KeyboardInterrupt) if raises else contextlib.nullcontext()
    with pytest.warns(SearchInterruptedWarning, match="interrupted after"), expected:
        search.fit(X, y)
    done = [params["a"] for params in search.cv_results_["params"]]
    assert 3 not in done
    assert len(done) >= 3
    assert search.best_params_ == {"a": max(done)}
    with pytest.raises(AttributeError, match="Call refit_best"):
        search.best_estimator_  # noqa: B018
    assert search.refit_best(X, y).predict(X).shape == y.shape


def test_an_exception_in_a_callback_keeps_what_is_finished(tmp_path):
    """See https://github.com/scikit-learn/scikit-learn/issues/17069 (case 73)."""

    def fails(history):
        if len(history) == 3:
            raise ZeroDivisionError("in a callback")

    search = RandomizedSearchCV(
        Estimator(), {"a": [1, 2, 4, 5]}, n_iter=4, cv=2, callbacks=fails
    )
    with pytest.raises(ZeroDivisionError, match="in a callback"):
        search.fit(X, y)
    assert [params["a"] for params in search.cv_results_["params"]] == [1, 2, 4]
    assert search.predict(X).shape == y.shape


def test_time_to_propose_does_not_outgrow_the_fits():
    """See https://github.com/scikit-optimize/scikit-optimize/issues/968 (case 75)."""
    space = {f"x{i}": Real(0, 1) for i in range(4)}
    optimizer = SMBO(space, random_state=0)
    rng = np.random.default_rng(0)
    seconds = []
    for _ in range(45):
        start = time.process_time()
        trial = optimizer.ask()
        seconds.append(time.process_time() - start)
        optimizer.tell(trial, sum(v**2 for v in trial.params.values()))
    assert max(seconds) < 1.0
    for number in range(45, 500):
        u = rng.random(4)
        trial = replace(trial, number=number, unit=u)
        optimizer.restore(trial)
        optimizer.tell(trial, float((u**2).sum()))
    start = time.process_time()
    optimizer.ask()
    assert time.process_time() - start < 1.5
