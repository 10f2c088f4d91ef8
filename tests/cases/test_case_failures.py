# SPDX-License-Identifier: BSD-3-Clause
"""Cases 25 to 37: failing fits, scorers and models, flat and used-up spaces."""

import warnings

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import make_regression
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from accsmbo import Integer, Real, SMBOSearchCV, minimize
from accsmbo.exceptions import SurrogateFailedWarning
from accsmbo.optimizers import SMBO
from accsmbo.surrogates import GaussianProcess
from tests._searches import (
    MODEL_BASED,
    SAMPLING,
    SEARCHES,
    Recorder,
    make_search,
    small_data,
)


class Fails(Recorder):
    """Fails to fit where `a` is one of the bad values; else scores `a`."""

    def __init__(self, a=None, b=None, c=None, log=None, value=None, bad=()):
        super().__init__(a, b, c, log, value)
        self.bad = bad

    def fit(self, X, y=None):
        if self.a in self.bad:
            raise RuntimeError(f"cannot fit a={self.a}")
        return super().fit(X, y)

    def score(self, X, y=None):
        return float(self.a)


# Said by scikit-learn's result formatting, beside the summary of the failures.
NON_FINITE = "ignore:One or more of the test scores are non-finite"


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.filterwarnings(NON_FINITE)
def test_failed_fits_do_not_end_the_search(cls):
    """See https://github.com/optuna/optuna/issues/4557 (case 25)."""
    X, y = make_regression(60, 10, n_informative=3, random_state=0)
    search = make_search(
        cls, PLSRegression(), {"n_components": Integer(1, 20)}, n_iter=15, cv=3
    )
    with pytest.warns(FitFailedWarning, match="fits failed out of a total of 45"):
        search.fit(X, y)
    results = search.cv_results_
    components = np.array([params["n_components"] for params in results["params"]])
    failed = np.isnan(results["mean_test_score"])
    np.testing.assert_array_equal(failed, components > 10)
    assert 0 < failed.sum() < 15
    assert search.best_params_["n_components"] <= 10
    assert results["rank_test_score"][failed].min() > (~failed).sum()
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("cls", SAMPLING)
def test_one_warning_sums_the_failures_up(cls):
    """See https://github.com/optuna/optuna/issues/4557 (case 25)."""
    X, y = small_data()
    space = {"a": list(range(12)), "b": Real(0, 1)}
    search = make_search(cls, Fails(bad=(0, 3, 4, 5)), space, n_iter=14, cv=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    assert [w.category for w in caught] == [FitFailedWarning, UserWarning]
    assert search.best_params_["a"] == max(
        p["a"] for p in search.cv_results_["params"] if p["a"] not in (0, 3, 4, 5)
    )


@pytest.mark.parametrize("cls", SEARCHES)
def test_error_score_may_be_a_number_or_raise(cls):
    """See https://github.com/optuna/optuna/issues/4557 (case 25)."""
    X, y = small_data()
    space = {"a": [1, 2, 3]}
    search = make_search(cls, Fails(bad=(3,)), space, n_iter=3, cv=2, error_score=-7)
    with pytest.warns(FitFailedWarning, match="2 fits failed"):
        search.fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], [1, 2, -7])
    search.set_params(error_score="raise")
    with pytest.raises(RuntimeError, match="cannot fit a=3"):
        search.fit(X, y)


@pytest.mark.parametrize("cls", MODEL_BASED)
@pytest.mark.filterwarnings(NON_FINITE)
def test_the_history_keeps_the_reason_and_no_nan_reaches_the_model(cls):
    """See https://github.com/optuna/optuna/issues/4557 (case 25)."""
    X, y = small_data()
    space = {"a": list(range(1, 9)), "b": Real(0, 1)}
    search = make_search(cls, Fails(bad=(1, 2, 3)), space, n_iter=14, cv=2)
    with pytest.warns(FitFailedWarning):
        search.fit(X, y)
    failed = [(t, e) for t, e in search.history_ if e.failed]
    assert failed
    for trial, evaluation in failed:
        assert trial.params["a"] in (1, 2, 3)
        assert "RuntimeError: cannot fit" in evaluation.error
        assert evaluation.value is None
    assert np.isfinite(search.optimizer_.observations().y).all()


