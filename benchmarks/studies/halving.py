# SPDX-License-Identifier: BSD-3-Clause
r"""Compare our halving with scikit-learn's at equal total resource.

    python halving.py --seeds 5 --tasks ../../../shared/bench/tasks.py \
        --tables ../../../shared/data/tabular --out ../results/halving.json

`HalvingRandomSearchCV` with 27 candidates, three folds and a ninth of the resource (or
scikit-learn's smallest number of samples) at first sets the budget of a task and seed:
the sum of `n_resources` over its evaluations. All methods have the same smallest and
largest amount. `SuccessiveHalving` and `Hyperband` get the largest number of candidates
with which they stay within the budget. `ASHA` gets as many as would cost 3/4 of it if
it promoted no more than its share, and is cut off where the budget is spent; `spent` is
the share of it.

`loss`: that of the chosen candidate over three folds of all rows, with all of the
resource. `failed`: fits or scores that failed. The methods `...-random` take random
candidates, the others those of SMBO.

The resource is the number of samples, or a parameter where the name of the task ends in
it. Tasks that begin with `rare:` have a class of 1 to 10 %.

In the summary `better` is the share by which the loss is lower than scikit-learn's:
mean losses over the seeds of a task, then the median over the tasks. A search in which
every fit failed counts as -1; where that is scikit-learn's, the task and seed is left
out.
"""

import argparse
import contextlib
import json
import operator
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _common.peer_optimizers import accsmbo_space
from _common.results import environment
from _common.tasks_with_a_resource import N_FOLDS, Task, distribution, tasks
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingRandomSearchCV

from accsmbo import SMBOSearchCV
from accsmbo.evaluation import CrossValidationObjective
from accsmbo.exceptions import SpaceExhausted
from accsmbo.fidelity import ASHA, Hyperband, SuccessiveHalving
from accsmbo.optimizers import RandomSearch
from accsmbo.search import RandomizedSearchCV

N_CANDIDATES = 27
# Share of the budget that ASHA's candidates would cost without early promotions.
ASHA_SHARE = 0.75
METHODS: dict[str, tuple[Any, Any]] = {
    "halving": (SMBOSearchCV, SuccessiveHalving),
    "hyperband": (SMBOSearchCV, Hyperband),
    "asha": (SMBOSearchCV, ASHA),
    "halving-random": (RandomizedSearchCV, SuccessiveHalving),
    "hyperband-random": (RandomizedSearchCV, Hyperband),
    "asha-random": (RandomizedSearchCV, ASHA),
}


def result(task: Task, search: Any, budget: int) -> dict[str, Any]:
    """Return the figures of a finished search, as far as the budget reaches."""
    results, resource = search.cv_results_, task.resource
    amounts = np.asarray(results["n_resources"])
    within = np.cumsum(amounts) <= budget
    scores = np.where(within, results["mean_test_score"], np.nan)
    furthest = amounts == amounts[np.isfinite(scores)].max()
    chosen = int(np.nanargmax(np.where(furthest, scores, np.nan)))
    best = {k: v for k, v in results["params"][chosen].items() if k != resource}
    if resource != "n_samples":
        best[resource] = task.most
    losses = [task.folds.fold(_Asked(best), i) for i in range(N_FOLDS)]
    splits = [results[f"split{i}_test_score"] for i in range(N_FOLDS)]
    return {
        "loss": float(f"{np.mean(losses):.8g}"),
        "spent": round(float(amounts[within].sum()) / budget, 4),
        "resource": int(amounts[within].sum()),
        "evaluations": int(within.sum()),
        "amount": int(amounts[chosen]),
        "failed": int(np.isnan(splits)[:, within].sum()),
    }


class _Asked:
    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params


def theirs(task: Task, seed: int) -> dict[str, Any]:
    search = HalvingRandomSearchCV(
        task.estimator,
        {name: distribution(spec) for name, spec in task.space.items()},
        n_candidates=N_CANDIDATES,
        cv=task.folds.splits,
        scoring=task.scoring,
        refit=False,
        random_state=seed,
        **task.limits(),
    ).fit(task.folds.X, task.folds.y)
    return result(task, search, int(np.sum(search.cv_results_["n_resources"])))


class Spent:
    """Ends a search once its trials have had so much of the resource."""

    def __init__(self, budget: int) -> None:
        self.budget = budget

    def should_stop(self, optimizer: Any) -> bool:
        return sum(t.fidelity for t in optimizer.history.trials) >= self.budget


