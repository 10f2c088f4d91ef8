# SPDX-License-Identifier: BSD-3-Clause
"""Fitting many estimators in parallel: on folds, on all data, with given seeds."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils.parallel import Parallel, delayed

from accsmbo._predictions import FoldAverage, fold_predictions
from accsmbo._sklearn_private import safe_split

__all__ = [
    "CrossFit",
    "cross_fit",
    "fit_all",
    "has_seed",
    "seeded",
    "warn_about_failures",
]


class CrossFit(NamedTuple):
    """What the folds of one estimator gave.

    Parameters
    ----------
    prediction : ndarray of float32 of shape (n_rows, n_outputs), or None
        Out-of-fold predictions; None where a fold failed.
    models : list of estimator
        The fitted models of the folds, where they were to be kept.
    error : Exception or None
        Why it failed.
    """

    prediction: NDArray[np.float32] | None
    models: list[Any]
    error: Exception | None


def has_seed(estimator: Any) -> bool:
    """Return whether an estimator, or a part of it, has a ``random_state``."""
    return any(_is_seed(name) for name in estimator.get_params(deep=True))


def seeded(estimator: Any, seed: int) -> Any:
    """Clone an estimator and set each ``random_state`` in it.

    Parameters
    ----------
    estimator : estimator
        Left as it is.
    seed : int
        Seed; several ``random_state`` parameters get different numbers made of it.

    Returns
    -------
    estimator
        Unfitted.
    """
    estimator = clone(estimator)
    names = sorted(filter(_is_seed, estimator.get_params(deep=True)))
    if len(names) == 1:
        return estimator.set_params(**{names[0]: int(seed)})
    seeds = np.random.SeedSequence(int(seed)).generate_state(len(names))
    values = (int(value) % 2**31 for value in seeds)
    return estimator.set_params(**dict(zip(names, values, strict=True)))


def cross_fit(
    estimators: Sequence[Any],
    X: Any,
    y: Any,
    splits: Sequence[tuple[Any, Any]],
    classes: Any,
    *,
    n_jobs: int | None = None,
    keep_models: bool = False,
) -> list[CrossFit]:
    """Fit clones of each estimator on each fold and predict the rest of the fold.

    Parameters
    ----------
    estimators : sequence of estimator
        Cloned.
    X : array-like of shape (n_samples, n_features)
        Data.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Target.
    splits : sequence of (train, test)
        Folds.
    classes : ndarray of shape (n_classes,) or None
        All classes; None for regressors.
    n_jobs : int or None, default=None
        As in joblib.
    keep_models : bool, default=False
        Return the fitted models too.

    Returns
    -------
    list of CrossFit
        One for each estimator.
    """
    average = FoldAverage(splits, len(y))
    tasks = (
        delayed(_fit_fold)(estimator, X, y, train, test, classes, keep_models)
        for estimator in estimators
        for train, test in splits
    )
    folds = Parallel(n_jobs=n_jobs)(tasks)
    step = len(splits)
    return [
        _join(average, folds[i * step : (i + 1) * step]) for i in range(len(estimators))
    ]


def fit_all(
    estimators: Sequence[Any],
    X: Any,
    y: Any,
    *,
    rows: Sequence[Any] | None = None,
    n_jobs: int | None = None,
) -> tuple[list[Any], list[Exception | None]]:
    """Fit a clone of each estimator.

    Parameters
    ----------
    estimators : sequence of estimator
        Cloned.
    X : array-like of shape (n_samples, n_features)
        Data.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Target.
    rows : sequence of (indices or None), default=None
        Training rows of each estimator; None: all.
    n_jobs : int or None, default=None
        As in joblib.

    Returns
    -------
    models : list of estimator or None
        None where the fit failed.
    errors : list of Exception or None
        Why.
    """
    rows = [None] * len(estimators) if rows is None else rows
    fitted = Parallel(n_jobs=n_jobs)(
        delayed(_fit_rows)(estimator, X, y, index)
        for estimator, index in zip(estimators, rows, strict=True)
    )
    return [model for model, _ in fitted], [error for _, error in fitted]


def warn_about_failures(errors: Sequence[Exception | None], what: str) -> list[int]:
    """Report the failed ones among several fits.

    Parameters
    ----------
    errors : sequence of Exception or None
        One for each fit.
    what : str
        What was fitted, in the plural.

    Returns
    -------
    list of int
        The places that failed.

    Raises
    ------
    Exception
        The first error, if all failed.
    """
    failed = [i for i, error in enumerate(errors) if error is not None]
    if not failed:
        return failed
    first = errors[failed[0]]
    if len(failed) == len(errors) and first is not None:
        raise first
    warnings.warn(
        f"{len(failed)} of {len(errors)} {what} failed and are left out: {failed}. The "
        f"first error was {type(first).__name__}: {first}",
        FitFailedWarning,
        stacklevel=4,
    )
    return failed


def _is_seed(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")


def _fit(estimator: Any, X: Any, y: Any) -> tuple[Any, Exception | None]:
    try:
        return clone(estimator).fit(X, y), None
    except Exception as error:
        return None, error


def _fit_rows(
    estimator: Any, X: Any, y: Any, rows: Any
) -> tuple[Any, Exception | None]:
    if rows is not None:
        X, y = safe_split(estimator, X, y, rows)
    return _fit(estimator, X, y)


def _fit_fold(
    estimator: Any, X: Any, y: Any, train: Any, test: Any, classes: Any, keep: bool
) -> tuple[NDArray[np.float32] | None, Any, Exception | None]:
    model, error = _fit_rows(estimator, X, y, train)
    if error is not None:
        return None, None, error
    try:
        X_test, _ = safe_split(estimator, X, y, test, train)
        predicted = fold_predictions(model, X_test, classes)
    except Exception as failure:
        return None, None, failure
    return predicted.astype(np.float32), model if keep else None, None


def _join(average: FoldAverage, folds: Sequence[tuple[Any, Any, Any]]) -> CrossFit:
    for _, _, error in folds:
        if error is not None:
            return CrossFit(None, [], error)
    predictions = [predicted for predicted, _, _ in folds]
    models = [model for _, model, _ in folds if model is not None]
    return CrossFit(average(predictions), models, None)
