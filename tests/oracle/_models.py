# SPDX-License-Identifier: BSD-3-Clause
"""Which models the oracle draws, with their settings and what is searched of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from accsmbo.linear_model import GroupLogisticRegression, GroupRidge
from tests.oracle._parts import (
    BlurredSVC,
    Fragile,
    FreeLogistic,
    HalfLogistic,
    OwnScoreRidge,
    ShiftedRidge,
)

__all__ = ["MODELS", "Model"]

WIDE = loguniform(1e-3, 1e3)
WEAK = loguniform(1e-3, 1e0)
BALANCE = {"class_weight": [None, "balanced"]}
INTERCEPT = {"fit_intercept": [True, False]}


@dataclass(frozen=True)
class Model:
    """A family, and what may be drawn of it.

    Parameters
    ----------
    kind : {"classes", "numbers", "positive"}
        What it predicts.
    make : callable
        ``make(n_features)`` -> estimator.
    continuous, choices, integers : dict
        Distributions and lists by parameter.
    settings : tuple of dict
        What may be set besides; ``{}`` is drawn for half of the problems.
    routes : set of str
        Special routes that take it with no settings.
    weight : float
        How often it is drawn.
    """

    kind: str
    make: Callable[[int], Any]
    continuous: dict[str, Any] = field(default_factory=dict)
    choices: dict[str, list] = field(default_factory=dict)
    integers: dict[str, Any] = field(default_factory=dict)
    settings: tuple[dict[str, Any], ...] = ()
    routes: frozenset = frozenset()
    weight: float = 1.0


JOINT = frozenset({"joint", "gradients"})
GRADIENTS = frozenset({"gradients"})


def _cosine(x, z):
    return float(np.dot(x, z) / np.sqrt(np.dot(x, x) * np.dot(z, z) + 1e-12))


MODELS = {
    "logistic": Model(
        "classes",
        lambda p: LogisticRegression(max_iter=300),
        {"C": WIDE},
        {**BALANCE, **INTERCEPT, "solver": ["lbfgs", "newton-cg"]},
        {"max_iter": randint(20, 100)},
        (
            {"solver": "liblinear"},
            {"solver": "newton-cg"},
            {"solver": "newton-cholesky"},
            {"solver": "saga", "max_iter": 30, "random_state": 0},
            {"class_weight": "balanced"},
            {"fit_intercept": False},
            {"solver": "liblinear", "intercept_scaling": 5.0},
            {"solver": "liblinear", "dual": True, "random_state": 0},
            {"max_iter": 2},
            {"warm_start": True},
            {"tol": 0.1},
        ),
        JOINT,
        3.0,
    ),
    "sparse_logistic": Model(
        "classes",
        lambda p: LogisticRegression(solver="saga", l1_ratio=0.5, random_state=0),
        {"C": loguniform(1e-2, 1e1), "l1_ratio": uniform(0.05, 0.9)},
        INTERCEPT,
        settings=(
            {"l1_ratio": 1.0},
            {"l1_ratio": 1.0, "solver": "liblinear"},
            {"l1_ratio": 0.0},
            {"max_iter": 5},
            {"class_weight": "balanced"},
        ),
        routes=GRADIENTS,
        weight=0.7,
    ),
    "ridge": Model(
        "numbers",
        lambda p: Ridge(),
        {"alpha": WIDE},
        {**INTERCEPT, "solver": ["auto", "svd", "lsqr"]},
        settings=(
            {"positive": True},
            {"solver": "svd"},
            {"solver": "sag", "random_state": 0, "max_iter": 20},
            {"solver": "sparse_cg", "max_iter": 1},
            {"solver": "lsqr", "tol": 0.1},
            {"fit_intercept": False},
            {"positive": True, "solver": "lbfgs"},
        ),
        routes=JOINT,
        weight=2.5,
    ),
    "ridge_classifier": Model(
        "classes",
        lambda p: RidgeClassifier(),
        {"alpha": WIDE},
        {**BALANCE, **INTERCEPT},
        settings=({"positive": True}, {"class_weight": "balanced"}),
        routes=JOINT,
    ),
    "lasso": Model(
        "numbers",
        lambda p: Lasso(),
        {"alpha": WEAK},
        INTERCEPT,
        {"max_iter": randint(50, 200)},
        (
            {"positive": True},
            {"selection": "random", "random_state": 0},
            {"warm_start": True},
            {"max_iter": 2},
            {"precompute": True},
            {"fit_intercept": False},
        ),
        GRADIENTS,
    ),
    "elastic_net": Model(
        "numbers",
        lambda p: ElasticNet(),
        {"alpha": WEAK, "l1_ratio": uniform(0.1, 0.8)},
        INTERCEPT,
        settings=({"positive": True}, {"max_iter": 2}, {"l1_ratio": 0.0}),
        routes=GRADIENTS,
    ),
    "linear_svc": Model(
        "classes",
        lambda p: LinearSVC(random_state=0),
        {"C": loguniform(1e-3, 1e1)},
        BALANCE,
        settings=(
            {"loss": "hinge"},
            {"penalty": "l1", "dual": False},
            {"multi_class": "crammer_singer"},
            {"class_weight": "balanced"},
            {"intercept_scaling": 10.0},
            {"max_iter": 3},
            {"fit_intercept": False},
        ),
        routes=JOINT,
        weight=1.5,
    ),
    "linear_svr": Model(
        "numbers",
        lambda p: LinearSVR(
            loss="squared_epsilon_insensitive", dual=False, random_state=0
        ),
        {"C": loguniform(1e-3, 1e1), "epsilon": uniform(0.0, 1.0)},
        INTERCEPT,
        settings=(
            {"loss": "epsilon_insensitive", "dual": True},
            {"max_iter": 3},
            {"intercept_scaling": 10.0},
        ),
        routes=GRADIENTS,
    ),
    "svc": Model(
        "classes",
        lambda p: SVC(),
        {"C": loguniform(1e-2, 1e2), "gamma": loguniform(1e-3, 1e0)},
        {**BALANCE, "kernel": ["rbf", "linear", "poly"]},
        {"degree": randint(2, 4)},
        (
            {"kernel": "linear"},
            {"kernel": "poly", "degree": 2},
            {"kernel": "sigmoid"},
            {"class_weight": "balanced"},
            {"max_iter": 3},
            {"decision_function_shape": "ovo"},
            {"tol": 0.1},
            {"kernel": _cosine},
        ),
        GRADIENTS,
        1.5,
    ),
    "svr": Model(
        "numbers",
        lambda p: SVR(),
        {"C": loguniform(1e-2, 1e2), "epsilon": loguniform(1e-2, 1e0)},
        {"kernel": ["rbf", "linear"]},
        settings=({"kernel": "linear"}, {"gamma": "auto"}, {"max_iter": 3}),
        routes=GRADIENTS,
    ),
    "kernel_ridge": Model(
        "numbers",
        lambda p: KernelRidge(kernel="rbf", gamma=0.1),
        {"alpha": loguniform(1e-3, 1e1), "gamma": loguniform(1e-3, 1e0)},
        {"kernel": ["rbf", "laplacian"]},
        settings=({"kernel": "linear"}, {"kernel": _cosine, "gamma": None}),
        routes=GRADIENTS,
    ),
    "poisson": Model(
        "positive",
        lambda p: PoissonRegressor(max_iter=300),
        {"alpha": loguniform(1e-3, 1e2)},
        INTERCEPT,
        settings=({"max_iter": 2}, {"warm_start": True}),
        routes=JOINT,
    ),
    "gamma": Model(
        "positive",
        lambda p: GammaRegressor(max_iter=300),
        {"alpha": loguniform(1e-3, 1e2)},
        INTERCEPT,
        settings=({"max_iter": 2}, {"fit_intercept": False}),
        routes=GRADIENTS,
        weight=0.7,
    ),
    "tweedie": Model(
        "positive",
        lambda p: TweedieRegressor(power=1.5, max_iter=300),
        {"alpha": loguniform(1e-3, 1e2)},
        {"power": [0.0, 1.0, 1.5, 2.0]},
        settings=({"power": 0.0}, {"power": 0.0, "link": "log"}, {"power": 3.0}),
        routes=GRADIENTS,
        weight=0.7,
    ),
    "gaussian_process": Model(
        "numbers",
        lambda p: GaussianProcessRegressor(RBF(2.0), alpha=0.1, optimizer=None),
        {"alpha": loguniform(1e-2, 1e1), "kernel__length_scale": loguniform(0.3, 30)},
        {"normalize_y": [True, False]},
        settings=({"normalize_y": True}, {"optimizer": "fmin_l_bfgs_b"}),
        routes=GRADIENTS,
        weight=0.6,
    ),
    "network": Model(
        "classes",
        lambda p: MLPClassifier((3,), solver="lbfgs", max_iter=20, random_state=0),
        {"alpha": loguniform(1e-3, 1e1)},
        {"activation": ["relu", "tanh"]},
        {"max_iter": randint(5, 15)},
        ({"solver": "adam", "max_iter": 5}, {"early_stopping": True}),
        GRADIENTS,
        0.25,
    ),
    "network_regressor": Model(
        "numbers",
        lambda p: MLPRegressor(
            hidden_layer_sizes=(3,), solver="lbfgs", max_iter=20, random_state=0
        ),
        {"alpha": loguniform(1e-3, 1e1)},
        routes=GRADIENTS,
        weight=0.2,
    ),
    "group_ridge": Model(
        "numbers",
        lambda p: GroupRidge(groups=np.arange(p) % 2),
        {"alpha__0": WIDE, "alpha__1": WIDE},
        INTERCEPT,
        settings=({"fit_intercept": False},),
        routes=JOINT,
    ),
    "group_logistic": Model(
        "classes",
        lambda p: GroupLogisticRegression(groups=np.arange(p) % 2),
        {"alpha__0": WIDE, "alpha__1": WIDE},
        INTERCEPT,
        routes=JOINT,
    ),
    "half_logistic": Model("classes", lambda p: HalfLogistic(), {"C": WIDE}, BALANCE),
    "shifted_ridge": Model(
        "numbers", lambda p: ShiftedRidge(), {"alpha": WIDE, "shift": uniform(0, 2)}
    ),
    "blurred_svc": Model("classes", lambda p: BlurredSVC(), {"C": WIDE}),
    "own_score_ridge": Model("numbers", lambda p: OwnScoreRidge(), {"alpha": WIDE}),
    "free_logistic": Model(
        "classes",
        lambda p: FreeLogistic(),
        {"C": WIDE, "tol": loguniform(1e-4, 1e-1)},
        INTERCEPT,
    ),
    "fragile": Model("classes", lambda p: Fragile(), {"C": WIDE}, BALANCE),
    "tree": Model(
        "classes",
        lambda p: DecisionTreeClassifier(random_state=0),
        {"ccp_alpha": loguniform(1e-3, 1e-1)},
        {**BALANCE, "criterion": ["gini", "entropy"]},
        {"max_depth": randint(1, 6)},
    ),
    "tree_regressor": Model(
        "numbers",
        lambda p: DecisionTreeRegressor(random_state=0),
        {"ccp_alpha": loguniform(1e-3, 1e-1)},
        {"splitter": ["best", "random"]},
        {"min_samples_leaf": randint(1, 6)},
    ),
    "neighbors": Model(
        "classes",
        lambda p: KNeighborsClassifier(),
        {"p": uniform(1.0, 2.0)},
        {"weights": ["uniform", "distance"]},
        {"n_neighbors": randint(1, 8)},
    ),
    "neighbors_regressor": Model(
        "numbers",
        lambda p: KNeighborsRegressor(),
        choices={"weights": ["uniform", "distance"]},
        integers={"n_neighbors": randint(1, 30)},
    ),
    "bayes": Model(
        "classes",
        lambda p: GaussianNB(),
        {"var_smoothing": loguniform(1e-9, 1e0)},
        weight=0.7,
    ),
    "forest": Model(
        "classes",
        lambda p: RandomForestClassifier(3, random_state=0),
        {"max_features": uniform(0.2, 0.8)},
        BALANCE,
        {"max_depth": randint(1, 5)},
        weight=0.4,
    ),
    "sgd": Model(
        "classes",
        lambda p: SGDClassifier(loss="log_loss", max_iter=20, random_state=0),
        {"alpha": loguniform(1e-5, 1e0)},
        {"loss": ["log_loss", "hinge"]},
    ),
    "huber": Model(
        "numbers",
        lambda p: HuberRegressor(),
        {"alpha": WIDE, "epsilon": uniform(1.1, 2.0)},
        weight=0.5,
    ),
    "one_vs_rest": Model(
        "classes",
        lambda p: OneVsRestClassifier(LogisticRegression()),
        {"estimator__C": WIDE},
        weight=0.5,
    ),
    "bagging": Model(
        "classes",
        lambda p: BaggingClassifier(LogisticRegression(), 2, random_state=0),
        {"estimator__C": WIDE, "max_samples": uniform(0.5, 0.5)},
        weight=0.4,
    ),
    "log_target": Model(
        "positive",
        lambda p: TransformedTargetRegressor(
            Ridge(), func=np.log1p, inverse_func=np.expm1
        ),
        {"regressor__alpha": WIDE},
        weight=0.7,
    ),
}
