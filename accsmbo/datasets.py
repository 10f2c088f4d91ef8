# SPDX-License-Identifier: BSD-3-Clause
"""Data sets of the benchmarks: read from a folder or downloaded, and checked."""

import csv
import gzip
import hashlib
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo._files import replacing

__all__ = ["data_folder", "fetch_pc4", "fetch_rcv1", "fetch_real_sim", "load_pc4"]

# Where data lie beside a checkout: seen from the working directory, then from the
# folder that holds the package.
DEFAULT_HOMES = (
    Path("..") / "shared" / "data",
    Path(__file__).resolve().parents[2] / "shared" / "data",
)
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
PC4_URL = "https://www.openml.org/data/download/53932/pc4.arff"
# Shape and number of positive labels.
PC4 = ((1458, 37), 178)
RCV1 = ((20242, 47236), 10491)
REAL_SIM = ((72309, 20958), 22238)
N_ATTEMPTS = 3
BLOCK = 1 << 16

Table = tuple[Any, NDArray[Any]]


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
        table = _numbers_and_class(list(csv.reader(stream))[1:])
    _check_table(file, table, *PC4)
    return table


def fetch_pc4(
    data_home: str | os.PathLike[str] | None = None, *, url: str | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Load PC4, downloaded from OpenML (data set 1049) at the first call.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder that holds ``pc4.csv.gz``, or holds or gets ``pc4.arff``; None: see
        :func:`data_folder`.
    url : str, default=None
        Where to download ``pc4.arff`` from; None: OpenML.

    Returns
    -------
    X : ndarray of shape (1458, 37)
        Code metrics.
    y : ndarray of shape (1458,)
        1 where the module has a defect (178 of them), else 0.

    Raises
    ------
    ConnectionError
        If it cannot be downloaded.
    ValueError
        If the file changed since its first download, or is another table.
    """
    if (data_folder(data_home) / "pc4.csv.gz").exists():
        return load_pc4(data_home)
    return _fetch(data_home, "pc4.arff", url or PC4_URL, _read_arff, PC4)


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
        +1 (10,491 of them) or -1.

    Raises
    ------
    ConnectionError
        If it cannot be downloaded.
    ValueError
        If the file changed since its first download, or is another table.
    """
    return _fetch_svmlight(data_home, "rcv1_train.binary.bz2", url, RCV1)


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
        +1 (22,238 of them) or -1.

    Raises
    ------
    ConnectionError
        If it cannot be downloaded.
    ValueError
        If the file changed since its first download, or is another table.
    """
    return _fetch_svmlight(data_home, "real-sim.bz2", url, REAL_SIM)


def _fetch_svmlight(
    data_home: str | os.PathLike[str] | None,
    name: str,
    url: str | None,
    expected: tuple[tuple[int, int], int],
) -> Table:
    from sklearn.datasets import load_svmlight_file

    def read(file: Path) -> Table:
        X, y = load_svmlight_file(str(file), n_features=expected[0][1])
        return X, y

    return _fetch(data_home, name, url or f"{LIBSVM}/{name}", read, expected)


def _fetch(
    data_home: str | os.PathLike[str] | None,
    name: str,
    url: str,
    read: Callable[[Path], Table],
    expected: tuple[tuple[int, int], int],
) -> Table:
    """Return a table of the folder, downloaded where it is not there, and checked.

    A download that turns out to be another table is not kept.
    """
    file = data_folder(data_home) / name
    fresh = not file.exists()
    if fresh:
        _download(url, file)
    else:
        _check_hash(file)
    try:
        try:
            table = read(file)
        except (OSError, EOFError, ValueError) as error:
            raise ValueError(
                f"{file} must hold {expected[0][0]} rows of {expected[0][1]} features, "
                f"got a file that cannot be read: {error}. It is damaged: delete it to "
                "download it again."
            ) from error
        _check_table(file, table, *expected)
    except ValueError:
        if fresh:
            file.unlink()
        raise
    _note_hash(file)
    return table


def _read_arff(file: Path) -> Table:
    """Return numbers and class of a dense ARFF file, the class last."""
    lines = file.read_text().splitlines()
    start = [line.strip().lower() for line in lines].index("@data") + 1
    rows = csv.reader(
        line for line in lines[start:] if line.strip() and not line.startswith("%")
    )
    return _numbers_and_class(list(rows))


def _numbers_and_class(
    rows: list[list[str]],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    X = np.array([row[:-1] for row in rows], dtype=np.float64)
    y = np.array([row[-1].strip().upper() == "TRUE" for row in rows], dtype=np.int64)
    return X, y


def _download(url: str, file: Path) -> None:
    """Download with a progress bar, trying again; a part is never in the place."""
    from tqdm.auto import tqdm

    file.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, N_ATTEMPTS + 1):
        try:
            with (
                urllib.request.urlopen(url, timeout=60) as answer,
                replacing(file, "data_home") as out,
            ):
                size = int(answer.headers.get("Content-Length", 0))
                with tqdm(total=size or None, unit="B", unit_scale=True) as bar:
                    while block := answer.read(BLOCK):
                        out.write(block)
                        bar.update(len(block))
                if size and out.tell() != size:
                    raise OSError(f"{out.tell()} of {size} bytes arrived")
            break
        except (OSError, urllib.error.URLError) as error:
            if attempt == N_ATTEMPTS:
                raise ConnectionError(
                    f"{url} could not be downloaded in {N_ATTEMPTS} attempts: {error}. "
                    f"Check the network, or put the file at {file}."
                ) from error
            time.sleep(2.0 ** (attempt - 1))


def _check_hash(file: Path) -> None:
    """Compare the file with the SHA-256 that was noted at its first use."""
    noted = _noted(file)
    if noted.exists() and noted.read_text().strip() != _sha256(file):
        raise ValueError(
            f"{file} must be the file of the first download, got another SHA-256 than "
            f"{noted.name} notes. Delete both to download it again."
        )


def _note_hash(file: Path) -> None:
    """Write the SHA-256 beside the file, where it can be and is not yet."""
    noted = _noted(file)
    if not noted.exists() and os.access(file.parent, os.W_OK):
        with replacing(noted, "data_home") as out:
            out.write(f"{_sha256(file)}\n".encode())


def _noted(file: Path) -> Path:
    return file.with_name(file.name + ".sha256")


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _check_table(
    file: Path, table: Table, shape: tuple[int, int], n_positives: int
) -> None:
    X, y = table
    found = int((y == 1).sum())
    if X.shape != shape or found != n_positives or len(np.unique(y)) != 2:
        raise ValueError(
            f"{file} must hold {shape[0]} rows of {shape[1]} features with "
            f"{n_positives} positive labels, got shape {X.shape} with {found} and the "
            f"labels {np.unique(y)[:4].tolist()}. It is another table or damaged: "
            "replace the file, or delete it to download it again."
        )
