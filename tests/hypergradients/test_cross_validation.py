# SPDX-License-Identifier: BSD-3-Clause
"""Every family and hyperparameter: central differences, and cross_val_score."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.metrics import hinge_loss, make_scorer
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from accsmbo.hypergradients import (
    NotDifferentiableError,
    hypergradient,
    squared_hinge_loss,
)
from accsmbo.linear_model import GroupLogisticRegression, GroupRidge

N, P = 90, 6
EXACT, IMPLICIT = 1e-6, 1e-4  # relative: closed form, iterative inner solver

rng = np.random.default_rng(0)
WEIGHT = rng.uniform(0.2, 2, N)
X, Y2 = make_classification(N, P, n_informative=4, class_sep=0.5, random_state=0)
X[np.abs(X) < 0.2] = 0.0
Y3 = make_classification(N, P, n_informative=4, n_classes=3, random_state=0)[1]
YR = X @ rng.standard_normal(P) + np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(N)
YT = np.column_stack([YR, X[:, 1] - YR])
YP = rng.poisson(np.exp(0.3 * X[:, 0] + 0.2)).astype(float)
for array in (X, Y2, Y3, YR, YT, YP, WEIGHT):
    array.setflags(write=False)

HINGE = make_scorer(
    hinge_loss, greater_is_better=False, response_method="decision_function"
)
SQUARED_HINGE = make_scorer(
    squared_hinge_loss, greater_is_better=False, response_method="decision_function"
)
TIGHT = {"tol": 1e-10, "max_iter": 50_000}


def elastic(l1_ratio=0.5, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # `penalty` before 1.8
        if LogisticRegression().penalty == "deprecated":
            return LogisticRegression(l1_ratio=l1_ratio, **settings)
        return LogisticRegression(penalty="elasticnet", l1_ratio=l1_ratio, **settings)


# estimator, parameters to differentiate by, target, scoring, accuracy
FAMILIES = {
    "logistic": (
        LogisticRegression(**TIGHT),
        {"C": 0.3},
        Y2,
        "neg_log_loss",
        IMPLICIT,
    ),
    "logistic-brier": (
        LogisticRegression(class_weight="balanced", fit_intercept=False, **TIGHT),
        {"C": 0.3},
        Y2,
        "neg_brier_score",
        IMPLICIT,
    ),
    "logistic-liblinear": (
        LogisticRegression(solver="liblinear", intercept_scaling=2.0, **TIGHT),
        {"C": 0.3},
        Y2,
        "neg_log_loss",
        IMPLICIT,
    ),
    "logistic-elastic": (
        elastic(solver="saga", **TIGHT),
        {"C": 0.3, "l1_ratio": 0.4},
        Y2,
        "neg_log_loss",
        IMPLICIT,
    ),
    "multinomial": (
        LogisticRegression(class_weight={0: 2.0, 1: 1.0, 2: 0.5}, **TIGHT),
        {"C": 0.3},
        Y3,
        "neg_log_loss",
        IMPLICIT,
    ),
    "multinomial-hinge": (
        LogisticRegression(**TIGHT),
        {"C": 0.3},
        Y3,
        SQUARED_HINGE,
        IMPLICIT,
    ),
    "multinomial-elastic": (
        elastic(solver="saga", **TIGHT),
        {"C": 0.3, "l1_ratio": 0.4},
        Y3,
        "neg_log_loss",
        IMPLICIT,
    ),
    "group-logistic": (
        GroupLogisticRegression(groups=[0, 0, 1, 1, 2, 2], class_weight="balanced"),
        {"alpha__0": 0.5, "alpha__1": 3.0, "alpha__2": 20.0},
        Y3,
        "neg_log_loss",
        IMPLICIT,
    ),
    "ridge": (Ridge(), {"alpha": 3.0}, YR, "r2", EXACT),
    "ridge-targets": (
        Ridge(fit_intercept=False),
        {"alpha": 3.0},
        YT,
        "neg_root_mean_squared_error",
        EXACT,
    ),
    "group-ridge": (
        GroupRidge(groups=[0, 0, 1, 1, 2, 2]),
        {"alpha__0": 0.5, "alpha__1": 3.0, "alpha__2": 20.0},
        YT,
        "neg_mean_squared_error",
        EXACT,
    ),
    "ridge-classifier": (
        RidgeClassifier(class_weight="balanced"),
        {"alpha": 3.0},
        Y3,
        SQUARED_HINGE,
        EXACT,
    ),
    "linear-svc": (
        LinearSVC(class_weight={0: 2.0, 1: 0.7}, **TIGHT),
        {"C": 0.1},
        Y2,
        SQUARED_HINGE,
        IMPLICIT,
    ),
    "linear-svc-many": (
        LinearSVC(class_weight={0: 2.0, 1: 1.0, 2: 0.5}, **TIGHT),
        {"C": 0.1},
        Y3,
        HINGE,
        IMPLICIT,
    ),
    "linear-svr": (
        LinearSVR(loss="squared_epsilon_insensitive", dual=False, **TIGHT),
        {"C": 0.1, "epsilon": 0.3},
        YR,
        "neg_mean_squared_error",
        IMPLICIT,
    ),
    "lasso": (Lasso(**TIGHT), {"alpha": 0.05}, YR, "r2", IMPLICIT),
    "elastic-net": (
        ElasticNet(**TIGHT),
        {"alpha": 0.05, "l1_ratio": 0.6},
        YR,
        "neg_root_mean_squared_error",
        IMPLICIT,
    ),
    "poisson": (
        PoissonRegressor(**TIGHT),
        {"alpha": 0.1},
        YP,
        "neg_mean_poisson_deviance",
        IMPLICIT,
    ),
    "gamma": (
        GammaRegressor(**TIGHT),
        {"alpha": 0.1},
        YP + 0.5,
        "neg_mean_gamma_deviance",
        IMPLICIT,
    ),
    "tweedie": (
        TweedieRegressor(power=1.5, **TIGHT),
        {"alpha": 0.1},
        YP,
        None,
        IMPLICIT,
    ),
    "tweedie-identity": (TweedieRegressor(**TIGHT), {"alpha": 0.1}, YR, None, EXACT),
    "kernel-ridge-rbf": (
        KernelRidge(kernel="rbf"),
        {"alpha": 0.5, "gamma": 0.1},
        YT,
        "r2",
        EXACT,
    ),
    "kernel-ridge-poly": (
        KernelRidge(kernel="poly", degree=2),
        {"alpha": 0.5, "gamma": 0.1, "coef0": 1.0},
        YR,
        "neg_mean_squared_error",
        EXACT,
    ),
    "kernel-ridge-laplacian": (
        KernelRidge(kernel="laplacian"),
        {"alpha": 0.5, "gamma": 0.1},
        YR,
        "r2",
        EXACT,
    ),
    "kernel-ridge-sigmoid": (
        KernelRidge(kernel="sigmoid"),
        {"alpha": 20.0, "gamma": 0.02, "coef0": 0.1},
        YR,
        "r2",
        EXACT,
    ),
    "svc": (
        SVC(class_weight="balanced", tol=1e-9),
        {"C": 1.0, "gamma": 0.1},
        Y2,
        SQUARED_HINGE,
        IMPLICIT,
    ),
    "svc-scale": (SVC(tol=1e-9), {"C": 1.0}, Y2, HINGE, IMPLICIT),
    "svr": (
        SVR(tol=1e-9),
        {"C": 1.0, "gamma": 0.1, "epsilon": 0.2},
        YR,
        "r2",
        IMPLICIT,
    ),
}


def central_difference(estimator, params, name, data, scoring, sample_weight):
    step = 1e-5 * params[name]
    plus, minus = (
        hypergradient(
            estimator,
            {**params, name: params[name] + sign * step},
            *data,
            cv=3,
            scoring=scoring,
            sample_weight=sample_weight,
        )[0]
        for sign in (1, -1)
    )
    return (plus - minus) / (2 * step)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("family", FAMILIES)
def test_gradient_is_the_central_difference(family, container, weight):
    estimator, params, y, scoring, accuracy = FAMILIES[family]
    data = container(X), y
    _, gradient = hypergradient(
        estimator, params, *data, cv=3, scoring=scoring, sample_weight=weight
    )
    for name in params:
        expected = central_difference(estimator, params, name, data, scoring, weight)
        np.testing.assert_allclose(gradient[name], expected, rtol=accuracy, atol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_score_is_that_of_cross_val_score(family):
    # Ridge and logistic solvers of scikit-learn are tight on dense data only.
    estimator, params, y, scoring, _ = FAMILIES[family]
    score, _ = hypergradient(
        estimator, params, X, y, cv=3, scoring=scoring, sample_weight=WEIGHT
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # convergence at tolerances beyond reach
        theirs = cross_val_score(
            clone(estimator).set_params(**params),
            X,
            y,
            cv=3,
            scoring=scoring,
            params={"sample_weight": WEIGHT},
        )
    assert score == pytest.approx(theirs.mean(), abs=1e-6)


def test_gaussian_process():
    kernel = ConstantKernel(2.0) * RBF(3.0) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)
    params = {
        "alpha": 0.1,
        "kernel__k1__k1__constant_value": 2.0,
        "kernel__k1__k2__length_scale": 3.0,
        "kernel__k2__noise_level": 0.1,
    }
    score, gradient = hypergradient(model, params, X, YR, cv=3)
    for name in params:
        expected = central_difference(model, params, name, (X, YR), None, None)
        np.testing.assert_allclose(gradient[name], expected, rtol=EXACT, atol=1e-8)
    model.set_params(**params)
    assert score == pytest.approx(cross_val_score(model, X, YR, cv=3).mean())


def test_one_alpha_per_target():
    model, alphas = Ridge(), np.array([0.5, 8.0])
    score, gradient = hypergradient(model, {"alpha": alphas}, X, YT, cv=3)
    assert gradient["alpha"].shape == (2,)
    for k in range(2):
        step = 1e-5 * np.eye(2)[k]
        plus = hypergradient(model, {"alpha": alphas + step}, X, YT, cv=3)[0]
        minus = hypergradient(model, {"alpha": alphas - step}, X, YT, cv=3)[0]
        assert gradient["alpha"][k] == pytest.approx((plus - minus) / 2e-5, rel=1e-5)
    plain = cross_val_score(Ridge(alphas), X, YT, cv=3)
    assert score == pytest.approx(plain.mean())


def test_log_scale_is_the_chain_rule():
    options = {"cv": 3, "scoring": "neg_log_loss"}
    _, natural = hypergradient(LogisticRegression(), {"C": 0.3}, X, Y2, **options)
    _, log = hypergradient(
        LogisticRegression(), {"C": 0.3}, X, Y2, log_scale=["C"], **options
    )
    assert log["C"] == pytest.approx(0.3 * natural["C"])


def test_loose_tolerance_is_near_and_parallel_folds_agree():
    options = {"cv": KFold(3), "scoring": "neg_log_loss"}
    tight = hypergradient(LogisticRegression(), {"C": 0.3}, X, Y2, **options)
    loose = hypergradient(
        LogisticRegression(), {"C": 0.3}, X, Y2, tolerance=1e-2, **options
    )
    assert loose[0] == pytest.approx(tight[0], rel=1e-2)
    parallel = hypergradient(
        LogisticRegression(), {"C": 0.3}, X, Y2, n_jobs=1, **options
    )
    assert parallel == tight


def test_pipeline_searched_before_the_last_step_is_unknown():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    params = {"standardscaler__with_std": False, "logisticregression__C": 0.3}
    score, gradient = hypergradient(model, params, X, Y2, cv=3, scoring="neg_log_loss")
    assert np.isnan(gradient["standardscaler__with_std"])
    alone = make_pipeline(StandardScaler(with_std=False), LogisticRegression())
    name = "logisticregression__C"
    again = hypergradient(alone, {name: 0.3}, X, Y2, cv=3, scoring="neg_log_loss")
    assert (score, gradient[name]) == pytest.approx((again[0], again[1][name]))


@pytest.mark.parametrize(
    ("model", "params", "scoring", "message"),
    [
        (KFold(3), {}, "r2", "has no hyperparameter gradients"),
        (LogisticRegression(), {"C": 1.0}, "accuracy", "'accuracy' has no gradient"),
        (LogisticRegression(), {"C": 1.0}, None, "default score of LogisticReg"),
        (LinearSVC(), {"C": 1.0}, "neg_log_loss", "log loss has no gradient for"),
        (LinearSVC(loss="hinge"), {"C": 1.0}, HINGE, "its loss has a kink"),
        (LinearSVR(), {"C": 1.0}, "r2", "its loss has a kink"),
        (LinearSVC(multi_class="crammer_singer"), {}, HINGE, "multi_class='ovr'"),
        (Ridge(positive=True), {"alpha": 1.0}, "r2", "positive=True"),
        (Lasso(positive=True), {"alpha": 1.0}, "r2", "positive=True"),
        (
            TweedieRegressor(power=1.5, link="identity"),
            {"alpha": 1.0},
            None,
            "with a log link",
        ),
        (KernelRidge(kernel="precomputed"), {"alpha": 1.0}, "r2", "precomputed"),
        (KernelRidge(alpha=[1.0, 2.0]), {"gamma": 1.0}, "r2", "one alpha for all"),
        (SVC(kernel="sigmoid"), {"C": 1.0}, HINGE, "kernel='rbf', 'linear'"),
        (GaussianProcessRegressor(), {"alpha": 1.0}, "r2", "optimizer=None"),
        (SVC(), {"tol": 1e-3}, HINGE, "'tol' of SVC cannot be differentiated"),
    ],
)
def test_what_has_no_gradient_says_so(model, params, scoring, message):
    if isinstance(model, KFold):  # any estimator without an inner problem
        from sklearn.tree import DecisionTreeRegressor

        model, params = DecisionTreeRegressor(), {"max_depth": 3}
    y = Y2 if is_classifier(model) else YP
    with pytest.raises(NotDifferentiableError, match=message):
        hypergradient(model, params, X, y, cv=3, scoring=scoring)


def test_many_classes_of_a_kernel_svm_are_refused():
    with pytest.raises(NotDifferentiableError, match="two classes only, got 3"):
        hypergradient(SVC(), {"C": 1.0}, X, Y3, cv=3, scoring=HINGE)


def test_name_that_must_be_differentiable():
    with pytest.raises(NotDifferentiableError, match=r"gradients exist for \['C'\]"):
        hypergradient(
            LogisticRegression(),
            {"C": 1.0, "max_iter": 10},
            X,
            Y2,
            cv=3,
            scoring="neg_log_loss",
            names=["C", "max_iter"],
        )
