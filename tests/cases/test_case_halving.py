# SPDX-License-Identifier: BSD-3-Clause
"""Cases 29 and 53, and case 47 on rungs: NaN, rare classes and groups in halving."""

import warnings

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.svm import SVC

from accsmbo.fidelity import ASHA, Hyperband, SuccessiveHalving
from accsmbo.search import GridSearchCV, RandomizedSearchCV
from tests._searches import Log, Recorder, rows_of, small_data

STRATEGIES = [SuccessiveHalving, Hyperband, ASHA]


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize("selection", STRATEGIES)
@pytest.mark.parametrize("refit", [False, True])
def test_nan_ranks_last_in_every_rung(selection, refit):
    """See https://github.com/scikit-learn/scikit-learn/issues/20678 (case 29)."""
    X, y = small_data(60)
    search = GridSearchCV(
        RandomForestClassifier(random_state=0),
        {"max_depth": [-10, 3, 10]},
        cv=2,
        refit=refit,
        selection=selection("n_estimators", factor=2, min_resources=1, max_resources=4),
    )
    with pytest.warns(FitFailedWarning, match="max_depth"):
        search.fit(X, y)
    results = search.cv_results_
    bad = np.array([p["max_depth"] == -10 for p in results["params"]])
    assert np.isnan(results["mean_test_score"][bad]).all()
    assert (results["iter"][bad] == 0).all()
    assert results["rank_test_score"][bad].min() > (~bad).sum()
    assert search.best_params_["max_depth"] in (3, 10)
    assert search.best_params_["n_estimators"] == 4
    assert np.isfinite(search.best_score_)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.filterwarnings("ignore:Scoring failed")
@pytest.mark.parametrize("selection", STRATEGIES)
def test_a_scorer_that_returns_nan_promotes_nobody(selection):
    """See https://github.com/scikit-learn/scikit-learn/issues/20678 (case 29)."""
    X, y = small_data(60)

    def scorer(estimator, X, y):
        return np.nan if estimator.a > 2 else estimator.a

    search = GridSearchCV(
        Recorder(),
        {"a": list(range(6))},
        cv=2,
        scoring=scorer,
        selection=selection(factor=2, min_resources=15),
    ).fit(X, y)
    failed = [p["a"] > 2 for p in search.cv_results_["params"]]
    below = search.cv_results_["iter"] == 0
    assert below[failed].all()
    assert search.best_params_["a"] in (0, 1, 2)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_rungs_that_fail_do_not_decide():
    """See https://github.com/scikit-learn/scikit-learn/issues/20775 (case 53)."""
    X, y = small_data(60)

    class NeedsFew(Recorder):
        def fit(self, X, y=None):
            if len(X) > 20:
                raise MemoryError("too many rows")
            return super().fit(X, y)

    search = GridSearchCV(
        NeedsFew(value=lambda e: e.a),
        {"a": list(range(6))},
        cv=2,
        refit=False,
        selection=SuccessiveHalving(min_resources=20),
    )
    with pytest.warns(FitFailedWarning, match="too many rows"):
        search.fit(X, y)
    assert search.best_params_ == {"a": 5}
    assert search.cv_results_["n_resources"][search.best_index_] == 20


def test_a_first_rung_that_fails_as_a_whole_is_said():
    """See https://github.com/scikit-learn/scikit-learn/issues/20775 (case 53)."""
    X, y = small_data(60)

    class NeedsMany(Recorder):
        def fit(self, X, y=None):
            if len(X) < 20:
                raise ValueError("too few rows")
            return super().fit(X, y)

    def fit(selection):
        return GridSearchCV(
            NeedsMany(value=lambda e: e.a),
            {"a": list(range(6))},
            cv=2,
            selection=selection,
        ).fit(X, y)

    message = r"too few rows(.|\n)*with 20 of resource='n_samples'.*raise min_resources"
    with pytest.raises(ValueError, match=message):
        fit(SuccessiveHalving(min_resources=20))
    assert fit(SuccessiveHalving(min_resources=50)).best_params_ == {"a": 5}


def rare(seed):
    """Return 45 samples of one class and 5 of another, in random order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [45, 5]))
    return rng.normal(size=(50, 3)) + y[:, None], y


@pytest.mark.parametrize("seed", range(20))
def test_small_rungs_hold_every_class(seed):
    """See https://github.com/scikit-learn/scikit-learn/issues/20775 (case 53)."""
    X, y = rare(seed)
    log = Log()
    RandomizedSearchCV(
        Recorder(log=log),
        {"a": list(range(9))},
        n_iter=9,
        cv=StratifiedKFold(5),
        random_state=seed,
        selection=SuccessiveHalving(min_resources=10, factor=2, random_state=seed),
    ).fit(X, y)
    smallest = min(len(fit["X"]) for fit in log)
    assert smallest <= 10
    for fit in log:
        counts = np.bincount(fit["y"], minlength=2)
        assert counts.min() >= 2
        assert counts[1] <= np.ceil(0.1 * len(fit["y"])) + 1


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        SVC(),
        LinearDiscriminantAnalysis(),
        HistGradientBoostingClassifier(
            max_iter=2, early_stopping=True, validation_fraction=0.3
        ),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("selection", STRATEGIES)
def test_no_fit_fails_for_want_of_a_class(estimator, selection):
    """See https://github.com/scikit-learn/scikit-learn/issues/20775 (case 53)."""
    space = {
        "LogisticRegression": {"C": [0.1, 1.0, 10.0]},
        "SVC": {"C": [0.1, 1.0, 10.0]},
        "LinearDiscriminantAnalysis": {"tol": [1e-4, 1e-3, 1e-2]},
        "HistGradientBoostingClassifier": {"learning_rate": [0.1, 0.5, 1.0]},
    }[type(estimator).__name__]
    for seed in range(3):
        X, y = rare(seed)
        search = GridSearchCV(
            estimator, space, cv=5, selection=selection(min_resources=10, factor=2)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            search.fit(X, y)
        assert len(search.n_resources_) > 1
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("selection", STRATEGIES)
def test_groups_stay_together_on_every_rung(selection):
    """See the reports of case 47.

    https://github.com/scikit-learn/scikit-learn/issues/19841
    https://github.com/scikit-learn/scikit-learn/issues/22126
    """
    X, y = small_data(80)
    groups = np.arange(80) // 4
    log = Log()
    cv = StratifiedGroupKFold(3)
    search = RandomizedSearchCV(
        Recorder(log=log, value=lambda e: e.a),
        {"a": list(range(9))},
        n_iter=9,
        cv=cv,
        refit=False,
        random_state=0,
        selection=selection(min_resources=20, factor=2),
    ).fit(X, y, groups=groups)
    tests = [set(groups[test]) for _, test in cv.split(X, y, groups)]
    assert len(search.n_resources_) == 3
    for number, fit in enumerate(log):
        assert not tests[number % 3] & set(groups[rows_of(X, fit["X"])])