@pytest.mark.parametrize("optimizer", [SMBO()])
def test_minimize_goes_on_after_failures(optimizer):
    """See https://github.com/optuna/optuna/issues/4557 (case 25)."""

    def func(params):
        if params["x"] < 0:
            raise ZeroDivisionError("negative x")
        return np.inf if params["x"] > 0.9 else (params["x"] - 0.3) ** 2

    space = {"x": Real(-1, 1)}
    history = minimize(func, space, optimizer=optimizer, n_trials=15, random_state=0)
    assert len(history) == 15
    assert abs(history.best_params["x"] - 0.3) < 0.1


def raises_on_one_class(estimator, X, y):
    if len(np.unique(y)) < 2:
        raise ValueError("only one class in y")
    return estimator.score(X, y)


# The first test fold holds one class where the first 10 targets are 0.
ONE_CLASS_FOLD = [
    (np.arange(10, 40), np.arange(10)),
    (np.arange(20, 40), np.arange(10, 20)),
]


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_failing_scorer_obeys_error_score(cls):
    """See https://github.com/scikit-learn/scikit-learn/issues/17589 (case 27)."""
    X, y = small_data()
    y = np.r_[np.zeros(10, int), y[10:]]
    search = make_search(
        cls,
        LogisticRegression(),
        {"C": [0.1, 1.0, 10.0]},
        n_iter=3,
        cv=ONE_CLASS_FOLD,
        scoring=raises_on_one_class,
        error_score=0.25,
    )
    with pytest.warns(UserWarning, match=r"(?s)Scoring failed.*only one class in y"):
        search.fit(X, y)
    results = search.cv_results_
    np.testing.assert_array_equal(results["split0_test_score"], np.full(3, 0.25))
    assert (results["split1_test_score"] != 0.25).all()
    search.set_params(error_score="raise")
    with pytest.raises(ValueError, match="only one class in y"):
        search.fit(X, y)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.filterwarnings("ignore:Scoring failed", NON_FINITE)
def test_one_of_several_metrics_fails_on_a_fold(cls):
    """See https://github.com/scikit-learn/scikit-learn/issues/17589 (case 27)."""
    X, y = small_data()
    y = np.r_[np.zeros(10, int), y[10:]]
    scoring = {"fragile": raises_on_one_class, "accuracy": "accuracy"}
    search = make_search(
        cls,
        LogisticRegression(),
        {"C": [0.1, 1.0, 10.0]},
        n_iter=3,
        cv=ONE_CLASS_FOLD,
        scoring=scoring,
        refit="accuracy",
    ).fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_fragile"]).all()
    assert np.isfinite(search.cv_results_["mean_test_accuracy"]).all()
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.filterwarnings("ignore:Scoring failed", NON_FINITE)
def test_some_candidates_fail_in_scoring(cls):
    """See https://github.com/scikit-learn/scikit-learn/issues/17589 (case 27)."""
    X, y = small_data()

    def scorer(estimator, X, y):
        if estimator.a > 5:
            raise ArithmeticError("no score")
        return estimator.a

    space = {"a": Integer(1, 10), "b": Real(0, 1)}
    search = make_search(cls, Recorder(), space, n_iter=14, cv=2, scoring=scorer)
    search.fit(X, y)
    assert search.best_params_["a"] <= 5
    assert search.best_score_ == search.best_params_["a"]
    assert len(search.history_) == 14


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_score_of_nan_ranks_last(cls):
    """See https://github.com/scikit-learn/scikit-learn/issues/17589 (case 27)."""
    X, y = small_data()
    scorer = make_scorer(lambda y, p: np.nan)
    search = make_search(
        cls,
        Recorder(),
        {"a": [1, 2, 3]},
        n_iter=3,
        cv=2,
        scoring=lambda e, X, y: np.nan if e.a == 1 else e.a,
    )
    with pytest.warns(UserWarning, match="One or more of the test scores"):
        search.fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["rank_test_score"], [3, 2, 1])
    assert search.best_params_ == {"a": 3}
    search.set_params(scoring=scorer)
    with pytest.warns(UserWarning, match="One or more of the test scores"):
        search.fit(X, y)
    assert search.best_index_ == 0


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.filterwarnings(NON_FINITE)
def test_a_selector_that_keeps_no_column_is_a_failed_fit(cls):
    """See the report of case 31.

    https://github.com/rodrigo-arenas/Sklearn-genetic-opt/issues/109
    """
    X, y = small_data()
    pipeline = make_pipeline(VarianceThreshold(), LogisticRegression())
    space = {
        "variancethreshold__threshold": Real(0, 4),
        "logisticregression__C": Real(0.1, 10, log=True),
    }
    search = make_search(cls, pipeline, space, n_iter=14, cv=2)
    with pytest.warns(FitFailedWarning, match="No feature in X meets"):
        search.fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 14
    assert 0 < np.isnan(scores).sum() < 14
    assert search.best_score_ == np.nanmax(scores)


