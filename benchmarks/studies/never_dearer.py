# SPDX-License-Identifier: BSD-3-Clause
"""Whether the default of AccSMBOSearchCV ever costs more than plain evaluation.

Forty problems, 15 candidates each: processor time and best score of ``solver="auto"``
against ``solver="estimator"``, medians over seeds, both in turn in one process.

    OMP_NUM_THREADS=1 taskset -c 0 python never_dearer.py \
        --out ../results/never_dearer.json
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from _common.results import Results, environment
from scipy import sparse
from scipy.stats import loguniform, uniform
from sklearn.datasets import make_classification, make_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.metrics import make_scorer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from accsmbo import AccSMBOSearchCV
from accsmbo.hypergradients import squared_hinge_loss

CANDIDATES, FOLDS = 15, 3
HINGE = make_scorer(
    squared_hinge_loss,
    greater_is_better=False,
    response_method="decision_function",
)
PENALTY = loguniform(1e-4, 1e4)


class Problem(NamedTuple):
    """What is tuned, on what data, by what metric."""

    name: str
    model: Any
    space: dict[str, Any]
    scoring: str | Any
    X: Any
    y: np.ndarray


def classes(n: int, p: int, k: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return a table with k classes."""
    informative = max(min(p, 10), k.bit_length() + 1)
    X, y = make_classification(
        n,
        p,
        n_informative=informative,
        n_redundant=0,
        n_classes=k,
        n_clusters_per_class=1,
        flip_y=0.1,
        random_state=n + p + k,
    )
    return X, y


