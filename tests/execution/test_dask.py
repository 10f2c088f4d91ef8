# SPDX-License-Identifier: BSD-3-Clause
"""A real Dask cluster: same results, and a killed worker does not end the search."""

import os
import signal
import threading
import time
import warnings

import joblib
import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from accsmbo import minimize
from accsmbo.fidelity import ASHA, Hyperband, Racing
from accsmbo.optimizers import RandomSearch
from accsmbo.search import RandomizedSearchCV
from tests._searches import small_data
from tests.execution._functions import SPACE, Notes

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=50,
        )
        with cluster, distributed.Client(cluster) as client:
            yield client


def test_same_results_as_in_our_own_processes(client):
    X, y = small_data(60)
    space = {"C": stats.loguniform(1e-2, 1e2)}

    def fit(**kwargs):
        search = RandomizedSearchCV(
            LogisticRegression(), space, n_iter=6, cv=2, random_state=0, **kwargs
        )
        return search.fit(X, y).cv_results_

    ours = fit(n_jobs=2)
    executors = [{"executor": client}, {"executor": client.get_executor()}]
    for kwargs in executors:
        theirs = fit(**kwargs)
        assert theirs["params"] == ours["params"]
        np.testing.assert_array_equal(
            theirs["mean_test_score"], ours["mean_test_score"]
        )
    with joblib.parallel_config("dask", client=client):
        theirs = fit()
    np.testing.assert_array_equal(theirs["mean_test_score"], ours["mean_test_score"])


def test_the_data_are_scattered_once(client):
    sent = []

    class Counting:
        def submit(self, function, *args, **kwargs):
            sent.append([type(arg).__name__ for arg in args])
            return client.submit(function, *args, **kwargs)

        def scatter(self, data, **kwargs):
            sent.append("scattered")
            return client.scatter(data, **kwargs)

        def nthreads(self):
            return client.nthreads()

    X, y = small_data(60)
    RandomizedSearchCV(
        LogisticRegression(),
        {"C": [0.1, 1.0, 10.0, 100.0]},
        n_iter=3,
        cv=2,
        executor=Counting(),
    ).fit(X, y)
    assert sent[0] == "scattered"
    assert sent[1:] == [["Future", "Fold"]] * 6


def test_one_worker_killed_and_the_search_completes(client, tmp_path):
    notes = Notes(tmp_path, seconds=0.2)
    killed = []

    def kill_one():
        while not (tmp_path / "calls").exists() or len(notes.calls()) < 4:
            time.sleep(0.05)
        _, pid, _ = notes.calls()[-1]
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    history = minimize(
        notes,
        SPACE,
        optimizer=RandomSearch(),
        n_trials=30,
        executor=client,
        random_state=0,
    )
    killer.join(10)
    assert len(killed) == 1
    assert sorted(t.number for t in history.trials) == list(range(30))
    assert np.isfinite(history.values).all()


def test_racing_keeps_its_promises(client):
    X, y = small_data(60)
    search = RandomizedSearchCV(
        LogisticRegression(),
        {"C": stats.loguniform(1e-4, 1e2)},
        n_iter=12,
        cv=4,
        random_state=0,
        selection=Racing(),
        executor=client,
    ).fit(X, y)
    results = search.cv_results_
    full = results["n_folds_run"] == 4
    scores = np.column_stack([results[f"split{i}_test_score"] for i in range(4)])
    assert np.array_equal(np.isfinite(scores).all(axis=1), full)
    assert search.best_score_ == results["mean_test_score"][full].max()
    assert 1 <= full.sum() < 12


@pytest.mark.parametrize("strategy", [ASHA, Hyperband])
def test_fitted_models_go_on_on_any_machine(client, strategy):
    X, y = small_data(60)

    def fit(executor):
        search = RandomizedSearchCV(
            RandomForestClassifier(random_state=0),
            {"max_depth": range(1, 9), "max_features": stats.uniform(0.1, 0.9)},
            n_iter=9,
            cv=2,
            random_state=0,
            selection=strategy("n_estimators", max_resources=9),
            executor=executor,
        ).fit(X, y)
        results = search.cv_results_
        assert search.best_params_["n_estimators"] == 9
        return dict(
            zip(map(str, results["params"]), results["mean_test_score"], strict=True)
        )

    ours, theirs = fit(None), fit(client)
    common = set(ours) & set(theirs)
    assert len(common) >= 9
    assert {k: ours[k] for k in common} == {k: theirs[k] for k in common}
