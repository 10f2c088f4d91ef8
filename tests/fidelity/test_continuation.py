# SPDX-License-Identifier: BSD-3-Clause
"""Fitted estimators that go on: equal to a fit from nothing where they must be."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from accsmbo.evaluation import CrossValidationObjective
from accsmbo.fidelity._continuation import FittedFold, continuation
from accsmbo.fidelity._objective import FidelityObjective
from accsmbo.history import Trial

CLASSES = make_classification(120, 8, n_informative=5, n_classes=3, random_state=0)
NUMBERS = make_regression(120, 8, noise=5.0, random_state=0)
AMOUNTS = (2, 5, 9)


def scaled(estimator):
    return make_pipeline(StandardScaler(), estimator)


EQUAL = {
    "forest": (RandomForestClassifier(random_state=3), "n_estimators"),
    "balanced": (
        RandomForestClassifier(random_state=3, class_weight="balanced"),
        "n_estimators",
    ),
    "regression forest": (
        RandomForestRegressor(random_state=3, max_features=0.5),
        "n_estimators",
    ),
    "extra trees": (ExtraTreesClassifier(random_state=3), "n_estimators"),
    "bagging": (BaggingClassifier(random_state=3), "n_estimators"),
    "boosting": (
        GradientBoostingClassifier(random_state=3, subsample=0.7, max_features=0.5),
        "n_estimators",
    ),
    "boosting regressor": (GradientBoostingRegressor(random_state=3), "n_estimators"),
    "histograms": (HistGradientBoostingClassifier(random_state=3), "max_iter"),
    "histogram regressor": (
        HistGradientBoostingRegressor(random_state=3, max_features=0.5),
        "max_iter",
    ),
    "pipeline": (
        scaled(RandomForestClassifier(random_state=3)),
        "randomforestclassifier__n_estimators",
    ),
    "adaboost": (AdaBoostClassifier(random_state=3), "n_estimators"),
}


def objective_of(estimator, resource, most=AMOUNTS[-1], **kwargs):
    X, y = CLASSES if is_classifier(estimator) else NUMBERS
    plain = CrossValidationObjective(
        estimator,
        X,
        y,
        splits=list(KFold(2, shuffle=True, random_state=0).split(X)),
        scorer=get_scorer("neg_log_loss" if is_classifier(estimator) else "r2"),
        error_score="raise",
        **kwargs,
    )
    return FidelityObjective.of(plain, resource, most, continues=True, seed=0)


def trial_of(resource, amount, number=0):
    return Trial(number, {resource: amount}, np.zeros(1), fidelity=float(amount))


def climb(objective, resource, travels=False):
    """Return the scores of all folds on each rung, each going on from the last."""
    scores, states = [], [None] * objective.n_folds
    for amount in AMOUNTS:
        trial = trial_of(resource, amount)
        folds = []
        for index, state in enumerate(states):
            sent = pickle.loads(pickle.dumps(state)) if travels else state
            more = {} if sent is None else {"start": sent}
            folds.append(objective.fold(trial, index, **more))
        evaluation = objective.combine(folds, 0.0, 1.0)
        states = evaluation.warm_start or [None] * objective.n_folds
        scores.append([fold["test_scores"] for fold in evaluation.folds])
        assert all("state" not in fold for fold in evaluation.folds)
    return scores


@pytest.mark.parametrize("travels", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("name", EQUAL)
def test_going_on_is_fitting_from_nothing(name, travels):
    estimator, resource = EQUAL[name]
    objective = objective_of(estimator, resource)
    anew = [
        [objective.fold(trial_of(resource, n), i)["test_scores"] for i in range(2)]
        for n in AMOUNTS
    ]
    scores = climb(objective, resource, travels)
    np.testing.assert_allclose(scores, anew, rtol=1e-9)
    plain = clone(estimator).set_params(**{resource: AMOUNTS[-1]})
    train, test = objective.splits[0]
    plain.fit(objective.X[train], objective.y[train])
    score = objective.scorer(plain, objective.X[test], objective.y[test])
    np.testing.assert_allclose(scores[-1][0], score, rtol=1e-9)


class CountingForest(RandomForestClassifier):
    """Notes how many trees there were before each fit, and after."""

    fits: list = []

    def fit(self, X, y, sample_weight=None):
        before = len(getattr(self, "estimators_", []))
        super().fit(X, y, sample_weight)
        type(self).fits.append((before, len(self.estimators_)))
        return self


def test_no_tree_is_grown_twice():
    CountingForest.fits = []
    objective = objective_of(CountingForest(random_state=0), "n_estimators")
    climb(objective, "n_estimators")
    assert CountingForest.fits == [(0, 2), (0, 2), (2, 5), (2, 5), (5, 9), (5, 9)]


class CountingMLP(MLPClassifier):
    """Notes the epochs after each call."""

    epochs: list = []

    def partial_fit(self, X, y, classes=None):
        super().partial_fit(X, y, classes=classes)
        type(self).epochs.append(self.t_ // len(X))
        return self


def test_no_epoch_is_trained_twice():
    CountingMLP.epochs = []
    network = scaled(CountingMLP((4,), random_state=0))
    resource = "countingmlp__max_iter"
    climb(objective_of(network, resource), resource)
    assert CountingMLP.epochs == [1, 2, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8, 9, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("estimator", "resource"),
    [
        (SGDClassifier(loss="log_loss", random_state=0), "max_iter"),
        (SGDRegressor(random_state=0), "max_iter"),
        (scaled(MLPClassifier((4,), random_state=0)), "mlpclassifier__max_iter"),
    ],
    ids=["sgd", "regressor", "network"],
)
def test_epochs_in_stages_are_epochs_at_once(estimator, resource):
    objective = objective_of(estimator, resource, most=100)
    at_once = objective.fold(trial_of(resource, AMOUNTS[-1]), 0)
    staged = climb(objective, resource, travels=True)
    np.testing.assert_allclose(staged[-1][0], at_once["test_scores"], rtol=1e-12)


def test_going_further_ends_at_the_whole_amount():
    objective = objective_of(LogisticRegression(warm_start=False), "max_iter", most=100)
    state = None
    for amount in AMOUNTS:
        more = {} if state is None else {"start": state}
        state = objective.fold(trial_of("max_iter", amount), 0, **more)["state"]
        assert state.open().max_iter == amount
    scores = [fold[0] for fold in climb(objective, "max_iter")]
    converged = objective.fold(trial_of("max_iter", 100), 0)["test_scores"]
    assert abs(scores[-1] - converged) < 0.1 * abs(scores[0] - converged)


@pytest.mark.parametrize(
    ("estimator", "resource", "way"),
    [
        (RandomForestClassifier(), "n_estimators", "total"),
        (RandomForestClassifier(), "max_depth", None),
        (RandomForestClassifier(oob_score=True), "n_estimators", None),
        (GradientBoostingClassifier(n_iter_no_change=3), "n_estimators", None),
        (AdaBoostClassifier(), "n_estimators", None),
        (HistGradientBoostingClassifier(), "max_iter", "total"),
        (HistGradientBoostingClassifier(early_stopping=True), "max_iter", None),
        (MLPClassifier(), "max_iter", "epochs"),
        (MLPClassifier(early_stopping=True), "max_iter", "further"),
        (MLPRegressor(solver="lbfgs"), "max_iter", "further"),
        (SGDClassifier(class_weight="balanced"), "max_iter", "further"),
        (LogisticRegression(), "max_iter", "further"),
        (MiniBatchKMeans(), "max_iter", None),
        (KNeighborsClassifier(), "n_neighbors", None),
        (scaled(SGDClassifier()), "sgdclassifier__max_iter", "epochs"),
        (OneVsRestClassifier(SGDClassifier()), "estimator__max_iter", None),
    ],
)
def test_the_way_follows_from_what_the_estimator_offers(estimator, resource, way):
    found = continuation(estimator, resource, None, 500)
    assert (found and found.way) == way


def test_many_rows_stop_histogram_boosting_early():
    estimator = HistGradientBoostingClassifier()
    assert continuation(estimator, "max_iter", None, 10_001) is None


def test_fit_params_of_a_pipeline_go_through_its_own_fit():
    pipeline = scaled(SGDClassifier())
    params = {"sgdclassifier__sample_weight": np.ones(3)}
    found = continuation(pipeline, "sgdclassifier__max_iter", params, 500)
    assert found.way == "further"


def test_weights_reach_every_epoch():
    y = CLASSES[1]
    weight = np.where(y == 0, 1.0, 0.0)
    estimator = SGDClassifier(loss="log_loss", random_state=0)
    objective = objective_of(
        estimator, "max_iter", fit_params={"sample_weight": weight}
    )
    scores = climb(objective, "max_iter")
    unweighted = climb(objective_of(estimator, "max_iter"), "max_iter")
    assert scores[-1][0] < unweighted[-1][0]


class CannotTravel(RandomForestClassifier):
    """Cannot be pickled once it is fitted."""

    def __reduce__(self):
        if hasattr(self, "estimators_"):
            raise TypeError("stays here")
        return super().__reduce__()


def test_what_cannot_travel_is_fitted_from_nothing():
    forest = CannotTravel(3, random_state=0).fit(*CLASSES)
    state = pickle.loads(pickle.dumps(FittedFold(forest, 3)))
    assert state.open() is None
    objective = objective_of(CannotTravel(random_state=0), "n_estimators")
    record = objective.fold(trial_of("n_estimators", 9), 0, start=state)
    plain = objective.fold(trial_of("n_estimators", 9), 0)
    assert record["test_scores"] == plain["test_scores"]


def test_a_travelling_estimator_is_not_read_on_the_way():
    state = FittedFold(RandomForestClassifier(2, random_state=0).fit(*CLASSES), 2)
    assert state.open() is state.open()
    middle = pickle.loads(pickle.dumps(state))
    assert middle._estimator is None
    assert len(pickle.loads(pickle.dumps(middle)).open().estimators_) == 2


def test_fits_may_be_made_from_nothing_always():
    plain = objective_of(RandomForestClassifier(random_state=0), "n_estimators")
    objective = FidelityObjective.of(plain, "n_estimators", 9, continues=False, seed=0)
    assert "state" not in objective.fold(trial_of("n_estimators", 2), 0)
