# SPDX-License-Identifier: BSD-3-Clause
"""Source tasks from the meta-learning archives of auto-sklearn (ASlib format)."""

import csv
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accsmbo.metalearning._source_task import SourceTask

__all__ = ["autosklearn_tasks"]

KINDS = {
    "binary": "binary.classification",
    "multiclass": "multiclass.classification",
    "regression": "regression",
}
# auto-sklearn's words that scikit-learn spells otherwise.
NAMES = {"early_stop": "early_stopping", "num_nodes_per_layer": "hidden_layer_sizes"}
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
        If it has no such folder, or the method won nowhere in it.
    """
    if task not in KINDS:
        raise ValueError(
            f"task must be one of {sorted(KINDS)}, got {task!r}. Name the kind of task."
        )
    folder = f"{metric}_{KINDS[task]}_{'sparse' if sparse else 'dense'}"
    read = _reader(Path(path), folder)
    rows = csv.DictReader(io.StringIO(read("configurations.csv")))
    configurations = {row["idx"]: row for row in rows}
    tasks, methods = [], set()
    for line in _arff_rows(read("algorithm_runs.arff")):
        configuration = configurations.get(line[CONFIGURATION])
        if configuration is None or line[STATUS] != "ok":
            continue
        kind, params = _params(configuration)
        methods.add(kind)
        if kind == method:
            name = line[INSTANCE]
            origin = {"source": "auto-sklearn", "folder": folder}
            tasks.append(SourceTask(name, [params], origin=origin))
    if not tasks:
        raise ValueError(
            f"method must have won on some data set in {folder}, got {method!r}. "
            f"Those that did: {sorted(methods)}."
        )
    return tasks


def _reader(path: Path, folder: str) -> Callable[[str], str]:
    """Return a function that reads a file of one folder of the archive."""
    if path.is_dir():
        if not (path / folder).is_dir():
            raise ValueError(_no_folder(folder, [p.name for p in path.iterdir()]))
        return lambda name: (path / folder / name).read_text()
    if not path.exists():
        raise FileNotFoundError(
            f"path must be a folder or tar archive, got {str(path)!r}, which does not "
            "exist. It is autosklearn/metalearning/files of auto-sklearn's sdist."
        )
    with tarfile.open(path) as archive:
        found = {
            tuple(member.name.split("/")[-2:]): archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive
            if member.isfile() and member.name.split("/")[-2:-1] == [folder]
        }
        if not found:
            names = {n.split("/")[-2] for n in archive.getnames() if n.count("/")}
            raise ValueError(_no_folder(folder, sorted(names)))
    return lambda name: found[folder, name].decode()


def _no_folder(folder: str, names: list[str]) -> str:
    return (
        f"metric, task and sparse must name a folder of the archive, got {folder!r}; "
        f"it has {sorted(names)[:8]} and so on."
    )


def _arff_rows(text: str) -> list[list[str]]:
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.upper().startswith("@DATA"))
    return [row for row in csv.reader(lines[start + 1 :]) if row]


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
