# SPDX-License-Identifier: BSD-3-Clause
r"""Measure what racing saves: fold fits to reach the score of a search without it.

    python racing.py --seeds 3 --tasks ../../../shared/bench/tasks.py \
        --tables ../../../shared/data/tabular --out ../results/racing.json

SMBO with 50 candidates of five folds each gives the target: its best mean score less
half a standard error over the folds. `to_target`: fold fits until the best candidate
with all folds is that good. `share_of_total` divides those of the racing search by the
250 fits of the search without racing, `share_of_same` by the fits after which that one
itself was as good. `worse_by`: standard errors by which the racing search with the same
50 candidates ends worse (negative: better), `worse_same_fits` the same after 250 fits.
"""

import argparse
import collections
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _records import environment
from peers import _accsmbo_space
from racing_tasks import N_FOLDS, Folds, load

from accsmbo.execution import run
from accsmbo.fidelity import Racing
from accsmbo.optimizers import SMBO

N_CANDIDATES = 50
N_FITS = N_CANDIDATES * N_FOLDS
METHODS: dict[str, Any] = {
    "off": None,
    "aggressive": Racing(),
    "aggressive-4": Racing(n_challengers=4),
    "paired-test": Racing("paired-test"),
}


class Spent:
    """Ends a run after so many fold fits."""

    def __init__(self, n_fits: int) -> None:
        self.n_fits = n_fits

    def should_stop(self, optimizer: Any) -> bool:
        return sum(len(e.folds) for _, e in optimizer.history) >= self.n_fits


def search(
    space: dict[str, tuple], folds: Folds, method: Any, seed: int, n_fits: int
) -> dict[str, Any]:
    """Return the improvements of the best full candidate, and the folds of each."""
    optimizer = SMBO(_accsmbo_space(space), random_state=seed)
    n_trials, race = n_fits // N_FOLDS, None
    if method is not None:
        optimizer, n_trials = method.wrap(optimizer, n_fits, folds)
        race = method.race(folds)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(
            optimizer,
            folds,
            n_trials=n_trials,
            race=race,
            stop_when=Spent(n_fits),
        )
    best, spent, steps = np.inf, 0, []
    for number, (_, evaluation) in enumerate(optimizer.history, start=1):
        spent += len(evaluation.folds)
        if not (evaluation.partial or evaluation.failed) and evaluation.value < best:
            best = evaluation.value
            error = float(np.std(evaluation.folds, ddof=1)) / np.sqrt(N_FOLDS)
            steps.append([number, spent, float(f"{best:.8g}"), float(f"{error:.3g}")])
    return {
        "steps": steps,
        "n_folds": [len(e.folds) for _, e in optimizer.history],
        "seconds": round(time.process_time() - start, 1),
    }


def reached(steps: list, target: float) -> float:
    """Return the fold fits until a value is as good as the target."""
    return next((spent for _, spent, value, _ in steps if value <= target), np.inf)


def at(steps: list, column: int, limit: float) -> float:
    """Return the best value within a number of candidates (0) or fits (1)."""
    return min((s[2] for s in steps if s[column] <= limit), default=np.inf)


def compare(off: dict[str, Any], raced: dict[str, Any]) -> dict[str, float]:
    """Return the figures of one task and seed, see the module's text."""
    _, _, final, error = off["steps"][-1]
    error = max(error, np.finfo(float).tiny)
    target = final + 0.5 * error
    fits = reached(raced["steps"], target)
    spent = int(np.sum(raced["n_folds"][:N_CANDIDATES]))
    return {
        "to_target": fits,
        "share_of_total": fits / N_FITS,
        "share_of_same": fits / reached(off["steps"], target),
        "worse_by": (at(raced["steps"], 0, N_CANDIDATES) - final) / error,
        "worse_same_fits": (at(raced["steps"], 1, N_FITS) - final) / error,
        "share_spent": spent / N_FITS,
    }


def summarise(runs: dict[str, Any]) -> dict[str, Any]:
    """Return medians over the tasks of medians over the seeds, and the worst cases."""
    tables: dict[str, Any] = collections.defaultdict(
        lambda: collections.defaultdict(list)
    )
    for key, raced in runs.items():
        task, method, seed = key.split("|")
        off = runs.get(f"{task}|off|{seed}")
        if method != "off" and off is not None:
            tables[method][task].append(compare(off, raced))
    summary = {}
    for method, tasks in tables.items():
        names = next(iter(tasks.values()))[0].keys()
        rows = {
            task: {name: float(np.median([r[name] for r in row])) for name in names}
            for task, row in tasks.items()
        }
        every = [r for row in tasks.values() for r in row]
        summary[method] = {
            "median": {
                name: _round(np.median([row[name] for row in rows.values()]))
                for name in names
            },
            "worst": {
                name: _round(max(r[name] for r in every))
                for name in ("worse_by", "worse_same_fits")
            },
            "runs": len(every),
            "missed": sum(not np.isfinite(r["to_target"]) for r in every),
            "worse_by_more_than_one": sum(r["worse_by"] > 1.0 for r in every),
            "tasks": {
                task: {name: _round(value) for name, value in row.items()}
                for task, row in rows.items()
            },
        }
    return summary


def _round(value: float) -> float | str:
    return float(f"{value:.3g}") if np.isfinite(value) else "not reached"


def save(path: Path, stored: dict[str, Any]) -> None:
    lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in stored["runs"].items()]
    head = json.dumps({k: v for k, v in stored.items() if k != "runs"}, indent=1)
    path.write_text(f'{head[:-2]},\n"runs": {{\n' + ",\n".join(lines) + "\n}}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--tasks", type=Path, help="further tasks, a Python file")
    parser.add_argument("--tables", type=Path, help="folder of tabular data")
    parser.add_argument("--only", default="", help="names of tasks, else all")
    parser.add_argument("--fits", type=int, default=N_FITS, help="of a racing search")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    stored: dict[str, Any] = {"environment": {}, "summary": {}, "runs": {}}
    if args.out.exists():
        stored = json.loads(args.out.read_text())
    stored["environment"] = environment([])
    only = set(filter(None, args.only.split(",")))
    for name, space, folds in load(args.tasks, args.tables):
        if only and name not in only:
            continue
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            for method in args.methods.split(","):
                key = f"{name}|{method}|{seed}"
                if key not in stored["runs"]:
                    n_fits = N_FITS if method == "off" else args.fits
                    stored["runs"][key] = search(
                        space, folds, METHODS[method], seed, n_fits
                    )
            stored["summary"] = summarise(stored["runs"])
            save(args.out, stored)
    for method, row in stored["summary"].items():
        print(method, row["median"], row["worst"], row["missed"], row["runs"])


if __name__ == "__main__":
    main()
