# SPDX-License-Identifier: BSD-3-Clause
"""Runs one problem, and compares what the search says with plain scikit-learn."""

import re
import tempfile
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import sklearn
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.model_selection import ParameterSampler

from tests.oracle._problems import build
from tests.oracle._run import Replay, replay, run_search

__all__ = ["check"]

RTOL = 1e-12
METHODS = ("predict", "predict_proba", "decision_function")
# Said once by a search, whatever the route.
SPOKEN = ("scores are non-finite", "fits failed out of a total")


def check(recipe):
    """Run a problem and compare; raise AssertionError where the search is wrong.

    Parameters
    ----------
    recipe : dict
        From :func:`tests.oracle._problems.draw`.

    Returns
    -------
    str
        The route that ran; "raises" where both sides do, "refused" where the solver
        that was asked for does not take the problem.
    """
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            sklearn.config_context(enable_metadata_routing=recipe["routing"]),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            return _check(recipe, Path(folder))
    except AssertionError as error:
        cause = error.__cause__
        said = "".join(traceback.format_exception(cause)[-12:]) if cause else ""
        raise AssertionError(
            f"{error}\nTo see it again:\nfrom tests.oracle._check import check\n"
            f"check({recipe!r})\n{said}"
        ) from None


def _check(recipe, folder):
    ours = run_search(recipe, folder / "a", [])
    if ours.error is not None:
        return _compare_errors(recipe, folder, ours)
    best = getattr(ours.search, "best_index_", 0)
    oracle = replay(recipe, folder / "b", ours.rows, best)
    if oracle.error is not None:
        _fail("the search succeeds where scikit-learn raises", oracle.error)
    _compare_scores(ours, oracle)
    _check_choice(ours)
    if recipe["refit"] is not False:
        _compare_predictions(ours, oracle)
    _compare_warnings(ours, oracle)
    if recipe["neutral"]:
        changed = run_search(recipe, folder / "c", recipe["neutral"])
        _compare_neutral(recipe, ours, changed)
    return ours.route


def _compare_errors(recipe, folder, ours):
    """Check that scikit-learn fails too, and in the same way, at some candidate."""
    asked = recipe["solver"] in ("joint", "gradients")
    if (asked or recipe["search"] == "HOAGSearchCV") and _is_refusal(ours.error):
        return "refused"
    space = build(recipe, _made(folder / "space")).space
    spaces = space if isinstance(space, list) else [space]
    rows = list(ParameterSampler(spaces, 12, random_state=0))
    errors = []
    for k in range(-1, len(rows)):  # all at once, then each alone
        some = rows if k < 0 else rows[k : k + 1]
        oracle = replay(recipe, folder / f"row {k}", some, 0)
        errors.append(oracle.error)
        if k < 0 and oracle.error is None and _may_give_up(ours, oracle):
            return "raises"
        if oracle.error is not None and _agree(recipe, ours.error, oracle.error):
            return "raises"
    theirs = next((error for error in errors if error is not None), None)
    if theirs is None:
        _fail("the search raises where scikit-learn does not", ours.error)
    return _fail(f"scikit-learn raises {theirs!r}, the search another", ours.error)


def _agree(recipe, mine, theirs):
    """Tell whether two exceptions say the same."""
    if type(mine) is not type(theirs):
        return False
    if _is_about_fits(theirs):
        return True
    return _words(theirs) in _words(mine, recipe["search"])


def _made(folder):
    folder.mkdir()
    return folder


def _is_refusal(error):
    words = str(error)
    said = any(part in words for part in ("solver=", "differentia", "gradient"))
    return isinstance(error, ValueError) and said and not _is_about_fits(error)


def _is_about_fits(error):
    """Tell whether counts and tracebacks follow, which depend on the candidates."""
    return str(error).strip().startswith("All the")


def _words(error, search=Replay.__name__):
    """Return a message without names of searches and values of candidates."""
    said = " ".join(str(error).replace(search, "the search").split())
    return re.sub(r"Got \S+ instead", "Got another instead", said)


def _may_give_up(ours, oracle):
    """Tell whether no candidate has a score, and the search says why it ended."""
    told = isinstance(ours.error, ValueError) or ours.error.__cause__ is not None
    return told and not _any_finite(oracle.search.cv_results_)


def _any_finite(results):
    means = [v for k, v in results.items() if k.startswith("mean_test_")]
    return any(np.isfinite(np.asarray(v, float)).any() for v in means)


def _fail(message, cause=None):
    if cause is None:
        raise AssertionError(message)
    raise AssertionError(f"{message}: {cause!r}") from cause


def _columns(results):
    """Return the names of the columns that hold scores of single folds."""
    return sorted(
        name
        for name in results
        if "_test_" in name or "_train_" in name
        if name.startswith("split")
    )


