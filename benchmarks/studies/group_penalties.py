# SPDX-License-Identifier: BSD-3-Clause
"""Evaluations that several l2 penalties of logistic regression take.

    python group_penalties.py --data FOLDER --out group_penalties.json

Columns of pc4 and digits in d groups, one penalty each, log penalties in [-8, 8]^d,
start 0, exact gradients; evaluations to within 0.1 % of the best known (of eight
L-BFGS-B runs and of everything run here). ``--flip 0.1`` turns the sign of a gradient
with that probability.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _common.group_penalty_problems import LOADERS, GroupPenalties
from _common.results import environment
from scipy.optimize import minimize

from accsmbo import Real
from accsmbo.optimizers import SMBO, AccSMBO

BUDGETS = {1: 15, 2: 25, 5: 40, 8: 50}
WITHIN = 1e-3
Found = list[float]


def best_known(problem: GroupPenalties, seed: int) -> float:
    """Return the least loss that eight runs of L-BFGS-B find."""
    rng = np.random.default_rng(seed)
    d = problem.d
    starts = [np.full(d, 0.5), *(rng.random(d) for _ in range(7))]
    runs = [
        minimize(problem, x, jac=True, bounds=[(0, 1)] * d, method="L-BFGS-B")
        for x in starts
    ]
    return float(min(run.fun for run in runs))


def ask_and_tell(optimizer: Any, f: Any, d: int, budget: int) -> Found:
    values = []
    for _ in range(budget):
        trial = optimizer.ask()
        value, gradient = f(np.array([trial.params[f"x{j}"] for j in range(d)]))
        optimizer.tell(
            trial, value, {f"x{j}": float(g) for j, g in enumerate(gradient)}
        )
        values.append(value)
    return values


def space(d: int) -> dict[str, Real]:
    return {f"x{j}": Real(0.0, 1.0) for j in range(d)}


def accsmbo(f: Any, d: int, budget: int, seed: int) -> Found:
    return ask_and_tell(AccSMBO(space(d), random_state=seed), f, d, budget)


def without_local_steps(f: Any, d: int, budget: int, seed: int) -> Found:
    optimizer = AccSMBO(space(d), local_first=None, random_state=seed)
    return ask_and_tell(optimizer, f, d, budget)


def smbo(f: Any, d: int, budget: int, seed: int) -> Found:
    return ask_and_tell(SMBO(space(d), random_state=seed), f, d, budget)


def l_bfgs_b(f: Any, d: int, budget: int, seed: int) -> Found:
    """L-BFGS-B from 0, stopped by the budget, not restarted."""
    values: Found = []

    def counted(x: Any) -> tuple[float, Any]:
        value, gradient = f(x)
        values.append(value)
        return value, gradient

    minimize(
        counted,
        np.full(d, 0.5),
        jac=True,
        bounds=[(0, 1)] * d,
        method="L-BFGS-B",
        options={"maxfun": budget, "ftol": 1e-12, "gtol": 1e-9},
    )
    return values[:budget]


METHODS: dict[str, Callable[..., Found]] = {
    "accsmbo": accsmbo,
    "accsmbo without local steps": without_local_steps,
    "smbo": smbo,
    "l-bfgs-b": l_bfgs_b,
}


def flipped(f: Any, share: float, seed: int) -> Any:
    """Return f with the sign of a gradient wrong with some probability."""
    rng = np.random.default_rng(seed + 1000)

    def wrong(u: Any) -> tuple[float, Any]:
        value, gradient = f(u)
        return value, -gradient if rng.random() < share else gradient

    return wrong


def reached(values: Found, best: float, budget: int) -> int:
    """Return the first evaluation within 0.1 %, or budget + 1."""
    good = np.flatnonzero(np.array(values) <= best * (1 + WITHIN))
    return int(good[0]) + 1 if len(good) else budget + 1


def write(path: str, rows: list[dict[str, Any]], flip: float, splits: range) -> None:
    """Write the rows so far."""
    result = {
        "question": (__doc__ or "").splitlines()[0],
        "environment": environment([], splits),
        "budgets": BUDGETS,
        "flip": flip,
        "rows": rows,
    }
    Path(path).write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder with pc4.csv.gz")
    parser.add_argument("--methods", default="accsmbo,l-bfgs-b")
    parser.add_argument("--sets", default="pc4,digits")
    parser.add_argument("--dims", default="2,5,8")
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--first-split", type=int, default=0)
    parser.add_argument("--flip", type=float, default=0.0)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    methods, rows = args.methods.split(","), []
    for name in args.sets.split(","):
        X, y = LOADERS[name](args.data)
        for d in map(int, args.dims.split(",")):
            budget = BUDGETS[d]
            counts: dict[str, list[int]] = {m: [] for m in methods}
            splits = range(args.first_split, args.first_split + args.splits)
            for split in splits:
                problem = GroupPenalties(X, y, d, split)
                found = {
                    m: METHODS[m](
                        flipped(problem, args.flip, split), d, budget, seed=split
                    )
                    for m in methods
                }
                best = min(best_known(problem, split), *map(min, found.values()))
                for m, values in found.items():
                    counts[m].append(reached(values, best, budget))
            for m, numbers in counts.items():
                row = {
                    "set": name,
                    "d": d,
                    "splits": list(splits),
                    "method": m,
                    "median": float(np.median(numbers)),
                    "missed": sum(n > budget for n in numbers),
                    "evaluations": numbers,
                }
                rows.append(row)
                print(row, flush=True)
            write(args.out, rows, args.flip, splits)


if __name__ == "__main__":
    main()
