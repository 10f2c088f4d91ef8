# SPDX-License-Identifier: BSD-3-Clause
"""Data sets of the benchmarks, read from a folder and checked."""

import csv
import gzip
import hashlib
import os
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["data_folder", "fetch_rcv1", "fetch_real_sim", "load_pc4"]

# Where data lie beside a checkout: seen from the working directory, then from the
# folder that holds the package.
DEFAULT_HOMES = (
    Path("..") / "shared" / "data",
    Path(__file__).resolve().parents[2] / "shared" / "data",
)
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
RCV1_SHAPE = (20242, 47236)
REAL_SIM_SHAPE = (72309, 20958)
N_ATTEMPTS = 3
BLOCK = 1 << 16
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


def fetch_rcv1(
    data_home: str | os.PathLike[str] | None = None, *, url: str | None = None
) -> tuple[Any, NDArray[np.float64]]:
    """Load LIBSVM's rcv1 (binary, training part), downloaded at the first call.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder that holds or gets ``rcv1_train.binary.bz2``; None: see
        :func:`data_folder`.
    url : str, default=None
        Where to download from; None: LIBSVM's site.

    Returns
    -------
    X : sparse matrix of shape (20242, 47236)
        Documents.
    y : ndarray of shape (20242,)
        +1 or -1.

    Raises
    ------
    ConnectionError
        If it cannot be downloaded.
    ValueError
        If the file changed since its first download, or is another table.
    """
    return _fetch_svmlight(data_home, "rcv1_train.binary.bz2", url, RCV1_SHAPE)


def fetch_real_sim(
    data_home: str | os.PathLike[str] | None = None, *, url: str | None = None
) -> tuple[Any, NDArray[np.float64]]:
    """Load LIBSVM's real-sim, downloaded at the first call.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder that holds or gets ``real-sim.bz2``; None: see :func:`data_folder`.
    url : str, default=None
        Where to download from; None: LIBSVM's site.

    Returns
    -------
    X : sparse matrix of shape (72309, 20958)
        Documents.
    y : ndarray of shape (72309,)
        +1 or -1.

    Raises
    ------
    ConnectionError
        If it cannot be downloaded.
    ValueError
        If the file changed since its first download, or is another table.
    """
    return _fetch_svmlight(data_home, "real-sim.bz2", url, REAL_SIM_SHAPE)


def _fetch_svmlight(
    data_home: str | os.PathLike[str] | None,
    name: str,
    url: str | None,
    shape: tuple[int, int],
) -> tuple[Any, NDArray[np.float64]]:
    from sklearn.datasets import load_svmlight_file

    file = data_folder(data_home) / name
    if not file.exists():
        _download(url or f"{LIBSVM}/{name}", file)
    _check_hash(file)
    X, y = load_svmlight_file(str(file), n_features=shape[1])
    if X.shape != shape or set(np.unique(y)) != {-1.0, 1.0}:
        raise ValueError(
            f"{file} must hold {shape[0]} rows of {shape[1]} features with the labels "
            f"-1 and 1, got shape {X.shape} with {sorted(set(y))[:4]}. It is another "
            "table or damaged: delete it to download it again."
        )
    return X, y


def _download(url: str, file: Path) -> None:
    """Download to a part file with a progress bar, trying again, then move it."""
    from tqdm.auto import tqdm

    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(file.name + ".part")
    for attempt in range(1, N_ATTEMPTS + 1):
        try:
            with (
                urllib.request.urlopen(url, timeout=60) as answer,
                part.open("wb") as out,
            ):
                size = int(answer.headers.get("Content-Length", 0))
                with tqdm(total=size or None, unit="B", unit_scale=True) as bar:
                    while block := answer.read(BLOCK):
                        out.write(block)
                        bar.update(len(block))
            if size and part.stat().st_size != size:
                raise OSError(f"{part.stat().st_size} of {size} bytes arrived")
            break
        except (OSError, urllib.error.URLError) as error:
            part.unlink(missing_ok=True)
            if attempt == N_ATTEMPTS:
                raise ConnectionError(
                    f"{url} could not be downloaded in {N_ATTEMPTS} attempts: {error}. "
                    f"Check the network, or put the file at {file}."
                ) from error
            time.sleep(2.0 ** (attempt - 1))
    part.replace(file)


def _check_hash(file: Path) -> None:
    """Write the SHA-256 beside the file the first time, compare it afterwards."""
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    noted = file.with_name(file.name + ".sha256")
    if not noted.exists():
        if os.access(file.parent, os.W_OK):
            noted.write_text(found + "\n")
        return
    if noted.read_text().strip() != found:
        raise ValueError(
            f"{file} must be the file of the first download, got another SHA-256 than "
            f"{noted.name} notes. Delete both to download it again."
        )


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
