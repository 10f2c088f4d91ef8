# SPDX-License-Identifier: BSD-3-Clause
"""The main job: tune an SVC on a real data set, beside grid and random search.

Prints a table and saves ``convergence.png``; ``--help`` shows the options.
"""

import argparse
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from accsmbo import AccSMBOSearchCV, SMBOSearchCV
from accsmbo.plotting import ConvergenceDisplay
from accsmbo.search import GridSearchCV, RandomizedSearchCV

N_SPLITS = 5
SCORING = "roc_auc"
C = (1e-2, 1e3)
GAMMA = (1e-5, 1e0)


def distributions():
    return {"svc__C": loguniform(*C), "svc__gamma": loguniform(*GAMMA)}


def grid(points):
    return {
        "svc__C": np.geomspace(*C, points).tolist(),
        "svc__gamma": np.geomspace(*GAMMA, points).tolist(),
    }


def make_searches(side, seed):
    """Four searches with the same budget of side * side candidates."""
    estimator = make_pipeline(StandardScaler(), SVC())
    common = {
        "scoring": SCORING,
        "cv": StratifiedKFold(N_SPLITS, shuffle=True, random_state=0),
    }
    sampling = common | {"n_iter": side * side, "random_state": seed}
    return {
        "AccSMBOSearchCV": AccSMBOSearchCV(estimator, distributions(), **sampling),
        "SMBOSearchCV": SMBOSearchCV(estimator, distributions(), **sampling),
        "RandomizedSearchCV": RandomizedSearchCV(
            estimator, distributions(), **sampling
        ),
        "GridSearchCV": GridSearchCV(estimator, grid(side), **common),
    }


def run(side, seeds, X, y):
    """Fit every search with every seed; the grid, which has none, once."""
    fitted, seconds = {}, {}
    for seed in range(seeds):
        for name, search in make_searches(side, seed).items():
            if name == "GridSearchCV" and seed > 0:
                continue
            start = time.perf_counter()
            fitted.setdefault(name, []).append(search.fit(X, y))
            seconds.setdefault(name, []).append(time.perf_counter() - start)
    return fitted, seconds


def show(fitted, seconds):
    best = max(s.best_score_ for runs in fitted.values() for s in runs)
    print(f"{'':20} {'best CV ' + SCORING:>18} {'below best':>11} {'fits':>5} {'s':>6}")
    for name, runs in fitted.items():
        score = np.median([search.best_score_ for search in runs])
        fits = len(runs[0].history_) * runs[0].n_splits_
        print(
            f"{name:20} {score:18.5f} {best - score:11.5f} {fits:5d}"
            f" {np.median(seconds[name]):6.1f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=5, help="budget: side * side")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("build/quickstart"))
    arguments = parser.parse_args()
    mpl.use("Agg")
    X, y = load_breast_cancer(return_X_y=True)
    print(
        f"StandardScaler + SVC on breast cancer ({X.shape[0]} x {X.shape[1]}), "
        f"{N_SPLITS}-fold {SCORING}, {arguments.side**2} candidates, "
        f"median of {arguments.seeds} seeds\n"
    )
    fitted, seconds = run(arguments.side, arguments.seeds, X, y)
    show(fitted, seconds)
    best = max(fitted["AccSMBOSearchCV"], key=lambda search: search.best_score_)
    print(f"\nBest parameters of AccSMBOSearchCV: {best.best_params_}")
    display = ConvergenceDisplay.from_history(fitted)
    display.ax_.set_title("SVC on breast cancer: median and quartiles over seeds")
    arguments.output.mkdir(parents=True, exist_ok=True)
    picture = arguments.output / "convergence.png"
    display.figure_.savefig(picture, dpi=150)
    print(f"Convergence plot: {picture}")


if __name__ == "__main__":
    main()
