# SPDX-License-Identifier: BSD-3-Clause
"""Tuning tasks fold by fold, for the study of racing: five folds each.

The tasks of `tuning_tasks.py`, those of a file like ../shared/bench/tasks.py (a list
`OPEN` of (name, space, build, data, scoring) with a dict `DATA`), and five tables of
../shared/data/tabular/.
"""

import importlib.util
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from _common import tuning_tasks
from _common.tuning_tasks import integer, number
from accsmbo.history import Evaluation, Trial

N_FOLDS = 5
SCORING = {
    "nll": "neg_log_loss",
    "error": "accuracy",
    "rmse": "neg_root_mean_squared_error",
}


class Folds:
    """Cross-validation of `build(params)` on fixed folds, as the loop runs it."""

    def __init__(
        self, build: Callable[[dict[str, Any]], Any], X: Any, y: Any, scoring: str
    ) -> None:
        self.build, self.X, self.y = build, np.asarray(X), np.asarray(y)
        self.scorer = get_scorer(scoring)
        kind = KFold if scoring == SCORING["rmse"] else StratifiedKFold
        self.splits = list(
            kind(N_FOLDS, shuffle=True, random_state=0).split(self.X, self.y)
        )
        self.n_folds = N_FOLDS
        self.known: dict[tuple[str, int], float] = {}

    def fold(
        self,
        trial: Trial,
        index: int,
        n_trials: int | None = None,
        callback: Mapping[str, Any] | None = None,
    ) -> float:
        """Return the loss of one fold, NaN where it failed."""
        key = repr(sorted(trial.params.items())), index
        if key not in self.known:
            train, test = self.splits[index]
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = self.build(trial.params)
                    model.fit(self.X[train], self.y[train])
                    loss = -float(self.scorer(model, self.X[test], self.y[test]))
            except (ValueError, FloatingPointError, ZeroDivisionError):
                loss = np.nan
            self.known[key] = loss if np.isfinite(loss) else np.nan
        return self.known[key]

    def loss(self, record: float) -> float:
        """Return the loss of a record."""
        return record

    def combine(self, folds: list[float], start: float, end: float) -> Evaluation:
        """Return the mean loss; the folds' losses go with it."""
        value = float(np.mean(folds))
        failed = None if np.isfinite(value) else "a fold failed"
        return Evaluation(
            value=None if failed else value, error=failed, folds=tuple(folds)
        )


def _own() -> Iterator[tuple[str, dict[str, tuple], Folds]]:
    for tasks in (tuning_tasks._numeric(), tuning_tasks._mixed()):
        for name, space, build, data, metric, _ in tasks:

            def scaled(params: dict[str, Any], build: Any = build) -> Any:
                return make_pipeline(StandardScaler(), build(params))

            yield name, space, Folds(scaled, *data, SCORING[metric])


def _others(path: Path) -> Iterator[tuple[str, dict[str, tuple], Folds]]:
    spec = importlib.util.spec_from_file_location("other_tasks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, space, build, data, scoring in module.OPEN:
        X, y = module.DATA[data]()
        yield name, dict(space), Folds(build, X, y, scoring)


def _table(folder: Path, name: str, n: int) -> tuple[Any, Any]:
    frame = pd.read_csv(folder / f"{name}.csv.gz", na_values=["?"])
    frame = frame.iloc[np.random.RandomState(0).permutation(len(frame))[:n]]
    target = frame.pop(frame.columns[-1])
    regression = name == "california_housing"
    y = target.to_numpy() / 1e5 if regression else pd.factorize(target, sort=True)[0]
    X = pd.get_dummies(frame, dtype=float)
    return X.fillna(X.median()).to_numpy(), y


def _scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


BOOSTING = {
    "learning_rate": number(1e-3, 1.0, log=True),
    "max_leaf_nodes": integer(2, 64, log=True),
    "min_samples_leaf": integer(1, 100, log=True),
    "l2_regularization": number(1e-8, 1e2, log=True),
    "max_features": number(0.1, 1.0),
}
FOREST = {
    "max_features": number(0.05, 1.0),
    "min_samples_leaf": integer(1, 60, log=True),
    "max_depth": integer(1, 20),
    "min_impurity_decrease": number(1e-6, 0.1, log=True),
}
KERNEL = {
    "C": number(1e-3, 1e4, log=True),
    "gamma": number(1e-6, 1e1, log=True),
}
TABLES: list[tuple[str, int, dict[str, tuple], Callable, str]] = [
    (
        "credit-g",
        1000,
        BOOSTING,
        lambda p: HistGradientBoostingClassifier(**p, max_iter=20, random_state=0),
        "nll",
    ),
    ("vehicle", 846, KERNEL, lambda p: _scaled(SVC(**p)), "error"),
    (
        "phoneme",
        1500,
        FOREST,
        lambda p: RandomForestClassifier(**p, n_estimators=15, random_state=0),
        "nll",
    ),
    (
        "kc1",
        2109,
        {"C": number(1e-6, 1e5, log=True), "l1_ratio": number(0.0, 1.0)},
        lambda p: _scaled(
            LogisticRegression(**p, solver="saga", max_iter=40, random_state=0)
        ),
        "nll",
    ),
    (
        "california_housing",
        1500,
        BOOSTING,
        lambda p: HistGradientBoostingRegressor(**p, max_iter=20, random_state=0),
        "rmse",
    ),
]


def _tables(folder: Path) -> Iterator[tuple[str, dict[str, tuple], Folds]]:
    for name, n, space, build, metric in TABLES:
        yield name, space, Folds(build, *_table(folder, name, n), SCORING[metric])


def load(
    others: Path | None, tables: Path | None
) -> Iterator[tuple[str, dict[str, tuple], Folds]]:
    """Yield (name, space, folds) of each task; without a path those are left out."""
    yield from _own()
    if others is not None:
        yield from _others(others)
    if tables is not None:
        yield from _tables(tables)
