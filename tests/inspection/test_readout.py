# SPDX-License-Identifier: BSD-3-Clause
"""A history, a fitted search and a journal mean the same, and so do their values."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from accsmbo import SMBOSearchCV, minimize
from accsmbo.inspection import as_readout
from accsmbo.space import Real
from accsmbo.storage import JournalStorage
from tests._journals import records_in, rewrite
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


def test_a_search_its_history_and_its_journal_are_the_same_study(search_and_path):
    search, path = search_and_path
    for given in (search, search.history_, path, str(path), JournalStorage(path)):
        study = as_readout(given)
        assert (study.value_name, study.is_score) == ("neg_log_loss", True)
        np.testing.assert_array_equal(study.history.values, search.history_.values)


def test_a_journal_names_the_metric_of_its_search(tmp_path):
    X, y = load_iris(return_X_y=True)
    names = {"accuracy": "accuracy", None: "score", "neg_log_loss": "neg_log_loss"}
    for scoring, name in names.items():
        path = tmp_path / f"{name}.jsonl"
        search = SMBOSearchCV(
            LogisticRegression(max_iter=500),
            {"C": Real(1e-3, 10.0, log=True)},
            n_iter=2,
            cv=2,
            scoring=scoring,
            storage=path,
        ).fit(X, y)
        for given in (search, path):
            study = as_readout(given)
            assert (study.value_name, study.is_score) == (name, True)
    header, *records = records_in(path)
    rewrite(path, [header | {"metric": [1]}, *records])
    assert as_readout(path).value_name == "loss"


def equal_scores(estimator, X, y):
    """Two metrics with the same value: only their names tell them apart."""
    accuracy = estimator.score(X, y)
    return {"first": accuracy, "second": accuracy}


@pytest.mark.parametrize(
    ("scoring", "refit", "metric"),
    [
        (None, True, "score"),
        (["accuracy", "balanced_accuracy"], "balanced_accuracy", "balanced_accuracy"),
        ({"b": "accuracy", "a": "accuracy"}, False, "b"),
        (equal_scores, "second", "second"),
    ],
)
def test_the_metric_is_known_by_name_not_by_its_values(
    scoring, refit, metric, tmp_path
):
    X, y = load_iris(return_X_y=True)
    during = []
    search = SMBOSearchCV(
        LogisticRegression(max_iter=500),
        {"C": Real(1e-3, 10.0, log=True)},
        n_iter=2,
        cv=2,
        scoring=scoring,
        refit=refit,
        storage=tmp_path / "study.jsonl",
        callbacks=lambda history: during.append(history.metric),
    ).fit(X, y)
    assert search.objective_metric_ == search.history_.metric == metric
    assert during == [metric] * 2
    loaded = JournalStorage(search.storage).load()
    assert loaded.metric == JournalStorage(search.storage).metric() == metric
    again = search.fit(X, y)
    assert again.history_.metric == metric
    for given in (search, search.history_, loaded, search.storage):
        readout = as_readout(given)
        assert (readout.value_name, readout.is_score) == (metric, True)


def test_a_history_without_a_metric_holds_losses():
    history = run_random({"x": Real(0, 1)}, lambda p: p["x"], 2)
    assert history.metric is None
    assert (as_readout(history).value_name, as_readout(history).sign) == ("loss", 1.0)
    history.metric = "accuracy"
    named = as_readout(history)
    assert (named.value_name, named.sign) == ("accuracy", -1.0)


def test_losses_of_a_function_are_losses(tmp_path):
    path = tmp_path / "study.jsonl"
    history = minimize(
        lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=3, storage=path
    )
    for given in (history, path):
        assert as_readout(given).value_name == "loss"
        assert not as_readout(given).is_score


def test_other_things_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"got 3 \(of type int\)"):
        as_readout(3)
    with pytest.raises(FileNotFoundError):
        as_readout(tmp_path / "absent.jsonl")
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text('{"a": 1}\n')
    with pytest.raises(ValueError, match="not the header of an accsmbo journal"):
        as_readout(foreign)
