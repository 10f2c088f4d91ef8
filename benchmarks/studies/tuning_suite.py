# SPDX-License-Identifier: BSD-3-Clause
r"""Measure how well each optimizer tunes real models with 10, 20, 40 evaluations.

    python tuning_suite.py --peers accsmbo,optuna_tpe --seeds 5 --out tuning_suite.json

    python tuning_suite.py --peers accsmbo,accsmbo_density --seeds 10 \
        --tasks tasks.py --reference reference.json --out tuning_suite.json

"accsmbo" is SMBO; "accsmbo_density" is AccSMBO with the density of the shipped
meta-data, each task's own data set and its kin left out (`task_densities.py`). Tasks
without a shipped density are not run for it; the medians of "accsmbo" over the other
tasks stand beside its own.
Tasks are those of `tuning_tasks.py`, or of any other file with a `load()` that yields
(name, space, function) and a JSON file of name -> [best known, random at 40].
Normalised regret: 0 = best value known, 1 = median of random search at 40; mean over
seeds, then median over tasks.
"""

import argparse
import collections
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _common.peer_optimizers import PEERS, Function, Run, accsmbo_space
from _common.results import Results, environment
from _common.task_densities import shipped_density

from accsmbo.optimizers import AccSMBO

TASKS = Path(__file__).parent / "_common"
BUDGETS = (10, 20, 40)


def with_density(task: str, space: dict[str, tuple]) -> Run | None:
    """Return AccSMBO with the shipped density of a task, None without one."""
    density = shipped_density(task, accsmbo_space(space))
    if density is None:
        return None

    def run(space: dict[str, tuple], f: Function, budget: int, seed: int) -> None:
        optimizer = AccSMBO(accsmbo_space(space), density=density, random_state=seed)
        for _ in range(budget):
            trial = optimizer.ask()
            optimizer.tell(trial, f(trial.params))

    return run


def load_tasks(path: Path) -> Iterator[tuple[str, dict[str, tuple], Any]]:
    """Yield the tasks of a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield from module.load()


def summarise(
    runs: dict[str, Any], reference: dict[str, tuple[float, float]]
) -> dict[str, Any]:
    """Return the scores of each optimizer: over all tasks, and task by task."""
    curves: dict[str, dict[str, list]] = collections.defaultdict(
        lambda: collections.defaultdict(list)
    )
    own = collections.defaultdict(list)
    for key, run in runs.items():
        task, peer, _ = key.split("|")
        if task in reference:
            curves[peer][task].append(np.minimum.accumulate(run["values"]))
            own[peer].append(run["own_s"])
    summary = {}
    for peer, tasks in curves.items():
        scores = {}
        for task, found in tasks.items():
            best, usual = reference[task]
            scores[task] = [
                float(np.mean([(c[min(n, len(c)) - 1] - best) for c in found]))
                / (usual - best)
                for n in BUDGETS
            ]
        table = np.array(list(scores.values()))
        summary[peer] = {
            "median": np.median(table, axis=0).round(3).tolist(),
            "mean": table.mean(axis=0).round(3).tolist(),
            "own_ms": round(1e3 * float(np.mean(own[peer])), 2),
            "seeds": min(len(found) for found in tasks.values()),
            "tasks": {t: np.round(s, 3).tolist() for t, s in scores.items()},
        }
    if {"accsmbo", "accsmbo_density"} <= set(summary):
        known = summary["accsmbo_density"]["tasks"]
        without = summary["accsmbo"]["tasks"]
        table = np.array([without[t] for t in known if t in without])
        summary["accsmbo_density"]["median of accsmbo on the same tasks"] = (
            np.median(table, axis=0).round(3).tolist()
        )
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default="accsmbo,random")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--budget", type=int, default=max(BUDGETS))
    parser.add_argument("--tasks", type=Path, default=TASKS / "tuning_tasks.py")
    parser.add_argument(
        "--reference", type=Path, default=TASKS / "tuning_reference.json"
    )
    parser.add_argument("--only", default="", help="names of tasks, else all")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    results, peers = Results(args.out), args.peers.split(",")
    chosen = set(filter(None, args.only.split(",")))
    tasks = [t for t in load_tasks(args.tasks) if not chosen or t[0] in chosen]
    reference = json.loads(args.reference.read_text())
    known = {task: with_density(task, space) for task, space, _ in tasks}
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    for peer in peers:
        results.environments[peer] = environment([peer], seeds)
        for seed in seeds:
            for task, space, f in tasks:
                run = known[task] if peer == "accsmbo_density" else None
                if run is not None or peer in PEERS:
                    results.run(task, peer, seed, space, f, args.budget, run)
        results.extra = summarise(results.runs, reference)
        results.save()
    for peer, row in sorted(results.extra.items(), key=lambda r: r[1]["median"][-1]):
        print(f"{peer:12s}", row["median"], row["mean"], row["own_ms"], row["seeds"])


if __name__ == "__main__":
    main()
