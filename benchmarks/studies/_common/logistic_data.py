# SPDX-License-Identifier: BSD-3-Clause
"""Data and timing of the hypergradient studies.

``--data`` names a folder with ``rcv1v2_binary_sample.npz`` (CSR arrays ``data``,
``indices``, ``indptr``, ``shape`` and labels ``y``) and ``pc4.csv.gz`` (the NASA set,
its class in the last column).
"""

import csv
import gzip
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler


def rcv1(folder: Path) -> tuple[Any, np.ndarray]:
    """Return the text sample as CSR (float32) and labels -1, +1."""
    with np.load(folder / "rcv1v2_binary_sample.npz") as file:
        indices = file["indices"].astype(np.int32)
        parts = file["data"], indices, file["indptr"]
        X = sparse.csr_array(parts, shape=tuple(file["shape"]))
        return X, file["y"].astype(int)


def pc4(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the table, standardised over all rows, and labels 0, 1."""
    with gzip.open(folder / "pc4.csv.gz", "rt") as file:
        rows = list(csv.reader(file))[1:]
    X = np.array([row[:-1] for row in rows], dtype=float)
    y = np.array([row[-1].upper() == "TRUE" for row in rows], dtype=int)
    return StandardScaler().fit_transform(X), y


def split(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and validation rows: 30 % of a seeded permutation validate."""
    order = np.random.RandomState(seed).permutation(n)
    n_test = int(0.3 * n)
    return order[n_test:], order[:n_test]


def liblinear_fit(X: Any, y: np.ndarray, C: float, eps: float) -> Callable[[], None]:
    """Return a function that fits l2 logistic regression cold; conversion is done."""
    from liblinear.liblinear import liblinear
    from liblinear.liblinearutil import parameter, problem

    rows = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    task = problem(np.where(y > 0, 1.0, -1.0), rows)
    options = parameter(f"-s 0 -c {C:.17g} -e {eps} -q")
    task.set_bias(-1)
    return lambda: liblinear.train(task, options)


def interleaved(
    functions: dict[str, Callable[[], Any]], rounds: int
) -> dict[str, dict[str, float]]:
    """Return median seconds, all functions called in turn in each round.

    ``wall`` is what a user waits; ``cpu`` is what counts on a machine that others use.
    """
    clocks = {"wall": time.perf_counter, "cpu": time.process_time}
    seconds = {c: {name: [] for name in functions} for c in clocks}
    for _ in range(rounds):
        for name, function in functions.items():
            start = {c: clock() for c, clock in clocks.items()}
            function()
            for c, clock in clocks.items():
                seconds[c][name].append(clock() - start[c])
    return {
        c: {name: float(np.median(values)) for name, values in by_name.items()}
        for c, by_name in seconds.items()
    }
