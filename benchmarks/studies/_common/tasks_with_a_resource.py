# SPDX-License-Identifier: BSD-3-Clause
"""Tuning tasks with a resource, for the study of halving: three folds each.

Those of `tasks_by_fold.py` over the number of samples, models on tables over a
parameter of theirs, and tables with a rare class.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from _common.tasks_by_fold import BOOSTING, FOREST, Folds, _scaled, _table, load
from _common.tuning_tasks import integer, number

N_FOLDS = 3
Space = dict[str, tuple]


class Built(BaseEstimator):
    """What `build(params)` makes, as an estimator that has these params."""

    def __init__(self, build: Callable | None = None, **params: Any) -> None:
        self.build = build
        self.params = params

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"build": self.build, **self.params}

    def set_params(self, **params: Any) -> "Built":
        self.params.update(params)
        return self

    def fit(self, X: Any, y: Any) -> "Built":
        self.model_ = self.build(self.params).fit(X, y)
        self.classes_ = getattr(self.model_, "classes_", None)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)

    def decision_function(self, X: Any) -> Any:
        return self.model_.decision_function(X)


class BuiltClassifier(ClassifierMixin, Built):
    """A classifier."""


class BuiltRegressor(RegressorMixin, Built):
    """A regressor."""


class LogInteger:
    """Integers whose logarithm is uniform."""

    def __init__(self, low: int, high: int) -> None:
        self.real = loguniform(low - 0.5, high + 0.5)

    def rvs(self, size: Any = None, random_state: Any = None) -> int:
        return int(np.rint(self.real.rvs(random_state=random_state)))


def distribution(spec: tuple) -> Any:
    """Return a dimension as scikit-learn's searches take it."""
    if spec[0] == "cat":
        return spec[1]
    _, low, high, log = spec
    if spec[0] == "float":
        return loguniform(low, high) if log else uniform(low, high - low)
    return LogInteger(low, high) if log else randint(low, high + 1)


def forest(params: dict[str, Any]) -> Any:
    return RandomForestClassifier(**{"n_estimators": 81, "random_state": 0, **params})


def boosting(params: dict[str, Any]) -> Any:
    return HistGradientBoostingClassifier(
        **{"max_iter": 81, "random_state": 0, **params}
    )


def network(params: dict[str, Any]) -> Any:
    return MLPClassifier(
        (32,), **{"max_iter": 54, "tol": 0.0, "random_state": 0, **params}
    )


def logistic(params: dict[str, Any]) -> Any:
    return _scaled(LogisticRegression(**params, max_iter=500))


NETWORK = {
    "alpha": number(1e-6, 1e1, log=True),
    "learning_rate_init": number(1e-5, 1e-1, log=True),
    "batch_size": integer(10, 250, log=True),
    "beta_1": number(0.5, 0.99),
}
# table, rows, space, what builds the model, scoring, resource and its largest amount
PARAMETERS: list[tuple[str, int, Space, Callable, str, str, int]] = [
    ("phoneme", 1500, FOREST, forest, "neg_log_loss", "n_estimators", 81),
    ("credit-g", 1000, BOOSTING, boosting, "neg_log_loss", "max_iter", 81),
    ("vehicle", 846, NETWORK, network, "neg_log_loss", "max_iter", 54),
]
PENALTY = {"C": number(1e-5, 1e3, log=True)}
KERNEL = {"C": number(1e-2, 1e3, log=True), "gamma": number(1e-4, 1e1, log=True)}
RARE: list[tuple[str, int, Space, Callable, str]] = [
    ("mammography", 2000, PENALTY, logistic, "roc_auc"),
    ("ozone_level_8hr", 1500, PENALTY, logistic, "roc_auc"),
    ("pc1", 1109, PENALTY, logistic, "neg_log_loss"),
    ("wilt", 1500, KERNEL, lambda p: _scaled(SVC(**p)), "roc_auc"),
    ("pc3", 1500, BOOSTING, boosting, "neg_log_loss"),
]


class Task:
    """A model, its space, data in fixed folds, and the resource."""

    def __init__(
        self,
        name: str,
        space: Space,
        folds: Folds,
        scoring: Any,
        *,
        estimator: Any = None,
        resource: str = "n_samples",
        most: int | str = "auto",
    ) -> None:
        self.name, self.space, self.folds, self.scoring = name, space, folds, scoring
        self.resource, self.most = resource, most
        classes = folds.y.dtype.kind == "i"
        splitter = (StratifiedKFold if classes else KFold)(
            N_FOLDS, shuffle=True, random_state=0
        )
        folds.splits = list(splitter.split(folds.X, folds.y))
        folds.n_folds = N_FOLDS
        most = len(folds.y) if self.most == "auto" else self.most
        self.least = most // 9
        if resource == "n_samples":
            n_classes = len(np.unique(folds.y)) if classes else 1
            self.least = max(self.least, 2 * N_FOLDS * n_classes)
        kind = BuiltClassifier if classes else BuiltRegressor
        first = {k: s[1][0] if s[0] == "cat" else s[1] for k, s in self.space.items()}
        self.estimator = kind(folds.build, **first) if estimator is None else estimator

    def limits(self) -> dict[str, Any]:
        return {
            "resource": self.resource,
            "min_resources": self.least,
            "max_resources": self.most,
            "factor": 3,
        }


def tasks(others: Path | None, tables: Path | None) -> Iterator[Task]:
    """Yield the tasks; without a path those are left out."""
    for name, space, folds in load(others, tables):
        yield Task(name, space, folds, folds.scorer)
    if tables is None:
        return
    for name, n, space, build, scoring, resource, most in PARAMETERS:
        data = _table(tables, name, n)
        scaled = _scale(data[0]) if build is network else data[0]
        folds = Folds(build, scaled, data[1], scoring)
        yield Task(
            f"{name}:{resource}",
            space,
            folds,
            folds.scorer,
            estimator=build({}),
            resource=resource,
            most=most,
        )
    for name, n, space, build, scoring in RARE:
        folds = Folds(build, *_table(tables, name, n), scoring)
        yield Task(f"rare:{name}", space, folds, folds.scorer)


def _scale(X: Any) -> Any:
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
