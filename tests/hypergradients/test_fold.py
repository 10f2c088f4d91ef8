# SPDX-License-Identifier: BSD-3-Clause
"""One fold: pipelines, caches, warm starts, tolerances, bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    GammaRegressor,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
)
from sklearn.metrics import get_scorer, hinge_loss, make_scorer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC, LinearSVR

from accsmbo.hypergradients import (
    FoldHypergradient,
    NotDifferentiableError,
    differentiable_names,
)
from accsmbo.linear_model import GroupLogisticRegression

X, y = make_classification(90, 5, class_sep=0.5, random_state=0)
TRAIN, TEST = np.arange(60), np.arange(60, 90)
C = {"logisticregression__C": 0.5}
LOG_LOSS = "neg_log_loss"


def fold_of(model, names, scoring=LOG_LOSS, X=X, y=y, **options):
    return FoldHypergradient(
        model, X, y, TRAIN, TEST, names=names, scoring=scoring, **options
    )


def counting(calls):
    def count(X):
        calls.append(len(X))
        return X

    return FunctionTransformer(count)


def test_fixed_preprocessing_is_transformed_once():
    calls = []
    model = make_pipeline(counting(calls), StandardScaler(), LogisticRegression())
    fold = fold_of(model, C)
    for value in (0.1, 1.0, 10.0):
        fold({"logisticregression__C": value})
    assert calls == [60, 30]


def test_searched_preprocessing_is_transformed_anew():
    name, last = "standardscaler__with_std", "logisticregression__C"
    fold = fold_of(make_pipeline(StandardScaler(), LogisticRegression()), [name, last])
    for flag in (True, False, True):
        found = fold({name: flag, last: 0.5})
        scaler = StandardScaler(with_std=flag)
        alone = fold_of(make_pipeline(scaler, LogisticRegression()), C)(C)
        assert np.isnan(found.gradient[name])
        assert found.loss == alone.loss


def test_nested_pipelines():
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    model = make_pipeline(StandardScaler(), inner)
    name = "pipeline__logisticregression__C"
    result = fold_of(model, [name])({name: 0.5})
    plain = fold_of(make_pipeline(StandardScaler(), LogisticRegression()), C)(C)
    assert result.loss == pytest.approx(plain.loss)
    assert result.gradient[name] == pytest.approx(
        plain.gradient["logisticregression__C"]
    )
    assert fold_of(model, [name]).fitted_estimator({name: 0.5}, result) is not None


def test_warm_start_is_used_and_changes_nothing():
    fold = fold_of(LogisticRegression(), ["C"])
    cold = fold({"C": 1.0})
    warm = fold({"C": 1.0}, warm_start=cold.warm_start)
    assert warm.loss == pytest.approx(cold.loss, rel=1e-12)
    foreign = fold({"C": 1.0}, warm_start={"w": np.zeros(3), "q": np.zeros(2)})
    assert foreign.loss == pytest.approx(cold.loss, rel=1e-12)
    broken = fold({"C": 1.0}, warm_start={"w": np.full(6, np.nan)})
    assert broken.loss == pytest.approx(cold.loss, rel=1e-12)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-3, 1e-5])
def test_tolerance_bounds_the_error(tolerance):
    fold = fold_of(LogisticRegression(), ["C"])
    exact = fold({"C": 100.0})
    loose = fold({"C": 100.0}, tolerance=tolerance)
    assert abs(loose.loss - exact.loss) <= tolerance * exact.loss


def test_pickle_drops_caches():
    fold = fold_of(LogisticRegression(), ["C"])
    first = fold({"C": 1.0})
    again = pickle.loads(pickle.dumps(fold))
    assert not again._problems
    assert again({"C": 1.0}).loss == first.loss
    pickle.dumps(first)


def test_structures_are_cached_apart():
    fold = fold_of(LogisticRegression(), ["C", "fit_intercept"])
    with_intercept = fold({"C": 1.0, "fit_intercept": True}).loss
    without = fold({"C": 1.0, "fit_intercept": False}).loss
    assert with_intercept != without
    assert fold({"C": 1.0, "fit_intercept": True}).loss == with_intercept
    for max_iter in range(10, 20):
        fold({"C": 1.0, "max_iter": max_iter})
    assert len(fold._problems) <= 4


REGRESSION = make_regression(90, 5, noise=5, random_state=0)
HINGE = make_scorer(
    hinge_loss, greater_is_better=False, response_method="decision_function"
)


@pytest.mark.parametrize(
    ("model", "params", "scoring", "data"),
    [
        (make_pipeline(StandardScaler(), LogisticRegression()), C, LOG_LOSS, (X, y)),
        (LinearSVC(), {"C": 0.1}, HINGE, (X, y)),
        (GroupLogisticRegression(), {"alpha": 0.1}, LOG_LOSS, (X, y)),
        (Ridge(), {"alpha": 0.1}, "r2", REGRESSION),
        (Lasso(), {"alpha": 0.1}, "r2", REGRESSION),
        (
            LinearSVR(loss="squared_epsilon_insensitive"),
            {"C": 1.0},
            "r2",
            REGRESSION,
        ),
        (KernelRidge(kernel="rbf"), {"alpha": 0.1}, "r2", REGRESSION),
        (
            MLPClassifier((3,), solver="lbfgs", max_iter=20_000, random_state=0),
            {"alpha": 10.0},
            LOG_LOSS,
            (X, y),
        ),
    ],
)
@pytest.mark.parametrize("frame", [False, True])
def test_fitted_estimator_has_the_score(model, params, scoring, data, frame):
    X, y = data
    X = pd.DataFrame(X, columns=list("abcde")) if frame else X
    fold = fold_of(model, list(params), scoring, X, y)
    result = fold(params)
    fitted = fold.fitted_estimator(params, result)
    score = get_scorer(scoring)(fitted, fold.X_test, fold.y_test)
    assert score == pytest.approx(-result.loss, rel=1e-7)
    assert hasattr(fitted, "feature_names_in_") == frame


def test_families_that_cannot_be_filled():
    fold = fold_of(RidgeClassifier(), ["alpha"], HINGE)
    assert fold.fitted_estimator({"alpha": 1.0}, fold({"alpha": 1.0})) is None


def test_names_that_are_differentiable():
    names = ["C", "max_iter", "nope"]
    assert differentiable_names(LogisticRegression(), names, LOG_LOSS) == ("C",)


class OwnPipeline(Pipeline):
    pass


def test_a_subclass_of_pipeline_may_do_anything_with_its_steps():
    steps = make_pipeline(StandardScaler(), LogisticRegression()).steps
    assert differentiable_names(Pipeline(steps), C, LOG_LOSS) == tuple(C)
    with pytest.raises(NotDifferentiableError, match="OwnPipeline"):
        differentiable_names(OwnPipeline(steps), C, LOG_LOSS)


def test_score_weight():
    weight = np.linspace(0.1, 2, 90)
    fold = fold_of(LogisticRegression(), ["C"], score_weight=weight)
    result = fold({"C": 1.0})
    fitted = fold.fitted_estimator({"C": 1.0}, result)
    score = get_scorer(LOG_LOSS)(fitted, X[TEST], y[TEST], sample_weight=weight[TEST])
    assert result.loss == pytest.approx(-score)


# Bad input


def test_separable_data_without_a_penalty_stays_finite():
    separable = np.where(y == 1, 5.0, -5.0)[:, None] + X[:, :1]
    fold = fold_of(LogisticRegression(C=np.inf), ["C"], X=separable)
    result = fold({"C": np.inf})
    assert np.isfinite(result.loss)
    assert result.gradient["C"] == 0.0


@pytest.mark.parametrize("value", [1e-12, 1e12])
def test_hyperparameters_at_far_ends_give_finite_gradients(value):
    result = fold_of(LogisticRegression(), ["C"])({"C": value})
    assert np.isfinite([result.loss, result.gradient["C"]]).all()


@pytest.mark.parametrize(
    ("model", "params", "scoring"),
    [
        (LogisticRegression(), {"C": 1.0}, LOG_LOSS),
        (LogisticRegression(fit_intercept=False), {"C": 1.0}, LOG_LOSS),
        (Ridge(), {"alpha": 0.0}, "r2"),
        (Ridge(), {"alpha": 1.0}, "r2"),
        (Lasso(), {"alpha": 0.01}, "r2"),
    ],
)
def test_constant_features(model, params, scoring):
    constant = np.column_stack([X, np.full(90, 3.0), np.zeros(90)])
    result = fold_of(model, list(params), scoring, constant)(params)
    assert np.isfinite([result.loss, *result.gradient.values()]).all()


def test_one_class_in_training():
    order = np.argsort(y)
    with pytest.raises(ValueError, match="got one class only"):
        fold_of(
            LogisticRegression(), ["C"], X=X[order][:90], y=np.r_[[0] * 60, [1] * 30]
        )({"C": 1.0})


def test_one_class_in_validation_is_finite():
    labels = y.copy()
    labels[TEST] = 1
    result = fold_of(LogisticRegression(), ["C"], y=labels)({"C": 1.0})
    assert np.isfinite([result.loss, result.gradient["C"]]).all()


def test_class_that_training_lacks():
    labels = y.copy()
    labels[TEST[0]] = 7
    with pytest.raises(ValueError, match=r"holds the class .*7.* which"):
        fold_of(LogisticRegression(), ["C"], y=labels)({"C": 1.0})


@pytest.mark.parametrize("value", [-1.0, 0.0, "big"])
def test_invalid_values_are_scikit_learns_errors(value):
    with pytest.raises(ValueError, match="'C' parameter of LogisticRegression"):
        fold_of(LogisticRegression(), ["C"])({"C": value})


def test_nan_in_the_data():
    broken = X.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fold_of(LogisticRegression(), ["C"], X=broken)({"C": 1.0})


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PoissonRegressor(), "needs non-negative targets, got a smallest one of -1"),
        (GammaRegressor(), "needs positive targets, got a smallest one of -1"),
    ],
)
def test_targets_out_of_range(model, message):
    with pytest.raises(ValueError, match=message):
        fold_of(model, ["alpha"], None, y=2.0 * y - 1)({"alpha": 1.0})


def test_support_vectors_that_fix_no_intercept_leave_the_gradient_unknown():
    # Two points and a tiny C: both vectors sit at the bound, none is free.
    tiny = FoldHypergradient(
        SVC(),
        np.array([[-1.0], [1.0], [-1.0], [1.0]]),
        np.array([0, 1, 0, 1]),
        np.array([0, 1]),
        np.array([2, 3]),
        names=["C"],
        scoring=HINGE,
    )
    result = tiny({"C": 1e-3})
    assert np.isfinite(result.loss)
    assert np.isnan(result.gradient["C"])


def test_liblinear_with_many_classes_is_refused():
    three = np.arange(90) % 3
    model = LogisticRegression(solver="liblinear")
    with pytest.raises(ValueError, match="two classes only, got 3"):
        fold_of(model, ["C"], y=three)({"C": 1.0})


def test_the_estimator_is_left_alone():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    before = clone(model).get_params()
    fold_of(model, C)(C)
    assert repr(model.get_params()) == repr(before)
    assert not hasattr(model[0], "mean_")