def planned(task: Task, selection: Any, n: int) -> float:
    """Return what n candidates cost where equal losses go on in order."""
    objective = CrossValidationObjective(
        task.estimator,
        task.folds.X,
        task.folds.y,
        splits=task.folds.splits,
        scorer=task.scoring,
    )
    inner = RandomSearch(accsmbo_space(task.space), random_state=0)
    optimizer, _ = selection.wrap(inner, n, objective)
    spent = 0.0
    with contextlib.suppress(SpaceExhausted):
        while True:
            trial = optimizer.ask()
            spent += trial.fidelity
            optimizer.tell(trial, 0.0)
    return spent


def ours(task: Task, method: str, seed: int, budget: int) -> dict[str, Any]:
    """Return the figures with as many candidates as the budget allows."""
    cls, kind = METHODS[method]
    selection, n = kind(**task.limits()), 1
    share = ASHA_SHARE if kind is ASHA else 1.0
    while planned(task, selection, n + 1) <= share * budget:
        n += 1
    search = cls(
        task.estimator,
        accsmbo_space(task.space),
        n_iter=n,
        cv=task.folds.splits,
        scoring=task.scoring,
        refit=False,
        random_state=seed,
        selection=selection,
        stop_when=Spent(budget),
    )
    try:
        search.fit(task.folds.X, task.folds.y)
    except ValueError as error:
        if "fits failed" not in str(error):
            raise
        return {"loss": None, "spent": None, "failed": n * N_FOLDS, "candidates": n}
    return result(task, search, budget) | {"candidates": n}


def summarise(runs: dict[str, Any]) -> dict[str, Any]:
    """Return the table of all tasks and the medians over them."""
    frame = pd.DataFrame(
        [
            dict(zip(("task", "method"), k.split("|"), strict=False)) | v
            for k, v in runs.items()
        ]
    )
    frame["loss"] = frame["loss"].astype(float).fillna(np.inf)
    loss = frame.pivot_table("loss", "task", "method", aggfunc="mean", sort=False)
    failed = frame.pivot_table("failed", "task", "method", aggfunc="sum", sort=False)
    table: dict[str, Any] = {}
    for task, row in loss.dropna().iterrows():
        table[task] = {
            m: {
                "loss": float(f"{value:.6g}") if np.isfinite(value) else None,
                "better": max(
                    -1.0,
                    round(float((row["sklearn"] - value) / abs(row["sklearn"])), 5),
                ),
                "failed": int(failed.loc[task, m]),
            }
            for m, value in row.items()
        }
    methods = {
        m: {
            "better": round(
                float(np.median([r[m]["better"] for r in table.values()])), 5
            ),
            "tasks_better": _count(table, m, operator.gt),
            "tasks_equal": _count(table, m, operator.eq),
            "tasks_worse": _count(table, m, operator.lt),
            "spent": round(float(frame[frame.method == m].spent.median()), 3),
            "failed": int(failed[m].sum()),
        }
        for m in loss.columns
    }
    return {"methods": methods, "tasks": table}


def _count(table: dict[str, Any], method: str, compare: Callable) -> int:
    return sum(bool(compare(r[method]["better"], 0)) for r in table.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--out", type=Path, default=Path("halving.json"))
    parser.add_argument("--only", nargs="*", help="names of tasks")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    path = arguments.out
    runs = json.loads(path.read_text())["runs"] if path.exists() else {}
    everything = list(tasks(arguments.tasks, arguments.tables))
    for seed in range(arguments.seeds):
        for task in everything:
            if arguments.only and task.name not in arguments.only:
                continue
            key = f"{task.name}|sklearn|{seed}"
            if key not in runs:
                try:
                    runs[key] = theirs(task, seed)
                except ValueError as error:
                    print(key, str(error)[:80], flush=True)
                    continue
            budget = runs[key]["resource"]
            for method in arguments.methods:
                key = f"{task.name}|{method}|{seed}"
                if key not in runs:
                    start = time.process_time()
                    runs[key] = ours(task, method, seed, budget)
                    print(
                        key,
                        runs[key],
                        round(time.process_time() - start, 1),
                        flush=True,
                    )
            _write(path, runs)


def _write(path: Path, runs: dict[str, Any]) -> None:
    seeds = sorted({int(key.rpartition("|")[2]) for key in runs})
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in runs.items()]
    path.write_text(
        '{"environment": '
        + json.dumps(environment([], seeds), indent=1)
        + ',\n"summary": '
        + json.dumps(summarise(runs), indent=1)
        + ',\n"runs": {\n'
        + ",\n".join(lines)
        + "\n}}\n"
    )


if __name__ == "__main__":
    main()
