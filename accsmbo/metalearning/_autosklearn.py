# SPDX-License-Identifier: BSD-3-Clause
"""Source tasks from the meta-learning archives of auto-sklearn (ASlib format)."""

import csv
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accsmbo._files import check_regular
from accsmbo.metalearning._source_task import SourceTask
from accsmbo.storage._reading import BROKEN

__all__ = ["autosklearn_tasks"]

KINDS = {
    "binary": "binary.classification",
    "multiclass": "multiclass.classification",
    "regression": "regression",
}
# auto-sklearn's words that scikit-learn spells otherwise.
NAMES = {"early_stop": "early_stopping", "num_nodes_per_layer": "hidden_layer_sizes"}
# Bytes of a file and of all of an archive: a small one can unpack to anything.
MAX_FILE, MAX_ARCHIVE = 2**26, 2**30
# Columns of arff rows.
INSTANCE, CONFIGURATION, STATUS = 0, 2, -1


def autosklearn_tasks(
    path: Any, method: str, *, metric: str, task: str, sparse: bool
) -> list[SourceTask]:
    """Return one source task for each data set that a method won.

    Parameters
    ----------
    path : path-like
        Folder of the archive, or a tar file of it.
    method : str
        auto-sklearn's name, for example "random_forest".
    metric : str
        auto-sklearn's name of the metric.
    task : {"binary", "multiclass", "regression"}
        Kind of task.
    sparse : bool
        Whether to take the folder for sparse input.

    Returns
    -------
    list of SourceTask
        Each with the one best configuration that the archive records.

    Raises
    ------
    FileNotFoundError
        If there is no such archive.
    ValueError
        If it is damaged or too large, has no such folder, or the method won nowhere in
        it.
    """
    if task not in KINDS:
        raise ValueError(
            f"task must be one of {sorted(KINDS)}, got {task!r}. Name the kind of task."
        )
    folder = f"{metric}_{KINDS[task]}_{'sparse' if sparse else 'dense'}"
    path = Path(path)
    read = _reader(path, folder)
    configurations = _read(path, folder, "configurations.csv", read, _configurations)
    runs = _read(path, folder, "algorithm_runs.arff", read, _winners)
    tasks, methods = [], set()
    for name, number in runs:
        if number in configurations:
            kind, params = configurations[number]
            methods.add(kind)
            if kind == method:
                origin = {"source": "auto-sklearn", "folder": folder}
                tasks.append(SourceTask(name, [params], origin=origin))
    if not tasks:
        raise ValueError(
            f"method must have won on some data set in {folder}, got {method!r}. "
            f"Those that did: {sorted(methods)}."
        )
    return tasks


def _reader(path: Path, folder: str) -> Callable[[str], bytes]:
    """Return a function that reads a file of one folder of the archive."""
    if path.is_dir():
        if not (path / folder).is_dir():
            raise ValueError(_no_folder(folder, [p.name for p in path.iterdir()]))
        return lambda name: _file(path / folder / name)
    if not path.exists():
        raise FileNotFoundError(
            f"path must be a folder or tar archive, got {str(path)!r}, which does not "
            "exist. It is autosklearn/metalearning/files of auto-sklearn's sdist."
        )
    check_regular(path, "path")
    try:
        found = _unpacked(path, folder)
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError):
        raise ValueError(
            f"path must be a folder or tar archive, got {str(path)!r}, which is no "
            "whole tar archive. Download it again."
        ) from None
    return lambda name: found[name]


def _file(path: Path) -> bytes:
    check_regular(path, "path")
    with path.open("rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise OverflowError(f"it has more than {MAX_FILE} bytes")
    return data


def _unpacked(path: Path, folder: str) -> dict[str, bytes]:
    """Return the files of one folder of a tar archive, without unpacking too much."""
    found, folders, left = {}, set(), MAX_ARCHIVE
    with tarfile.open(path) as archive:
        for member in archive:
            left -= member.size
            *_, parent, name = ["", *member.name.split("/")]
            wanted = member.isfile() and parent == folder
            if left < 0 or (wanted and member.size > MAX_FILE):
                raise ValueError(
                    f"path must be an archive of at most {MAX_ARCHIVE} bytes with "
                    f"files of at most {MAX_FILE}, got {str(path)!r}, which unpacks to "
                    "more. Give auto-sklearn's own."
                )
            folders.add(parent)
            if wanted:
                found[name] = archive.extractfile(member).read()  # type: ignore[union-attr]
    if not found:
        raise ValueError(_no_folder(folder, sorted(folders)))
    return found


def _read(
    path: Path,
    folder: str,
    name: str,
    read: Callable[[str], bytes],
    parse: Callable[[str], Any],
) -> Any:
    """Return what a file of the archive says; the one error names archive and file."""
    try:
        return parse(read(name).decode())
    except (*BROKEN, csv.Error, OSError) as error:
        raise ValueError(
            f"path must be an archive of auto-sklearn, got {str(path)!r}, whose file "
            f"{folder}/{name} cannot be read ({type(error).__name__}: "
            f"{str(error)[:200]!r}). Download it again."
        ) from error


def _no_folder(folder: str, names: list[str]) -> str:
    return (
        f"metric, task and sparse must name a folder of the archive, got {folder!r}; "
        f"it has {sorted(names)[:8]} and so on."
    )


def _configurations(text: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the method and the hyperparameters of each configuration."""
    return {row["idx"]: _params(row) for row in csv.DictReader(io.StringIO(text))}


def _winners(text: str) -> list[tuple[str, str]]:
    """Return data sets, each with the number of the configuration that won on it."""
    lines = text.splitlines()
    start = [line.upper()[:5] for line in lines].index("@DATA")
    rows = [row for row in csv.reader(lines[start + 1 :]) if row]
    return [(r[INSTANCE], r[CONFIGURATION]) for r in rows if r[STATUS] == "ok"]


def _params(configuration: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """Return the method of a configuration and its hyperparameters."""
    regression = "regressor:__choice__" in configuration
    prefix = "regressor" if regression else "classifier"
    method = configuration[f"{prefix}:__choice__"]
    start = f"{prefix}:{method}:"
    found = {
        name.removeprefix(start): _value(text)
        for name, text in configuration.items()
        if name.startswith(start) and text not in ("", None)
    }
    return method, {NAMES.get(name, name): value for name, value in found.items()}


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"True": True, "False": False, "None": None}.get(text, text)
