# SPDX-License-Identifier: BSD-3-Clause
"""Hyperparameters of the common estimators that win: makes the shipped meta-data.

    python build_metadata.py --data FOLDER --cache metadata.jsonl --minutes 20

Every job is one estimator, one metric and one data set: a search of 50 evaluations by
3-fold cross-validation on at most 600 rows, one-hot encoded, median imputed and
standardised. A finished job is a line of the cache; jobs found there are not run again.
The best three configurations of each informative job go to --out, with data set,
metric, budget and versions; jobs whose scores do not vary are listed and left out.
--autosklearn adds rows from the archive of auto-sklearn 0.15.0 (BSD-3-Clause), values
only, for the parameters that its best configurations agree on: one best configuration
a data set, of the whole pipeline, found by searches of unknown length.
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _records import environment
from joblib import Parallel, delayed
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

import accsmbo
from accsmbo import Categorical, Integer, Real, minimize
from accsmbo.metalearning import SourceTask
from accsmbo.metalearning._autosklearn import _arff_rows, _reader, autosklearn_tasks
from accsmbo.metalearning._shipped import metric_group
from accsmbo.optimizers import SMBO

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "accsmbo" / "metalearning" / "data" / "scikit_learn.json"
N_EVALUATIONS, MAX_ROWS, N_FOLDS, TOP = 50, 600, 3, 3
REGRESSION = ("abalone", "california_housing")
NASA = ("kc1", "kc2", "pc1", "pc3", "pc4", "jm1")
IGNORED = ("id", "ID", "phone_number")

WIDE = Real(1e-5, 1e5, log=True)
SVM_SPACE = {"C": Real(2**-5, 2**15, log=True), "gamma": Real(2**-15, 2**3, log=True)}
FOREST_SPACE = {
    "max_features": Real(0.05, 1.0),
    "min_samples_leaf": Integer(1, 60, log=True),
    "max_depth": Integer(1, 20),
    "min_impurity_decrease": Real(1e-6, 0.1, log=True),
}
BOOSTING_SPACE = {
    "learning_rate": Real(1e-3, 1.0, log=True),
    "max_leaf_nodes": Integer(2, 64, log=True),
    "min_samples_leaf": Integer(1, 100, log=True),
    "l2_regularization": Real(1e-8, 1e2, log=True),
    "max_features": Real(0.1, 1.0),
}
NEIGHBORS_SPACE = {
    "n_neighbors": Integer(1, 60, log=True),
    "weights": Categorical(["uniform", "distance"]),
    "p": Real(1.0, 5.0),
}
MLP_SPACE = {
    "alpha": Real(1e-6, 1e1, log=True),
    "learning_rate_init": Real(1e-5, 1e-1, log=True),
    "batch_size": Integer(10, 250, log=True),
    "beta_1": Real(0.5, 0.99),
}
ELASTIC_SPACE = {"alpha": Real(1e-5, 1e2, log=True), "l1_ratio": Real(0.0, 1.0)}
# In order of running: estimator, space, metrics; regressors at the end.
JOBS: list[tuple[Any, dict[str, Any], tuple[str, ...]]] = [
    (LogisticRegression(max_iter=500), {"C": WIDE}, ("neg_log_loss",)),
    (SVC(), SVM_SPACE, ("accuracy",)),
    (KNeighborsClassifier(), NEIGHBORS_SPACE, ("accuracy",)),
    (RandomForestClassifier(12, random_state=0), FOREST_SPACE, ("accuracy",)),
    (
        HistGradientBoostingClassifier(max_iter=20, random_state=0),
        BOOSTING_SPACE,
        ("accuracy", "neg_log_loss"),
    ),
    (LogisticRegression(max_iter=500), {"C": WIDE}, ("accuracy",)),
    (LinearSVC(), {"C": WIDE}, ("accuracy",)),
    (ExtraTreesClassifier(12, random_state=0), FOREST_SPACE, ("accuracy",)),
    (MLPClassifier((32,), max_iter=25, random_state=0), MLP_SPACE, ("accuracy",)),
    (Ridge(), {"alpha": WIDE}, ("r2",)),
    (ElasticNet(), ELASTIC_SPACE, ("r2",)),
    (SVR(), SVM_SPACE, ("r2",)),
    (KNeighborsRegressor(), NEIGHBORS_SPACE, ("r2",)),
    (RandomForestRegressor(12, random_state=0), FOREST_SPACE, ("r2",)),
    (
        HistGradientBoostingRegressor(max_iter=20, random_state=0),
        BOOSTING_SPACE,
        ("r2",),
    ),
]


def load_sets(folder: str) -> Iterator[tuple[str, Any, Any, str]]:
    """Yield name, X, y and kind of each data set; X is a dense array."""
    import pandas as pd

    for path in sorted(
        [*Path(folder).glob("tabular/*.csv.gz"), Path(folder) / "pc4.csv.gz"]
    ):
        frame = pd.read_csv(path)
        name, y = path.name.removesuffix(".csv.gz"), frame.iloc[:, -1]
        X = frame.iloc[:, :-1].drop(columns=list(IGNORED), errors="ignore")
        yield (name, *_prepared(X, y.to_numpy(), name in REGRESSION))
    for loader in ("breast_cancer", "wine", "iris", "digits"):
        found = getattr(datasets, f"load_{loader}")(as_frame=True)
        yield (loader, *_prepared(found.data, found.target.to_numpy(), False))
    found = datasets.load_diabetes(as_frame=True)
    yield (
        "diabetes (scikit-learn)",
        *_prepared(found.data, found.target.to_numpy(), True),
    )


def _prepared(frame: Any, y: Any, regression: bool) -> tuple[Any, Any, str]:
    rows = np.random.RandomState(0).permutation(len(y))[:MAX_ROWS]
    frame, y = frame.iloc[rows], y[rows]
    numbers = list(frame.select_dtypes("number").columns)
    words = [c for c in frame.columns if c not in numbers]
    encoder = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (
            make_pipeline(
                SimpleImputer(strategy="most_frequent"),
                OneHotEncoder(sparse_output=False, max_categories=15),
            ),
            words,
        ),
    )
    X = encoder.fit_transform(frame.astype(dict.fromkeys(words, object)))
    if regression:
        return X, (y - y.mean()) / y.std(), "regression"
    classes, y = np.unique(y.astype(str), return_inverse=True)
    kept = np.bincount(y)[y] >= N_FOLDS
    return X[kept], y[kept], "binary" if len(classes) == 2 else "multiclass"


def search(
    estimator: Any,
    space: dict[str, Any],
    metric: str,
    name: str,
    X: Any,
    y: Any,
    kind: str,
) -> dict[str, Any]:
    """Return the row of one job, its best configurations first."""
    folds: Any = KFold if kind == "regression" else StratifiedKFold
    cv = folds(N_FOLDS, shuffle=True, random_state=0)

    def loss(params: dict[str, Any]) -> float:
        model = estimator.set_params(**params)
        return -float(cross_val_score(model, X, y, cv=cv, scoring=metric).mean())

    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        history = minimize(
            loss, space, optimizer=SMBO(random_state=0), n_trials=N_EVALUATIONS
        )
    scores = -history.values
    task = SourceTask(name, [t.params for t in history.trials], scores.tolist())
    order = np.argsort(-scores, kind="stable")[:TOP]
    return {
        "estimator": type(estimator).__name__,
        "metric": metric,
        "metric_group": metric_group(metric),
        "kind": kind,
        "sparse": False,
        "dataset": name,
        "kin": "nasa" if name in NASA else None,
        "n_rows": len(y),
        "n_columns": X.shape[1],
        "n_evaluations": len(history),
        "cv": N_FOLDS,
        "fixed": {
            k: v
            for k, v in estimator.get_params().items()
            if k in ("max_iter", "n_estimators", "hidden_layer_sizes")
        },
        "best": [_rounded(task.params[i]) for i in order],
        "best_scores": scores[order].round(5).tolist(),
        "median_score": round(float(np.median(scores)), 5),
        "informative": task.informative,
        "seconds": round(time.perf_counter() - start, 1),
        "versions": {
            k: v
            for k, v in environment(["accsmbo"])["versions"].items()
            if k != "accsmbo"
        }
        | {"accsmbo": accsmbo.__version__},
    }


def _rounded(params: dict[str, Any]) -> dict[str, Any]:
    return {
        k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in params.items()
    }


def run_job(job: Any, cache: Path, until: float) -> None:
    """Run one job and append its row, unless the time is up."""
    if time.time() > until:
        return
    row = search(*job)
    with cache.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(row["estimator"], row["metric"], row["dataset"], row["seconds"], flush=True)


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
                    "best": [best],
                    "informative": True,
                    "source": "auto-sklearn 0.15.0 meta-learning archive, BSD-3-Clause",
                }


def _meta_features(text: str) -> dict[str, dict[str, str]]:
    """Return meta-feature values by data set and name."""
    lines = text.splitlines()
    names = [line.split()[1] for line in lines if line.startswith("@ATTRIBUTE")]
    return {row[0]: dict(zip(names, row, strict=True)) for row in _arff_rows(text)}


def read(cache: Path) -> list[dict[str, Any]]:
    if not cache.exists():
        return []
    lines = cache.read_text().splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def write(rows: list[dict[str, Any]], out: Path) -> None:
    """Write the informative rows, one a line, and name the others."""
    kept = sorted(
        (r for r in rows if r["informative"]),
        key=lambda r: (r["estimator"], r["metric"], r["dataset"]),
    )
    dropped = sorted(
        f"{r['estimator']} {r['metric']} {r['dataset']}"
        for r in rows
        if not r["informative"]
    )
    note = (
        "Best hyperparameters found by benchmarks/studies/build_metadata.py; values "
        "only. Data sets: OpenML, UCI, NASA and scikit-learn's own. Rows with a source "
        "are converted from the archive that it names."
    )
    leave = ("informative", "seconds")
    lines = [json.dumps({k: v for k, v in r.items() if k not in leave}) for r in kept]
    text = (
        f'{{"note": {json.dumps(note)},\n"dropped": {json.dumps(dropped)},\n"rows": [\n'
        + ",\n".join(lines)
        + "\n]}\n"
    )
    out.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", required=True, help="folder with tabular/, pc4.csv.gz"
    )
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=180.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--autosklearn", type=Path)
    args = parser.parse_args()
    until = time.time() + 60.0 * args.minutes
    done = {(r["estimator"], r["metric"], r["dataset"]) for r in read(args.cache)}
    sets = list(load_sets(args.data))
    jobs = [
        (estimator, space, metric, name, X, y, kind)
        for estimator, space, metrics in JOBS
        for metric in metrics
        for name, X, y, kind in sets
        if (kind == "regression") == (metric == "r2")
        and (type(estimator).__name__, metric, name) not in done
    ]
    print(len(jobs), "jobs to do,", len(done), "done", flush=True)
    Parallel(n_jobs=args.jobs)(delayed(run_job)(job, args.cache, until) for job in jobs)
    rows = read(args.cache)
    if args.autosklearn:
        rows += autosklearn_rows(args.autosklearn)
    write(rows, args.out)


if __name__ == "__main__":
    main()
