# SPDX-License-Identifier: BSD-3-Clause
"""Data and tabulated curves of the study of the l2 penalty."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from accsmbo import datasets

SPLITS = {"pc4": 10, "rcv1": 1, "imdb": 1, "real-sim": 1}
# What stands in for a set that cannot be had, or is not to be downloaded.
SAMPLES = {"rcv1": "rcv1v2_binary_sample.npz", "imdb": "imdb_bow.npz"}


def load(dataset: str, folder: str) -> tuple[Any, Any]:
    """Return X and y of a set; those that the folder lacks are downloaded into it."""
    if dataset == "pc4":
        X, y = datasets.fetch_pc4(folder)
        return (X - X.mean(axis=0)) / X.std(axis=0), y
    if dataset in SAMPLES and (Path(folder) / SAMPLES[dataset]).exists():
        return _sample(dataset, Path(folder) / SAMPLES[dataset])
    if dataset == "rcv1":
        return datasets.fetch_rcv1(folder)
    if dataset == "real-sim":
        return datasets.fetch_real_sim(folder)
    raise FileNotFoundError(f"{folder} must hold {SAMPLES[dataset]} for {dataset}")


def _sample(dataset: str, file: Path) -> tuple[Any, Any]:
    import scipy.sparse as sp
    from sklearn.feature_extraction.text import TfidfTransformer

    z = np.load(file)
    parts = (z["data"].astype(float), z["indices"].astype(np.int32), z["indptr"])
    X = sp.csr_matrix(parts, shape=tuple(z["shape"]))
    if dataset == "imdb":
        X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    return X, z["y"]


def curve(dataset: str, split: int, path: str | None) -> CubicHermiteSpline | None:
    """Return the validation loss by lam of a split, None where it was not tabulated."""
    key = f"{dataset}_{split}"
    stored = {} if path is None else np.load(path)
    if f"{key}_L" not in stored:
        return None
    return CubicHermiteSpline(*(stored[f"{key}_{part}"] for part in "Lgd"))


def least(curve: Any) -> float:
    """Return the least loss of a curve."""
    return float(curve(np.linspace(-8, 8, 20001)).min())
