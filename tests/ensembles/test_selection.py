# SPDX-License-Identifier: BSD-3-Clause
"""Ensemble selection: from searches and lists, failures, infinities, mixtures."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from accsmbo.ensembles import (
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    greedy_selection,
    metrics,
)
from accsmbo.search import GridSearchCV

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts fixed probabilities; fails, or counts its predictions, on request."""

    calls: list = []

    def __init__(self, p=0.5, fail_above=None):
        self.p = p
        self.fail_above = fail_above

    def fit(self, X, y):
        if self.fail_above is not None and len(y) > self.fail_above:
            raise ValueError("too many rows")
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        self.calls.append(self.p)
        return np.tile([1 - self.p, self.p], (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Value(RegressorMixin, BaseEstimator):
    """Predicts a constant, other ones on rows whose first feature is negative."""

    def __init__(self, value=0.0, strange=None):
        self.value = value
        self.strange = strange

    def fit(self, X, y):
        return self

    def predict(self, X):
        out = np.full(len(X), float(self.value))
        if self.strange is not None:
            out[np.asarray(X)[:, 0] < 0] = self.strange
        return out


def search_on(X, y, **kwargs):
    return GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [1, 2, 3, 5], "min_samples_leaf": [1, 10]},
        cv=4,
        keep_predictions=True,
        **kwargs,
    ).fit(X, y)


def test_from_search_selects_on_the_kept_predictions_and_refits():
    X, y = CANCER
    search = search_on(X[::2], y[::2])
    ensemble = EnsembleSelectionClassifier.from_search(
        search, n_members=3, random_state=0
    ).fit(X[::2], y[::2])
    expected = greedy_selection(
        search.predictions_.values,
        y[::2],
        n_members=3,
        patience=None,
        random_state=0,
    )
    np.testing.assert_array_equal(ensemble.weights_, expected.weights)
    assert ensemble.n_fits_ == len(ensemble.members_) <= 3
    mean = np.zeros((len(X[1::2]), 2))
    for i in np.flatnonzero(ensemble.weights_):
        model = DecisionTreeClassifier(random_state=0, **search.predictions_.params[i])
        model.fit(X[::2], y[::2])
        mean += ensemble.weights_[i] * model.predict_proba(X[1::2])
    np.testing.assert_allclose(ensemble.predict_proba(X[1::2]), mean, atol=1e-12)
    single = metrics.negative_log_likelihood(y[1::2], search.predict_proba(X[1::2]))
    assert metrics.negative_log_likelihood(y[1::2], mean) < single


def test_members_folds_keeps_one_model_for_each_fold():
    X, y = CANCER
    search = search_on(X, y)
    ensemble = EnsembleSelectionClassifier.from_search(
        search, n_members=2, members="folds", random_state=0
    ).fit(X, y)
    chosen = np.count_nonzero(ensemble.weights_)
    assert len(ensemble.members_) == 4 * chosen == ensemble.n_fits_
    assert ensemble.member_weights_.sum() == pytest.approx(1)
    train, _ = search.predictions_.splits[0]
    first = search.predictions_.params[ensemble.member_indices_[0]]
    model = DecisionTreeClassifier(random_state=0, **first).fit(X[train], y[train])
    np.testing.assert_array_equal(
        ensemble.members_[0].predict_proba(X), model.predict_proba(X)
    )


def test_folds_of_a_list_are_not_fitted_again():
    X, y = IRIS
    ensemble = EnsembleSelectionClassifier(
        [KNeighborsClassifier(), DecisionTreeClassifier(random_state=0)],
        members="folds",
        cv=3,
    ).fit(X, y)
    assert ensemble.n_fits_ == 6
    assert len(ensemble.members_) in (3, 6)


def test_named_estimators_string_classes_and_rows_left_out():
    X, y = IRIS
    names = np.array(["x", "y", "z"])[y]
    ensemble = EnsembleSelectionClassifier(
        [("knn", KNeighborsClassifier()), ("lr", LogisticRegression(max_iter=500))],
        cv=ShuffleSplit(2, test_size=0.3, random_state=0),
        metric="accuracy",
        random_state=0,
    ).fit(X, names)
    np.testing.assert_array_equal(ensemble.classes_, ["x", "y", "z"])
    assert ensemble.score(X, names) > 0.9
    assert ensemble.selection_.path[ensemble.selection_.best].score > 0.9


