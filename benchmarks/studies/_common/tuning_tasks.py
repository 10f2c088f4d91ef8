# SPDX-License-Identifier: BSD-3-Clause
"""Cheap tuning tasks: scikit-learn models on data that scikit-learn ships.

Each task is (name, space, function to minimise): cross-validated error, log loss or
root mean square error over three folds, 5-60 ms a call. The best known value and the
median of random search at 40 evaluations stand in `tuning_reference.json`.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_friedman1,
    make_regression,
)
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import ElasticNet, LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

Data = tuple[np.ndarray, np.ndarray]
Build = Callable[[dict[str, Any]], Any]


def number(low: float, high: float, *, log: bool = False) -> tuple:
    return ("float", low, high, log)


def integer(low: int, high: int, *, log: bool = False) -> tuple:
    return ("int", low, high, log)


def choice(*values: Any) -> tuple:
    return ("cat", list(values))


def part(data: Data, n: int) -> Data:
    """Return n rows of a data set, always the same ones."""
    X, y = data
    rows = np.random.RandomState(1).permutation(len(y))[:n]
    return X[rows], y[rows]


def flipped(y: np.ndarray, share: float) -> np.ndarray:
    """Return labels of which a share was drawn anew."""
    rng = np.random.RandomState(3)
    y = y.copy()
    mask = rng.rand(len(y)) < share
    y[mask] = rng.choice(np.unique(y), mask.sum())
    return y


def objective(build: Build, data: Data, metric: str, worst: float) -> Callable:
    """Return the mean score of three fixed, standardised folds; failures cost worst."""
    X, y = data
    kind = KFold if metric == "rmse" else StratifiedKFold
    folds = []
    for train, test in kind(3, shuffle=True, random_state=1).split(X, y):
        scaler = StandardScaler().fit(X[train])
        folds.append(
            (scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])
        )

    def score(model: Any, Xt: np.ndarray, yt: np.ndarray) -> float:
        if metric == "nll":
            return float(log_loss(yt, model.predict_proba(Xt), labels=np.unique(y)))
        if metric == "error":
            return float(np.mean(model.predict(Xt) != yt))
        return float(np.sqrt(np.mean((model.predict(Xt) - yt) ** 2)))

    def function(params: dict[str, Any]) -> float:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [score(build(params).fit(A, a), B, b) for A, a, B, b in folds]
            value = float(np.mean(found))
        except (ValueError, FloatingPointError, ZeroDivisionError):
            return worst
        return min(value, worst) if np.isfinite(value) else worst

    return function


def _numeric() -> Iterator[tuple[str, dict[str, tuple], Build, Data, str, float]]:
    friedman = make_friedman1(150, 8, noise=1.0, random_state=0)
    c, gamma = number(1e-3, 1e4, log=True), number(1e-6, 1e1, log=True)
    yield (
        "svr-friedman",
        {"C": c, "gamma": gamma, "epsilon": number(1e-4, 1e1, log=True)},
        lambda p: SVR(**p),
        friedman,
        "rmse",
        20.0,
    )
    yield (
        "enet-synthetic",
        {"alpha": number(1e-4, 1e3, log=True), "l1_ratio": number(0.0, 1.0)},
        lambda p: ElasticNet(**p, max_iter=500),
        make_regression(90, 40, n_informative=8, noise=20.0, random_state=0),
        "rmse",
        500.0,
    )
    yield (
        "logistic-wine",
        {
            "C": number(1e-6, 1e5, log=True),
            "l1_ratio": number(0.0, 1.0),
            "tol": number(1e-6, 1e-1, log=True),
        },
        lambda p: LogisticRegression(**p, solver="saga", max_iter=60, random_state=0),
        load_wine(return_X_y=True),
        "nll",
        10.0,
    )
    yield (
        "boosting-friedman",
        {
            "learning_rate": number(1e-3, 1.0, log=True),
            "max_depth": integer(1, 8),
            "min_samples_leaf": integer(1, 40, log=True),
            "subsample": number(0.2, 1.0),
            "max_features": number(0.05, 1.0),
        },
        lambda p: GradientBoostingRegressor(**p, n_estimators=12, random_state=0),
        friedman,
        "rmse",
        20.0,
    )
    yield (
        "qda-digits",
        {
            "reg_param": number(1e-6, 1.0, log=True),
            "k": integer(2, 40),
            "tol": number(1e-8, 1e-1, log=True),
        },
        lambda p: make_pipeline(
            PCA(p["k"], random_state=0),
            QuadraticDiscriminantAnalysis(reg_param=p["reg_param"], tol=p["tol"]),
        ),
        part(load_digits(return_X_y=True), 300),
        "nll",
        10.0,
    )


def _mixed() -> Iterator[tuple[str, dict[str, tuple], Build, Data, str, float]]:
    iris = load_iris()
    yield (
        "svc-iris",
        {
            "C": number(1e-3, 1e4, log=True),
            "gamma": number(1e-6, 1e1, log=True),
            "kernel": choice("rbf", "poly", "sigmoid"),
            "degree": integer(1, 6),
            "coef0": number(-1.0, 1.0),
        },
        lambda p: SVC(**p, max_iter=20000),
        (iris.data, flipped(iris.target, 0.15)),
        "error",
        1.0,
    )
    yield (
        "tree-digits",
        {
            "max_depth": integer(1, 25),
            "min_samples_leaf": integer(1, 80, log=True),
            "ccp_alpha": number(1e-6, 0.1, log=True),
            "max_features": number(0.05, 1.0),
            "criterion": choice("gini", "entropy"),
        },
        lambda p: DecisionTreeClassifier(**p, random_state=0),
        part(load_digits(return_X_y=True), 500),
        "nll",
        40.0,
    )
    yield (
        "neighbours-diabetes",
        {
            "n_neighbors": integer(1, 100, log=True),
            "weights": choice("uniform", "distance"),
            "p": number(1.0, 5.0),
            "k": integer(1, 10),
        },
        lambda p: make_pipeline(
            PCA(p["k"], random_state=0),
            KNeighborsRegressor(p["n_neighbors"], weights=p["weights"], p=p["p"]),
        ),
        part(load_diabetes(return_X_y=True), 250),
        "rmse",
        300.0,
    )
    yield (
        "sgd-breast",
        {
            "alpha": number(1e-7, 1e1, log=True),
            "l1_ratio": number(0.0, 1.0),
            "eta0": number(1e-5, 1e1, log=True),
            "power_t": number(0.05, 0.95),
            "learning_rate": choice("constant", "invscaling", "optimal", "adaptive"),
            "average": choice(True, False),
        },
        lambda p: SGDClassifier(
            **p,
            loss="log_loss",
            penalty="elasticnet",
            max_iter=6,
            tol=None,
            random_state=0,
        ),
        load_breast_cancer(return_X_y=True),
        "nll",
        5.0,
    )


def load() -> Iterator[tuple[str, dict[str, tuple], Callable]]:
    """Yield (name, space, function) of each task."""
    for tasks in (_numeric(), _mixed()):
        for name, space, build, data, metric, worst in tasks:
            yield name, space, objective(build, data, metric, worst)