@pytest.mark.parametrize("cls", MODEL_BASED)
@pytest.mark.filterwarnings(NON_FINITE)
def test_a_nested_search_that_fails_is_a_failed_fit(cls):
    """See the report of case 31.

    https://github.com/rodrigo-arenas/Sklearn-genetic-opt/issues/109
    """
    X, y = small_data()
    inner = make_search(cls, Fails(bad=(1, 2)), {"a": [1, 2]}, n_iter=2, cv=2)
    space = {"param_distributions": [{"a": [1, 2]}, {"a": [3]}, {"a": [2]}]}
    outer = make_search(cls, inner.set_params(n_iter=1), space, n_iter=3, cv=2)
    with pytest.warns(FitFailedWarning, match="All the 2 fits failed"):
        outer.fit(X, y)
    assert outer.best_params_ == {"param_distributions": {"a": [3]}}


@pytest.mark.parametrize("cls", MODEL_BASED)
@pytest.mark.parametrize("constant", [0.0, 0.5, -1e300, 1e-300])
def test_a_flat_objective_is_explored_without_a_warning(cls, constant):
    """See the reports of case 33.

    https://github.com/scikit-optimize/scikit-optimize/issues/994
    https://github.com/scikit-optimize/scikit-optimize/issues/947
    """
    X, y = small_data()
    search = make_search(
        cls, Recorder(value=lambda e: constant), {"a": Real(0, 1)}, n_iter=14, cv=2
    ).fit(X, y)
    tried = [params["a"] for params in search.cv_results_["params"]]
    assert len(set(tried)) == 14
    assert search.best_index_ == 0
    assert np.ptp(tried) > 0.5
    assert (search.cv_results_["rank_test_score"] == 1).all()


