# SPDX-License-Identifier: BSD-3-Clause
"""Time greedy selection against reading the predictions once a round.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python greedy_speed.py --out FILE

500 members x 20,000 samples x 10 classes in float32, 50 rounds, at most 50 members,
never ended early. The unit is the time of `predictions.sum()` 50 times, taken just
before and after each selection (the mean of both), in seconds of the processor, as
all runs on one core and other work may be about. Memory is what tracemalloc sees
beyond the array. Two kinds of predictions: `models` (members that share a signal, of
differing noise and confidence) and `random` (no signal, nearly uniform: the worst case
for accuracy, where no sample is ever settled).

Beside it, on a smaller size, AutoGluon's EnsembleSelection where it is installed
(`pip install autogluon.core`) and the same loop around scikit-learn's log_loss.
"""

import argparse
import json
import time
import tracemalloc
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from _common.results import environment
from sklearn.metrics import log_loss

from accsmbo.ensembles import greedy_selection

MIB = 2**20


def make(kind: str, shape: tuple[int, int, int]):
    _, samples, classes = shape
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, samples)
    signal = rng.normal(size=(samples, classes)).astype(np.float32)
    signal[np.arange(samples), y] += 2
    P = np.empty(shape, np.float32)
    for own in P:
        if kind == "random":
            own[:] = rng.random((samples, classes), dtype=np.float32)
        else:
            noise = rng.normal(size=(samples, classes)).astype(np.float32)
            z = signal * rng.uniform(0.3, 1.5) + noise * rng.uniform(0.3, 2)
            own[:] = np.exp(z - z.max(axis=1, keepdims=True))
        own /= own.sum(axis=1, keepdims=True)
    return P, y


def seconds(call) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def ours(P, y, score: str, rounds: int):
    return greedy_selection(
        P,
        y,
        n_members=rounds,
        score=score,
        max_rounds=rounds,
        patience=None,
        random_state=0,
    )


def measure(P, y, score: str, rounds: int, repeats: int) -> dict[str, object]:
    ratios = []
    for _ in range(repeats):
        before = seconds(lambda: [P.sum() for _ in range(rounds)])
        own = seconds(lambda: ours(P, y, score, rounds))
        after = seconds(lambda: [P.sum() for _ in range(rounds)])
        ratios.append((own / ((before + after) / 2), own, before, after))
    tracemalloc.start()
    result = ours(P, y, score, rounds)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    ratio, own, before, after = sorted(ratios)[len(ratios) // 2]
    return {
        "ratio": round(ratio, 2),
        "ratios": [round(r[0], 2) for r in ratios],
        "seconds": round(own, 2),
        "seconds_reading": [round(before, 2), round(after, 2)],
        "MiB_beyond_the_array": round(peak / MIB, 1),
        "distinct_members": int(np.count_nonzero(result.weights)),
        "best_score": round(result.path[result.best].score, 6),
    }


def metric_loop(P, y, rounds: int) -> list[int]:
    """Call scikit-learn's metric for each member and round, as AutoML tools do."""
    labels = np.arange(P.shape[2])
    total = np.zeros(P.shape[1:])
    taken = []
    for size in range(1, rounds + 1):
        losses = [log_loss(y, (total + own) / size, labels=labels) for own in P]
        taken.append(int(np.argmin(losses)))
        total += P[taken[-1]]
    return taken


def autogluon(P, y, rounds: int):
    from autogluon.core.metrics import log_loss as metric
    from autogluon.core.models.greedy_ensemble.ensemble_selection import (
        EnsembleSelection,
    )

    selection = EnsembleSelection(rounds, problem_type="multiclass", metric=metric)
    selection.fit(list(P), y)
    return np.asarray(selection.weights_)


def peers(shape: tuple[int, int, int], rounds: int) -> dict[str, object]:
    P, y = make("models", shape)
    own = min(seconds(lambda: ours(P, y, "nll", rounds)) for _ in range(3))
    out: dict[str, object] = {"shape": shape, "rounds": rounds, "ours_s": round(own, 4)}
    out["loop_of_log_loss_s"] = round(seconds(lambda: metric_loop(P, y, rounds)), 2)
    out["loop_over_ours"] = round(out["loop_of_log_loss_s"] / own, 1)
    path = [step.member for step in ours(P, y, "nll", rounds).path]
    out["same_members_as_the_loop"] = path == metric_loop(P, y, rounds)
    try:
        start = time.process_time()
        weights = autogluon(P, y, rounds)
        out["autogluon_s"] = round(time.process_time() - start, 2)
        out["autogluon_over_ours"] = round(out["autogluon_s"] / own, 1)
        mine = ours(P, y, "nll", rounds).weights
        out["autogluon_largest_weight_difference"] = float(
            np.abs(weights - mine).max().round(4)
        )
    except ImportError:
        out["autogluon_s"] = None
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--shape", type=int, nargs=3, default=[500, 20_000, 10])
    parser.add_argument("--peer-shape", type=int, nargs=3, default=[50, 2_000, 10])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    where = environment([], [0])
    try:
        where["versions"]["autogluon.core"] = version("autogluon.core")
    except PackageNotFoundError:
        where["versions"]["autogluon.core"] = "not installed"
    found: dict[str, object] = {"environment": where}
    found["shape"], found["rounds"] = args.shape, args.rounds
    for kind in ("models", "random"):
        P, y = make(kind, tuple(args.shape))
        for score in ("nll", "brier", "accuracy"):
            row = measure(P, y, score, args.rounds, args.repeats)
            found[f"{kind}, {score}"] = row
            print(kind, score, row, flush=True)
        del P
    found["peers"] = peers(tuple(args.peer_shape), args.rounds)
    print(found["peers"], flush=True)
    args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
