# SPDX-License-Identifier: BSD-3-Clause
"""How busy the workers are, what the loop costs, and how it scales.

Sleeping workers: they take no core, so that a machine of two cores shows sixteen. Busy
is the share of the workers' time spent in trials until fewer trials than workers are
left. The synchronous batch of eight has the same durations: it waits for its slowest.
Takes under four minutes:

    python async_overhead.py --out ../results/async_overhead.json
"""

import argparse
import json
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from _common.results import environment

from accsmbo import Real, minimize
from accsmbo.execution import TwoStacks
from accsmbo.optimizers import SMBO, RandomSearch

SPACE = {"x": Real(0.0, 1.0), "y": Real(0.0, 1.0)}


class Sleeps:
    """Sleeps log-normally, median 0.2 s; the duration is a function of x and y."""

    def __init__(self, seed, sigma=1.0):
        self.seed = seed
        self.sigma = sigma

    def __call__(self, params):
        key = [self.seed, int(params["x"] * 1e9), int(params["y"] * 1e9)]
        z = np.random.default_rng(key).standard_normal()
        time.sleep(0.2 * np.exp(self.sigma * z))
        return (params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2


def busy_share(history, n_workers):
    """Return the busy share until fewer trials than workers are left, and wall time."""
    spans = [s for e in history.evaluations for s in e.spans]
    begin = min(s.start for s in spans)
    end = sorted(s.end for s in spans)[len(spans) - n_workers]
    busy = sum(min(s.end, end) - s.start for s in spans if s.start < end)
    return busy / (n_workers * (end - begin)), max(s.end for s in spans) - begin


def warm_up(n):
    """Start the worker processes, so that their start is not measured."""
    minimize(
        Sleeps(0, 0.0), SPACE, optimizer=RandomSearch(), n_trials=2 * n, executor=n
    )


def busy(optimizer, scheduler, seeds, n_trials):
    shares = []
    for seed in range(seeds):
        history = minimize(
            Sleeps(seed),
            SPACE,
            optimizer=optimizer,
            n_trials=n_trials,
            executor=8,
            scheduler=scheduler,
            random_state=seed,
        )
        shares.append(round(busy_share(history, 8)[0], 4))
    return {"median": statistics.median(shares), "seeds": shares}


def synchronous(seeds, n_trials):
    shares = []
    for seed in range(seeds):
        z = np.random.default_rng(seed).standard_normal((n_trials // 8, 8))
        durations = 0.2 * np.exp(z)
        shares.append(round(durations.sum() / (8 * durations.max(axis=1).sum()), 4))
    return {"median": statistics.median(shares), "seeds": shares}


def overhead(n_trials):
    """Return milliseconds a trial of the loop alone: calls that do nothing."""
    with ThreadPoolExecutor(2) as pool:
        executors = {"serial": None, "1 process": 1, "2 processes": 2, "threads": pool}
        return {name: _loop_ms(e, n_trials) for name, e in executors.items()}


def _loop_ms(executor, n_trials):
    optimizer = RandomSearch()
    start = time.perf_counter()
    minimize(nothing, SPACE, optimizer=optimizer, n_trials=n_trials, executor=executor)
    return round(1e3 * (time.perf_counter() - start) / n_trials, 3)


def nothing(params):
    return params["x"]


def speed_up(counts, rounds):
    """Return total work over wall time, divided by n, for constant durations."""
    result = {}
    for n in counts:
        history = minimize(
            Sleeps(0, 0.0),
            SPACE,
            optimizer=RandomSearch(),
            n_trials=rounds * n,
            executor=n,
            random_state=0,
        )
        wall = busy_share(history, n)[1]
        result[n] = round(0.2 * rounds / wall, 4)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=200)
    arguments = parser.parse_args()
    warm_up(16)
    seeds, n = arguments.seeds, arguments.trials
    results = {
        "environment": environment([], range(seeds)),
        "busy, random search": busy(RandomSearch(), None, seeds, n),
        "busy, SMBO, one stack": busy(SMBO(), None, seeds, n),
        "busy, SMBO, two stacks": busy(SMBO(), TwoStacks(), seeds, n),
        "busy, synchronous batches of 8 (computed)": synchronous(seeds, n),
        "overhead, ms a trial": overhead(300),
        "speed-up / n": speed_up((1, 2, 4, 8, 16), 20),
    }
    text = json.dumps(results, indent=1)
    if arguments.out:
        arguments.out.write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
