# SPDX-License-Identifier: BSD-3-Clause
"""Data sets of the benchmarks, read from a folder and checked."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["data_folder", "load_pc4"]

# Where data lie beside a checkout: seen from the working directory, then from the
# folder that holds the package.
DEFAULT_HOMES = (
    Path("..") / "shared" / "data",
    Path(__file__).resolve().parents[2] / "shared" / "data",
)
PC4_SHAPE = (1458, 37)
PC4_POSITIVES = 178


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that data sets are read from.

    Parameters
    ----------
    data_home : str or path-like, default=None
        The folder; None: the environment variable ``ACCSMBO_DATA``, and without it
        ``../shared/data``, seen from the working directory or from the checkout.

    Returns
    -------
    pathlib.Path
        The folder; it need not exist.
    """
    given = data_home or os.environ.get("ACCSMBO_DATA")
    if given:
        return Path(given)
    return next((home for home in DEFAULT_HOMES if home.exists()), DEFAULT_HOMES[0])


def load_pc4(
    data_home: str | os.PathLike[str] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Load PC4: defects in the modules of a flight software (NASA, OpenML 1049).

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder that holds ``pc4.csv.gz``; None: see :func:`data_folder`.

    Returns
    -------
    X : ndarray of shape (1458, 37)
        Code metrics.
    y : ndarray of shape (1458,)
        1 where the module has a defect (178 of them), else 0.

    Raises
    ------
    FileNotFoundError
        If the file is not there.
    ValueError
        If it does not hold the table it should.
    """
    file = data_folder(data_home) / "pc4.csv.gz"
    if not file.exists():
        raise FileNotFoundError(
            f"load_pc4 needs the file pc4.csv.gz, got none at {file}. Put it there, or "
            "name its folder by the argument data_home or by the environment "
            "variable ACCSMBO_DATA."
        )
    with gzip.open(file, "rt", newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    X = np.array([row[:-1] for row in rows], dtype=np.float64)
    y = np.array([row[-1].strip().upper() == "TRUE" for row in rows], dtype=np.int64)
    _check_table(file, X, y, shape=PC4_SHAPE, n_positives=PC4_POSITIVES)
    return X, y


def _check_table(
    file: Path,
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    *,
    shape: tuple[int, int],
    n_positives: int,
) -> None:
    if X.shape != shape or y.sum() != n_positives:
        raise ValueError(
            f"{file} must hold {shape[0]} rows of {shape[1]} features with "
            f"{n_positives} positive labels, got shape {X.shape} with {y.sum()}. "
            "It is another table or damaged: replace the file."
        )
