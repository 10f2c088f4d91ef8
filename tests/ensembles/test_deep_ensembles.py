# SPDX-License-Identifier: BSD-3-Clause
"""Deep and hyper-deep ensembles: Algorithm 1 by hand, reuse, seeds, searches."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from accsmbo import Integer, Real
from accsmbo.ensembles import (
    DeepEnsembleClassifier,
    DeepEnsembleRegressor,
    HyperDeepEnsembleClassifier,
    HyperDeepEnsembleRegressor,
    greedy_selection,
)
from accsmbo.ensembles._cross_fit import seeded
from accsmbo.optimizers import SMBO
from accsmbo.search import RandomizedSearchCV

CANCER = load_breast_cancer(return_X_y=True)
TREE = DecisionTreeClassifier(max_features=2)
SPACE = {"max_depth": Integer(1, 10), "min_samples_leaf": Integer(1, 40)}


class Noisy(ClassifierMixin, BaseEstimator):
    """Right with probability ``a``; the seed decides where. Counts its fits."""

    fits: list = []

    def __init__(self, a=0.5, random_state=None):
        self.a = a
        self.random_state = random_state

    def fit(self, X, y):
        self.fits.append((self.a, self.random_state))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        row = np.asarray(X)[:, 1].astype(int)
        truth = np.asarray(X)[:, 0].astype(int)
        draws = np.random.default_rng(self.random_state).random(1000)[row]
        p = np.where(draws < self.a, 0.9, 0.2)
        return np.where(truth[:, None] == [0, 1], p[:, None], 1 - p[:, None])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def noisy_data(n=200):
    truth = np.tile([0, 1], n // 2)
    return np.column_stack([truth, np.arange(n)]), truth


def test_deep_ensemble_averages_seeds():
    X, y = CANCER
    ensemble = DeepEnsembleClassifier(TREE, n_members=4, random_state=0).fit(X, y)
    assert ensemble.n_fits_ == 4
    assert ensemble.fit_time_ > 0
    assert len(set(ensemble.seeds_)) == 4
    mean = np.mean(
        [seeded(TREE, s).fit(X, y).predict_proba(X) for s in ensemble.seeds_], axis=0
    )
    np.testing.assert_allclose(ensemble.predict_proba(X), mean)
    again = DeepEnsembleClassifier(TREE, n_members=4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.seeds_, ensemble.seeds_)


def test_every_seed_of_a_pipeline_is_set():
    pipeline = make_pipeline(StandardScaler(), TREE)
    first = seeded(pipeline, 5)
    assert first.get_params()["decisiontreeclassifier__random_state"] == 5
    nested = DeepEnsembleClassifier(TREE)
    one = seeded(nested, 5).get_params()
    assert one["random_state"] != one["estimator__random_state"]
    assert one["random_state"] == seeded(nested, 5).get_params()["random_state"]
    assert nested.random_state is None


@pytest.mark.parametrize("ensemble", [DeepEnsembleClassifier, DeepEnsembleRegressor])
def test_estimators_without_a_seed_are_refused(ensemble):
    with pytest.raises(ValueError, match=r"estimator must have a random_state.*'row'"):
        ensemble(LinearRegression()).fit(*CANCER)


def test_deep_regressor_spread_is_that_of_the_members():
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_features=2, max_depth=4)
    ensemble = DeepEnsembleRegressor(tree, n_members=3, random_state=0).fit(X, y)
    mu = np.array([member.predict(X) for member in ensemble.members_])
    mean, std = ensemble.predict(X, return_std=True)
    np.testing.assert_allclose(mean, mu.mean(axis=0))
    np.testing.assert_allclose(std, mu.std(axis=0), atol=1e-9)


def test_algorithm_1_by_hand():
    X, y = noisy_data()
    Noisy.fits.clear()
    ensemble = HyperDeepEnsembleClassifier(
        Noisy(),
        {"a": [0.5, 0.6, 0.7, 0.8]},
        n_members=2,
        n_candidates=4,
        refit=False,
        cv=[(np.arange(100), np.arange(100, 200))],
        random_state=0,
    ).fit(X, y)
    X_val, y_val = X[100:], y[100:]
    fits = list(Noisy.fits)
    # Line 1: one fit for each configuration, all with one seed.
    assert sorted(a for a, _ in fits[:4]) == [0.5, 0.6, 0.7, 0.8]
    assert len({seed for _, seed in fits[:4]}) == 1
    # Line 2: greedy selection of the row.
    row = np.array([Noisy(*f).fit(X, y).predict_proba(X_val) for f in fits[:4]])
    first = greedy_selection(row, y_val, n_members=2, random_state=0)
    np.testing.assert_array_equal(first.weights, ensemble.row_selection_.weights)
    # Lines 4-7: K - 1 further seeds for each unique configuration.
    unique = [fits[i][0] for i in np.flatnonzero(first.weights)]
    assert [a for a, _ in fits[4:]] == unique
    assert fits[4][1] != fits[0][1]
    assert ensemble.n_fits_ == 4 + len(unique) == len(fits)
    # Line 10: greedy selection of all of these.
    stratified = [fits[i] for i in np.flatnonzero(first.weights)] + fits[4:]
    values = np.array([Noisy(*f).fit(X, y).predict_proba(X_val) for f in stratified])
    last = greedy_selection(values, y_val, n_members=2, random_state=0)
    np.testing.assert_array_equal(last.weights, ensemble.selection_.weights)
    chosen = [stratified[i] for i in np.flatnonzero(last.weights)]
    pairs = zip(ensemble.member_params_, ensemble.member_seeds_, strict=True)
    assert [(p["a"], seed) for p, seed in pairs] == chosen
    np.testing.assert_allclose(
        ensemble.predict_proba(X_val),
        np.tensordot(last.weights, values, 1),
        atol=1e-6,
    )


def test_row_and_hyper_differ_in_their_seeds():
    X, y = noisy_data()
    space = {"a": Real(0.5, 0.9)}
    kwargs = {"n_members": 3, "n_candidates": 6, "random_state": 0, "patience": None}
    Noisy.fits.clear()
    row = HyperDeepEnsembleClassifier.row(Noisy(), space, **kwargs).fit(X, y)
    assert len({seed for _, seed in Noisy.fits[:6]}) == 1
    assert row.n_fits_ == 6 + len(row.members_) == len(Noisy.fits)
    Noisy.fits.clear()
    hyper = HyperDeepEnsembleClassifier.hyper(Noisy(), space, **kwargs).fit(X, y)
    assert len({seed for _, seed in Noisy.fits[:6]}) == 6
    assert hyper.strategy == "hyper"
    assert len(hyper.members_) <= 3


def test_any_optimizer_and_a_finite_space():
    X, y = CANCER
    ensemble = HyperDeepEnsembleClassifier(
        TREE, SPACE, optimizer=SMBO(), n_candidates=6, random_state=0
    ).fit(X, y)
    assert len(ensemble.history_) == 6
    losses = [e.value for e in ensemble.history_.evaluations]
    assert min(losses) > 0  # a negative log-likelihood
    finite = HyperDeepEnsembleClassifier(
        TREE, {"max_depth": [1, 2]}, n_candidates=9, random_state=0
    ).fit(X, y)
    assert len(finite.history_) == 2


def test_same_seed_same_ensemble_whatever_the_number_of_workers():
    X, y = CANCER
    kwargs = {"n_candidates": 5, "random_state": 3}
    one = HyperDeepEnsembleClassifier(TREE, SPACE, **kwargs).fit(X, y)
    two = HyperDeepEnsembleClassifier(TREE, SPACE, n_jobs=2, **kwargs).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_from_search_reuses_its_predictions():
    X, y = CANCER
    tree = DecisionTreeClassifier(max_features=2, random_state=7)
    search = RandomizedSearchCV(
        tree, SPACE, n_iter=6, cv=3, random_state=0, keep_predictions=True
    ).fit(X, y)
    ensemble = HyperDeepEnsembleClassifier.from_search(
        search, n_members=2, random_state=0
    ).fit(X, y)
    unique = np.count_nonzero(ensemble.row_selection_.weights)
    assert ensemble.n_fits_ == 3 * unique + len(ensemble.members_)
    assert not hasattr(ensemble, "history_")
    # Without a fixed seed the search's models cannot be had again: K new seeds.
    search.set_params(estimator__random_state=None).fit(X, y)
    fresh = HyperDeepEnsembleClassifier.from_search(
        search, n_members=2, random_state=0
    ).fit(X, y)
    unique = np.count_nonzero(fresh.row_selection_.weights)
    assert fresh.n_fits_ == 3 * 2 * unique + len(fresh.members_)
    assert None not in fresh.member_seeds_


def test_without_a_seed_it_is_a_row_and_says_so():
    ensemble = HyperDeepEnsembleClassifier(
        GaussianNB(), {"var_smoothing": Real(1e-9, 1, log=True)}, n_candidates=4
    )
    with pytest.warns(UserWarning, match="GaussianNB has no random_state"):
        ensemble.fit(*CANCER)
    assert ensemble.n_fits_ == 4 + len(ensemble.members_)


def test_regressor_with_folds_and_mixture():
    X, y = load_diabetes(return_X_y=True)
    ensemble = HyperDeepEnsembleRegressor(
        DecisionTreeRegressor(max_features=3),
        SPACE,
        n_candidates=6,
        cv=ShuffleSplit(2, test_size=0.3, random_state=0),
        refit=False,
        random_state=0,
    ).fit(X, y)
    assert len(ensemble.members_) % 2 == 0
    mean, std = ensemble.predict(X, return_std=True)
    assert ensemble.score(X, y) > 0.3
    assert (std**2 >= ensemble.member_variances_.min()).all()
    np.testing.assert_allclose(ensemble.predict(X), mean)


def test_failed_candidates_are_reported_and_all_failing_raises():
    X, y = CANCER
    space = {"max_depth": [-1, 3, 4], "max_features": [1, 2]}
    ensemble = HyperDeepEnsembleClassifier(
        DecisionTreeClassifier(), space, n_candidates=6, random_state=0
    )
    with pytest.warns(FitFailedWarning, match="candidates failed and are left out"):
        ensemble.fit(X, y)
    assert all(params["max_depth"] > 0 for params in ensemble.member_params_)
    with pytest.raises(ValueError, match="max_depth"):
        HyperDeepEnsembleClassifier(TREE, {"max_depth": [-1, -2]}).fit(X, y)


def test_errors_name_the_argument():
    X, y = CANCER
    search = RandomizedSearchCV(TREE, SPACE, n_iter=2, cv=2, random_state=0)
    with pytest.raises(ValueError, match="Fit it with keep_predictions=True"):
        HyperDeepEnsembleClassifier.from_search(search)
    search.set_params(keep_predictions=True).fit(X, y)
    ensemble = HyperDeepEnsembleClassifier.from_search(search)
    with pytest.raises(ValueError, match="predictions must have been made for the X"):
        ensemble.fit(X[:-1], y[:-1])
    with pytest.raises(ValueError, match="refit must be True with predictions"):
        ensemble.set_params(refit=False).fit(X, y)
