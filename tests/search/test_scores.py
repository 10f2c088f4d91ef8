# SPDX-License-Identifier: BSD-3-Clause
"""Scores that are not numbers: a scorer that raises, a metric that is undefined."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.svm import SVC

from accsmbo import Real, SMBOSearchCV
from tests._searches import SAMPLING, SEARCHES, make_search, small_data

IRIS = load_iris(return_X_y=True)
C = {"C": Real(1e-2, 1e2, log=True)}
FAILED = "ignore:Scoring failed:UserWarning"
NON_FINITE = "ignore:One or more of the test scores are non-finite:UserWarning"


class ScorerFault(Exception):
    """Raised by `raising`."""


def raising(estimator, X, y):
    raise ScorerFault(f"no score for {estimator.__class__.__name__}")


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize(
    "scoring", [{}, {"scoring": ["roc_auc"], "refit": "roc_auc"}], ids=["one", "dict"]
)
@pytest.mark.filterwarnings(FAILED)
def test_a_scorer_that_always_raises_ends_the_search_after_a_few(cls, scoring):
    scoring = scoring or {"scoring": "roc_auc"}
    space = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0]}
    search = make_search(cls, SVC(), space, cv=2, n_iter=5, **scoring)
    with pytest.raises(
        ValueError, match=r"scoring must .* first [3-5] cand.*multi_c"
    ) as error:
        search.fit(*IRIS)
    plain = GridSearchCV(SVC(), space, error_score="raise", **scoring)
    with pytest.raises(ValueError, match="multi_class") as expected:
        plain.fit(*IRIS)
    cause = error.value.__cause__
    assert type(cause) is type(expected.value)
    assert str(cause) == str(expected.value)
    assert "multi_class must be in" in search.history_[0][1].error
    assert not hasattr(search, "best_params_")


@pytest.mark.parametrize("refit", ["bad", "good", False])
@pytest.mark.filterwarnings(FAILED, NON_FINITE)
def test_of_several_metrics_the_optimised_one_decides(refit):
    scoring = {"bad": raising, "good": "accuracy"}
    search = SMBOSearchCV(SVC(), C, n_iter=5, scoring=scoring, refit=refit, cv=2)
    if refit == "bad":
        with pytest.raises(ValueError, match="ScorerFault: no score for SVC") as error:
            search.fit(*IRIS)
        assert isinstance(error.value.__cause__, ScorerFault)
    else:
        search.fit(*IRIS)
        assert len(search.history_) == 5
        assert np.isfinite(search.cv_results_["mean_test_good"]).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.filterwarnings(FAILED)
def test_the_scorers_exception_comes_back_from_workers_and_stays_in_the_journal(
    n_jobs, tmp_path
):
    path = tmp_path / "study.jsonl"
    search = SMBOSearchCV(
        SVC(), C, n_iter=12, cv=2, scoring="roc_auc", n_jobs=n_jobs, storage=path
    )
    with pytest.raises(ValueError, match="multi_class") as error:
        search.fit(*IRIS)
    assert isinstance(error.value.__cause__, ValueError)
    assert len(search.history_) < 12
    assert "multi_class must be in" in path.read_text()


def test_with_error_score_raise_the_scorers_own_exception_ends_the_search_at_once():
    log = []

    def scorer(estimator, X, y):
        log.append(estimator.C)
        raise ScorerFault("at once")

    search = SMBOSearchCV(SVC(), C, n_iter=9, scoring=scorer, error_score="raise")
    with pytest.raises(ScorerFault, match="at once"):
        search.fit(*IRIS)
    assert len(log) == 1


@pytest.mark.filterwarnings(FAILED, NON_FINITE)
def test_a_choice_that_the_scorer_cannot_use_does_not_end_the_search():
    """The log loss needs probabilities, which most losses of SGD do not give."""
    losses = ["hinge", "perceptron", "squared_hinge", "huber", "log_loss"]
    for seed in range(3):
        search = SMBOSearchCV(
            SGDClassifier(random_state=0),
            {"loss": losses},
            n_iter=5,
            scoring="neg_log_loss",
            cv=2,
            random_state=seed,
        )
        assert search.fit(*small_data()).best_params_ == {"loss": "log_loss"}


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.filterwarnings(FAILED, NON_FINITE)
def test_half_of_a_range_that_the_scorer_cannot_use_does_not_end_the_search(cls):
    def scorer(estimator, X, y):
        if estimator.C > 1.0 - 1e-9:
            raise ScorerFault("too large")
        return 1.0

    for seed in range(6):
        search = make_search(
            cls, SVC(), C, n_iter=9, scoring=scorer, cv=2, random_state=seed
        )
        assert search.fit(*small_data()).best_score_ == 1.0


@pytest.mark.filterwarnings(FAILED)
def test_a_search_ends_once_the_scorer_failed_on_all_sides_of_the_space():
    search = SMBOSearchCV(SVC(), C, n_iter=30, scoring=raising, cv=2)
    with pytest.raises(ValueError, match="all of the first 3 candidates"):
        search.fit(*small_data())


@pytest.mark.filterwarnings(FAILED)
def test_a_number_in_place_of_scores_is_a_score():
    search = SMBOSearchCV(SVC(), C, n_iter=5, scoring=raising, error_score=-1, cv=2)
    assert search.fit(*IRIS).best_score_ == -1.0
    assert all("ScorerFault" in e.error for e in search.history_.evaluations)


@pytest.mark.filterwarnings(FAILED, NON_FINITE)
def test_two_candidates_without_a_score_are_what_scikit_learn_makes_of_them():
    grid = {"C": [1.0, 10.0]}
    plain = GridSearchCV(SVC(), grid, scoring=raising, cv=2).fit(*IRIS)
    search = SMBOSearchCV(SVC(), grid, scoring=raising, cv=2, n_iter=2).fit(*IRIS)
    assert np.isnan(plain.best_score_)
    assert np.isnan(search.best_score_)


@pytest.mark.filterwarnings(FAILED, NON_FINITE)
def test_one_fold_on_which_the_scorer_fails_is_said_in_the_history():
    def scorer(estimator, X, y):
        if (X[0] == IRIS[0][0]).all():
            raise ScorerFault("the first fold")
        return 1.0

    search = SMBOSearchCV(SVC(), C, n_iter=4, scoring=scorer, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(*IRIS)
    for evaluation in search.history_.evaluations:
        errors = [fold.get("score_error") for fold in evaluation.folds]
        assert "ScorerFault: the first fold" in errors[0]
        assert errors[1:] == [None, None]
        assert evaluation.error == errors[0]


@pytest.mark.parametrize("n_iter", [4, 8])
def test_a_metric_undefined_on_every_fold_is_said_once_as_in_scikit_learn(n_iter):
    X, y = small_data(12)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = SMBOSearchCV(
            Ridge(), {"alpha": Real(0.1, 10.0)}, n_iter=n_iter, cv=LeaveOneOut()
        ).fit(X, y.astype(float))
    said = [str(w.message) for w in caught]
    assert sum("test scores are non-finite" in text for text in said) == 1
    assert sum("R^2 score is not well-defined" in text for text in said) == 12 * n_iter
    assert np.isnan(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("n_iter", [4, 8])
@pytest.mark.filterwarnings(FAILED)
def test_a_scorer_that_refuses_single_rows_gives_nan_as_in_scikit_learn(n_iter):
    """Case 105: https://github.com/scikit-learn/scikit-learn/issues/15900."""
    search = SMBOSearchCV(SVC(), C, n_iter=n_iter, cv=LeaveOneOut(), scoring=raising)
    with pytest.warns(UserWarning, match="test scores are non-finite"):
        search.fit(*small_data(12))
    assert np.isnan(search.cv_results_["mean_test_score"]).all()
