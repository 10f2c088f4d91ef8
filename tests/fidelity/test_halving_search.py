# SPDX-License-Identifier: BSD-3-Clause
"""Searches over a resource: against scikit-learn, data, bad input."""

import itertools

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.datasets import load_digits, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    HalvingGridSearchCV,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from accsmbo import AccSMBOSearchCV, HOAGSearchCV, Real, SMBOSearchCV
from accsmbo.fidelity import ASHA, Hyperband, SuccessiveHalving
from accsmbo.fidelity._rung_optimizer import RungOptimizer
from accsmbo.search import GridSearchCV, RandomizedSearchCV
from accsmbo.stopping import NoImprovement, TargetReached
from tests._searches import Log, Recorder, rows_of
from tests.fidelity._halving import STRATEGIES, TREE, X, Y, rows, search_of

SEARCHES = [AccSMBOSearchCV, SMBOSearchCV, RandomizedSearchCV]


def test_the_same_rungs_and_scores_as_scikit_learn():
    digits = tuple(part[:200] for part in load_digits(return_X_y=True))
    grid = {"max_depth": [1, 2, 4, 6, None], "min_samples_leaf": [1, 3]}
    forest, cv = RandomForestClassifier(random_state=0), StratifiedKFold(2)
    limits = {"min_resources": 3, "max_resources": 27, "factor": 3}
    theirs = HalvingGridSearchCV(
        forest, grid, resource="n_estimators", cv=cv, **limits
    ).fit(*digits)
    ours = GridSearchCV(
        forest, grid, cv=cv, selection=SuccessiveHalving("n_estimators", **limits)
    ).fit(*digits)
    for name in ("iter", "n_resources"):
        np.testing.assert_array_equal(ours.cv_results_[name], theirs.cv_results_[name])
    for name in ("n_resources_", "n_candidates_", "n_iterations_", "best_params_"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.best_score_ == theirs.best_score_
    assert ours.min_resources_ == 3
    assert ours.max_resources_ == ours.best_params_["n_estimators"] == 27
    assert ours.best_estimator_.n_estimators == 27
    scores = [
        dict(zip(rows(s), s.cv_results_["mean_test_score"], strict=True))
        for s in (ours, theirs)
    ]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("selection", STRATEGIES)
@pytest.mark.parametrize("cls", SEARCHES)
def test_the_best_has_all_of_the_resource(cls, selection):
    search = search_of(cls, selection(min_resources=10)).fit(X, Y)
    results = search.cv_results_
    assert results["n_resources"].max() == 120
    assert results["n_resources"][search.best_index_] == 120
    full = results["n_resources"] == 120
    assert search.best_score_ == results["mean_test_score"][full].max()
    assert isinstance(search.optimizer_, RungOptimizer)
    candidates = {(t.subspace, t.unit.tobytes()) for t in search.history_.trials}
    assert len(candidates) == 12
    assert set(search.best_params_) == set(TREE)
    assert len(results["iter"]) == sum(search.n_candidates_)


@pytest.mark.parametrize("selection", STRATEGIES)
def test_training_rows_are_nested_and_test_rows_are_all(selection):
    log = Log()
    space = {"a": list(range(30))}
    search = search_of(
        RandomizedSearchCV,
        selection(min_resources=13),
        estimator=Recorder(log=log, value=lambda e: e.a),
        space=space,
        refit=False,
    ).fit(X, Y)
    by_candidate = {}
    for fit in log:
        by_candidate.setdefault(fit["a"], []).append(set(rows_of(X, fit["X"])))
    amounts = set()
    for parts in by_candidate.values():
        for fold in (parts[0::2], parts[1::2]):
            amounts |= {len(part) for part in fold}
            for less, more in itertools.pairwise(fold):
                assert less < more
    assert amounts == {6, 20, 60}
    sizes = [f["n_test_samples"] for _, e in search.history_ for f in e.folds]
    assert set(sizes) == {60}


def test_groups_stay_apart_on_every_rung():
    groups = np.arange(120) // 6
    log = Log()
    search = search_of(
        RandomizedSearchCV,
        estimator=Recorder(log=log, value=lambda e: e.a),
        space={"a": list(range(20))},
        cv=GroupKFold(3),
    )
    search.selection = SuccessiveHalving(min_resources=20)
    search.set_params(refit=False).fit(X, Y, groups=groups)
    splits = list(GroupKFold(3).split(X, Y, groups))
    for number, fit in enumerate(log):
        _, test = splits[number % 3]
        used = set(groups[rows_of(X, fit["X"])])
        assert not used & set(groups[test])
    assert len(search.n_resources_) > 1


def test_weights_and_fit_params_are_cut_to_the_subsample():
    class Weighs(Recorder):
        def score(self, X, y=None, sample_weight=None):
            return float(self.a)

    log, weight = Log(), np.arange(120.0)
    search_of(
        RandomizedSearchCV,
        SuccessiveHalving(min_resources=20),
        estimator=Weighs(log=log),
        space={"a": list(range(20))},
        refit=False,
    ).fit(X, Y, sample_weight=weight, tag="kept")
    assert {len(fit["X"]) for fit in log} == {20, 60}
    for fit in log:
        np.testing.assert_array_equal(fit["sample_weight"], rows_of(X, fit["X"]))
        assert fit["tag"] == "kept"


def test_time_series_keep_their_order():
    log = Log()
    search_of(
        RandomizedSearchCV,
        SuccessiveHalving(min_resources=20),
        estimator=Recorder(log=log),
        space={"a": list(range(20))},
        cv=TimeSeriesSplit(3),
        refit=False,
    ).fit(X, Y)
    for fit in log:
        used = rows_of(X, fit["X"])
        assert used == sorted(used)


def test_precomputed_kernels_are_cut_on_both_sides():
    kernel = X @ X.T
    search = search_of(
        RandomizedSearchCV,
        SuccessiveHalving(min_resources=30),
        estimator=SVC(kernel="precomputed"),
        space={"C": loguniform(1e-3, 1e2)},
    ).fit(kernel, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize("selection", STRATEGIES)
@pytest.mark.parametrize("error_score", [np.nan, 2.0])
def test_candidates_that_fail_are_never_promoted(selection, error_score):
    class Fails(Recorder):
        def fit(self, X, y=None):
            if self.a % 2:
                raise RuntimeError("odd")
            return super().fit(X, y)

    search = search_of(
        RandomizedSearchCV,
        selection(min_resources=20),
        estimator=Fails(value=lambda e: e.a / 100),
        space={"a": list(range(30))},
        error_score=error_score,
        refit=False,
    )
    with pytest.warns(match="fits failed"):
        search.fit(X, Y)
    promoted = [t for t, _ in search.history_ if t.fidelity > 20]
    assert promoted
    first = search.cv_results_["iter"] == 0
    odd = np.array([p["a"] % 2 for p in search.cv_results_["params"]], dtype=bool)
    assert not odd[~first].any()


def test_ties_go_to_the_first():
    search = search_of(
        GridSearchCV,
        SuccessiveHalving(min_resources=40),
        estimator=Recorder(),
        space={"a": list(range(9))},
    )
    assert search.fit(X, Y).best_params_ == {"a": 0}


def test_an_early_end_chooses_among_the_furthest():
    search = search_of(
        selection=SuccessiveHalving(min_resources=10),
        callbacks=lambda history: len(history) >= 14,
    ).fit(X, Y)
    assert search.n_resources_ == [13, 40]
    assert search.cv_results_["n_resources"][search.best_index_] == 40


def test_several_metrics_and_regression():
    A, b = make_regression(90, 5, noise=3.0, random_state=0)
    search = search_of(
        AccSMBOSearchCV,
        estimator=Ridge(),
        space={"alpha": Real(1e-3, 1e3, log=True)},
        scoring=["r2", "neg_mean_squared_error"],
        refit="r2",
        return_train_score=True,
    ).fit(A, b)
    results = search.cv_results_
    full = results["n_resources"] == 90
    assert search.best_score_ == results["mean_test_r2"][full].max()
    assert "mean_train_neg_mean_squared_error" in results


def test_models_that_could_have_gradients_are_fitted_as_they_are():
    search = search_of(
        AccSMBOSearchCV,
        estimator=LogisticRegression(),
        space={"C": loguniform(1e-4, 1e4)},
        scoring="neg_log_loss",
        keep_predictions=True,
    ).fit(X, Y)
    assert "score_error_estimate" not in search.cv_results_
    full = search.cv_results_["n_resources"] == 120
    assert len(search.predictions_) == full.sum() < len(full)


def test_the_progress_text_counts_evaluations(capsys):
    search_of(verbose=1, selection=SuccessiveHalving(min_resources=10)).fit(X, Y)
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "Fitting up to 2 folds for each of 18 evaluations, at most 36 fits"


def test_conditions_count_what_has_all_of_the_resource():
    def value(estimator):
        return 0.9 if estimator.n_rows_ < 60 else 0.5

    class Sees(Recorder):
        def fit(self, X, y=None):
            self.n_rows_ = len(X)
            return super().fit(X, y)

    search = search_of(
        RandomizedSearchCV,
        Hyperband(min_resources=13),
        estimator=Sees(value=value),
        space={"a": list(range(30))},
        stop_when=[TargetReached(0.8), NoImprovement(2)],
    ).fit(X, Y)
    assert (search.cv_results_["n_resources"] == 120).sum() == 3


BAD = [
    ({"resource": "n_trees"}, "resource must be 'n_samples' or a parameter"),
    ({"resource": "splitter"}, "resource must be an integer parameter.*'best'"),
    ({"resource": "max_depth"}, "resource must not be searched over"),
    ({"resource": 3}, "resource must be a str, got 3"),
    ({"resource": "max_leaf_nodes"}, "max_resources must be given"),
    (
        {"min_resources": 90, "max_resources": 60},
        "at most max_resources, got 90 and 60",
    ),
    ({"max_resources": 500}, "at most the number of samples, got 500 for 120"),
    ({"min_resources": 0}, "min_resources must be an integer >= 1, got 0"),
    ({"factor": 1.5}, "factor must be at least 2, got 1.5"),
    ({"factor": "3"}, "factor must be a real number, got '3'"),
    ({"random_state": None}, "random_state must be an integer >= 0"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda v: str(v)[:40])
@pytest.mark.parametrize("selection", STRATEGIES)
def test_bad_arguments_are_named(selection, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        search_of(selection=selection(**arguments)).fit(X, Y)


def test_hoag_has_nothing_to_do_with_it():
    search = HOAGSearchCV(
        LogisticRegression(), {"C": Real(0.1, 10, log=True)}, selection=ASHA()
    )
    with pytest.raises(ValueError, match=r"does without gradients.*AccSMBOSearchCV"):
        search.fit(X, Y)


def test_one_rung_is_a_plain_search():
    strategy = Hyperband(min_resources=100)
    halved = search_of(selection=strategy).fit(X, Y)
    plain = SMBOSearchCV(
        DecisionTreeClassifier(random_state=0), TREE, n_iter=12, cv=2, random_state=0
    ).fit(X, Y)
    assert halved.cv_results_["params"] == plain.cv_results_["params"]
    assert halved.best_score_ == plain.best_score_


def test_few_rows_are_one_rung():
    search = search_of(
        RandomizedSearchCV,
        estimator=KNeighborsClassifier(1),
        space={"p": [1, 2]},
        n_iter=2,
    )
    assert search.fit(X[:12], Y[:12]).n_resources_ == [12]
