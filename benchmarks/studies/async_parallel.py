# SPDX-License-Identifier: BSD-3-Clause
"""Serial against 4 workers (3 fast, 1 slow): wall time and evaluations to 0.1 %.

L2-logistic regression, one penalty on exp(-8) .. exp(8), validation log loss: curves of
pc4, rcv1 and imdb tabulated at 33 penalties (text: 4000 rows) and interpolated, with
their derivatives; pc4 also evaluated as it is. Evaluations are padded by sleeping,
0.3 to 0.7 s by the trial: two cores cannot show four workers otherwise. The wall time
includes the optimizer's.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from _common.group_penalty_problems import HIGH, LOW, GroupPenalties
from _common.logistic_data import pc4, rcv1, split
from _common.results import environment
from scipy import sparse
from scipy.interpolate import CubicHermiteSpline, CubicSpline
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from accsmbo import Real, minimize
from accsmbo.execution import TwoStacks, run
from accsmbo.execution._minimize import _FunctionObjective
from accsmbo.optimizers import SMBO, AccSMBO, RandomSearch

SPACE = {"u": Real(0.0, 1.0)}
GRID = np.linspace(0.0, 1.0, 33)
N_TRIALS = 30


def imdb(folder):
    with np.load(folder / "imdb_bow.npz") as file:
        keys = set(file.files)
        shape = tuple(file["shape"])
        X = sparse.csr_array((file["data"], file["indices"], file["indptr"]), shape)
        return X, file["y" if "y" in keys else "labels"].astype(int)


def text_curve(X, y, seed):
    """Return the validation loss along the grid, interpolated."""
    train, test = split(X.shape[0], seed)
    train, test = train[:4000], test[:2000]
    model = LogisticRegression(tol=1e-5, max_iter=500, warm_start=True)
    losses = []
    for lam in (LOW + (HIGH - LOW) * GRID)[::-1]:
        model.set_params(C=float(np.exp(-lam))).fit(X[train], y[train])
        losses.append(log_loss(y[test], model.predict_proba(X[test])))
    return CubicSpline(GRID, losses[::-1])


def pc4_curve(problem):
    values, slopes = zip(*[problem([u]) for u in GRID], strict=True)
    return CubicHermiteSpline(GRID, values, np.concatenate(slopes))


def seconds_of(u):
    """Return how long an evaluation is made to take."""
    return 0.3 + 0.4 * np.random.default_rng(int(u * 1e9)).random()


class Padded:
    """Loss and slope of a curve, after a nap whose length depends on the point."""

    def __init__(self, curve, problem=None):
        self.curve = curve
        self.problem = problem

    def __call__(self, params):
        u = params["u"]
        time.sleep(seconds_of(u))
        if self.problem is not None:
            value, slope = self.problem([u])
            return value, {"u": float(slope[0])}
        return float(self.curve(u)), {"u": float(self.curve(u, 1))}


class ValuesOnly(Padded):
    """The same without slopes."""

    def __call__(self, params):
        return super().__call__(params)[0]


KINDS = {"values": (SMBO, ValuesOnly), "gradients": (AccSMBO, Padded)}


def until_close(objective, optimizer, target, executor, seed):
    """Return wall seconds and evaluations until a loss is within the target."""
    optimizer.set_params(space=SPACE, random_state=seed)
    scheduler = TwoStacks() if executor > 1 else None
    start = time.time()
    run(
        optimizer,
        _FunctionObjective(objective),
        n_trials=N_TRIALS,
        executor=executor,
        scheduler=scheduler,
        callback=lambda history: history.best_value <= target,
    )
    history = optimizer.history
    if history.best_value > target:
        return None
    return max(e.end_time for e in history.evaluations) - start, len(history)


def compare(problems, seeds, kinds):
    rows = []
    for seed in range(seeds):
        for name, (curve, problem) in problems(seed).items():
            fine = curve(np.linspace(0, 1, 4001))
            target = fine.min() + 1e-3 * abs(fine.min())
            for kind in kinds:
                optimizer, cls = KINDS[kind]
                objective = cls(curve, problem)
                reached = [
                    until_close(objective, optimizer(), target, n, seed) for n in (1, 4)
                ]
                rows.append([name, kind, seed, *reached])
                print(rows[-1], flush=True)
    return rows


def summary(rows):
    """Return the medians over seeds of the ratios, 4 workers to one."""
    result = {}
    for name, kind in dict.fromkeys((row[0], row[1]) for row in rows):
        pairs = [row[3:] for row in rows if row[:2] == [name, kind]]
        both = [(a, b) for a, b in pairs if a and b]
        result[f"{name}, {kind}"] = {
            "seconds, 1 worker": [round(a[0], 2) for a, _ in both],
            "seconds, 4 workers": [round(b[0], 2) for _, b in both],
            "wall, median ratio": round(
                float(np.median([b[0] / a[0] for a, b in both])), 3
            ),
            "evaluations, median ratio": round(
                float(np.median([b[1] / a[1] for a, b in both])), 3
            ),
            "missed by 1, by 4": [
                sum(a is None for a, _ in pairs),
                sum(b is None for _, b in pairs),
            ],
        }
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    arguments = parser.parse_args()
    texts = {"rcv1": rcv1(arguments.data), "imdb": imdb(arguments.data)}
    X, y = pc4(arguments.data)

    def problems(seed):
        problem = GroupPenalties(X, 2 * y - 1, 1, seed)
        curve = pc4_curve(problem)
        found = {"pc4": (curve, None), "pc4, fitted": (curve, problem)}
        return found | {
            name: (text_curve(*data, seed), None) for name, data in texts.items()
        }

    # The worker processes are there before anything is timed.
    minimize(len, SPACE, optimizer=RandomSearch(), n_trials=8, executor=4)
    rows = compare(problems, arguments.seeds, arguments.kinds)
    results = {
        "environment": environment([], range(arguments.seeds)),
        "ratios, 4 workers to 1": summary(rows),
    }
    text = json.dumps(results, indent=1)
    if arguments.out:
        arguments.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
