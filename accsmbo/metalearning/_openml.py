# SPDX-License-Identifier: BSD-3-Clause
"""Source tasks from evaluations on OpenML, through the openml package."""

import json
from typing import Any

from accsmbo.metalearning._source_task import SourceTask
from accsmbo.storage._reading import BROKEN

__all__ = ["openml_tasks"]


def openml_tasks(
    flow: int, tasks: list[int], *, metric: str, size: int
) -> list[SourceTask]:
    """Return the evaluations of a flow on some tasks, a source task for each.

    Parameters
    ----------
    flow : int
        Number of the flow.
    tasks : list of int
        Numbers of the tasks.
    metric : str
        OpenML's name of the measure.
    size : int
        Largest number of evaluations of each task.

    Returns
    -------
    list of SourceTask
        Tasks without evaluations are left out.

    Raises
    ------
    ImportError, ConnectionError, PermissionError, ValueError
        Without the package, the server, the right key, any evaluation.
    """
    try:
        import openml
    except ImportError as error:
        raise ImportError(
            "EmpiricalDensity.from_openml requires openml. You can install openml with "
            '`pip install "accsmbo[openml]"`.'
        ) from error
    found = []
    for number in tasks:
        frame = _evaluations(openml, flow, number, metric, size)
        if frame is not None:
            found.append(_task(number, frame, flow, metric))
    if not found:
        raise ValueError(
            f"tasks must have evaluations of flow {flow} by {metric!r}, got {tasks}, "
            "for which OpenML has none. Look for others on openml.org, and check the "
            "name of the measure."
        )
    return found


def _evaluations(openml: Any, flow: int, task: int, metric: str, size: int) -> Any:
    """Return a data frame of evaluations, or None where there are none."""
    import requests

    try:
        frame = openml.evaluations.list_evaluations_setups(
            metric, flows=[flow], tasks=[task], size=size, output_format="dataframe"
        )
    except openml.exceptions.OpenMLServerNoResult:
        return None
    except openml.exceptions.OpenMLNotAuthorizedError as error:
        raise PermissionError(_refused(openml, error)) from error
    except openml.exceptions.OpenMLServerException as error:
        if "API key" in str(error) or "authenti" in str(error).lower():
            raise PermissionError(_refused(openml, error)) from error
        if "no results" in str(error).lower():
            return None
        raise ConnectionError(_unreachable(openml, error)) from error
    except (
        requests.exceptions.RequestException,
        openml.exceptions.OpenMLServerError,
        OSError,
    ) as error:
        raise ConnectionError(_unreachable(openml, error)) from error
    if len(frame):
        frame = frame.dropna(subset=["parameters", "value"])
    return None if len(frame) == 0 else frame


def _refused(openml: Any, error: Exception) -> str:
    return (
        f"OpenML ({openml.config.server}) refused the key: {error}. Set a valid one, "
        "openml.config.apikey = ..., or '' to read without one."
    )


def _unreachable(openml: Any, error: Exception) -> str:
    return (
        f"OpenML ({openml.config.server}) could not be read: "
        f"{type(error).__name__}: {error}. Check the network and openml.config.server, "
        "or use another source: from_histories, from_autosklearn, the shipped data."
    )


def _task(number: int, frame: Any, flow: int, metric: str) -> SourceTask:
    name = str(frame["data_name"].iloc[0]) if "data_name" in frame else f"task {number}"
    try:
        params = [_params(p) for p in frame["parameters"]]
        values = [float(v) for v in frame["value"]]
    except BROKEN as error:
        raise ValueError(
            f"OpenML's evaluations of flow {flow} on task {number} must have "
            f"parameters by name and a number as value, got others "
            f"({type(error).__name__}: {str(error)[:200]!r}). Leave the task out."
        ) from error
    origin = {"source": "OpenML", "task": number, "flow": flow, "metric": metric}
    return SourceTask(name, params, values, origin=origin)


def _params(recorded: Any) -> dict[str, Any]:
    """Return names without the flow's "..._" prefix, and values of their own types."""
    params = {}
    for name, text in dict(recorded).items():
        short = str(name).rsplit(")_", 1)[-1]
        try:
            params[short] = json.loads(text) if isinstance(text, str) else text
        except (ValueError, RecursionError):
            params[short] = text
    return params
