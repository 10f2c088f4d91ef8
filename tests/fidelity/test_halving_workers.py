# SPDX-License-Identifier: BSD-3-Clause
"""Searches over a resource with workers that come and go, and with journals."""

import contextlib
import os
import time

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.ensemble import RandomForestClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from accsmbo import Real
from accsmbo.fidelity import ASHA, Hyperband, SuccessiveHalving
from accsmbo.search import GridSearchCV, RandomizedSearchCV
from accsmbo.storage import JournalStorage
from tests._searches import Recorder
from tests.fidelity._halving import STRATEGIES, X, Y, rows, search_of


@pytest.mark.parametrize("selection", STRATEGIES)
def test_two_workers_deterministic_do_what_one_does(selection):
    strategy = selection("n_estimators", max_resources=12, min_resources=2)
    found = []
    for n_jobs in (1, 2):
        search = search_of(
            selection=strategy,
            estimator=RandomForestClassifier(random_state=0),
            n_iter=7,
            n_jobs=n_jobs,
            deterministic=True,
        ).fit(X, Y)
        found.append((rows(search), search.cv_results_["mean_test_score"].tolist()))
    assert found[0] == found[1]


class Dawdles(Recorder):
    """Takes a time of its own for each fit; better with more rows."""

    def fit(self, X, y=None):
        time.sleep(np.random.default_rng().uniform(0.0, 0.03))
        self.n_rows_ = len(X)
        return super().fit(X, y)

    def score(self, X, y=None):
        return -((self.b - 0.3) ** 2) - 1.0 / self.n_rows_


@pytest.mark.parametrize("selection", [Hyperband, ASHA])
def test_deterministic_trials_at_the_same_time_do_not_depend_on_timing(selection):
    split = [(np.arange(80), np.arange(80, 120))]
    found = [
        rows(
            search_of(
                selection=selection(min_resources=13),
                estimator=Dawdles(),
                space={"b": Real(0.0, 1.0)},
                n_iter=9,
                cv=split,
                n_jobs=2,
                deterministic=True,
                refit=False,
            ).fit(X, Y)
        )
        for _ in range(2)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("selection", [Hyperband, ASHA])
def test_two_workers_as_they_come(selection):
    resource = "sgdclassifier__max_iter"
    scores = []
    for n_jobs in (1, 2):
        search = search_of(
            RandomizedSearchCV,
            selection(resource, max_resources=16, factor=4),
            estimator=make_pipeline(
                StandardScaler(), SGDClassifier(tol=None, random_state=0)
            ),
            space={"sgdclassifier__alpha": loguniform(1e-5, 1e1)},
            n_jobs=n_jobs,
        ).fit(X, Y)
        assert len({t.unit.tobytes() for t in search.history_.trials}) == 12
        assert search.best_params_[resource] == 16
        scores.append(
            dict(zip(rows(search), search.cv_results_["mean_test_score"], strict=True))
        )
    # wherever it goes on: a score depends on the candidate and its epochs alone
    common = set(scores[0]) & set(scores[1])
    assert len(common) >= 12
    assert {k: scores[0][k] for k in common} == {k: scores[1][k] for k in common}


def test_a_resumed_search_ends_like_an_unbroken_one(tmp_path):
    def fit(n_stop, storage):
        stop = None if n_stop is None else [lambda h: len(h) >= n_stop]
        return search_of(
            selection=Hyperband("n_estimators", max_resources=9, min_resources=1),
            estimator=RandomForestClassifier(random_state=0),
            storage=storage,
            callbacks=stop,
        ).fit(X, Y)

    whole = fit(None, None)
    path = tmp_path / "study.jsonl"
    fit(10, path)
    resumed = fit(None, path)
    assert rows(resumed) == rows(whole)
    np.testing.assert_array_equal(
        resumed.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"]
    )
    loaded = JournalStorage(path).load()
    assert [t.params for t in loaded.trials] == [
        t.params for t in whole.history_.trials
    ]
    assert loaded.trials[0].fidelity == 1.0
    with pytest.raises(ValueError, match="selection differ"):
        search_of(storage=path, estimator=whole.estimator).fit(X, Y)


def test_more_candidates_can_follow(tmp_path):
    path = tmp_path / "study.jsonl"
    # the better, the later: what was promoted at first would not be any more
    order = {"a": list(range(200))}
    for n_iter in (3, 9, 27):
        search = search_of(
            RandomizedSearchCV,
            SuccessiveHalving(min_resources=4),
            estimator=Recorder(value=lambda e: e.a),
            space=order,
            n_iter=n_iter,
            storage=path,
        ).fit(X, Y)
    asked = [t.params["a"] for t in search.history_.trials]
    assert len(set(asked)) == 27
    assert len(set(rows(search))) == len(rows(search))
    assert search.best_params_["a"] == max(asked)
    assert search.cv_results_["n_resources"][search.best_index_] == 120


class GrownTrees(RandomForestClassifier):
    """Counts the trees it has grown."""

    n_grown = 0

    def fit(self, X, y, sample_weight=None):
        before = len(getattr(self, "estimators_", []))
        super().fit(X, y, sample_weight)
        GrownTrees.n_grown += len(self.estimators_) - before
        return self


@pytest.mark.parametrize("selection", STRATEGIES)
def test_no_tree_of_a_search_is_grown_twice(selection):
    GrownTrees.n_grown = 0
    search = search_of(
        RandomizedSearchCV,
        selection("n_estimators", max_resources=9),
        estimator=GrownTrees(random_state=0),
        refit=False,
    ).fit(X, Y)
    furthest = {}
    for trial in search.history_.trials:
        furthest[trial.unit.tobytes()] = int(trial.fidelity)
    assert GrownTrees.n_grown == 2 * sum(furthest.values())


class DiesOnce(RandomForestClassifier):
    """Ends its process the first time that it goes on; notes its fits in a folder."""

    def __init__(
        self, n_estimators=9, *, random_state=None, warm_start=False, folder=None
    ):
        super().__init__(n_estimators, random_state=random_state, warm_start=warm_start)
        self.folder = folder

    def fit(self, X, y, sample_weight=None):
        before = len(getattr(self, "estimators_", []))
        if before:
            # Made by one worker only, also where two go on at the same time.
            with contextlib.suppress(FileExistsError):
                (self.folder / "died").touch(exist_ok=False)
                os._exit(1)
        super().fit(X, y, sample_weight)
        name = f"{before}-{len(self.estimators_)}-{time.monotonic_ns()}"
        (self.folder / name).touch()
        return self


def test_a_promotion_whose_worker_died_goes_on_elsewhere(tmp_path):
    search = search_of(
        GridSearchCV,
        SuccessiveHalving("n_estimators", min_resources=3, max_resources=9),
        estimator=DiesOnce(random_state=0, folder=tmp_path),
        space={"random_state": [0, 1, 2]},
        n_jobs=2,
        refit=False,
    ).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    fits = [p.name.split("-")[:2] for p in tmp_path.iterdir() if p.name != "died"]
    assert sorted(fits) == [["0", "3"]] * 6 + [["3", "9"]] * 2
