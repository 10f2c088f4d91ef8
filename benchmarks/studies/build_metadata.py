# SPDX-License-Identifier: BSD-3-Clause
"""Hyperparameters of the common estimators that win: makes the shipped meta-data.

    python build_metadata.py --data FOLDER --cache metadata.jsonl --minutes 20

Every job is one estimator, one metric and one data set: a search of 50 evaluations by
3-fold cross-validation on at most 600 rows (200 for neural networks), one-hot encoded,
median imputed and standardised. Regression sets are those made for it and, of the
classification sets, the prediction of one numeric column from the others (the row names
it as target); targets are standardised. A finished job is a line of the cache; jobs
found there, or among the rows of --out, are not run again. The best three
configurations of each informative job go to --out, with data set, metric, budget and
versions; jobs whose scores do not vary are listed and left out.
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
from _common.autosklearn_rows import NASA, autosklearn_rows
from _common.results import environment
from joblib import Parallel, delayed
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from accsmbo import Categorical, Integer, Real, minimize
from accsmbo.metalearning import SourceTask
from accsmbo.metalearning._shipped import metric_group
from accsmbo.optimizers import SMBO

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "accsmbo" / "metalearning" / "data" / "scikit_learn.json"
N_EVALUATIONS, MAX_ROWS, FEW_ROWS, N_FOLDS, TOP = 50, 600, 200, 3, 3
REGRESSION = ("abalone", "california_housing")
# Of classification sets: a numeric column that the others explain in part.
TARGETS = {
    "MagicTelescope": "fLength:",
    "adult": "hours-per-week",
    "bank-marketing": "V14",
    "blood-transfusion-service-center": "V4",
    "diabetes": "skin",
    "electricity": "nswprice",
    "ozone_level_8hr": "V1",
    "pc4": "CALL_PAIRS",
    "phoneme": "V3",
    "qsar-biodeg": "V22",
    "satimage": "Aattr",
    "segment": "vedge-mean",
    "sick": "FTI",
    "steel-plates-fault": "V10",
    "vehicle": "MAX.LENGTH_ASPECT_RATIO",
    "wilt": "Mean_G",
}
# Searched by an earlier version for LogisticRegression and SVC, left out since: their
# scores hardly vary, or they are kin of pc3 and pc4.
SKIPPED = ("banknote-authentication", "jm1", "kc1", "mammography", "pc1")
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
SVR_SPACE = SVM_SPACE | {"epsilon": Real(1e-4, 1.0, log=True)}
GRADIENT_BOOSTING_SPACE = {
    "learning_rate": Real(1e-3, 1.0, log=True),
    "max_depth": Integer(1, 8),
    "min_samples_leaf": Integer(1, 60, log=True),
    "subsample": Real(0.2, 1.0),
    "max_features": Real(0.05, 1.0),
}
FOREST = {"n_estimators": 12, "random_state": 0}
BOOSTING = {"max_iter": 20, "random_state": 0}
NETWORK = {"hidden_layer_sizes": (32,), "max_iter": 25, "random_state": 0}
# In order of running: estimator, space, metrics.
JOBS: list[tuple[Any, dict[str, Any], tuple[str, ...]]] = [
    (LogisticRegression(max_iter=500), {"C": WIDE}, ("neg_log_loss",)),
    (SVC(), SVM_SPACE, ("accuracy",)),
    (KNeighborsClassifier(), NEIGHBORS_SPACE, ("neg_log_loss",)),
    (ElasticNet(), ELASTIC_SPACE, ("r2",)),
    (RandomForestRegressor(**FOREST), FOREST_SPACE, ("r2",)),
    (HistGradientBoostingClassifier(**BOOSTING), BOOSTING_SPACE, ("neg_log_loss",)),
    (MLPClassifier(**NETWORK), MLP_SPACE, ("neg_log_loss",)),
    (Ridge(), {"alpha": WIDE}, ("r2",)),
    (Lasso(), {"alpha": ELASTIC_SPACE["alpha"]}, ("r2",)),
    (KNeighborsRegressor(), NEIGHBORS_SPACE, ("r2",)),
    (SVR(max_iter=20000), SVR_SPACE, ("r2",)),
    (KNeighborsClassifier(), NEIGHBORS_SPACE, ("accuracy",)),
    (LogisticRegression(max_iter=500), {"C": WIDE}, ("accuracy",)),
    (LinearSVC(), {"C": WIDE}, ("accuracy",)),
    (RandomForestClassifier(**FOREST), FOREST_SPACE, ("accuracy",)),
    (HistGradientBoostingRegressor(**BOOSTING), BOOSTING_SPACE, ("r2",)),
    (ExtraTreesRegressor(**FOREST), FOREST_SPACE, ("r2",)),
    (HistGradientBoostingClassifier(**BOOSTING), BOOSTING_SPACE, ("accuracy",)),
    (ExtraTreesClassifier(**FOREST), FOREST_SPACE, ("accuracy",)),
    (
        GradientBoostingRegressor(n_estimators=20, random_state=0),
        GRADIENT_BOOSTING_SPACE,
        ("r2",),
    ),
    (MLPRegressor(**NETWORK), MLP_SPACE, ("r2",)),
    (
        GradientBoostingClassifier(n_estimators=20, random_state=0),
        GRADIENT_BOOSTING_SPACE,
        ("accuracy",),
    ),
    (MLPClassifier(**NETWORK), MLP_SPACE, ("accuracy",)),
    (RandomForestClassifier(**FOREST), FOREST_SPACE, ("neg_log_loss",)),
]


def load_sets(folder: str) -> Iterator[tuple[str, str | None, Any, Any, str]]:
    """Yield name, target, X, y and kind of each data set; X is a dense array.

    The target is a column's name where it is not the set's own.
    """
    import pandas as pd

    for path in sorted(
        [*Path(folder).glob("tabular/*.csv.gz"), Path(folder) / "pc4.csv.gz"]
    ):
        name = path.name.removesuffix(".csv.gz")
        if name in SKIPPED:
            continue
        frame = pd.read_csv(path)
        y = frame.iloc[:, -1]
        X = frame.iloc[:, :-1].drop(columns=list(IGNORED), errors="ignore")
        yield (name, None, *_prepared(X, y.to_numpy(), name in REGRESSION))
        if name in TARGETS:
            X = X.replace("?", np.nan)
            y = pd.to_numeric(X.pop(TARGETS[name]))
            known = y.notna()
            numeric = y[known].to_numpy(float)
            yield (name, TARGETS[name], *_prepared(X[known], numeric, True))
    for loader in ("breast_cancer", "wine", "iris", "digits"):
        found = getattr(datasets, f"load_{loader}")(as_frame=True)
        yield (loader, None, *_prepared(found.data, found.target.to_numpy(), False))
    found = datasets.load_diabetes(as_frame=True)
    yield (
        "diabetes (scikit-learn)",
        None,
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
    target: str | None,
    X: Any,
    y: Any,
    kind: str,
) -> dict[str, Any]:
    """Return the row of one job, its best configurations first."""
    if "hidden_layer_sizes" in estimator.get_params():
        X, y = X[:FEW_ROWS], y[:FEW_ROWS]
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
        **({} if target is None else {"target": target}),
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
        "versions": environment([], [0])["versions"],
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


def read(cache: Path) -> list[dict[str, Any]]:
    if not cache.exists():
        return []
    lines = cache.read_text().splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def earlier(out: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return what an earlier run made: its own rows, and the jobs that it dropped."""
    if not out.exists():
        return [], []
    stored = json.loads(out.read_text())
    return [r for r in stored["rows"] if "source" not in r], stored["dropped"]


