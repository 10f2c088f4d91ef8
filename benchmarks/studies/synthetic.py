# SPDX-License-Identifier: BSD-3-Clause
"""Measure how near to known minima each optimizer gets in 50 evaluations.

    python synthetic.py --peers accsmbo,optuna_tpe --seeds 10 --out synthetic.json

Functions: Branin (2 numbers), Hartmann (6 numbers), Branin with normal noise of
standard deviation 2, and a mixed one (2 numbers, an integer, two unordered choices).
The score is the simple regret after 50 evaluations: the noise-free value at the best
observed point minus the minimum. Median over seeds.
"""

import argparse
import collections
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _common.results import Results, environment

BUDGET = 50
BRANIN_MINIMUM = 0.39788735772973816
HARTMANN_MINIMUM = -3.32236801141551
NOISE = 2.0

A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])


def branin(p: dict[str, Any]) -> float:
    x, y = p["x"], p["y"]
    bowl = (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2
    return bowl + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def hartmann(p: dict[str, Any]) -> float:
    x = np.array([p[f"x{i}"] for i in range(6)])
    return -float(WEIGHTS @ np.exp(-(A * (x - P) ** 2).sum(axis=1)))


def mixed(p: dict[str, Any]) -> float:
    shift = {"a": 0.0, "b": 4.0, "c": 12.0}[p["kind"]]
    factor = 1.0 if p["flag"] == "on" else 1.3
    step = 1.5 * (math.log2(p["n"]) - 4) ** 2
    return factor * branin(p) + shift + step


PLANE = {"x": ("float", -5.0, 10.0, False), "y": ("float", 0.0, 15.0, False)}
SPACES: dict[str, tuple[dict[str, tuple], Callable, float]] = {
    "branin": (PLANE, branin, BRANIN_MINIMUM),
    "hartmann6": (
        {f"x{i}": ("float", 0.0, 1.0, False) for i in range(6)},
        hartmann,
        HARTMANN_MINIMUM,
    ),
    "noisy_branin": (PLANE, branin, BRANIN_MINIMUM),
    "mixed": (
        {
            **PLANE,
            "n": ("int", 1, 128, True),
            "kind": ("cat", ["c", "b", "a"]),
            "flag": ("cat", ["off", "on"]),
        },
        mixed,
        BRANIN_MINIMUM,
    ),
}


class Noisy:
    """Adds seeded noise and remembers what the function would have been."""

    def __init__(self, f: Callable, noise: float, seed: int) -> None:
        self.f, self.noise = f, noise
        self.rng = np.random.default_rng(1000 + seed)
        self.clean: list[float] = []

    def __call__(self, params: dict[str, Any]) -> float:
        value = self.f(params)
        self.clean.append(value)
        return value + self.noise * float(self.rng.standard_normal())


def functions(seed: int) -> Iterator[tuple[str, dict[str, tuple], Noisy, float]]:
    """Yield the functions of one seed."""
    for name, (space, f, minimum) in SPACES.items():
        noise = NOISE if name.startswith("noisy") else 0.0
        yield name, space, Noisy(f, noise, seed), minimum


def summarise(runs: dict[str, Any]) -> dict[str, Any]:
    """Return median and quartiles of the simple regret, by function and optimizer."""
    regrets = collections.defaultdict(list)
    for key, run in runs.items():
        name, peer, _ = key.split("|")
        regrets[name, peer].append(run["regret"])
    summary: dict[str, Any] = collections.defaultdict(dict)
    for (name, peer), values in sorted(regrets.items()):
        quartiles = np.quantile(values, [0.25, 0.5, 0.75])
        summary[name][peer] = {
            "quartiles": [float(f"{q:.3g}") for q in quartiles],
            "seeds": len(values),
        }
    return dict(summary)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default="accsmbo,random")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", default="", help="names of functions, else all")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    results = Results(args.out)
    chosen = set(filter(None, args.only.split(","))) or set(SPACES)
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    for peer in args.peers.split(","):
        results.environments[peer] = environment([peer], seeds)
        for seed in seeds:
            for name, space, f, minimum in functions(seed):
                key = f"{name}|{peer}|{seed}"
                if name not in chosen or key in results.runs:
                    continue
                results.run(name, peer, seed, space, f, BUDGET)
                if key in results.runs:
                    run = results.runs[key]
                    at = int(np.argmin(run.pop("values")))
                    run["regret"] = float(f"{f.clean[at] - minimum:.4g}")
        results.extra = summarise(results.runs)
        results.save()
    for name, peers in results.extra.items():
        for peer, row in peers.items():
            print(f"{name:13s} {peer:11s}", row["quartiles"], row["seeds"])


if __name__ == "__main__":
    main()
