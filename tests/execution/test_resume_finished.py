# SPDX-License-Identifier: BSD-3-Clause
"""A finished study is resumed by reading it, and repeated where more is asked."""

import pickle
from dataclasses import replace

import pytest
from sklearn.linear_model import LogisticRegression

from accsmbo import Categorical, Real, Space, minimize
from accsmbo.execution import run
from accsmbo.execution._minimize import _FunctionObjective
from accsmbo.fidelity import SuccessiveHalving
from accsmbo.optimizers import SMBO, AccSMBO, GridSearch, RandomSearch
from accsmbo.search import RandomizedSearchCV
from accsmbo.stopping import TargetReached
from accsmbo.storage import JournalStorage
from tests._searches import small_data

SPACE = Space({"x": Real(-1.0, 2.0), "c": Categorical(["a", "b"])})
N = 12


def loss(params):
    return params["x"] ** 2 + (params["c"] == "a")


class Counting(SMBO):
    """Counts what it is asked."""

    n_asks = 0

    def ask(self):
        type(self).n_asks += 1
        return super().ask()


def resumed(path, optimizer, n_trials=N, **kwargs):
    """Run with a journal; return the optimizer as it is then."""
    with JournalStorage(path).open(SPACE, {}, seed=0) as journal:
        run(
            optimizer,
            _FunctionObjective(loss),
            n_trials=n_trials,
            journal=journal,
            **kwargs,
        )
    return optimizer


def identity(trial):
    return trial.number, trial.unit.tobytes(), trial.seed


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_finished_study_asks_nothing(tmp_path, n_jobs):
    path = tmp_path / "study.jsonl"
    first = resumed(path, SMBO(SPACE, random_state=0))
    Counting.n_asks = 0
    again = resumed(path, Counting(SPACE, random_state=0), n_jobs=n_jobs)
    assert Counting.n_asks == 0
    assert again.history.values.tolist() == first.history.values.tolist()
    resumed(path, Counting(SPACE, random_state=0), N + 1)
    assert Counting.n_asks == N + 1


@pytest.mark.parametrize("kind", [SMBO, AccSMBO, RandomSearch])
def test_what_is_asked_after_all_is_as_in_an_unbroken_run(tmp_path, kind):
    path = tmp_path / "study.jsonl"
    first = resumed(path, kind(SPACE, random_state=0))
    again = resumed(path, kind(SPACE, random_state=0))
    copied = pickle.loads(pickle.dumps(again))
    expected = [identity(first.ask()) for _ in range(2)]
    for optimizer in (again, copied):
        assert [identity(optimizer.ask()) for _ in range(2)] == expected


def test_proposals_after_all_are_those_of_an_unbroken_run(tmp_path):
    path = tmp_path / "study.jsonl"
    first = resumed(path, SMBO(SPACE, random_state=0))
    again = resumed(path, SMBO(SPACE, random_state=0))
    for a, b in zip(first.propose(2), again.propose(2), strict=True):
        assert a.unit.tobytes() == b.unit.tobytes()


def test_one_that_was_told_more_goes_on_from_that(tmp_path):
    path = tmp_path / "study.jsonl"
    resumed(path, SMBO(SPACE, random_state=0))
    again = resumed(path, SMBO(SPACE, random_state=0))
    again.restore(replace(again.history[0][0], number=N))
    again.tell(again.pending[0], 0.5)
    assert again.ask().number == N + 1
    assert len(again.history) == N + 1


GRID = {"x": [1.0, 2.0, 3.0], "c": ["b", "c"]}


@pytest.mark.parametrize("n_trials", [4, 6], ids=["a part", "all"])
def test_finite_spaces_resume(tmp_path, n_trials):
    first, again = [
        minimize(
            loss,
            GRID,
            optimizer=GridSearch(),
            n_trials=n_trials,
            random_state=0,
            storage=tmp_path / "study.jsonl",
        )
        for _ in range(2)
    ]
    assert first.values.tolist() == again.values.tolist()


def test_a_condition_sees_the_state_of_an_unbroken_run(tmp_path):
    path = tmp_path / "study.jsonl"
    resumed(path, SMBO(SPACE, random_state=0))
    Counting.n_asks = 0
    stop = TargetReached(-1.0)
    resumed(path, Counting(SPACE, random_state=0), stop_when=stop)
    assert Counting.n_asks == N


def test_a_finished_halving_evaluates_nothing_again(tmp_path):
    X, y = small_data(60)
    calls = []

    def fit():
        search = RandomizedSearchCV(
            LogisticRegression(),
            {"C": [0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0]},
            n_iter=6,
            selection=SuccessiveHalving(min_resources=20),
            cv=2,
            random_state=0,
            storage=tmp_path / "study.jsonl",
            callbacks=lambda history: calls.append(len(history)),
        )
        return search.fit(X, y).cv_results_["params"]

    first = fit()
    n = len(calls)
    assert fit() == first
    assert len(calls) == n
