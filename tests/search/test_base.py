# SPDX-License-Identifier: BSD-3-Clause
"""What our searches add to scikit-learn's: limits, interrupts, callbacks, history."""

import json
import pickle
import time

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV as SklearnGridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from accsmbo import AccSMBOSearchCV, Real, SMBOSearchCV
from accsmbo.exceptions import SearchInterruptedWarning
from accsmbo.optimizers import SMBO, GridSearch, RandomSearch
from accsmbo.search import GridSearchCV, RandomizedSearchCV

X, y = load_iris(return_X_y=True)
X.setflags(write=False)
SPACE = {"C": loguniform(1e-3, 1e3), "kernel": ["rbf", "linear"]}
SEARCHES = [AccSMBOSearchCV, SMBOSearchCV, RandomizedSearchCV]


class Scripted(ClassifierMixin, BaseEstimator):
    """Predicts the first class; its fits sleep, fail or are interrupted on demand."""

    n_fits = 0

    def __init__(self, a=0, sleep=0.0, interrupt_at=None):
        self.a = a
        self.sleep = sleep
        self.interrupt_at = interrupt_at

    def fit(self, X, y):
        type(self).n_fits += 1
        if type(self).n_fits == self.interrupt_at:
            raise KeyboardInterrupt
        time.sleep(self.sleep)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.fixture(autouse=True)
def _count_from_zero():
    Scripted.n_fits = 0


@pytest.mark.parametrize("cls", SEARCHES)
def test_history_and_results_hold_the_same_candidates(cls):
    search = cls(SVC(), SPACE, n_iter=6, random_state=0).fit(X, y)
    assert [t.params for t in search.history_.trials] == search.cv_results_["params"]
    np.testing.assert_allclose(
        search.history_.values, -search.cv_results_["mean_test_score"]
    )
    assert search.best_params_ == search.history_.best_params
    assert search.best_score_ == -search.history_.best_value
    assert search.optimizer_.history is search.history_
    assert search.objective_metric_ == "score"
    assert json.loads(json.dumps(search.best_params_)) == search.best_params_


@pytest.mark.parametrize("cls", SEARCHES)
def test_folds_in_parallel_change_nothing(cls):
    serial, parallel = (
        cls(
            SVC(), SPACE, n_iter=5, cv=3, random_state=0, n_jobs=n, deterministic=True
        ).fit(X, y)
        for n in (None, 2)
    )
    assert serial.cv_results_["params"] == parallel.cv_results_["params"]
    np.testing.assert_array_equal(
        serial.cv_results_["split2_test_score"],
        parallel.cv_results_["split2_test_score"],
    )


@pytest.mark.parametrize("cls", SEARCHES)
def test_on_a_finite_grid_the_best_is_that_of_scikit_learn(cls):
    grid = [
        {"C": [10, 0.1, 1], "kernel": ["linear", "rbf"]},
        {"kernel": ["poly"], "degree": [3, 2]},
    ]
    ours = cls(SVC(), grid, n_iter=8, cv=3).fit(X, y)
    theirs = SklearnGridSearchCV(SVC(), grid, cv=3).fit(X, y)
    assert ours.best_params_ == theirs.best_params_
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert isinstance(ours.optimizer_, GridSearch)


def test_ties_go_to_the_first_candidate():
    search = AccSMBOSearchCV(Scripted(), {"a": [5, 3, 4]}, n_iter=3).fit(X, y)
    assert search.best_params_ == {"a": 5}


def test_a_grid_over_a_continuous_dimension_is_cut_into_points():
    search = GridSearchCV(SVC(), {"C": Real(0.01, 100, log=True)}, resolution=3)
    search.fit(X, y)
    assert search.cv_results_["param_C"].tolist() == pytest.approx([0.01, 1, 100])


