# SPDX-License-Identifier: BSD-3-Clause
"""Runs the search of a recipe, and scikit-learn's own over the same candidates."""

import contextlib
import inspect
import io
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection._search import BaseSearchCV

import accsmbo
import accsmbo.search
from tests.oracle._parts import keeps_quiet
from tests.oracle._problems import build

__all__ = ["Outcome", "Replay", "replay", "run_search"]


class Replay(BaseSearchCV):
    """scikit-learn's own search over candidates given beforehand."""

    def __init__(self, estimator, candidates, **kwargs):
        super().__init__(estimator, **kwargs)
        self.candidates = candidates

    def _run_search(self, evaluate_candidates):
        evaluate_candidates(self.candidates)


@dataclass
class Outcome:
    """How one run ended.

    Parameters
    ----------
    search : estimator
        Fitted, unless there is an error.
    error : Exception or None
        What ``fit`` raised.
    messages : tuple of str
        Warnings.
    problem : Problem
        What it was run on.
    """

    search: Any
    error: Exception | None
    messages: tuple[str, ...]
    problem: Any

    @property
    def route(self):
        """The route that ran, "unknown" where the search does not tell."""
        route = getattr(getattr(self.search, "history_", None), "route", None)
        return getattr(route, "solver", "unknown")

    @property
    def rows(self):
        """The candidates."""
        return self.search.cv_results_["params"]


def run_search(recipe, folder, neutral):
    """Return the outcome of the search of a recipe.

    Parameters
    ----------
    recipe : dict
        The problem.
    folder : Path
        Does not exist yet.
    neutral : list of str
        Changes that must not change the answer.

    Returns
    -------
    Outcome
        Fitted or failed.
    """
    folder.mkdir()
    problem = build(recipe, folder)
    cls = getattr(accsmbo, recipe["search"], None) or getattr(
        accsmbo.search, recipe["search"]
    )
    names = inspect.signature(cls).parameters
    arguments = {
        "scoring": problem.scoring,
        "refit": problem.refit,
        "cv": problem.cv,
        "error_score": _error_score(recipe),
        "return_train_score": recipe["return_train_score"],
        "random_state": recipe["random_state"],
        "n_iter": recipe["n_iter"],
        "resolution": 2,
        "solver": _solver(cls, recipe["solver"]),
    }
    if "n_jobs" in recipe["neutral"]:
        arguments |= _deterministic(names)
    for change in neutral:
        arguments |= _changes(folder)[change]
    arguments = {k: v for k, v in arguments.items() if k in names}
    search = cls(problem.estimator, problem.space, **arguments)
    return _fit(search, problem)


def _error_score(recipe):
    return np.nan if recipe["error_score"] == "nan" else recipe["error_score"]


def _solver(cls, solver):
    """Return a solver under the name by which the class knows it, "auto" if none."""
    constraints = cls._parameter_constraints.get("solver", [])
    known = {option for c in constraints for option in getattr(c, "options", ())}
    older = {"gradients": "evaluate"}.get(solver, solver)
    return next((name for name in (solver, older) if name in known), "auto")


def _deterministic(names):
    if "deterministic" in names:
        return {"deterministic": True}
    return {"execution": accsmbo.Execution(deterministic=True)}


def _changes(folder):
    return {
        "verbose 1": {"verbose": 1},
        "verbose 2": {"verbose": 2},
        "storage": {"storage": str(folder / "journal.jsonl")},
        "keep_predictions": {"keep_predictions": True},
        "callbacks": {"callbacks": [keeps_quiet]},
        "timeout": {"timeout": 3600.0},
        "n_jobs": {"n_jobs": 2},
    }


def _fit(search, problem):
    error = None
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("always")
        try:
            search.fit(problem.X, problem.y, **problem.fit_params)
        except Exception as raised:
            error = raised
    return Outcome(search, error, tuple(str(w.message) for w in caught), problem)


def replay(recipe, folder, rows, index):
    """Return what scikit-learn makes of the same candidates; refit that of index."""
    folder.mkdir()
    problem = build(recipe, folder)
    refit = recipe["refit"] is not False
    search = Replay(
        problem.estimator,
        [clone(row, safe=False) for row in rows],
        scoring=problem.scoring,
        refit=(lambda results: int(index)) if refit else False,
        cv=problem.cv,
        error_score=_error_score(recipe),
        return_train_score=recipe["return_train_score"],
    )
    return _fit(search, problem)
