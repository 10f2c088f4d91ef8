# SPDX-License-Identifier: BSD-3-Clause
"""Compare searches with plain scikit-learn on many random problems, and count.

    OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/studies/oracle.py --n 20000

The problems are those of `tests/oracle`, one for each seed. The file of results says
how many took which route, and holds the seed and the reason of each disagreement. A run
that was ended goes on where it stopped, unless the code has changed since.
"""

import argparse
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from _common.results import Results, environment
from joblib.externals.loky import get_reusable_executor

from tests.oracle._check import check
from tests.oracle._problems import recipe_of

BLOCK = 100
KEPT = ("search", "solver", "model", "pipeline", "scoring", "space", "cv", "X", "y")
ROOT = Path(__file__).parents[2]


def run_block(first: int, size: int) -> dict[str, Any]:
    """Return what came out of the problems of some seeds in a row."""
    counts: dict[str, Counter] = {name: Counter() for name in ("route", *KEPT)}
    disagreements = {}
    for seed in range(first, first + size):
        recipe = recipe_of(seed)
        try:
            route = check(recipe)
        except AssertionError as error:
            route = "disagreement"
            disagreements[str(seed)] = str(error).split("\nTo see it again")[0][:300]
        counts["route"][route] += 1
        for name in KEPT:
            counts[name][str(recipe[name])] += 1
    get_reusable_executor().shutdown()  # idle workers would keep this process
    return {
        "counts": {name: dict(counter) for name, counter in counts.items()},
        "disagreements": disagreements,
    }


def quiet() -> None:
    """Send what worker processes of searches print to nowhere."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)


def summary(runs: dict[str, Any]) -> dict[str, Any]:
    """Return the sums over all blocks."""
    total: dict[str, Counter] = {name: Counter() for name in ("route", *KEPT)}
    wrong = {}
    for block in runs.values():
        for name, counts in block["counts"].items():
            total[name].update(counts)
        wrong |= block["disagreements"]
    return {
        "problems": sum(total["route"].values()),
        **{name: dict(counter.most_common()) for name, counter in total.items()},
        "disagreements": len(wrong),
        "seeds_of_disagreements": sorted(map(int, wrong)),
    }


def main() -> None:
    """Run what the file of results does not hold yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=20_000, help="number of problems")
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--out", default=str(ROOT / "benchmarks/results/oracle.json"))
    args = parser.parse_args()
    end = args.start + args.n
    results, now = Results(args.out), environment([], [args.start, end - 1])
    if results.environments.get("oracle", {}).get("commit") != now["commit"]:
        results.runs = {}
    results.environments["oracle"] = now
    blocks = {
        f"{first}|{min(BLOCK, end - first)}": (first, min(BLOCK, end - first))
        for first in range(args.start, end, BLOCK)
    }
    with ProcessPoolExecutor(2, initializer=quiet) as pool:
        waiting = {
            key: pool.submit(run_block, *block)
            for key, block in blocks.items()
            if key not in results.runs
        }
        for key, future in waiting.items():
            results.runs[key] = future.result()
            results.extra = summary(results.runs)
            results.save()
            print(key, results.extra["route"], flush=True)


if __name__ == "__main__":
    main()
