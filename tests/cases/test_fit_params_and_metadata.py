# SPDX-License-Identifier: BSD-3-Clause
"""What reaches fit and the workers: validation sets, callbacks, settings, threads."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from accsmbo import Integer, Real, SMBOSearchCV
from tests._searches import (
    SAMPLING,
    Log,
    assert_rows_are_plain,
    make_search,
    small_data,
)


class EarlyStopping(BaseException):
    """Raised by a callback."""


def stop_after(patience):
    """Return a callback that ends boosting after so many stages without gain."""

    def callback(losses):
        if len(losses) - 1 - int(np.argmin(losses)) >= patience:
            raise EarlyStopping

    return callback


class Booster(ClassifierMixin, BaseEstimator):
    """Boosts until a callback that watches the data of `eval_set` says stop."""

    def __init__(self, learning_rate=0.1, n_estimators=40, log=None):
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.log = log

    def fit(self, X, y, eval_set=None, callbacks=()):
        self.classes_ = np.unique(y)
        self.model_ = GradientBoostingClassifier(
            learning_rate=self.learning_rate,
            n_estimators=self.n_estimators,
            max_depth=1,
            random_state=0,
        ).fit(X, y)
        self.best_iteration_ = self.n_estimators
        ((X_valid, y_valid),) = eval_set
        losses = []
        try:
            for proba in self.model_.staged_predict_proba(X_valid):
                losses.append(sklearn.metrics.log_loss(y_valid, proba))
                for callback in callbacks:
                    callback(losses)
        except EarlyStopping:
            self.best_iteration_ = int(np.argmin(losses)) + 1
        if self.log is not None:
            self.log.append((len(X_valid), len(y_valid), self.best_iteration_))
        return self

    def predict_proba(self, X):
        stages = list(self.model_.staged_predict_proba(X))
        return stages[self.best_iteration_ - 1]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def with_validation(n=60):
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:200]
    X, y = X[rows], y[rows]
    return X[n:], y[n:], [(X[:n], y[:n])]


RATE = {"learning_rate": Real(0.3, 1.0, log=True)}


@pytest.mark.parametrize("cls", SAMPLING)
def test_a_validation_set_reaches_each_fit_whole(cls):
    """Case 85: https://github.com/lightgbm-org/LightGBM/issues/1044."""
    X, y, eval_set = with_validation()
    log, callbacks = Log(), [stop_after(5)]
    search = make_search(
        cls, Booster(log=log), RATE, n_iter=3, cv=2, scoring="neg_log_loss"
    ).fit(X, y, eval_set=eval_set, callbacks=callbacks)
    assert len(log) == 2 * 3 + 1
    assert {entry[:2] for entry in log} == {(60, 60)}
    assert search.best_estimator_.best_iteration_ < 40
    assert_rows_are_plain(
        search, X, y, fit_params={"eval_set": eval_set, "callbacks": callbacks}
    )


def test_a_search_with_a_validation_set_is_resumed(tmp_path):
    """Case 85: https://github.com/lightgbm-org/LightGBM/issues/3595."""
    X, y, eval_set = with_validation()
    first = {"storage": tmp_path / "study.jsonl", "cv": 2, "random_state": 0}
    fit_params = {"eval_set": eval_set, "callbacks": [stop_after(5)]}
    SMBOSearchCV(Booster(), RATE, n_iter=2, **first).fit(X, y, **fit_params)
    log = Log()
    search = SMBOSearchCV(Booster(log=log), RATE, n_iter=3, **first)
    search.estimator.log = None
    search.fit(X, y, **fit_params)
    assert len(search.history_) == 3
    whole = SMBOSearchCV(Booster(), RATE, n_iter=3, cv=2, random_state=0)
    whole.fit(X, y, **fit_params)
    assert whole.cv_results_["params"] == search.cv_results_["params"]


def test_lightgbm_stops_early_on_its_validation_set():
    """Case 85: https://github.com/lightgbm-org/LightGBM/issues/1044."""
    lightgbm = pytest.importorskip("lightgbm")
    X, y, eval_set = with_validation()
    search = SMBOSearchCV(
        lightgbm.LGBMClassifier(n_estimators=200, verbose=-1),
        {"learning_rate": Real(0.05, 0.5, log=True)},
        n_iter=4,
        cv=2,
    ).fit(
        X, y, eval_set=eval_set, callbacks=[lightgbm.early_stopping(5, verbose=False)]
    )
    assert search.best_estimator_.best_iteration_ < 200


class NeedsFrame(TransformerMixin, BaseEstimator):
    """Insists on what `transform_output="pandas"` gives."""

    def fit(self, X, y=None):
        assert isinstance(X, pd.DataFrame)
        return self

    def transform(self, X):
        assert isinstance(X, pd.DataFrame)
        return X

    def get_feature_names_out(self, names=None):
        return names


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("cls", SAMPLING)
def test_the_kind_of_output_reaches_the_workers(cls, n_jobs):
    """Case 99: https://github.com/ray-project/tune-sklearn/issues/275."""
    X, y = small_data()
    model = make_pipeline(StandardScaler(), NeedsFrame(), LogisticRegression())
    space = {"logisticregression__C": Real(0.1, 10.0, log=True)}
    search = make_search(
        cls, model, space, n_iter=3, cv=2, n_jobs=n_jobs, error_score="raise"
    )
    with sklearn.config_context(transform_output="pandas"):
        search.fit(X, y)
        assert_rows_are_plain(search, X, y)


def test_the_global_seed_fixes_the_candidates_of_an_unseeded_search():
    """Case 103: https://github.com/ray-project/tune-sklearn/issues/112."""

    def candidates():
        np.random.seed(3)  # noqa: NPY002 (what the user did)
        search = SMBOSearchCV(
            RandomForestClassifier(2), {"max_depth": Integer(1, 50)}, n_iter=6, cv=2
        )
        return search.fit(*load_iris(return_X_y=True)).cv_results_["params"]

    assert candidates() == candidates()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_number_of_jobs_of_the_model_may_be_searched(n_jobs):
    """Case 115: https://github.com/scikit-learn/scikit-learn/issues/6627."""
    space = {"n_jobs": [2], "max_depth": Integer(1, 5)}
    search = SMBOSearchCV(
        RandomForestClassifier(3, random_state=0), space, n_iter=4, cv=2, n_jobs=n_jobs
    ).fit(*small_data())
    assert search.best_params_["n_jobs"] == 2
    assert_rows_are_plain(search, *small_data())


def test_xgboost_with_threads_of_its_own_in_workers():
    """Case 115: https://github.com/dmlc/xgboost/issues/6134."""
    xgboost = pytest.importorskip("xgboost")
    X, y = small_data()
    search = SMBOSearchCV(
        xgboost.XGBClassifier(n_estimators=3),
        {"n_jobs": [2], "max_depth": Integer(1, 4)},
        n_iter=4,
        cv=2,
        n_jobs=2,
    ).fit(X, y)
    assert_rows_are_plain(search, X, y)
