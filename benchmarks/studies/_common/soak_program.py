# SPDX-License-Identifier: BSD-3-Clause
"""The program that `soak.py` disturbs: one search or `minimize` run with a journal.

It notes what it evaluates, what was told and what it was warned of, each in one write
to a file of its own, so that a killed process leaves whole lines.
"""

import contextlib
import faulthandler
import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from accsmbo import Real, SMBOSearchCV, minimize
from accsmbo.history import History
from accsmbo.optimizers import SMBO, RandomSearch

SPACE = {"x": Real(-1.0, 2.0), "y": Real(0.0, 1.0)}
OPTIMIZERS = {"random": RandomSearch, "SMBO": SMBO}
# No trial fails because its workers were killed.
RETRIES = 1000


def loss(x: float, y: float) -> float:
    return (x - 0.3) ** 2 + (y - 0.6) ** 2


def note(path: str, row: Any) -> None:
    """Append a line of JSON."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(handle, (json.dumps(row) + "\n").encode())
    finally:
        os.close(handle)


def noted(path: str | Path) -> list[Any]:
    """Return what was noted."""
    with contextlib.suppress(FileNotFoundError):
        return [json.loads(line) for line in Path(path).read_text().splitlines()]
    return []


def rows_of(history: History) -> dict[int, list[float]]:
    """Return x, y and the value of each trial; the later of two with one number."""
    return {
        trial.number: [trial.params["x"], trial.params["y"], evaluation.value]
        for trial, evaluation in history
    }


class Loss:
    """A function that sleeps, and notes each call before it returns."""

    def __init__(self, calls: str, seconds: float) -> None:
        self.calls = calls
        self.seconds = seconds

    def __call__(self, params: dict[str, float]) -> float:
        value = loss(**params)
        time.sleep(self.seconds)
        note(self.calls, [params["x"], params["y"], value])
        return value


class Sleeper(BaseEstimator):
    """An estimator whose score is that function."""

    def __init__(
        self, x: float = 0.0, y: float = 0.0, calls: str = "", seconds: float = 0.0
    ) -> None:
        self.x = x
        self.y = y
        self.calls = calls
        self.seconds = seconds

    def fit(self, X: Any, y: Any = None) -> "Sleeper":
        self.fitted_ = True
        return self

    def score(self, X: Any, y: Any = None) -> float:
        return -Loss(self.calls, self.seconds)({"x": self.x, "y": self.y})


class Told:
    """Notes each result after it was told: it must be on the disk by then.

    Results of a run whose journal could not be written are in memory alone.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.n_noted = 0
        self.failed = False

    def __call__(self, history: History) -> bool:
        if not self.failed:
            rows = list(rows_of(history[self.n_noted :]).items())
            for row in rows:
                note(self.path, row)
            self.n_noted = len(history)
        return False

    def should_stop(self, optimizer: Any) -> bool:
        return self(optimizer.history)


def run(config: dict[str, Any], told: Told | None = None) -> History:
    """Run what a configuration says, or go on with it."""
    optimizer = OPTIMIZERS[config["optimizer"]]()
    common = {
        "optimizer": optimizer,
        "n_jobs": config["n_jobs"],
        "random_state": config["seed"],
        "storage": config["storage"],
        "max_retries": RETRIES,
    }
    n_trials, notes = config["n_trials"], (config["calls"], config["seconds"])
    if config["kind"] == "minimize":
        return minimize(
            Loss(*notes), SPACE, n_trials=n_trials, stop_when=told, **common
        )
    search = SMBOSearchCV(
        Sleeper(calls=notes[0], seconds=notes[1]),
        SPACE,
        n_iter=n_trials,
        cv=2,
        callbacks=told,
        **common,
    )
    return search.fit(np.zeros((20, 1)), np.zeros(20)).history_


def main() -> None:
    faulthandler.register(signal.SIGUSR1)
    config = json.loads(Path(sys.argv[1]).read_text())
    told = Told(config["told"])

    def say(message: Any, category: Any, *place: Any, **more: Any) -> None:
        note(config["said"], [category.__name__, str(message)])
        told.failed |= "could not be written" in str(message)

    warnings.simplefilter("always")
    warnings.showwarning = say
    rows = rows_of(run(config, told))
    Path(config["result"]).write_text(json.dumps(list(rows.items())))