def test_the_given_optimizer_is_used_and_left_alone():
    optimizer = RandomSearch(random_state=3)
    search = SMBOSearchCV(SVC(), SPACE, optimizer=optimizer, n_iter=4).fit(X, y)
    expected = RandomizedSearchCV(SVC(), SPACE, n_iter=4, random_state=3).fit(X, y)
    assert search.cv_results_["params"] == expected.cv_results_["params"]
    assert optimizer.space is None
    search = SMBOSearchCV(SVC(), SPACE, n_iter=2, optimizer=SMBO(), random_state=0)
    assert search.fit(X, y).optimizer_.random_state == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_timeout_holds_to_within_one_fold(n_jobs):
    search = AccSMBOSearchCV(
        Scripted(sleep=0.1),
        {"a": Real(0, 1)},
        n_iter=1000,
        cv=3,
        timeout=1.0,
        n_jobs=n_jobs,
        refit=False,
    )
    with parallel_config("threading"):
        search.fit(X, y)
    finished = len(search.cv_results_["params"])
    assert 1 <= finished < 40
    ends = [e.end_time for e in search.history_.evaluations]
    starts = [e.start_time for e in search.history_.evaluations]
    assert max(ends) - min(starts) < 1.0 + 0.1 + 0.5


def test_a_timeout_before_the_first_candidate_is_an_error():
    search = AccSMBOSearchCV(Scripted(sleep=0.05), {"a": Real(0, 1)}, timeout=0.01)
    with pytest.raises(ValueError, match=r"timeout must leave time.*got 0.01.*Raise"):
        search.fit(X, y)


def test_an_interrupt_keeps_the_finished_candidates_and_refits_nothing():
    search = AccSMBOSearchCV(Scripted(interrupt_at=8), {"a": Real(0, 1)}, cv=3)
    with pytest.warns(SearchInterruptedWarning, match="after 2 of 50.*refit_best"):
        search.fit(X, y)
    assert len(search.cv_results_["params"]) == 2
    assert search.best_params_ in search.cv_results_["params"]
    assert Scripted.n_fits == 8
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(NotFittedError, match=r"interrupted.*Call refit_best\(X, y\)"):
        search.predict(X)
    restored = pickle.loads(pickle.dumps(search))
    assert restored.refit_best(X, y).predict(X).shape == y.shape


@pytest.mark.parametrize("cls", [AccSMBOSearchCV, RandomizedSearchCV])
def test_an_interrupt_names_the_line_of_the_user_and_how_to_go_on(cls, tmp_path):
    path = tmp_path / "study.jsonl"
    search = cls(Scripted(interrupt_at=8), {"a": Real(0, 1)}, cv=3, storage=path)
    with pytest.warns(SearchInterruptedWarning) as caught:
        search.fit(X, y)
    assert caught[0].filename == __file__
    assert str(caught[0].message).endswith(
        "study.jsonl' holds them too: the same call goes on from there."
    )


def test_an_interrupt_can_be_raised_after_the_results_are_set():
    search = AccSMBOSearchCV(
        Scripted(interrupt_at=8), {"a": Real(0, 1)}, cv=3, on_interrupt="raise"
    )
    with (
        pytest.warns(SearchInterruptedWarning),
        pytest.raises(KeyboardInterrupt),
    ):
        search.fit(X, y)
    assert len(search.cv_results_["params"]) == 2


def test_an_interrupt_before_the_first_candidate_is_raised():
    search = AccSMBOSearchCV(Scripted(interrupt_at=2), {"a": Real(0, 1)}, cv=3)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)


def test_a_second_fit_starts_afresh():
    search = AccSMBOSearchCV(SVC(), SPACE, n_iter=4, random_state=0, cv=3)
    first = search.fit(X, y).cv_results_["params"]
    assert search.fit(X, y).cv_results_["params"] == first
    search.set_params(refit=False).fit(X, y)
    assert not hasattr(search, "best_estimator_")
    assert not hasattr(search, "refit_time_")


def test_callbacks_see_the_history_and_can_stop():
    seen = []
    search = AccSMBOSearchCV(
        SVC(),
        SPACE,
        n_iter=20,
        callbacks=[lambda h: seen.append(len(h)), lambda h: len(h) == 5],
    ).fit(X, y)
    assert seen == [1, 2, 3, 4, 5]
    assert len(search.cv_results_["params"]) == 5


def test_an_exception_in_a_callback_is_not_swallowed():
    def broken(history):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        AccSMBOSearchCV(SVC(), SPACE, n_iter=3, callbacks=broken).fit(X, y)


