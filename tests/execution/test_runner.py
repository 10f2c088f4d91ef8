# SPDX-License-Identifier: BSD-3-Clause
"""The loop on any executor: budgets, limits, order, folds, refusals, settings."""

import threading
import time
import warnings
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import sklearn
from joblib.externals import loky
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from threadpoolctl import threadpool_info, threadpool_limits

from accsmbo import Real, minimize
from accsmbo.exceptions import SearchInterruptedWarning
from accsmbo.execution import SerialExecutor, StopReason, run
from accsmbo.execution._executors import make_workers
from accsmbo.execution._minimize import _FunctionObjective
from accsmbo.execution._processes import ProcessWorkers
from accsmbo.execution._workers import FutureWorkers, OwnThreads
from accsmbo.optimizers import SMBO, RandomSearch
from accsmbo.search import RandomizedSearchCV
from tests._searches import small_data
from tests.execution._functions import SPACE, Notes, loss


def units(history):
    return sorted((t.number, t.unit.tobytes()) for t in history.trials)


def random_run(**kwargs):
    return minimize(
        loss, SPACE, optimizer=RandomSearch(), n_trials=12, random_state=0, **kwargs
    )


class Result:
    """A future with the three methods that are needed."""

    def __init__(self, call):
        self.call = call

    def add_done_callback(self, callback):
        threading.Timer(0.005, callback, [self]).start()

    def result(self):
        return self.call()

    def cancel(self):
        return False


class Barely:
    """An executor with nothing but `submit`."""

    def submit(self, function, *args):
        return Result(lambda: function(*args))


EXECUTORS = {
    "serial": SerialExecutor,
    "threads": lambda: ThreadPoolExecutor(3),
    "processes": lambda: ProcessPoolExecutor(2),
    "loky": lambda: loky.ProcessPoolExecutor(1),
    "ours": lambda: 2,
    "barely": Barely,
}


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("kind", EXECUTORS)
def test_results_do_not_depend_on_the_executor(kind):
    executor = EXECUTORS[kind]()
    history = random_run(executor=executor)
    serial = random_run()
    assert units(history) == units(serial)
    assert sorted(history.values) == sorted(serial.values)
    if kind in ("threads", "processes", "loky"):
        assert executor.submit(pow, 2, 3).result() == 8
        executor.shutdown()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_broken_executor_ends_the_run_with_what_is_done():
    executor = ProcessPoolExecutor(2)
    with pytest.warns(SearchInterruptedWarning, match="takes no more work"):
        history = minimize(
            exits_late, {"x": Real(0, 1)}, optimizer=RandomSearch(), n_trials=60,
            executor=executor, random_state=0,
        )  # fmt: skip
    assert 1 <= len(history) < 60
    executor.shutdown()


def exits_late(params):
    if params["x"] > 0.95:
        import os

        os._exit(1)
    return params["x"]


@pytest.mark.parametrize(
    "kwargs",
    [{}, {"executor": 3}, {"executor": ThreadPoolExecutor(3)}],
    ids=["serial", "processes", "threads"],
)
def test_budgets_are_exact(kwargs):
    for n_trials in (1, 7):
        history = minimize(loss, SPACE, n_trials=n_trials, random_state=0, **kwargs)
        assert sorted(t.number for t in history.trials) == list(range(n_trials))


def test_a_finite_space_is_used_up():
    optimizer = RandomSearch({"x": [1, 2, 3]}, random_state=0)
    objective = _FunctionObjective(lambda params: params["x"])
    assert run(optimizer, objective, n_trials=9) is StopReason.EXHAUSTED
    assert len(optimizer.history) == 3
    assert not optimizer.pending


def test_a_callback_ends_the_run():
    optimizer = RandomSearch(SPACE, random_state=0)
    reason = run(
        optimizer,
        _FunctionObjective(loss),
        n_trials=9,
        callback=lambda history: len(history) == 4,
    )
    assert reason is StopReason.CALLBACK
    assert len(optimizer.history) == 4