def _compare_scores(ours, oracle):
    results, truth = ours.search.cv_results_, oracle.search.cv_results_
    if _columns(results) != _columns(truth):
        _fail(f"columns {_columns(results)}, scikit-learn has {_columns(truth)}")
    if "score_error_estimate" in results:
        _fail("a search has no approximate rows")
    for name in [n for n in truth if n.startswith(("split", "mean_test_"))]:
        for row, found, expected in zip(
            ours.rows, results[name], truth[name], strict=True
        ):
            if not _close(found, expected):
                _fail(
                    f"{name} of {row!r} is {found!r}, scikit-learn gives "
                    f"{expected!r}; route {ours.route}"
                )


def _close(a, b):
    return np.isclose(a, b, rtol=RTOL, atol=1e-300, equal_nan=True)


def _check_choice(ours):
    """Check that ranks, columns and the best row follow scikit-learn's rule."""
    search, results = ours.search, ours.search.cv_results_
    for name in [n for n in results if n.startswith("rank_test_")]:
        _check_ranks(name, results)
    for i, row in enumerate(ours.rows):
        for name, value in row.items():
            if not same(results[f"param_{name}"][i], value):
                _fail(f"param_{name}[{i}] differs from params[{i}]: {value!r}")
    refit = ours.problem.refit
    metric = refit if isinstance(refit, str) else "score"
    if callable(refit):
        index = refit(results)
    elif f"rank_test_{metric}" in results:
        index = int(np.argmin(results[f"rank_test_{metric}"]))
        score = results[f"mean_test_{metric}"][index]
        if not np.array_equal(search.best_score_, score, equal_nan=True):
            _fail(f"best_score_ is {search.best_score_!r}, its row has {score!r}")
    else:
        return
    if search.best_index_ != index:
        _fail(f"best_index_ is {search.best_index_}, by scikit-learn's rule {index}")
    if not same(search.best_params_, ours.rows[index]):
        _fail(f"best_params_ {search.best_params_!r} is not row {index}")


def _check_ranks(name, results):
    means = results[name.replace("rank", "mean")]
    worst = np.nanmin(means) - 1 if np.isfinite(means).any() else 0.0
    ranks = rankdata(-np.where(np.isfinite(means), means, worst), method="min")
    if not np.array_equal(ranks, results[name]):
        _fail(f"{name} is {results[name]}, by its means it is {ranks}")


def _compare_predictions(ours, oracle):
    # Each on its own rows: K(X, X) is computed otherwise than K(X, a copy of X).
    for method in METHODS:
        theirs, failed = _call(oracle.search.best_estimator_, method, oracle.problem.X)
        mine, also_failed = _call(ours.search, method, ours.problem.X)
        if type(failed) is not type(also_failed):
            _fail(f"{method} raises {also_failed!r}, scikit-learn {failed!r}")
        if failed is None and not _same_output(mine, theirs):
            _fail(f"{method} differs from a clone's with {ours.search.best_params_}")


def _same_output(mine, theirs):
    """Tell whether predictions agree but for rounding."""
    if not isinstance(theirs, np.ndarray) or theirs.dtype.kind != "f":
        return same(mine, theirs)
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return False
    scale = np.max(np.abs(theirs), initial=0.0, where=np.isfinite(theirs))
    return np.allclose(mine, theirs, rtol=RTOL, atol=RTOL * scale, equal_nan=True)


def _call(model, method, X):
    try:
        return getattr(model, method)(X), None
    except Exception as error:
        return None, error


def _compare_warnings(ours, oracle):
    for words in SPOKEN:
        mine = sum(words in m for m in ours.messages)
        theirs = sum(words in m for m in oracle.messages)
        if (mine > 0) != (theirs > 0):
            _fail(f'warned "... {words} ..." {mine} times, scikit-learn {theirs}')


def _compare_neutral(recipe, ours, changed):
    what = f"with {recipe['neutral']}"
    if changed.error is not None:
        _fail(f"the search raises {what}", changed.error)
    if changed.route != ours.route:
        _fail(f"route {changed.route} {what}, without {ours.route}")
    if not same(list(changed.rows), list(ours.rows)):
        _fail(f"candidates {changed.rows} {what}, without {ours.rows}")
    mine, theirs = ours.search.cv_results_, changed.search.cv_results_
    for name in _columns(mine):
        if not all(map(_close, mine[name], theirs[name])):
            _fail(f"{name} is {theirs[name]} {what}, without {mine[name]}")
    if getattr(ours.search, "best_index_", 0) != getattr(
        changed.search, "best_index_", 0
    ):
        _fail(f"best_index_ is {changed.search.best_index_} {what}")


def same(a, b):
    """Tell whether two values are equal: numbers to rounding, estimators by params."""
    if isinstance(a, BaseEstimator):
        return type(a) is type(b) and same(
            a.get_params(deep=False), b.get_params(deep=False)
        )
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if sparse.issparse(a) or isinstance(a, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype.kind not in "fc":
            return np.array_equal(a, b)
        return np.allclose(a, b, rtol=RTOL, atol=1e-14, equal_nan=True)
    if isinstance(a, float) and isinstance(b, float):
        return bool(_close(a, b))
    return a is b or bool(a == b)