def test_top_k_and_a_callable_metric():
    X, y = CANCER
    candidates = [
        DecisionTreeClassifier(max_depth=d, random_state=0) for d in (1, 2, 4)
    ]
    top = EnsembleSelectionClassifier(candidates, n_members=2, selection="top-k")
    assert sorted(top.fit(X, y).weights_) == [0, 0.5, 0.5]
    called = EnsembleSelectionClassifier(
        candidates,
        metric=lambda truth, p: np.mean(truth == p.argmax(axis=1)),
        greater_is_better=True,
        random_state=0,
    ).fit(X, y)
    named = clone(called).set_params(metric="accuracy").fit(X, y)
    np.testing.assert_array_equal(called.weights_, named.weights_)


def test_pickling_cloning_and_frames():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    search = search_on(X, y)
    ensemble = EnsembleSelectionClassifier.from_search(search, random_state=0)
    again = clone(ensemble)
    assert again.predictions is ensemble.predictions
    ensemble.fit(X, y)
    restored = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(restored.predict(X), ensemble.predict(X))
    assert list(ensemble.feature_names_in_) == list(X.columns)
    assert isinstance(X, pd.DataFrame)
    again.set_params(predictions=None, cv=4).fit(X, y)
    np.testing.assert_array_equal(again.weights_, ensemble.weights_)


def test_through_the_estimator():
    """See the reports of cases 77 and 79.

    https://github.com/automl/auto-sklearn/issues/1718
    https://github.com/automl/auto-sklearn/issues/623
    https://github.com/automl/auto-sklearn/issues/626
    """
    X, y = CANCER
    search = search_on(X, y, scoring="neg_log_loss")
    one = EnsembleSelectionClassifier.from_search(search, n_members=1).fit(X, y)
    assert abs(one.weights_.sum() - 1) < 1e-12
    # The mean over rows, not over folds: compare with the rows.
    losses = [
        metrics.negative_log_likelihood(y, values)
        for values in search.predictions_.values
    ]
    assert losses[int(np.argmax(one.weights_))] == min(losses)


def test_members_of_weight_zero_are_never_called():
    """See https://github.com/autogluon/autogluon/issues/5317 (case 81)."""
    X, y = np.zeros((40, 1)), np.repeat([0, 1], [10, 30])
    ensemble = EnsembleSelectionClassifier(
        [Constant(0.75), Constant(0.1)], n_members=1, cv=2
    ).fit(X, y)
    np.testing.assert_array_equal(ensemble.weights_, [1, 0])
    assert len(ensemble.members_) == 1
    Constant.calls.clear()
    ensemble.predict_proba(X)
    assert Constant.calls == [0.75]


def test_infinite_member_of_weight_zero():
    """See https://github.com/autogluon/autogluon/issues/5317 (case 81)."""
    X, y = np.ones((20, 1)), np.full(20, 3.0)
    ensemble = EnsembleSelectionRegressor([Value(3), Value(np.inf)], cv=2).fit(X, y)
    np.testing.assert_array_equal(ensemble.weights_, [1, 0])
    np.testing.assert_array_equal(ensemble.predict(X), 3)