@pytest.mark.parametrize("executor", [SerialExecutor(), ThreadPoolExecutor(2)])
def test_timeout_holds_to_within_one_call(executor, tmp_path):
    start = time.monotonic()
    history = minimize(
        Notes(tmp_path, seconds=0.1),
        SPACE,
        optimizer=RandomSearch(),
        n_trials=1000,
        timeout=0.5,
        executor=executor,
    )
    assert 0.4 < time.monotonic() - start < 1.2
    assert 2 <= len(history) <= 12


def test_workers_are_kept_busy(tmp_path):
    history = minimize(
        Notes(tmp_path, seconds=0.05),
        SPACE,
        optimizer=RandomSearch(),
        n_trials=40,
        executor=ThreadPoolExecutor(4),
        random_state=0,
    )
    spans = [s for e in history.evaluations for s in e.spans]
    assert {s.worker for s in spans} == {0, 1, 2, 3}
    wall = max(s.end for s in spans) - min(s.start for s in spans)
    assert sum(s.end - s.start for s in spans) > 0.7 * 4 * wall


@pytest.mark.parametrize("optimizer", [SMBO(), RandomSearch()], ids=["smbo", "random"])
def test_deterministic_histories_do_not_depend_on_timing(optimizer, tmp_path):
    def history(jitter):
        rng = np.random.default_rng(jitter)
        naps = {}

        def func(params):
            time.sleep(naps.setdefault(params["x"], rng.uniform(0, 0.02)))
            return loss(params)

        return minimize(
            func,
            SPACE,
            optimizer=optimizer,
            n_trials=16,
            executor=ThreadPoolExecutor(3),
            deterministic=True,
            random_state=0,
        )

    one, two = history(1), history(2)
    assert [t.number for t in one.trials] == list(range(16))
    assert [t.unit.tobytes() for t in one.trials] == [
        t.unit.tobytes() for t in two.trials
    ]


def test_one_slot_and_serial_are_the_same_history():
    serial = minimize(loss, SPACE, n_trials=12, random_state=0)
    one = minimize(loss, SPACE, n_trials=12, random_state=0, executor=1)
    assert [t.unit.tobytes() for t in serial.trials] == [
        t.unit.tobytes() for t in one.trials
    ]


class Threads(ClassifierMixin, BaseEstimator):
    """Notes in its score how it runs: config, filters, threads of the libraries."""

    def __init__(self, a=0, kind="working_memory"):
        self.a = a
        self.kind = kind

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y):
        if self.kind == "threads":
            counts = {info["num_threads"] for info in threadpool_info()}
            return counts.pop() if len(counts) == 1 else np.nan
        if self.kind == "warns":
            warnings.warn("said in a worker", UserWarning, stacklevel=2)
        return sklearn.get_config()["working_memory"]


@pytest.mark.parametrize("kwargs", [{"n_jobs": 2}, {"executor": ThreadPoolExecutor(2)}])
def test_the_configuration_reaches_the_workers(kwargs):
    X, y = small_data()
    search = RandomizedSearchCV(Threads(), {"a": [1, 2, 3]}, n_iter=3, cv=2, **kwargs)
    with sklearn.config_context(working_memory=77):
        search.fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], [77] * 3)


def test_the_warning_filters_reach_the_workers():
    X, y = small_data()
    search = RandomizedSearchCV(
        Threads(kind="warns"),
        {"a": [1, 2, 3]},
        n_iter=3,
        cv=2,
        n_jobs=2,
        error_score="raise",
    )
    with pytest.raises(UserWarning, match="said in a worker"):
        search.fit(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "said in")
        search.fit(X, y)


class ManyThreads(Threads):
    """Comes into a worker process whose libraries use more threads than their share."""

    def __setstate__(self, state):
        threadpool_limits(limits=5)
        super().__setstate__(state)


