# SPDX-License-Identifier: BSD-3-Clause
"""Quality on PC4: 25 candidates of a model-based search against grids of 20 and 100.

Two pipelines, StratifiedKFold(5, shuffle, seed 0): logistic regression by log loss
(C in [1e-4, 1e4]) and scaled SVC by accuracy (C in [1e-2, 1e3], gamma in [1e-4, 1e1]).
Asked of the median over seeds: no worse than the best of the 20-point grid, and within
0.1 standard error over folds of the best of the 100-point grid. The results are made by

    python benchmarks/studies/pc4_quality.py -o benchmarks/results/pc4_quality.json
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from _common.results import environment
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from accsmbo import AccSMBOSearchCV, Real, SMBOSearchCV
from accsmbo.datasets import load_pc4
from accsmbo.search import GridSearchCV, RandomizedSearchCV

N_ITER = 25
CV = StratifiedKFold(5, shuffle=True, random_state=0)
# estimator, scoring, bounds by parameter, points of the two grids per parameter
TASKS = {
    "logistic regression, log loss": (
        LogisticRegression(),
        "neg_log_loss",
        {"logisticregression__C": (1e-4, 1e4)},
        {20: (20,), 100: (100,)},
    ),
    "SVC, accuracy": (
        SVC(),
        "accuracy",
        {"svc__C": (1e-2, 1e3), "svc__gamma": (1e-4, 1e1)},
        {20: (5, 4), 100: (10, 10)},
    ),
}
SEARCHES = [AccSMBOSearchCV, SMBOSearchCV, RandomizedSearchCV]


def grid_of(bounds, points):
    return {
        name: np.geomspace(*ends, n).tolist()
        for (name, ends), n in zip(bounds.items(), points, strict=True)
    }


def best_of(search, X, y):
    """Best score, its standard error over folds, seconds."""
    start = time.perf_counter()
    search.fit(X, y)
    results, best = search.cv_results_, search.best_index_
    error = results["std_test_score"][best] / np.sqrt(search.n_splits_)
    return search.best_score_, error, time.perf_counter() - start


def study(name, seeds, X, y):
    model, scoring, bounds, grids = TASKS[name]
    estimator = make_pipeline(StandardScaler(), model)
    common = {"scoring": scoring, "cv": CV, "refit": False}
    best = {
        size: best_of(GridSearchCV(estimator, grid_of(bounds, points), **common), X, y)
        for size, points in grids.items()
    }
    reference, standard_error, _ = best[100]
    row = {
        "grid_20": best[20][0],
        "grid_100": reference,
        "standard_error": standard_error,
        "searches": {},
    }
    space = {key: Real(*ends, log=True) for key, ends in bounds.items()}
    for cls in SEARCHES:
        runs = [
            best_of(
                cls(estimator, space, n_iter=N_ITER, random_state=seed, **common), X, y
            )
            for seed in range(seeds)
        ]
        median = float(np.median([score for score, _, _ in runs]))
        row["searches"][cls.__name__] = {
            "scores": [score for score, _, _ in runs],
            "median": median,
            "not_worse_than_grid_20": bool(median >= best[20][0]),
            "errors_below_grid_100": (reference - median) / standard_error,
            "within_a_tenth": bool(reference - median <= 0.1 * standard_error),
            "seconds": float(np.median([seconds for _, _, seconds in runs])),
        }
    return row


def show(name, row):
    print(
        f"{name}: grid of 20 {row['grid_20']:.5f}, grid of 100 {row['grid_100']:.5f}, "
        f"standard error {row['standard_error']:.5f}"
    )
    for search, result in row["searches"].items():
        print(
            f"  {search:20} median {result['median']:.5f}  >= grid of 20: "
            f"{result['not_worse_than_grid_20']}  standard errors below grid of 100: "
            f"{result['errors_below_grid_100']:+.3f}  {result['seconds']:.1f} s",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = load_pc4()
    rows = {}
    for name in TASKS:
        rows[name] = study(name, arguments.seeds, X, y)
        show(name, rows[name])
    if arguments.output:
        content = {
            "environment": environment([], range(arguments.seeds)),
            "n_iter": N_ITER,
            "tasks": rows,
        }
        arguments.output.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