@pytest.mark.parametrize(
    ("scoring", "refit", "metric"),
    [
        (["accuracy", "f1_macro"], "f1_macro", "f1_macro"),
        (["accuracy", "f1_macro"], False, "accuracy"),
        ({"b": "accuracy", "a": "f1_macro"}, lambda results: 0, "b"),
        ("f1_macro", True, "f1_macro"),
    ],
)
def test_the_objective_metric_follows_refit(scoring, refit, metric):
    search = AccSMBOSearchCV(SVC(), SPACE, n_iter=3, scoring=scoring, refit=refit)
    search.fit(X, y)
    assert search.objective_metric_ == metric
    key = f"mean_test_{metric}" if search.multimetric_ else "mean_test_score"
    np.testing.assert_allclose(search.history_.values, -search.cv_results_[key])


def test_without_a_space_the_default_space_is_searched():
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    search = AccSMBOSearchCV(model, n_iter=4, random_state=0).fit(X, y)
    assert "logisticregression__C" in search.best_params_


def test_an_estimator_without_a_default_space_is_named():
    with pytest.raises(ValueError, match=r"(?s)Scripted.*param_distributions"):
        AccSMBOSearchCV(Scripted()).fit(X, y)


def test_verbose_prints_what_scikit_learn_prints(capsys):
    RandomizedSearchCV(SVC(), SPACE, n_iter=2, cv=3, verbose=1).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == (
        "Fitting 3 folds for each of 2 candidates, totalling 6 fits\n"
    )
    # No bar where stderr is not a terminal.
    assert captured.err == ""


def test_a_bar_in_a_terminal_shows_the_best_score(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    RandomizedSearchCV(SVC(), SPACE, n_iter=2, cv=3, verbose=1, random_state=0).fit(
        X, y
    )
    assert "best score 0.9" in capsys.readouterr().err


def test_a_resumed_search_counts_what_is_left(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    path = tmp_path / "study.jsonl"
    kwargs = {"cv": 3, "verbose": 1, "random_state": 0, "storage": path}

    def printed(n_iter):
        RandomizedSearchCV(SVC(), SPACE, n_iter=n_iter, **kwargs).fit(X, y)
        return capsys.readouterr()

    assert "2/2 [" in printed(2).err
    resumed = printed(5)
    assert resumed.out == (
        "Fitting 3 folds for each of 3 candidates, totalling 9 fits; "
        f"2 candidates are in {str(path)!r}\n"
    )
    assert "5/5 [" in resumed.err
    assert "0/5" not in resumed.err
    done = printed(5)
    assert "0 candidates, totalling 0 fits; 5 candidates are in" in done.out
    assert done.err == ""


def test_a_nested_search_is_an_estimator_like_any_other():
    inner = AccSMBOSearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3]}, n_iter=2, cv=2
    )
    outer = AccSMBOSearchCV(
        inner, {"estimator__min_samples_leaf": [1, 5]}, n_iter=2, cv=2
    )
    assert clone(outer).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"n_iter": 0}, "'n_iter' parameter.*Got 0 instead"),
        ({"timeout": 0}, "'timeout' parameter.*Got 0 instead"),
        ({"on_interrupt": "go on"}, "'on_interrupt' parameter.*Got 'go on' instead"),
        ({"optimizer": "smbo"}, "'optimizer' parameter.*Got 'smbo' instead"),
        ({"param_distributions": 3}, "'param_distributions' parameter.*Got 3 instead"),
        ({"param_distributions": []}, "must name at least one parameter"),
        (
            {"param_distributions": {"Cs": [1]}},
            r"(?s)Invalid parameter 'Cs' for estimator SVC.*Did you mean 'C'.*Rename",
        ),
    ],
)
def test_bad_arguments_are_named(kwargs, message):
    kwargs = {"param_distributions": SPACE, **kwargs}
    with pytest.raises(ValueError, match=message):
        AccSMBOSearchCV(SVC(), **kwargs).fit(X, y)


def test_a_parameter_of_a_step_that_is_searched_over_is_accepted():
    model = make_pipeline(StandardScaler(), SVC())
    space = [
        {"svc": [LogisticRegression(max_iter=500)], "svc__solver": ["lbfgs"]},
        {"svc": [SVC()], "svc__gamma": [0.1, 1.0]},
    ]
    search = AccSMBOSearchCV(model, space, n_iter=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 3
