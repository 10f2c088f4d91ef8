# SPDX-License-Identifier: BSD-3-Clause
"""Serial against 4 workers in virtual time: what changes wall time and evaluations.

The curves and durations of async_parallel.py with a clock that jumps from result to
result, and an optimizer that takes no time: hundreds of runs in a minute. Medians over
seeds of the ratios, 4 workers to one, of the seconds and of the evaluations to 0.1 %.

    python async_virtual_time.py --data ../../../shared/data --out virtual.json
"""

import argparse
import heapq
import json
from pathlib import Path

import numpy as np
from _common.group_penalty_problems import GroupPenalties
from _common.logistic_data import pc4, rcv1
from _common.results import environment
from async_parallel import N_TRIALS, SPACE, imdb, pc4_curve, seconds_of, text_curve

from accsmbo.execution import OneStack, TwoStacks
from accsmbo.optimizers import SMBO, AccSMBO, InitialDesign, LocalFirst

N_WORKERS = 4
# Longer than any optimizer takes: a free worker waits for the newest result.
FOREVER = 1e9


class Fixed(InitialDesign):
    """The same points whatever the seed."""

    def __init__(self, points, n_points=4):
        super().__init__(n_points)
        self.fixed = points

    def points(self, subspace, rng):
        return np.array(self.fixed)[:, None]


EIGHTHS = Fixed((0.375, 0.625, 0.125, 0.875))
FIFTHS = Fixed((0.4, 0.6, 0.2, 0.8))
VARIANTS = {
    "one stack": (OneStack(), {}),
    "two stacks": (TwoStacks(), {}),
    "two stacks, 3 candidates": (TwoStacks(n_candidates=3), {}),
    "two stacks, 20 candidates": (TwoStacks(n_candidates=20), {}),
    "two stacks, design of 3": (TwoStacks(), {"initial_design": InitialDesign(3)}),
    "two stacks, design of 6": (TwoStacks(), {"initial_design": InitialDesign(6)}),
    "two stacks, even design 1/8, 3/8": (TwoStacks(), {"initial_design": EIGHTHS}),
    "two stacks, even design 1/5, 2/5": (TwoStacks(), {"initial_design": FIFTHS}),
}
WITH_GRADIENTS = {
    "two stacks, no local steps": (TwoStacks(), {"local_first": None}),
    "two stacks, model every 3rd": (TwoStacks(), {"local_first": LocalFirst(every=3)}),
}


def simulate(optimizer, curve, target, n_workers, scheduler, *, gradients, seed):
    """Return seconds and evaluations until a loss is within the target, or None."""
    optimizer.set_params(space=SPACE, random_state=seed)
    scheduler.begin(optimizer, n_workers, steady=False)
    running, free, now, n_started = [], list(range(n_workers)), 0.0, 0
    while True:
        for slot in free:
            if n_started < N_TRIALS:
                trial = scheduler.next(slot)
                end = now + seconds_of(trial.params["u"])
                heapq.heappush(running, (end, n_started, slot, trial))
                n_started += 1
        if not running:
            return None
        now, _, slot, trial = heapq.heappop(running)
        value, slope = (float(curve(trial.params["u"], k)) for k in (0, 1))
        optimizer.tell(trial, value, {"u": slope} if gradients else None)
        scheduler.told(FOREVER)
        if value <= target:
            return now, len(optimizer.history)
        free = [slot]


def ratios(curves, cls, variants, *, gradients, n_seeds):
    """Return the evaluations of one worker, and the ratios for each variant."""

    def run(n_workers, scheduler, arguments):
        return [
            simulate(
                cls(**arguments),
                curve,
                target,
                n_workers,
                scheduler,
                gradients=gradients,
                seed=100 * k + i,
            )
            for i, (curve, target) in enumerate(curves)
            for k in range(n_seeds)
        ]

    serial = run(1, OneStack(), {})
    result = {"evaluations, 1 worker": [a and a[1] for a in serial]}
    for name, (scheduler, arguments) in variants.items():
        pairs = zip(serial, run(N_WORKERS, scheduler, arguments), strict=True)
        both = [(a, b) for a, b in pairs if a and b]
        wall, evaluations = np.median([(b[0] / a[0], b[1] / a[1]) for a, b in both], 0)
        result[name] = [round(float(wall), 3), round(float(evaluations), 3), len(both)]
    return result


def with_target(curve):
    """Return a curve and the loss that is within 0.1 % of its least."""
    least = curve(np.linspace(0, 1, 4001)).min()
    return curve, least + 1e-3 * abs(least)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--curves", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    texts = {"rcv1": rcv1(arguments.data), "imdb": imdb(arguments.data)}
    X, y = pc4(arguments.data)
    seeds = range(arguments.curves)
    curves = {"pc4": [pc4_curve(GroupPenalties(X, 2 * y - 1, 1, s)) for s in seeds]}
    curves |= {n: [text_curve(*data, s) for s in seeds] for n, data in texts.items()}
    results = {
        "environment": environment([], range(arguments.seeds)),
        "columns": ["wall, ratio", "evaluations, ratio", "pairs that both reached it"],
    }
    for name, of_name in curves.items():
        known = [with_target(curve) for curve in of_name]
        for kind, cls, variants in (
            ("values", SMBO, VARIANTS),
            ("gradients", AccSMBO, VARIANTS | WITH_GRADIENTS),
        ):
            results[f"{name}, {kind}"] = ratios(
                known,
                cls,
                variants,
                gradients=kind == "gradients",
                n_seeds=arguments.seeds,
            )
            print(name, kind, results[f"{name}, {kind}"], flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
