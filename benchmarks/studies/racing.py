# SPDX-License-Identifier: BSD-3-Clause
r"""Measure what racing saves: fold fits to reach the score of a search without it.

    python racing.py --seeds 3 --tasks ../../../shared/bench/tasks.py \
        --tables ../../../shared/data/tabular --out ../results/racing.json

SMBO with 50 candidates of five folds each gives the target: its best mean score less
half a standard error over the folds. `to_target`: fold fits until the best candidate
with all folds is that good. `share_of_total` divides those of the racing search by the
250 fits of the search without racing, `share_of_same` by the fits after which that one
itself was as good. `share_spent`: fits of 50 racing candidates, of 250. `worse_by`:
standard errors by which these end worse (negative: better). A racing search that is not
as good by then goes on to 150 fits; "not reached" is one that is not even then.
"""

import argparse
import collections
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _common.peer_optimizers import accsmbo_space
from _common.results import environment
from _common.tasks_by_fold import N_FOLDS, Folds, load

from accsmbo.execution import run
from accsmbo.fidelity import Racing
from accsmbo.optimizers import SMBO

N_CANDIDATES = 50
N_FITS = N_CANDIDATES * N_FOLDS
MOST_FITS = 150
METHODS: dict[str, Any] = {
    "off": None,
    "paired-test": Racing(),
    "aggressive": Racing("aggressive"),
    "paired-test-4": Racing(n_challengers=4),
}


class Enough:
    """Ends a run of so many candidates, once a loss is reached or fits are used up."""

    def __init__(self, target: float) -> None:
        self.target = target

    def should_stop(self, optimizer: Any) -> bool:
        history = optimizer.history
        if sum(len(e.folds) for _, e in history) >= MOST_FITS:
            return len(history) >= N_CANDIDATES
        return len(history) >= N_CANDIDATES and history.best_value <= self.target


def search(
    space: dict[str, tuple], folds: Folds, method: Any, seed: int, target: float
) -> dict[str, Any]:
    """Return the improvements of the best full candidate, and the folds of each."""
    optimizer = SMBO(accsmbo_space(space), random_state=seed)
    n_trials, race, stop_when = N_CANDIDATES, None, None
    if method is not None:
        optimizer, n_trials = method.wrap(optimizer, N_FITS, folds)
        race, stop_when = method.race(folds), Enough(target)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(optimizer, folds, n_trials=n_trials, race=race, stop_when=stop_when)
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


def best_of_first(steps: list) -> float:
    """Return the best value of the first 50 candidates."""
    return min((s[2] for s in steps if s[0] <= N_CANDIDATES), default=np.inf)


def goal(off: dict[str, Any]) -> tuple[float, float, float]:
    """Return the target, the final best loss without racing, its standard error."""
    _, _, final, error = off["steps"][-1]
    error = max(error, np.finfo(float).tiny)
    return final + 0.5 * error, final, error


def compare(off: dict[str, Any], raced: dict[str, Any]) -> dict[str, float]:
    """Return the figures of one task and seed, see the module's text."""
    target, final, error = goal(off)
    fits = reached(raced["steps"], target)
    spent = int(np.sum(raced["n_folds"][:N_CANDIDATES]))
    return {
        "to_target": fits,
        "share_of_total": fits / N_FITS,
        "share_of_same": fits / reached(off["steps"], target),
        "worse_by": (best_of_first(raced["steps"]) - final) / error,
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
            "worst": {"worse_by": _round(max(r["worse_by"] for r in every))},
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
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    stored: dict[str, Any] = {"environment": {}, "summary": {}, "runs": {}}
    if args.out.exists():
        stored = json.loads(args.out.read_text())
    stored["environment"] = environment(
        [], range(args.first_seed, args.first_seed + args.seeds)
    )
    only = set(filter(None, args.only.split(",")))
    tasks = [t for t in load(args.tasks, args.tables) if not only or t[0] in only]
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        for name, space, folds in tasks:
            for method in args.methods.split(","):
                key = f"{name}|{method}|{seed}"
                if key not in stored["runs"]:
                    off = stored["runs"].get(f"{name}|off|{seed}")
                    target = -np.inf if off is None else goal(off)[0]
                    stored["runs"][key] = search(
                        space, folds, METHODS[method], seed, target
                    )
            stored["summary"] = summarise(stored["runs"])
            save(args.out, stored)
            folds.known.clear()
    for method, row in stored["summary"].items():
        print(method, row["median"], row["worst"], row["missed"], row["runs"])


if __name__ == "__main__":
    main()
