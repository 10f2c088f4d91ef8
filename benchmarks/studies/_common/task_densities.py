# SPDX-License-Identifier: BSD-3-Clause
"""What the shipped meta-data know of the tuning tasks, their own data sets left out.

Of each task: the estimator and metric to look up, the kind of task, the data sets to
leave out (the task's own and its kin, the same measurements under another name), what
is fixed in the estimator, and the names of parameters that differ from scikit-learn's.
"""

from dataclasses import dataclass, field
from typing import Any

from accsmbo.metalearning import MIN_TASKS, EmpiricalDensity, shipped_tasks
from accsmbo.metalearning._empirical_density import LEAST_GAIN

BREAST = ("breast_cancer", "wdbc", "breast-w")
DIGITS = ("digits", "optdigits", "pendigits", "usps")
WINE = ("wine",)
IRIS = ("iris",)
DIABETES = ("diabetes (scikit-learn)",)
# Standard deviation of its target.
DIABETES_SCALE = 77.0


@dataclass(frozen=True)
class Known:
    """Where to look up a task."""

    estimator: str
    group: str
    kind: str
    exclude: tuple[str, ...]
    settings: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    y_scale: float = 1.0


BOOSTING = {
    "learning_rate": "lr",
    "max_leaf_nodes": "leaves",
    "min_samples_leaf": "min_leaf",
    "l2_regularization": "l2",
}
FOREST = {"min_samples_leaf": "min_leaf", "min_impurity_decrease": "mid"}
NETWORK = {"learning_rate_init": "lr", "batch_size": "batch", "beta_1": "beta1"}
KNOWN = {
    "svc-digits-acc": Known("SVC", "accuracy", "multiclass", DIGITS),
    "svcfull-breast-acc": Known("SVC", "accuracy", "binary", BREAST),
    "mlp-wine-nll": Known(
        "MLPClassifier", "probability", "multiclass", WINE, {"max_iter": 25}, NETWORK
    ),
    "hgb-breast-nll": Known(
        "HistGradientBoostingClassifier",
        "probability",
        "binary",
        BREAST,
        {"max_iter": 20},
        BOOSTING,
    ),
    "rf-diabetes-rmse": Known(
        "RandomForestRegressor",
        "squared error",
        "regression",
        DIABETES,
        {"n_estimators": 12},
        FOREST,
        y_scale=DIABETES_SCALE,
    ),
    "knn-iris-nll": Known(
        "KNeighborsClassifier",
        "probability",
        "multiclass",
        IRIS,
        {},
        {"n_neighbors": "k"},
    ),
    "enet-diabetes-rmse": Known(
        "ElasticNet", "squared error", "regression", DIABETES, y_scale=DIABETES_SCALE
    ),
    "lr-digits-nll": Known("LogisticRegression", "probability", "multiclass", DIGITS),
}


def shipped_density(task: str, space: Any) -> EmpiricalDensity | None:
    """Return the shipped density of a task on its space.

    None where there is none, or its tasks do not predict each other: then
    AccSMBOSearchCV with density="auto" uses none either.
    """
    known = KNOWN.get(task)
    if known is None:
        return None
    tasks = shipped_tasks(
        known.estimator,
        group=known.group,
        kind=known.kind,
        settings=known.settings,
        y_scale=known.y_scale,
    )
    for source in tasks:
        for row in source.params:
            for theirs, ours in known.names.items():
                if theirs in row:
                    row[ours] = row.pop(theirs)
    if len(tasks) < MIN_TASKS:
        return None
    density = EmpiricalDensity().fit_tasks(tasks, space, exclude=known.exclude)
    usable = density.n_tasks_ >= MIN_TASKS and density.score_ > LEAST_GAIN
    return density if usable else None
