# SPDX-License-Identifier: BSD-3-Clause
"""What a worker process has of its caller, and what one fold leaves to the next."""

import contextlib
import os
import random
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning

from accsmbo import minimize
from accsmbo.execution import SerialExecutor
from accsmbo.optimizers import RandomSearch
from accsmbo.search import RandomizedSearchCV
from tests.execution._functions import SPACE, loss


def values(func, n_trials=6, **kwargs):
    """Return what `func` returned in two worker processes."""
    kwargs = {"n_jobs": 2, "optimizer": RandomSearch(), "random_state": 0} | kwargs
    return list(minimize(func, SPACE, n_trials=n_trials, **kwargs).values)


def test_each_search_brings_its_folder_environment_and_path(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCSMBO_OLD", "1")
    values(lambda p: 0.0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACCSMBO_OLD")
    monkeypatch.setenv("ACCSMBO_NEW", "1")
    (tmp_path / "only_here.py").write_text("VALUE = 1.0")
    monkeypatch.syspath_prepend(str(tmp_path / "."))

    def here(params):
        import only_here

        same = Path.cwd() == tmp_path and "ACCSMBO_OLD" not in os.environ
        return float(same and "ACCSMBO_NEW" in os.environ) * only_here.VALUE

    assert values(here) == [1.0] * 6


def test_each_search_brings_its_warning_filters():
    def raises(params):
        try:
            warnings.warn("text", FutureWarning, stacklevel=1)
        except FutureWarning:
            return 1.0
        return 0.0

    assert values(raises) == [1.0] * 6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert values(raises) == [0.0] * 6
    assert values(raises) == [1.0] * 6


def test_what_a_fold_changes_does_not_reach_the_next(tmp_path):
    folder = Path.cwd()

    def spoils(params):
        clean = Path.cwd() == folder
        clean &= warnings.filters[0][2] is not ResourceWarning
        clean &= sys.stdout is not None and not sys.stdout.closed
        os.chdir(tmp_path)
        warnings.simplefilter("ignore", ResourceWarning)
        sys.stdout = None
        return float(clean)

    assert values(spoils) == [1.0] * 6


def test_a_seed_set_by_a_fold_does_not_fix_the_draws_of_the_next():
    def draws(params):
        drawn = np.random.uniform(), random.random()  # noqa: NPY002
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        return sum(drawn)

    assert len(set(values(draws))) == 6


@pytest.mark.parametrize("how", ["close", "none", "flush"])
def test_a_fold_that_spoils_the_streams_loses_no_trial(how):
    def spoils(params):
        if how == "close":
            sys.stdout.close()
        elif how == "none":
            sys.stdout = sys.stderr = None
        else:
            sys.stdout.flush = None
        return loss(params)

    assert np.isfinite(values(spoils, max_retries=0)).all()


def test_a_path_object_on_the_import_path_does_no_harm(monkeypatch):
    from accsmbo.execution import _processes

    _processes.IDLE.end()  # the next template starts with that path
    monkeypatch.syspath_prepend(Path("src"))
    monkeypatch.setattr(sys, "path", [*sys.path, Path("src")])
    assert np.isfinite(values(loss)).all()


class Exits(ClassifierMixin, BaseEstimator):
    """Calls `sys.exit` where it is told to."""

    def __init__(self, code=0):
        self.code = code

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if self.code:
            sys.exit(self.code)
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_estimator_that_exits_is_a_failed_candidate_with_a_traceback(n_jobs):
    X, y = make_classification(60, random_state=0)
    search = RandomizedSearchCV(
        Exits(), {"code": [0, 3]}, n_iter=2, cv=2, n_jobs=n_jobs, refit=False
    )
    with (
        pytest.warns(FitFailedWarning, match="2 fits failed"),
        pytest.warns(UserWarning, match="scores are non-finite"),
    ):
        search.fit(X, y)
    errors = {t.params["code"]: e.error for t, e in search.history_}
    assert errors[0] is None
    assert "SystemExit: 3" in errors[3]
    assert "in fit" in errors[3]


class Stops(BaseException):
    """Neither an Exception nor a KeyboardInterrupt."""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_other_exception_ends_the_run_wherever_it_is_raised(n_jobs):
    def stops(params):
        raise Stops("now")

    with pytest.raises(Stops, match="now"):
        minimize(stops, SPACE, n_trials=4, n_jobs=n_jobs)


def refuses():
    raise ValueError("not here")


class Refuses(float):
    """A loss whose pickle does not load."""

    def __reduce__(self):
        return refuses, ()


class RefusesObjective:
    """Its records do not unpickle."""

    n_folds = 1

    def fold(self, trial, index, n_trials=None, callback=None):
        return Refuses(loss(trial.params))

    def failed_fold(self, trial, index, error, seconds):
        return error

    def combine(self, folds, start, end):
        from accsmbo.history import Evaluation

        return Evaluation(value=None, error=str(folds[0]))


def test_a_result_that_does_not_unpickle_fails_its_trial_and_says_so():
    from accsmbo.execution import run

    optimizer = RandomSearch(SPACE, random_state=0)
    run(optimizer, RefusesObjective(), n_trials=3, n_jobs=2)
    assert len(optimizer.history) == 3
    for evaluation in optimizer.history.evaluations:
        assert "cannot be unpickled: ValueError: not here" in evaluation.error


def n_threads_of_a_forest(params):
    """How many jobs n_jobs=-1 makes at once; with threads, as forests ask for."""
    names = set()
    barrier = threading.Barrier(2)

    def note():
        names.add(threading.get_ident())
        with contextlib.suppress(threading.BrokenBarrierError):
            barrier.wait(0.2)

    Parallel(n_jobs=-1, prefer="threads")(delayed(note)() for _ in range(4))
    return float(max(len(names), joblib.effective_n_jobs(-1)))


@pytest.mark.parametrize("threads", [False, True])
def test_all_cores_in_a_worker_are_its_share(threads, monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")
    with joblib.parallel_config("threading" if threads else "loky"):
        assert values(n_threads_of_a_forest, 4) == [1.0] * 4
    assert os.environ["LOKY_MAX_CPU_COUNT"] == "2"
    assert joblib.effective_n_jobs(-1) == min(2, os.cpu_count())


BAD = [
    ({"timeout": 0}, ValueError),
    ({"timeout": -1.0}, ValueError),
    ({"timeout": float("nan")}, ValueError),
    ({"timeout": "5"}, TypeError),
    ({"timeout": True}, TypeError),
    ({"trial_timeout": 0}, ValueError),
    ({"trial_timeout": float("nan")}, ValueError),
    ({"trial_timeout": "x"}, TypeError),
    ({"memory_limit": -1}, ValueError),
    ({"memory_limit": True}, TypeError),
    ({"memory_limit": 1.5}, TypeError),
    ({"memory_limit": "x"}, TypeError),
    ({"max_retries": -1}, ValueError),
    ({"max_retries": 1.5}, TypeError),
    ({"max_retries": None}, TypeError),
    ({"deterministic": "no"}, TypeError),
    ({"deterministic": 1}, TypeError),
    ({"n_jobs": 0}, ValueError),
    ({"n_jobs": 1.5}, TypeError),
    ({"n_jobs": "2"}, TypeError),
    ({"executor": 0}, ValueError),
    ({"executor": "x"}, TypeError),
]


@pytest.mark.parametrize(("argument", "kind"), BAD, ids=str)
def test_a_bad_argument_is_named_before_anything_starts(argument, kind, tmp_path):
    path = tmp_path / "study.jsonl"
    [name] = argument
    with pytest.raises(kind, match=rf"^{name} must "):
        minimize(loss, SPACE, n_trials=2, storage=path, **argument)
    assert not path.exists()


@pytest.mark.parametrize("executor", [None, SerialExecutor(), ThreadPoolExecutor])
def test_no_limit_can_be_said_as_infinity(executor):
    if isinstance(executor, type):
        with executor(2) as pool:
            minimize(loss, SPACE, n_trials=2, timeout=np.inf, executor=pool)
    else:
        minimize(loss, SPACE, n_trials=2, timeout=np.inf, executor=executor)


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS")
def test_true_is_no_number_of_bytes_in_a_search_either():
    X, y = make_classification(60, random_state=0)
    search = RandomizedSearchCV(Exits(), {"code": [0]}, n_iter=1, memory_limit=True)
    with pytest.raises(TypeError, match="memory_limit must be an integer"):
        search.fit(X, y)