def job_name(estimator: str, metric: str, dataset: str, target: str | None) -> str:
    """Return the name of a job, as it stands among the dropped ones."""
    name = f"{estimator} {metric} {dataset}"
    return name if target is None else f"{name}, target {target}"


def row_name(row: dict[str, Any]) -> str:
    """Return the name of the job that made a row."""
    keys = ("estimator", "metric", "dataset")
    return job_name(*(row[k] for k in keys), row.get("target"))


def write(rows: list[dict[str, Any]], dropped: list[str], out: Path) -> None:
    """Write the informative rows, one a line, and name the others."""
    kept = sorted(
        (r for r in rows if r.get("informative", True)),
        key=lambda r: (
            *(r[k] for k in ("estimator", "metric", "dataset")),
            "source" in r,
        ),
    )
    names = (row_name(r) for r in rows if not r.get("informative", True))
    dropped = sorted({*dropped, *names})
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
    rows, dropped = earlier(args.out)
    done = {row_name(r) for r in [*rows, *read(args.cache)]} | set(dropped)
    sets = list(load_sets(args.data))
    jobs = [
        (estimator, space, metric, name, target, X, y, kind)
        for estimator, space, metrics in JOBS
        for metric in metrics
        for name, target, X, y, kind in sets
        if (kind == "regression") == (metric == "r2")
        and job_name(type(estimator).__name__, metric, name, target) not in done
    ]
    print(len(jobs), "jobs to do,", len(done), "done", flush=True)
    Parallel(n_jobs=args.jobs)(delayed(run_job)(job, args.cache, until) for job in jobs)
    known = {row_name(r) for r in rows}
    rows += [r for r in read(args.cache) if row_name(r) not in known]
    if args.autosklearn:
        rows += autosklearn_rows(args.autosklearn)
    write(rows, dropped, args.out)


if __name__ == "__main__":
    main()
