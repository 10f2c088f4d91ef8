# SPDX-License-Identifier: BSD-3-Clause
"""The meta-data in the package: best hyperparameters of common estimators.

Made by ``benchmarks/studies/build_metadata.py``; each row states its data set, metric,
budget and versions.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from accsmbo.metalearning._source_task import SourceTask

__all__ = ["metric_group", "shipped_tasks"]

FILE = "scikit_learn.json"
# Metrics whose best hyperparameters are taken for each other's.
GROUPS = {
    "accuracy": (
        "accuracy",
        "balanced_accuracy",
        "f1",
        "f1_macro",
        "f1_micro",
        "f1_weighted",
        "jaccard",
        "matthews_corrcoef",
        "precision",
        "recall",
    ),
    "probability": ("neg_log_loss", "neg_brier_score", "d2_log_loss_score"),
    "ranking": ("roc_auc", "roc_auc_ovr", "roc_auc_ovo", "average_precision"),
    "squared error": (
        "r2",
        "neg_mean_squared_error",
        "neg_root_mean_squared_error",
        "explained_variance",
        "neg_mean_absolute_error",
    ),
}
# Step sizes are tuned to the number of steps: parameter -> what counts the steps.
STEP_SIZES = {
    "learning_rate": ("max_iter", "n_estimators"),
    "learning_rate_init": ("max_iter",),
}
# One found with so many times more steps, or fewer, says nothing.
MOST_STEPS = 8.0
# The rows of regressors are for targets of standard deviation 1. Parameters in units of
# the target, with their power. With alpha times s, the loss of Lasso for s y is s^2
# times that for y (of ElasticNet at l1_ratio 1), that of SVR with C and epsilon times
# s.
UNITS = {
    "ElasticNet": {"alpha": 1},
    "Lasso": {"alpha": 1},
    "SVR": {"C": 1, "epsilon": 1},
}
# Left out of regressors: a variance of the target, beside which most boxes are tiny.
# All tasks would meet at the upper bound and seem to agree.
VARIANCE = "min_impurity_decrease"


def metric_group(metric: str) -> str | None:
    """Return the group of a metric, or None where it has none."""
    return next((g for g, names in GROUPS.items() if metric in names), None)


def shipped_tasks(
    estimator: str,
    *,
    group: str,
    kind: str | None = None,
    sparse: bool = False,
    settings: Mapping[str, Any] | None = None,
    y_scale: float = 1.0,
) -> list[SourceTask]:
    """Return the shipped source tasks of one estimator.

    Parameters
    ----------
    estimator : str
        Name of the class, for example "SVC".
    group : str
        Group of the metric: "accuracy", "probability", "ranking", "squared error".
    kind : {"binary", "multiclass", "regression"}, default=None
        Kind of task; where it has fewer than ten data sets, or is None, all are taken.
    sparse : bool, default=False
        Whether the input is sparse; without rows of its own, the dense ones are taken.
    settings : mapping of str to object, default=None
        Parameters of the estimator that is tuned. Where its number of iterations is
        more than 8 times that of a row, or less than an eighth, the row's learning rate
        is left out.
    y_scale : float, default=1.0
        Standard deviation of a regression's target, to which parameters in its units
        are taken.

    Returns
    -------
    list of SourceTask
        Empty where nothing is shipped.
    """
    rows = [
        row
        for row in _load()
        if row["estimator"] == estimator and row["metric_group"] == group
    ]
    rows = _narrowed(rows, lambda row: bool(row.get("sparse", False)) == sparse)
    if kind is not None:
        rows = _narrowed(rows, lambda row: row["kind"] == kind, at_least=10)
    units = UNITS.get(estimator, {})

    def taken_over(best: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
        params = _fitting(best, fixed, settings or {})
        if estimator.endswith("Regressor"):
            params.pop(VARIANCE, None)
        scaled = {k: params[k] * y_scale**p for k, p in units.items() if k in params}
        return params | scaled

    return [
        SourceTask(
            row["dataset"],
            [taken_over(best, row.get("fixed", {})) for best in row["best"]],
            kin=row.get("kin"),
            n_evaluations=row["n_evaluations"],
            origin={k: v for k, v in row.items() if k != "best"},
        )
        for row in rows
    ]


def _narrowed(rows: list[Any], keep: Any, at_least: int = 1) -> list[Any]:
    """Return the rows that pass, or all where too few do."""
    kept = [row for row in rows if keep(row)]
    return kept if len(kept) >= at_least else rows


def _fitting(
    best: Mapping[str, Any], fixed: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a configuration without step sizes of another number of steps."""

    def fits(name: str) -> bool:
        for counter in STEP_SIZES.get(name, ()):
            theirs, ours = fixed.get(counter), settings.get(counter)
            if theirs and ours and not 1 / MOST_STEPS <= ours / theirs <= MOST_STEPS:
                return False
        return True

    return {name: value for name, value in best.items() if fits(name)}


def _load() -> list[dict[str, Any]]:
    path = files("accsmbo.metalearning") / "data" / FILE
    if not path.is_file():
        return []
    rows: list[dict[str, Any]] = json.loads(path.read_text())["rows"]
    return rows