@pytest.mark.parametrize("n", [1, 2, 8])
def test_libraries_are_held_to_a_share_of_the_cores(n):
    X, y = small_data()
    search = RandomizedSearchCV(
        ManyThreads(kind="threads"), {"a": [1, 2, 3]}, n_iter=3, cv=2, executor=n
    ).fit(X, y)
    share = max(1, joblib.cpu_count() // n)
    assert search.cv_results_["mean_test_score"].tolist() == [share] * 3


def test_n_jobs_means_what_joblib_says():
    objective = _FunctionObjective(loss)

    def kind(n_jobs=None, **kwargs):
        workers = make_workers(objective, n_jobs=n_jobs, **kwargs)
        workers.close()
        return type(workers), workers.n_slots

    cores = joblib.cpu_count()
    assert kind() == kind(1) == (FutureWorkers, 1)
    assert kind(3) == (ProcessWorkers, 3)
    assert kind(1, trial_timeout=1.0) == (ProcessWorkers, 1)
    assert kind(-1)[1] == cores
    with joblib.parallel_config("threading", n_jobs=2):
        assert kind() == (OwnThreads, 2)
        assert kind(3) == (OwnThreads, 3)
    with joblib.parallel_config("loky", n_jobs=2):
        assert kind() == (ProcessWorkers, 2)
    with joblib.parallel_config("sequential"):
        assert kind(4) == (FutureWorkers, 1)
    with pytest.raises(ValueError, match="n_jobs == 0"):
        kind(0)


def test_inside_joblib_workers_a_search_uses_what_joblib_leaves():
    def inner():
        return len(random_run(n_jobs=2))

    jobs = [joblib.delayed(inner)() for _ in range(2)]
    assert joblib.Parallel(2, backend="threading")(jobs) == [12, 12]


def test_executors_that_are_refused():
    with pytest.raises(TypeError, match="executor must be None, an int"):
        random_run(executor="fast")
    with pytest.raises(ValueError, match="executor must be at least 1"):
        random_run(executor=0)
    with pytest.raises(ValueError, match="executor and n_jobs must not both be given"):
        random_run(executor=2, n_jobs=2)


@pytest.mark.parametrize("limit", [{"trial_timeout": 2.0}, {"memory_limit": 10**9}])
@pytest.mark.parametrize(
    "executor", [SerialExecutor(), ThreadPoolExecutor(1)], ids=["serial", "threads"]
)
def test_limits_that_cannot_be_kept_are_refused_before_the_first_trial(limit, executor):
    calls = []
    with pytest.raises(ValueError, match="need workers that the search can end, got"):
        minimize(calls.append, SPACE, executor=executor, **limit)
    with (
        joblib.parallel_config("threading", n_jobs=2),
        pytest.raises(ValueError, match="need workers that the search can end"),
    ):
        minimize(calls.append, SPACE, **limit)
    assert not calls


def test_what_cannot_be_pickled_is_named():
    lock = threading.Lock()
    with pytest.raises(TypeError, match="worker processes need an estimator"):
        minimize(lambda params: bool(lock), SPACE, n_trials=2, n_jobs=2)


def test_a_submit_that_pickles_nothing_is_named():
    class Bad:
        def submit(self, function, *args):
            future = Future()
            future.set_exception(TypeError("cannot pickle"))
            return future

    with pytest.raises(TypeError, match="could not send the objective"):
        random_run(executor=Bad())


def test_a_search_with_an_executor_can_be_cloned_and_pickled():
    import pickle

    pool = ThreadPoolExecutor(2)
    search = RandomizedSearchCV(Threads(), {"a": [1, 2, 3]}, n_iter=3, executor=pool)
    assert clone(search).executor is pool
    assert pickle.loads(pickle.dumps(search)).executor is None
    assert search.executor is pool
    search.set_params(executor=2)
    assert pickle.loads(pickle.dumps(clone(search))).executor == 2


def test_an_exception_of_a_worker_reaches_the_caller_with_its_traceback():
    X, y = small_data()
    search = RandomizedSearchCV(
        Raises(), {"a": [1, 2]}, n_iter=2, cv=2, n_jobs=2, error_score="raise"
    )
    with pytest.raises(RuntimeError, match="cannot fit") as raised:
        search.fit(X, y)
    assert "In a worker process" in "".join(raised.value.__notes__)


class Raises(Threads):
    def fit(self, X, y):
        raise RuntimeError("cannot fit")
