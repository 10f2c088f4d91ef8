# SPDX-License-Identifier: BSD-3-Clause
"""Does HOAG converge, and what does it cost? l2 logistic regression, lam = -log C.

    OMP_NUM_THREADS=1 python hoag.py --data FOLDER --curves FILE --out FILE

pc4: ten splits, lam in [-8, 8] from 0, with an intercept. rcv1: one split, wall time to
HOAG's own stop as a ratio to one cold liblinear fit (eps 0.01) at the optimum.
``--curves``: exact validation losses on a grid, keys ``<set>_<split>_{L,g,d}``.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from _common.logistic_data import interleaved, liblinear_fit, pc4, rcv1, split
from _common.results import environment
from scipy.interpolate import CubicHermiteSpline
from sklearn.linear_model import LogisticRegression

from accsmbo import Real
from accsmbo.exceptions import Converged
from accsmbo.hypergradients import FoldHypergradient
from accsmbo.optimizers import HOAG

BAND = 1e-3  # of the loss


def descend(X, y, train, test, *, n_restarts: int, fit_intercept: bool):
    """Return the lams that HOAG asked for, and the losses it was told."""
    model = LogisticRegression(fit_intercept=fit_intercept)
    fold = FoldHypergradient(
        model, X, y, train, test, names=["C"], scoring="neg_log_loss"
    )
    optimizer = HOAG({"lam": Real(-8, 8)}, n_restarts=n_restarts, random_state=0)
    warm = None
    try:
        while True:
            trial = optimizer.ask()
            C = float(np.exp(-trial.params["lam"]))
            result = fold({"C": C}, tolerance=trial.tolerance, warm_start=warm)
            warm = result.warm_start
            gradient = {"lam": -C * result.gradient["C"]}
            optimizer.tell(trial, result.loss, gradient)
    except Converged:
        history = optimizer.history
    lams = np.array([trial.params["lam"] for trial in history.trials])
    return lams, history.values


def basin(values: np.ndarray, start: int) -> float:
    """Return the local minimum that descent from a grid point reaches."""
    i = start
    while True:
        neighbours = [j for j in (i - 1, i + 1) if 0 <= j < len(values)]
        best = min(neighbours, key=lambda j: values[j])
        if values[best] >= values[i]:
            return float(values[i])
        i = best


def on_pc4(X, y, curves) -> list[dict]:
    grid = np.linspace(-8, 8, 3201)
    rows = []
    for seed in range(10):
        keys = (curves[f"pc4_{seed}_{k}"] for k in "Lgd")
        exact = CubicHermiteSpline(*keys)
        values = exact(grid)
        row = {"split": seed, "best": float(values.min())}
        for n_restarts in (0, 2):
            lams, told = descend(
                X, y, *split(len(y), seed), n_restarts=n_restarts, fit_intercept=True
            )
            chosen = float(exact(lams[np.argmin(told)]))
            row[f"restarts_{n_restarts}"] = {
                "evaluations": len(lams),
                "gap_to_basin_percent": round(
                    100 * (chosen / basin(values, 1600) - 1), 4
                ),
                "gap_to_best_percent": round(100 * (chosen / values.min() - 1), 4),
            }
        rows.append(row)
    return rows


def on_rcv1(X, y, curves, rounds: int) -> dict:
    exact = CubicHermiteSpline(*(curves[f"rcv1_0_{k}"] for k in "Lgd"))
    grid = np.linspace(-8, 8, 3201)
    best = float(exact(grid).min())
    C = float(np.exp(-grid[np.argmin(exact(grid))]))
    train, test = split(len(y), 0)

    def run():
        return descend(X, y, train, test, n_restarts=0, fit_intercept=False)

    fit = liblinear_fit(X[train], y[train], C, 0.01)
    seconds = interleaved({"liblinear": fit, "hoag": run}, rounds)
    lams, told = run()
    inside = exact(lams) <= (1 + BAND) * best
    return {
        "rounds": rounds,
        "liblinear_eps_0.01_s": {
            c: round(s["liblinear"], 4) for c, s in seconds.items()
        },
        "ratio_hoag_to_its_stop": {
            c: round(s["hoag"] / s["liblinear"], 3) for c, s in seconds.items()
        },
        "evaluations": len(lams),
        "evaluations_to_0.1_percent": int(np.argmax(inside)) + 1
        if inside.any()
        else None,
        "gap_percent": round(100 * (float(exact(lams[np.argmin(told)])) / best - 1), 4),
        "lams": [round(float(v), 4) for v in lams],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--curves", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with np.load(arguments.curves) as curves:
        result = {
            "environment": environment(["liblinear-official"], range(10)),
            "pc4": on_pc4(*pc4(arguments.data), curves),
            "rcv1": on_rcv1(*rcv1(arguments.data), curves, arguments.rounds),
        }
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
