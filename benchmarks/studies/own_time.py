# SPDX-License-Identifier: BSD-3-Clause
"""Measure what one ask and tell of SMBO costs, and how it grows with n.

    OMP_NUM_THREADS=1 python own_time.py --out own_time.json --plot own_time.png

Mean over 20 steps in a row that end at n observations, refits of the hyperparameters
included. CPU time of the process, so that other load on the machine counts less;
wall time beside it.
"""

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from _common.results import environment

from accsmbo.optimizers import SMBO
from accsmbo.space import Real

STEPS = 20
SIZES = {5: (25, 40, 100, 200, 500), 10: (40, 100, 200, 500, 1000, 2000)}
TARGETS = {(5, 40): 10.0, (10, 500): 60.0, (10, 2000): 400.0}


def loss(params: dict[str, float]) -> float:
    x = np.array(list(params.values()))
    weights = np.arange(1, len(x) + 1)
    return float(((x - 0.37) ** 2 * weights).sum() + 0.3 * np.cos(9 * x).sum())


def measure(d: int, n: int, repeats: int) -> dict[str, float]:
    """Return ms per ask and tell, the best of several repeats."""
    rng = np.random.default_rng(0)
    space = {f"x{j}": Real(0.0, 1.0) for j in range(d)}
    points = [
        {name: float(v) for name, v in zip(space, row, strict=True)}
        for row in rng.random((n - STEPS, d))
    ]
    cpu, wall = [], []
    for repeat in range(repeats):
        optimizer = SMBO(space, points_to_evaluate=points, random_state=repeat)
        for _ in points:
            trial = optimizer.ask()
            optimizer.tell(trial, loss(trial.params))
        start = time.process_time(), time.perf_counter()
        for _ in range(STEPS):
            trial = optimizer.ask()
            optimizer.tell(trial, loss(trial.params))
        cpu.append((time.process_time() - start[0]) / STEPS)
        wall.append((time.perf_counter() - start[1]) / STEPS)
    return {
        "cpu_ms": round(1e3 * min(cpu), 2),
        "wall_ms": round(1e3 * min(wall), 2),
        "max_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _by_size(rows: dict[str, Any]) -> list[tuple[list[str], Any]]:
    return [(key.split("|"), row) for key, row in rows.items()]


def draw(rows: dict[str, Any], path: Path) -> None:
    """Plot the growth of the cost beside the targets."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
    for d, marker in zip(SIZES, "os", strict=True):
        found = {int(n): row for (dims, n), row in _by_size(rows) if dims == str(d)}
        sizes = sorted(found)
        ax.loglog(
            sizes, [found[n]["cpu_ms"] for n in sizes], marker + "-", label=f"d = {d}"
        )
    for (d, n), target in TARGETS.items():
        ax.loglog(n, target, "kv", label="target" if (d, n) == (5, 40) else None)
    ax.set_xlabel("observations n")
    ax.set_ylabel("CPU time of one ask + tell (ms)")
    ax.grid(which="both", alpha=0.3)
    ax.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    rows: dict[str, Any] = {}
    for d, sizes in SIZES.items():
        for n in sizes:
            rows[f"{d}|{n}"] = measure(d, n, args.repeats if n < 1000 else 1)
            print(d, n, rows[f"{d}|{n}"], flush=True)
    result = {"environment": environment([], range(args.repeats)), "by d|n": rows}
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    if args.plot:
        draw(rows, args.plot)


if __name__ == "__main__":
    main()