def targets(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table with a target of noise."""
    X, y = make_regression(n, p, n_informative=min(p, 10), noise=50, random_state=n + p)
    return X, y / y.std()


def counts(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table with counts for targets."""
    X, y = targets(n, p)
    rng = np.random.default_rng(0)
    return X, rng.poisson(np.exp(0.5 * y)).astype(float)


def words(n: int, p: int, k: int = 2) -> tuple[Any, np.ndarray]:
    """Return sparse counts of words of Zipf's law, and classes they tell of."""
    rng = np.random.default_rng(n + p)
    shares = 1.0 / np.arange(1, p + 1)
    X = sparse.lil_array((n, p))
    y = rng.integers(0, k, n)
    for i in range(n):
        tilt = shares * np.exp(np.roll(np.sin(np.arange(p)), y[i]))
        drawn = rng.choice(p, 60, p=tilt / tilt.sum())
        for j in drawn:
            X[i, j] += 1.0
    return sparse.csr_array(X), y


def problems() -> Iterator[Problem]:
    """Yield all problems."""
    log_loss, mse = "neg_log_loss", "neg_mean_squared_error"
    logistic = LogisticRegression(max_iter=300)
    tables = [(100, 5), (700, 20), (3000, 30), (20000, 50), (300, 5000)]
    for n, p in tables:
        yield Problem(
            f"logistic {n}x{p}", logistic, {"C": PENALTY}, log_loss, *classes(n, p)
        )
    for n, p in tables[:4]:
        yield Problem(
            f"logistic, 3 classes {n}x{p}",
            logistic,
            {"C": PENALTY},
            log_loss,
            *classes(n, p, 3),
        )
    yield Problem(
        "logistic, 10 classes 1500x40",
        logistic,
        {"C": PENALTY},
        log_loss,
        *classes(1500, 40, 10),
    )
    yield Problem(
        "logistic, sparse 2000x5000",
        logistic,
        {"C": PENALTY},
        log_loss,
        *words(2000, 5000),
    )
    yield Problem(
        "logistic, sparse, 3 classes 1000x2000",
        logistic,
        {"C": PENALTY},
        log_loss,
        *words(1000, 2000, 3),
    )
    scaled = make_pipeline(StandardScaler(), logistic)
    yield Problem(
        "logistic, pipeline 700x20",
        scaled,
        {"logisticregression__C": PENALTY},
        log_loss,
        *classes(700, 20),
    )
    weighted = {"C": PENALTY, "class_weight": [None, "balanced"]}
    yield Problem(
        "logistic, class weights 3000x30",
        logistic,
        weighted,
        log_loss,
        *classes(3000, 30),
    )
    l1 = LogisticRegression(l1_ratio=1.0, solver="liblinear", max_iter=300)
    yield Problem(
        "l1 logistic 700x20",
        l1,
        {"C": loguniform(1e-2, 1e3)},
        log_loss,
        *classes(700, 20),
    )
    yield Problem(
        "l1 logistic 300x5000",
        l1,
        {"C": loguniform(1e-2, 1e3)},
        log_loss,
        *classes(300, 5000),
    )
    elastic = LogisticRegression(solver="saga", max_iter=300)
    both = {"C": loguniform(1e-3, 1e2), "l1_ratio": uniform(0, 1)}
    yield Problem(
        "elastic net logistic 700x20", elastic, both, log_loss, *classes(700, 20)
    )
    for n, p in tables:
        yield Problem(
            f"ridge {n}x{p}", Ridge(), {"alpha": PENALTY}, mse, *targets(n, p)
        )
    alpha = {"alpha": loguniform(1e-4, 1e1)}
    mixed = {**alpha, "l1_ratio": uniform(0.05, 0.9)}
    for n, p in [(700, 20), (20000, 50), (300, 2000)]:
        yield Problem(f"lasso {n}x{p}", Lasso(), alpha, mse, *targets(n, p))
        yield Problem(f"elastic net {n}x{p}", ElasticNet(), mixed, mse, *targets(n, p))
    for n, p in [(700, 20), (3000, 30), (300, 5000)]:
        yield Problem(
            f"linear SVC {n}x{p}", LinearSVC(), {"C": PENALTY}, HINGE, *classes(n, p)
        )
    yield Problem(
        "linear SVC, sparse 400x8000",
        LinearSVC(),
        {"C": PENALTY},
        HINGE,
        *words(400, 8000),
    )
    svr = LinearSVR(loss="squared_epsilon_insensitive", dual=False)
    yield Problem("linear SVR 3000x30", svr, {"C": PENALTY}, mse, *targets(3000, 30))
    wide = {"C": loguniform(1e-2, 1e3), "gamma": loguniform(1e-4, 1e1)}
    yield Problem("SVC, hinge 700x20", SVC(), wide, HINGE, *classes(700, 20))
    yield Problem("SVC, accuracy 700x20", SVC(), wide, "accuracy", *classes(700, 20))
    yield Problem(
        "SVR 700x20",
        SVR(),
        {**wide, "epsilon": loguniform(1e-3, 1)},
        mse,
        *targets(700, 20),
    )
    kernel = KernelRidge(kernel="rbf")
    yield Problem(
        "kernel ridge 700x20",
        kernel,
        {"alpha": PENALTY, "gamma": loguniform(1e-4, 1e1)},
        mse,
        *targets(700, 20),
    )
    yield Problem(
        "Poisson 3000x30",
        PoissonRegressor(max_iter=1000),
        {"alpha": PENALTY},
        "neg_mean_poisson_deviance",
        *counts(3000, 30),
    )
    process = GaussianProcessRegressor(RBF(1.0), optimizer=None, normalize_y=True)
    yield Problem(
        "Gaussian process 500x10",
        process,
        {"alpha": loguniform(1e-4, 1e1), "kernel__length_scale": loguniform(1e-1, 1e2)},
        mse,
        *targets(500, 10),
    )
    network = MLPClassifier((20,), solver="lbfgs", max_iter=100, random_state=0)
    yield Problem(
        "perceptron 700x20",
        network,
        {"alpha": loguniform(1e-4, 1e2)},
        log_loss,
        *classes(700, 20),
    )


def run(problem: Problem, solver: str, seed: int) -> tuple[float, float, str, int]:
    """Return processor seconds, best score, the route and the number of rows."""
    search = AccSMBOSearchCV(
        problem.model,
        problem.space,
        n_iter=CANDIDATES,
        scoring=problem.scoring,
        cv=FOLDS,
        random_state=seed,
        solver=solver,
        refit=False,
    )
    start = time.process_time()
    search.fit(problem.X, problem.y)
    seconds = time.process_time() - start
    rows = len(search.history_)
    return seconds, -search.history_.best_value, search.history_.route.solver, rows


def compare(problem: Problem, seeds: range) -> dict[str, Any]:
    """Return the medians of both, and their ratio."""
    run(problem, "estimator", seeds[0])  # imports, caches
    found: dict[str, list[tuple[float, float, str, int]]] = {
        "auto": [],
        "estimator": [],
    }
    for seed in seeds:
        for solver in found:
            found[solver].append(run(problem, solver, seed))
    medians = {
        solver: [float(np.median([r[i] for r in runs])) for i in (0, 1)]
        for solver, runs in found.items()
    }
    (auto_s, auto_score), (plain_s, plain_score) = medians["auto"], medians["estimator"]
    scale = abs(plain_score) or 1.0
    return {
        "route": "/".join(sorted({r[2] for r in found["auto"]})),
        "rows": int(np.median([r[3] for r in found["auto"]])),
        "auto_s": round(auto_s, 3),
        "estimator_s": round(plain_s, 3),
        "ratio": round(auto_s / plain_s, 3),
        "worse_by": float(f"{(plain_score - auto_score) / scale:.2g}"),
    }


def main() -> None:
    """Run what is missing in the file and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="never_dearer.json")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(options.out)
    results.environments["all"] = environment([], range(options.seeds))
    for problem in problems():
        if problem.name in results.runs or options.only not in problem.name:
            continue
        row = compare(problem, range(options.seeds))
        results.runs[problem.name] = row
        results.save()
        print(f"{problem.name:40s} {row}", flush=True)
    ratios = [row["ratio"] for row in results.runs.values()]
    worse = [row["worse_by"] for row in results.runs.values()]
    results.extra = {
        "problems": len(ratios),
        "largest_ratio": max(ratios),
        "median_ratio": float(np.median(ratios)),
        "largest_loss": max(worse),
    }
    results.save()
    print(results.extra)


if __name__ == "__main__":
    main()
