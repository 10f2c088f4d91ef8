# SPDX-License-Identifier: BSD-3-Clause
"""Time batch and hyper-batch ensembles against MLPClassifier, all in one run.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python neural_speed.py --out FILE

784-200-200-10 in float32, batches of 256, K = 3, on random images. Epochs of the three
are taken in turn, `--rounds` times; the ratios are those of the medians:

- one epoch of the batch ensemble to three of MLPClassifier (demand: at most 1.2);
- training steps of hyper-batch to those of the batch ensemble (at most 2.3);
- a whole epoch of hyper-batch with its tuning steps to one of the batch ensemble (at
  most 3.2).

Both wall-clock and processor seconds are kept: on a machine with other work the latter
tell more. Memory is the peak of the process after training on 48,000 images.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _common.results import environment
from sklearn.neural_network import MLPClassifier

from accsmbo.ensembles import BatchEnsembleClassifier, HyperBatchEnsembleClassifier

HIDDEN = (200, 200)
COMMON = {"batch_size": 256, "max_iter": 1, "random_state": 0}
Timing = tuple[float, float]


def timed(function: Callable[[], object]) -> Timing:
    """Return wall-clock and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - wall, time.process_time() - cpu


def contestants(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], object]]:
    """Return functions that train for one epoch, or for its training steps only."""
    mlp = MLPClassifier(HIDDEN, batch_size=256, random_state=0)
    mlp.partial_fit(X[:256], y[:256], classes=np.arange(10))
    batch = BatchEnsembleClassifier(HIDDEN, dropout=0.2, **COMMON).fit(X[:512], y[:512])
    hyper = HyperBatchEnsembleClassifier(HIDDEN, warmup_epochs=0, **COMMON)
    hyper.fit(X[:512], y[:512])
    data = X, y
    held = X[: len(X) // 4], y[: len(X) // 4]

    def epoch(model, validation):
        return lambda: model._trainer.run_epoch(model._state, data, validation)

    return {
        "MLPClassifier epoch": lambda: mlp.partial_fit(X, y),
        "batch epoch": epoch(batch, None),
        "hyper-batch training steps": epoch(hyper, None),
        "hyper-batch epoch": epoch(hyper, held),
    }


def ratios(medians: dict[str, float]) -> dict[str, float]:
    batch = medians["batch epoch"]
    steps = medians["hyper-batch training steps"]
    return {
        "batch epoch / 3 MLPClassifier epochs": batch
        / (3.0 * medians["MLPClassifier epoch"]),
        "hyper-batch steps / batch steps": steps / batch,
        "hyper-batch epoch / batch epoch": medians["hyper-batch epoch"] / batch,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--samples", type=int, default=256 * 24)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.random((options.samples, 784), dtype=np.float32)
    y = rng.integers(10, size=options.samples)
    functions = contestants(X, y)
    seconds: dict[str, list[Timing]] = {name: [] for name in functions}
    for _ in range(options.rounds):
        for name, function in functions.items():
            seconds[name].append(timed(function))
    results = {}
    for i, clock in enumerate(("wall", "cpu")):
        medians = {
            name: float(np.median([pair[i] for pair in pairs]))
            for name, pairs in seconds.items()
        }
        results[clock] = {
            "median seconds": {k: round(v, 4) for k, v in medians.items()},
            "ratios": {k: round(v, 3) for k, v in ratios(medians).items()},
        }
    X = rng.random((48_000, 784), dtype=np.float32)
    y = rng.integers(10, size=len(X))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    HyperBatchEnsembleClassifier(HIDDEN, warmup_epochs=0, **COMMON).fit(X, y)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results["memory in MB"] = {
        "before, with 48,000 images": round(before / 1024),
        "peak of training": round(peak / 1024),
    }
    results |= environment([], [0])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
