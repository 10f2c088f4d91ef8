# SPDX-License-Identifier: BSD-3-Clause
"""HOAGSearchCV: the search along hypergradients, and scikit-learn's checks."""

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_regression
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from accsmbo.hypergradients import hypergradient
from accsmbo.linear_model import GroupRidge
from accsmbo.optimizers import HOAG
from accsmbo.search._hoag import HOAGSearchCV

X, y = load_breast_cancer(return_X_y=True)
MODEL = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8, max_iter=1000))
SPACE = {"logisticregression__C": loguniform(1e-4, 1e4)}


@pytest.fixture(scope="module")
def search():
    return HOAGSearchCV(
        MODEL, SPACE, scoring="neg_log_loss", cv=3, solver="gradients"
    ).fit(X, y)


def test_it_converges_to_the_best_score(search):
    assert search.optimizer_.converged_
    assert len(search.history_) < 10
    grid = np.geomspace(1e-2, 1e2, 9)
    best = max(
        cross_val_score(
            MODEL.set_params(logisticregression__C=C),
            X,
            y,
            cv=3,
            scoring="neg_log_loss",
        ).mean()
        for C in grid
    )
    assert search.best_score_ > best * 1.001
    assert search.best_estimator_.score(X, y) > 0.95


def test_trials_carry_gradients_and_tolerances(search):
    for trial, evaluation in search.history_:
        assert set(evaluation.gradient) == set(SPACE)
        assert 0 < trial.tolerance <= 1e-2
    assert search.cv_results_["split2_test_score"].shape == (len(search.history_),)


def test_every_row_is_what_cross_val_score_gives(search):
    plain = [
        cross_val_score(
            clone(MODEL).set_params(**params), X, y, cv=3, scoring="neg_log_loss"
        ).mean()
        for params in search.cv_results_["params"]
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], plain, rtol=1e-12)


def test_a_gradient_is_that_of_the_score_with_its_sign(search):
    trial, evaluation = search.history_[0]
    _, slope = hypergradient(MODEL, trial.params, X, y, cv=3, scoring="neg_log_loss")
    for name, value in slope.items():
        assert evaluation.gradient[name] == pytest.approx(-value, rel=0.1)


def test_several_metrics_and_train_scores():
    search = HOAGSearchCV(
        MODEL,
        SPACE,
        scoring=["roc_auc", "neg_log_loss"],
        refit="neg_log_loss",
        return_train_score=True,
        cv=3,
    ).fit(X, y)
    assert search.optimizer_.converged_
    assert (search.cv_results_["mean_test_roc_auc"] > 0.98).all()
    assert (search.cv_results_["mean_train_neg_log_loss"] < 0).all()


def test_sample_weight_reaches_the_inner_problem():
    data = make_regression(60, 4, noise=20, random_state=0)
    weight = np.linspace(0.1, 3, 60)
    space = {"alpha": loguniform(1e-3, 1e3)}
    options = {"scoring": "neg_mean_squared_error", "cv": 3, "n_iter": 1}
    weighted = HOAGSearchCV(Ridge(), space, solver="gradients", **options)
    weighted.fit(*data, sample_weight=weight)
    plain = GridSearchCV(
        Ridge(), {"alpha": [1.0]}, cv=3, scoring="neg_mean_squared_error"
    )
    plain.fit(*data, sample_weight=weight)
    assert weighted.best_score_ == pytest.approx(plain.best_score_, rel=1e-12)
    assert weighted.history_[0][1].gradient


def test_weights_of_a_pipeline_step_reach_the_inner_problem():
    weight = np.linspace(0.1, 3, len(y))
    search = HOAGSearchCV(
        MODEL, SPACE, scoring="neg_log_loss", cv=3, n_iter=1, solver="gradients"
    )
    search.fit(X, y, logisticregression__sample_weight=weight)
    plain = GridSearchCV(
        MODEL, {"logisticregression__C": [1.0]}, scoring="neg_log_loss", cv=3
    ).fit(X, y, logisticregression__sample_weight=weight)
    assert search.best_score_ == pytest.approx(plain.best_score_, rel=1e-12)
    assert search.history_[0][1].gradient


def test_scores_that_need_a_fit_of_their_own():
    counts = np.round(np.exp(X[:, 0] / X[:, 0].max()))
    search = HOAGSearchCV(
        make_pipeline(StandardScaler(), PoissonRegressor(max_iter=1000)),
        {"poissonregressor__alpha": loguniform(1e-3, 1e3)},
        scoring=["neg_mean_poisson_deviance", "r2"],
        refit="neg_mean_poisson_deviance",
        cv=2,
        n_iter=2,
    ).fit(X, counts)
    assert np.isfinite(search.cv_results_["mean_test_r2"]).all()
    assert search.history_[0][1].gradient


def test_group_penalties():
    data = make_regression(80, 6, n_informative=2, noise=5, random_state=0)
    model = GroupRidge(groups=range(6))
    space = {f"alpha__{k}": loguniform(1e-4, 1e4) for k in range(6)}
    search = HOAGSearchCV(
        model, space, scoring="neg_mean_squared_error", cv=3, n_iter=40
    ).fit(*data)
    single = max(
        cross_val_score(
            Ridge(alpha), *data, cv=3, scoring="neg_mean_squared_error"
        ).mean()
        for alpha in np.geomspace(1e-4, 1e4, 17)
    )
    assert search.best_score_ > single


def test_a_model_without_gradients_says_so():
    search = HOAGSearchCV(
        DecisionTreeRegressor(), {"ccp_alpha": loguniform(1e-4, 1)}, n_iter=3, cv=2
    )
    with pytest.raises(ValueError, match="HOAG needs gradients"):
        search.fit(X, X[:, 0])


def test_an_invalid_value_fails_as_in_scikit_learn():
    search = HOAGSearchCV(Ridge(), {"alpha": [-1.0]}, cv=2, n_iter=1)
    with pytest.raises(ValueError, match="All the 2 fits failed"):
        search.fit(X, X[:, 0])


def test_optimizer_is_an_argument():
    search = HOAGSearchCV(
        MODEL,
        SPACE,
        optimizer=HOAG(n_restarts=1),
        scoring="neg_log_loss",
        cv=3,
        random_state=0,
    ).fit(X, y)
    assert search.optimizer_.n_restarts == 1
    assert search.optimizer_.converged_


@pytest.mark.filterwarnings("ignore:.*tasks which were still:UserWarning")
def test_folds_in_processes():
    search = HOAGSearchCV(MODEL, SPACE, scoring="neg_log_loss", cv=2, n_jobs=2)
    assert search.fit(X, y).optimizer_.converged_


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
@pytest.mark.parametrize(
    ("model", "space", "failing"),
    [
        (Ridge(), {"alpha": [0.1, 1.0]}, ["check_supervised_y_2d"]),
        (LogisticRegression(), {"C": [0.1, 1.0]}, []),
    ],
)
def test_sklearn_checks(model, space, failing):
    search = HOAGSearchCV(model, space, cv=2, error_score="raise", n_iter=2)
    reasons = dict.fromkeys(failing, "the DataConversionWarning is not caught")
    check_estimator(search, expected_failed_checks=reasons)
