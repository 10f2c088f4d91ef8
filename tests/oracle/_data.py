# SPDX-License-Identifier: BSD-3-Clause
"""Rows, targets, weights and splits of a problem, in every form that people have."""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

__all__ = ["make_cv", "make_rows", "make_target", "make_weight"]

LABELS = {
    "strings": ["no", "yes", "maybe"],
    "bool": [False, True],
    "negative": [-1, 1, 3],
    "floats": [0.0, 1.0, 2.0],
    "far": [10, 7, 1000],
}


def make_rows(recipe, rng):
    """Return the raw rows (n, p), dense float64."""
    X = rng.normal(size=(recipe["n_rows"], recipe["n_columns"]))
    if recipe["scales"] == "mixed":
        X *= 10.0 ** rng.uniform(-1, 1, size=X.shape[1])
    if recipe["pipeline"] == "target_encoder":
        X[:, 0] = np.round(X[:, 0])
    if recipe["X"] in ("csr", "csc"):
        X[rng.random(X.shape) < 0.6] = 0.0
    return X


def in_form(X, form, rng):
    """Return rows as an array, matrix, frame or list."""
    names = [f"column {j}" for j in range(X.shape[1])]
    frames = {
        "frame": (names, None),
        "shuffled frame": (names, rng.permutation(len(X)) + 7),
        "string frame": (names, [f"row {i}" for i in range(len(X))]),
        "numbered frame": (list(range(X.shape[1])), None),
        "duplicate names": (["same"] * 2 + names[2:], None),
        "mixed names": ([0, *names[1:]], None),
    }
    if form in frames:
        columns, index = frames[form]
        return pd.DataFrame(X, columns=columns, index=index)
    makers = {
        "dense": lambda: X,
        "fortran": lambda: np.asfortranarray(X),
        "float32": lambda: X.astype(np.float32),
        "integers": lambda: np.round(3 * X).astype(int),
        "csr": lambda: sparse.csr_array(X),
        "csc": lambda: sparse.csc_matrix(X),
        "list": X.tolist,
        "read-only": lambda: _read_only(X),
    }
    return makers[form]()


def _read_only(X):
    X.flags.writeable = False
    return X


def make_target(recipe, kind, X, rng):
    """Return the target in its form, and class indices for splitters."""
    n, p = X.shape
    used = X[:, : min(p, 5)]
    used = (used - used.mean(axis=0)) / np.where(used.std(axis=0) > 0, used.std(0), 1)
    signal = used @ rng.normal(size=used.shape[1]) + rng.normal(size=n)
    if kind == "classes":
        k = recipe["n_classes"]
        share = np.linspace(0, 1, k + 1)[1:-1]
        if recipe["rare"]:
            share[-1] = 1.0 - 3.5 / n
        codes = np.searchsorted(np.quantile(signal, share), signal)
        return _labels(codes, recipe["y"]), codes
    if kind == "positive":
        signal = np.exp(0.4 * signal)
    return _numbers(signal, recipe["y"], rng), (signal > np.median(signal)).astype(int)


def _labels(codes, form):
    if form in LABELS:
        return np.array(LABELS[form])[codes]
    return _shaped(codes, form)


def _numbers(signal, form, rng):
    if form == "two outputs":
        return np.column_stack([signal, np.abs(signal) + rng.random(len(signal))])
    if form == "integers":
        return np.ceil(np.abs(signal)).astype(int) * np.where(signal < 0, -1, 1)
    if form == "float32":
        return signal.astype(np.float32)
    return _shaped(signal, form)


def _shaped(y, form):
    n = len(y)
    if form == "column":
        return y[:, None]
    if form == "one-column frame":
        return pd.DataFrame({"target": y})
    if form == "series":
        return pd.Series(y, index=np.arange(n)[::-1] * 2)
    if form == "string series":
        return pd.Series(y, index=[f"row {i}" for i in range(n)])
    return y.tolist() if form == "list" else y


def make_weight(form, n, rng):
    """Return sample weights by position, None for "none"."""
    weight = rng.uniform(0.2, 3.0, size=n)
    if form == "zeros":
        weight[rng.random(n) < 0.2] = 0.0
    if form == "integers":
        return rng.integers(1, 4, size=n)
    if form == "list":
        return weight.tolist()
    if form == "series":
        return pd.Series(weight, index=rng.permutation(n))
    if form == "string series":
        return pd.Series(weight, index=[f"w{i}" for i in rng.permutation(n)])
    return None if form == "none" else weight


def make_cv(recipe, codes, rng):
    """Return ``cv`` and the groups, None where it needs none."""
    k, n, seed = recipe["n_folds"], len(codes), recipe["seed"] % 1000
    form = recipe["cv"]
    if form == "groups":
        return GroupKFold(k), rng.integers(0, 3 * k, size=n)
    if form == "predefined":
        fold = rng.integers(-1, k, size=n)
        fold[:k] = np.arange(k)
        return PredefinedSplit(fold), None
    makers = {
        "int": lambda: k,
        "kfold": lambda: KFold(k),
        "shuffled": lambda: KFold(k, shuffle=True, random_state=seed),
        "stratified": lambda: StratifiedKFold(k, shuffle=True, random_state=seed),
        "time": lambda: TimeSeriesSplit(k),
        "leave one out": LeaveOneOut,
        "repeated": lambda: RepeatedKFold(n_splits=k, n_repeats=2, random_state=seed),
        "random parts": lambda: ShuffleSplit(k, random_state=seed),
    }
    if form in makers:
        return makers[form](), None
    return _explicit(form, list(KFold(k).split(codes)), codes), None


def _explicit(form, splits, codes):
    """Return splits that the user wrote down."""
    if form == "iterator":
        return iter(splits)
    if form == "lists":
        return [(train.tolist(), test.tolist()) for train, test in splits]
    if form == "masks":
        rows = np.arange(len(codes))
        return [(np.isin(rows, a), np.isin(rows, b)) for a, b in splits]
    if form == "one test row":
        return [(train, test[:1]) for train, test in splits[:-1]] + splits[-1:]
    # "lacks a class": one training part has not seen the last class
    first = splits[0][0]
    return [(first[codes[first] < codes.max()], splits[0][1]), *splits[1:]]
