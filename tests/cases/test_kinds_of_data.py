# SPDX-License-Identifier: BSD-3-Clause
"""Frames, dates, column vectors, permuted indices; memory."""

import resource
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from accsmbo import AccSMBOSearchCV, Integer, Real, SMBOSearchCV
from accsmbo.search import RandomizedSearchCV
from tests._searches import SAMPLING, assert_rows_are_plain, make_search, small_data

C = Real(1e-2, 1e2, log=True)
BY_VALUES = [SMBOSearchCV, RandomizedSearchCV]


def daily():
    X, _ = small_data(60)
    days = pd.date_range("2024-01-01", periods=60, freq="D")
    y = pd.Series(X @ [1.0, -2.0, 0.5] + np.sin(np.arange(60)), index=days)
    return pd.DataFrame(X, index=days, columns=list("abc")), y


@pytest.mark.parametrize("cls", BY_VALUES)
@pytest.mark.parametrize(
    "cv", [TimeSeriesSplit(4), TimeSeriesSplit(4, gap=2, test_size=5)]
)
def test_frames_with_dates_are_split_by_position(cls, cv):
    """Case 107: https://github.com/sktime/sktime/issues/5109."""
    X, y = daily()
    search = make_search(cls, SVR(), {"C": C}, n_iter=4, cv=cv).fit(X, y)
    assert_rows_are_plain(search, X, y)


@pytest.mark.parametrize("cls", BY_VALUES)
def test_a_generator_of_splits_in_time_is_read_once(cls):
    """Case 107: https://github.com/scikit-learn/scikit-learn/issues/9923."""
    X, y = daily()
    cv = TimeSeriesSplit(4)
    search = make_search(cls, SVR(), {"C": C}, n_iter=3, cv=cv.split(X)).fit(X, y)
    assert search.n_splits_ == 4
    assert_rows_are_plain(search.set_params(cv=cv), X, y)


@pytest.mark.parametrize(
    ("model", "space"),
    [
        (LogisticRegression(), {"C": C}),
        (SVC(), {"C": C}),
        (Ridge(), {"alpha": Real(1e-2, 1e2, log=True)}),
    ],
)
@pytest.mark.parametrize("cls", BY_VALUES)
def test_a_column_vector_is_a_target(cls, model, space):
    """Case 109: https://github.com/scikit-learn/scikit-learn/issues/9742."""
    X, y = small_data()
    column = pd.DataFrame({"y": y})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        search = make_search(cls, model, space, n_iter=3, cv=2).fit(X, column)
        assert_rows_are_plain(search, X, column)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_polars_frames_keep_their_names(n_jobs, tmp_path):
    """Case 119: https://github.com/scikit-learn/scikit-learn/issues/28488."""
    polars = pytest.importorskip("polars")
    X, y = small_data()
    X, y = polars.DataFrame(X, schema=list("abc")), polars.Series("y", y)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    search = AccSMBOSearchCV(
        model,
        {"logisticregression__C": C},
        n_iter=4,
        cv=2,
        n_jobs=n_jobs,
        storage=tmp_path / "study.jsonl",
    ).fit(X, y)
    assert search.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_rows_are_plain(search, X, y)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_candidates():
    """Case 121: https://github.com/scikit-learn/scikit-learn/issues/15048."""
    X = np.random.default_rng(0).normal(size=(4000, 50))
    held = []

    def note(history):
        with open("/proc/self/statm") as file:
            held.append(int(file.read().split()[1]) * resource.getpagesize())

    SMBOSearchCV(
        DecisionTreeClassifier(max_depth=1),
        {"min_samples_leaf": Integer(1, 1000)},
        n_iter=24,
        cv=2,
        callbacks=note,
        random_state=0,
    ).fit(X, X[:, 0] > 0)
    assert max(held[-3:]) - held[5] < 10 * X.nbytes


class MeanTargetEncoder(TransformerMixin, BaseEstimator):
    """Encodes by position; rows of X and y are paired as they come, not by label."""

    def fit(self, X, y):
        y = np.asarray(y, dtype=float)
        self.prior_ = y.mean()
        self.means_ = {
            column: pd.Series(y).groupby(X[column].to_numpy()).mean() for column in X
        }
        return self

    def transform(self, X):
        columns = [X[c].map(self.means_[c]).fillna(self.prior_) for c in X]
        return np.column_stack(columns)


@pytest.mark.parametrize("cls", SAMPLING)
def test_target_encoders_meet_rows_with_a_permuted_index(cls):
    """Case 129: https://github.com/scikit-learn-contrib/category_encoders/issues/181."""
    X, y = permuted()
    check_encoder(cls, MeanTargetEncoder(), X, y)


@pytest.mark.parametrize("cls", SAMPLING)
def test_the_target_encoder_of_category_encoders(cls):
    """Case 129: https://github.com/scikit-learn-contrib/category_encoders/issues/526."""
    encoders = pytest.importorskip("category_encoders")
    check_encoder(cls, encoders.TargetEncoder(), *permuted())


def permuted():
    rng = np.random.default_rng(0)
    index = rng.permutation(300)
    levels = pd.Series(rng.integers(0, 60, 300), index=index).map("level {}".format)
    y = pd.Series((rng.random(300) < 0.5).astype(int), index=index)
    return pd.DataFrame({"a": levels, "b": levels.sample(frac=1.0).to_numpy()}), y


def check_encoder(cls, encoder, X, y):
    model = make_pipeline(encoder, StandardScaler(), LogisticRegression())
    space = {"logisticregression__C": C}
    search = make_search(cls, model, space, n_iter=4, cv=3, scoring="neg_log_loss")
    assert_rows_are_plain(search.fit(X, y), X, y)
