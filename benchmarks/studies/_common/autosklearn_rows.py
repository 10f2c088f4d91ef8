# SPDX-License-Identifier: BSD-3-Clause
"""Rows of meta-data from the archive of auto-sklearn, in the form of own searches."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from accsmbo.metalearning._autosklearn import _arff_rows, _reader, autosklearn_tasks
from accsmbo.metalearning._shipped import metric_group

# Kin: modules of NASA's software.
NASA = ("kc1", "kc2", "pc1", "pc3", "pc4", "jm1")
# auto-sklearn's method: class, parameters that its data say something about. Left out
# is l2_regularization, whose best values pile up at auto-sklearn's own default.
AUTOSKLEARN = {
    "random_forest": (
        "RandomForestClassifier",
        ("max_features", "min_samples_leaf", "min_samples_split"),
    ),
    "extra_trees": (
        "ExtraTreesClassifier",
        ("max_features", "min_samples_leaf", "bootstrap"),
    ),
    "gradient_boosting": (
        "HistGradientBoostingClassifier",
        ("learning_rate", "min_samples_leaf"),
    ),
    "mlp": ("MLPClassifier", ("learning_rate_init", "activation", "alpha")),
}
# Iterations that auto-sklearn allows them.
AUTOSKLEARN_FIXED = {"gradient_boosting": {"max_iter": 512}, "mlp": {"max_iter": 512}}
AUTOSKLEARN_METRICS = {
    "accuracy": "accuracy",
    "log_loss": "neg_log_loss",
    "roc_auc": "roc_auc",
}


def autosklearn_rows(archive: Path) -> Iterator[dict[str, Any]]:
    """Yield rows in the form of `search`, from an archive of auto-sklearn."""
    for theirs, metric in AUTOSKLEARN_METRICS.items():
        read = _reader(archive, f"{theirs}_binary.classification_dense")
        features = _meta_features(read("feature_values.arff"))
        for method, (estimator, names) in AUTOSKLEARN.items():
            try:
                tasks = autosklearn_tasks(
                    archive, method, metric=theirs, task="binary", sparse=False
                )
            except ValueError:
                continue
            for task in tasks:
                known = features.get(task.name, {})
                best = {k: v for k, v in task.params[0].items() if k in names}
                n = float(known.get("NumberOfFeatures", "nan"))
                if "max_features" in best:
                    # theirs is the exponent of the number of features
                    exponent = float(best.pop("max_features"))
                    if np.isfinite(n):
                        share = max(1, int(n**exponent)) / n
                        best["max_features"] = float(f"{share:.4g}")
                two = float(known.get("NumberOfClasses", 2)) <= 2
                yield {
                    "estimator": estimator,
                    "metric": metric,
                    "metric_group": metric_group(metric),
                    "kind": "binary" if two else "multiclass",
                    "sparse": False,
                    "dataset": task.name,
                    "kin": "nasa" if task.name in NASA else None,
                    "n_evaluations": 1,
                    "fixed": AUTOSKLEARN_FIXED.get(method, {}),
                    "best": [best],
                    "informative": True,
                    "source": "auto-sklearn 0.15.0 meta-learning archive, BSD-3-Clause",
                }


def _meta_features(text: str) -> dict[str, dict[str, str]]:
    """Return meta-feature values by data set and name."""
    lines = text.splitlines()
    names = [line.split()[1] for line in lines if line.startswith("@ATTRIBUTE")]
    return {row[0]: dict(zip(names, row, strict=True)) for row in _arff_rows(text)}