@pytest.mark.parametrize("strange", [np.inf, -np.inf, np.nan])
def test_infinite_rows_leave_their_weight_to_the_others(strange):
    """See https://github.com/autogluon/autogluon/issues/5317 (case 81)."""
    X, y = np.ones((20, 1)), np.tile([1.0, 3.0], 10)
    ensemble = EnsembleSelectionRegressor(
        [Value(1), Value(3, strange)], cv=2, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(ensemble.weights_, 0.5)
    mean, std = ensemble.predict([[1.0], [-1.0]], return_std=True)
    np.testing.assert_allclose(mean, [2, 1])
    np.testing.assert_allclose(ensemble.predict([[1.0], [-1.0]]), mean)
    # Each is off by 2 on half of the rows (variance 2) and by 1 from the mean.
    np.testing.assert_allclose(std**2, [2 + 1, 2])


def test_a_row_without_any_finite_member():
    """See https://github.com/autogluon/autogluon/issues/5317 (case 81)."""
    X, y = np.ones((20, 1)), np.tile([1.0, 3.0], 10)
    ensemble = EnsembleSelectionRegressor(
        [Value(1, np.inf), Value(3, -np.inf)], cv=2, random_state=0
    ).fit(X, y)
    assert np.isinf(ensemble.predict([[-1.0]])[0])


def test_members_that_fail_to_refit_give_their_weight_to_the_others():
    X, y = np.zeros((40, 1)), np.tile([0, 1], 20)
    candidates = [Constant(0.3, fail_above=30), Constant(0.7)]
    ensemble = EnsembleSelectionClassifier(candidates, cv=2, random_state=0)
    with pytest.warns(FitFailedWarning, match="1 of 2 members failed.*too many rows"):
        ensemble.fit(X, y)
    np.testing.assert_allclose(ensemble.weights_, 0.5)
    assert ensemble.failed_members_ == [0]
    np.testing.assert_array_equal(ensemble.member_weights_, [1])
    np.testing.assert_allclose(ensemble.predict_proba(X)[:, 1], 0.7)


def test_candidates_that_fail_are_left_out_and_all_failing_raises():
    X, y = np.zeros((40, 1)), np.tile([0, 1], 20)
    broken = Constant(0.3, fail_above=0)
    ensemble = EnsembleSelectionClassifier([broken, Constant(0.6)], cv=2)
    with pytest.warns(FitFailedWarning, match="1 of 2 candidates failed"):
        ensemble.fit(X, y)
    np.testing.assert_array_equal(ensemble.weights_, [0, 1])
    with pytest.raises(ValueError, match="too many rows"):
        EnsembleSelectionClassifier([broken, broken], cv=2).fit(X, y)


def test_classes_that_a_member_never_saw():
    X, y = IRIS
    rare = np.array(["a", "b", "c"])[y]
    ensemble = EnsembleSelectionClassifier(
        [LogisticRegression(max_iter=500)],
        members="folds",
        cv=[(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))],
    ).fit(X, rare)
    p = ensemble.predict_proba(X)
    assert p.shape == (150, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    # Half of the models never saw a, the others never saw c.
    assert (p[:50, 0] > 0.4).all()
    assert p[100:, 2].mean() > 0.4
    assert (p[:50, 2] < 0.1).all()


def test_regressor_mixture_by_hand():
    X, y = load_diabetes(return_X_y=True)
    ensemble = EnsembleSelectionRegressor(
        [Ridge(0.1), DecisionTreeRegressor(max_depth=3, random_state=0)],
        cv=3,
        random_state=0,
    ).fit(X, y)
    w, s2 = ensemble.member_weights_, ensemble.member_variances_
    mu = np.array([member.predict(X) for member in ensemble.members_])
    mean, std = ensemble.predict(X, return_std=True)
    np.testing.assert_allclose(mean, w @ mu)
    np.testing.assert_allclose(std**2, w @ (s2[:, None] + mu**2) - mean**2, rtol=1e-9)
    errors = [
        np.mean((y - ensemble.members_[0].predict(X)) ** 2),
        np.mean((y - ensemble.members_[1].predict(X)) ** 2),
    ]
    assert (s2 > errors).all()  # held out, so above the training error


def test_a_members_own_standard_deviation_is_used():
    X = np.linspace(0, 1, 12)[:, None]
    y = np.sin(6 * X[:, 0])
    gp = GaussianProcessRegressor(alpha=1e-3, optimizer=None)
    ensemble = EnsembleSelectionRegressor([gp], cv=3).fit(X, y)
    far = np.array([[5.0]])
    _, std = ensemble.predict(far, return_std=True)
    assert std[0] == pytest.approx(gp.fit(X, y).predict(far, return_std=True)[1][0])


def test_several_targets():
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, -2 * y])
    ensemble = EnsembleSelectionRegressor(
        [LinearRegression(), Ridge(1.0)], cv=3, random_state=0
    ).fit(X, Y)
    mean, std = ensemble.predict(X[:4], return_std=True)
    assert mean.shape == std.shape == (4, 2)
    np.testing.assert_allclose(std[:, 1], 2 * std[:, 0], rtol=1e-5)


def test_a_target_that_is_one_column():
    X, y = load_diabetes(return_X_y=True)
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1]}, keep_predictions=True)
    search.fit(X, y[:, None])
    ensemble = EnsembleSelectionRegressor.from_search(search, random_state=0)
    assert ensemble.fit(X, y).predict(X).shape == y.shape


def test_errors_name_the_argument():
    X, y = IRIS
    search = search_on(X, y)
    plain = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}).fit(X, y)
    with pytest.raises(ValueError, match="estimators must be a list of at least one"):
        EnsembleSelectionClassifier().fit(X, y)
    with pytest.raises(NotFittedError, match="search must be fitted"):
        EnsembleSelectionClassifier.from_search(clone(search))
    with pytest.raises(ValueError, match="Fit it with keep_predictions=True"):
        EnsembleSelectionClassifier.from_search(plain)
    ensemble = EnsembleSelectionClassifier.from_search(search)
    with pytest.raises(ValueError, match="predictions must have been made for the X"):
        ensemble.fit(X[::-1], y[::-1])
    with pytest.raises(ValueError, match="predictions must have been made for the X"):
        EnsembleSelectionRegressor.from_search(search).fit(X, y)
    with pytest.raises(ValueError, match="predictions must be those of the estimators"):
        ensemble.set_params(estimators=[KNeighborsClassifier()]).fit(X, y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        EnsembleSelectionClassifier([KNeighborsClassifier()]).fit(X, None)