@pytest.mark.parametrize("cls", MODEL_BASED)
def test_flat_at_first_and_then_not(cls):
    """See the reports of case 33.

    https://github.com/scikit-optimize/scikit-optimize/issues/994
    https://github.com/scikit-optimize/scikit-optimize/issues/947
    """
    X, y = small_data()
    seen = []

    def value(estimator):
        seen.append(estimator.a)
        return 0.0 if len(set(seen)) <= 6 else 1 - abs(estimator.a - 0.8)

    search = make_search(
        cls, Recorder(value=value), {"a": Real(0, 1)}, n_iter=18, cv=2, refit=False
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert (scores[:6] == 0).all()
    assert (scores[6:] > 0).all()
    assert search.best_score_ > 0.75
    assert len({params["a"] for params in search.cv_results_["params"]}) == 18


def rastrigin_like(params):
    x = np.array(list(params.values()))
    return float(np.sum((x - 0.3) ** 2 - 0.1 * np.cos(20 * x)))


def test_ten_dimensions_and_31_noise_free_points():
    """See https://github.com/scikit-optimize/scikit-optimize/issues/324 (case 35)."""
    space = {f"x{i}": Real(0, 1) for i in range(10)}
    history = minimize(rastrigin_like, space, n_trials=36, random_state=0)
    assert len(history) == 36
    assert np.isfinite(history.values).all()


@pytest.mark.parametrize("n_copies", [20, 60])
def test_copies_of_one_point_do_not_break_the_model(n_copies):
    """See https://github.com/scikit-optimize/scikit-optimize/issues/324 (case 35)."""
    rng = np.random.default_rng(0)
    U = np.vstack([np.tile(rng.random(3), (n_copies, 1)), rng.random((4, 3))])
    y = np.r_[np.full(n_copies, 0.5), rng.random(4)]
    mean, std = GaussianProcess().fit(U, y).predict(U)
    assert np.isfinite(mean).all()
    assert (std >= 0).all()
    np.testing.assert_allclose(mean[:n_copies], mean[0])


def test_five_hundred_smooth_points():
    """See https://github.com/scikit-optimize/scikit-optimize/issues/324 (case 35)."""
    rng = np.random.default_rng(0)
    U = rng.random((500, 2))
    y = np.sin(3 * U[:, 0]) + U[:, 1]
    mean, std = GaussianProcess().fit(U, y).predict(rng.random((50, 2)))
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()


class Broken(GaussianProcess):
    """A surrogate that cannot be fitted."""

    def fit(self, U, y, *, categorical=None, noise=None):
        raise np.linalg.LinAlgError("leading minor not positive definite")


def test_a_surrogate_failure_is_said_once_counted_and_survived():
    """See https://github.com/scikit-optimize/scikit-optimize/issues/324 (case 35)."""
    optimizer = SMBO({"x": Real(0, 1)}, surrogate=Broken(), random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(10):
            trial = optimizer.ask()
            optimizer.tell(trial, trial.params["x"])
    assert [w.category for w in caught] == [SurrogateFailedWarning]
    assert "not positive definite" in str(caught[0].message)
    assert optimizer.n_surrogate_failures_ == 6
    assert len({t.params["x"] for t in optimizer.history.trials}) == 10


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.parametrize("n_iter", [5, 4])
def test_a_finite_space_is_used_up_and_the_search_ends(cls, n_iter, caplog):
    """See the reports of case 37.

    https://github.com/automl/SMAC3/issues/718
    https://github.com/automl/SMAC3/issues/25
    """
    X, y = small_data()
    space = {"a": [1, 2], "b": ["x", "y"]}
    make_search(cls, Recorder(), space, n_iter=n_iter, cv=2).fit(X, y)
    search = make_search(cls, Recorder(), space, n_iter=n_iter, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    # Once a search, in the log: GridSearchCV, which is replaced, does not warn either.
    said = [record.getMessage() for record in caplog.records]
    expected = [] if n_iter == 4 else ["4 candidates, fewer than n_iter=5"] * 2
    assert len(said) == len(expected)
    assert all(e in s for e, s in zip(expected, said, strict=True))


@pytest.mark.parametrize("cls", SAMPLING)
@pytest.mark.parametrize(
    "space",
    [
        {"a": Integer(1, 3)},
        {"a": [True, False], "b": Integer(1, 1)},
        [{"a": [1, 2]}, {"b": [1]}],
        {"a": [1, 1, 2]},
    ],
    ids=["integer", "constant", "alternatives", "repeated"],
)
def test_every_kind_of_finite_space_ends(cls, space, caplog):
    """See the reports of case 37.

    https://github.com/automl/SMAC3/issues/718
    https://github.com/automl/SMAC3/issues/25
    """
    X, y = small_data()
    search = make_search(cls, Recorder(), space, n_iter=50, cv=KFold(2)).fit(X, y)
    assert "n_iter=50" in caplog.text
    assert 2 <= len(search.cv_results_["params"]) <= 3


def test_minimize_ends_too(caplog):
    """See the reports of case 37.

    https://github.com/automl/SMAC3/issues/718
    https://github.com/automl/SMAC3/issues/25
    """
    history = minimize(lambda p: p["a"], {"a": [3, 1, 2]}, n_trials=9)
    assert "n_trials=9" in caplog.text
    assert len(history) == 3
    assert history.best_params == {"a": 1}


def test_roc_auc_on_a_fold_of_one_class_ranks_last():
    """See https://github.com/scikit-learn/scikit-learn/issues/17589 (case 27)."""
    X, y = small_data()
    y = np.r_[np.zeros(10, int), y[10:]]
    search = SMBOSearchCV(
        LogisticRegression(),
        {"C": [0.1, 1.0]},
        n_iter=2,
        cv=ONE_CLASS_FOLD,
        scoring=make_scorer(roc_auc_score, response_method="decision_function"),
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    assert search.best_index_ == 0
    assert np.isfinite(search.cv_results_["split1_test_score"]).all()
