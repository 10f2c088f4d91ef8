# SPDX-License-Identifier: BSD-3-Clause
"""From the name of a score to the objective that a selection lowers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from accsmbo._probabilities import PROBABILITY_SLACK, encode_labels
from accsmbo.ensembles._accuracy_objective import AccuracyObjective
from accsmbo.ensembles._ensemble_objective import (
    CallableObjective,
    EnsembleObjective,
)
from accsmbo.ensembles._likelihood_objective import LikelihoodObjective
from accsmbo.ensembles._squared_error_objective import SquaredErrorObjective

__all__ = ["SCORES", "make_objective"]

SCORES = ("accuracy", "brier", "nll", "squared_error")


def make_objective(
    predictions: Any,
    y: Any,
    score: Any,
    greater_is_better: bool,
    *,
    labels: Any,
) -> tuple[EnsembleObjective, NDArray[np.intp], int]:
    """Check the predictions of the candidates and choose the objective.

    Parameters
    ----------
    predictions : ndarray of shape (n_candidates, n_samples[, n_outputs])
        Predictions of the candidates.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Truth.
    score : {"nll", "brier", "accuracy", "squared_error"} or callable
        What to improve.
    greater_is_better : bool
        Direction of a callable.
    labels : array-like of shape (n_classes,) or None
        Class of each column.

    Returns
    -------
    objective : EnsembleObjective
        A loss.
    pool : ndarray of int
        Candidates without a value that is not finite.
    sign : int
        The score is ``sign`` times the loss.

    Raises
    ------
    ValueError
        If the arrays or the score do not fit.
    """
    if not callable(score) and score not in SCORES:
        raise ValueError(
            f"score must be one of {list(SCORES)} or a callable, got {score!r}. "
            "A callable is score(y, averaged_prediction)."
        )
    P = _as_float_array(predictions)
    y = np.asarray(y)
    check_consistent_length(y, P[0])
    pool = _finite_members(P)
    if callable(score):
        return _callable_objective(P, y, score, greater_is_better, pool)
    cube = P if P.ndim == 3 else P[:, :, None]
    if score == "squared_error":
        target = y.astype(np.float64).reshape(cube.shape[1:])
        return SquaredErrorObjective(cube, pool, target, mean_outputs=True), pool, 1
    if P.ndim != 3:
        raise ValueError(
            f"score={score!r} needs predictions of shape (n_candidates, n_samples, "
            f"n_classes), got {P.shape}. Pass score='squared_error' for a regressor."
        )
    _check_range(P, pool)
    codes = encode_labels(y, P.shape[2], labels)
    if score == "nll":
        return LikelihoodObjective(P, pool, codes), pool, 1
    if score == "accuracy":
        return AccuracyObjective(P, pool, codes), pool, -1
    return SquaredErrorObjective(P, pool, np.eye(P.shape[2])[codes]), pool, 1


def _callable_objective(
    P: NDArray[Any],
    y: NDArray[Any],
    score: Callable[[Any, Any], float],
    greater_is_better: bool,
    pool: NDArray[np.intp],
) -> tuple[EnsembleObjective, NDArray[np.intp], int]:
    """Wrap a score so that smaller is better, and drop the axis that was added."""
    sign = -1 if greater_is_better else 1
    flat = P.ndim == 2

    def loss(mean: NDArray[np.float64]) -> float:
        return sign * float(score(y, mean[:, 0] if flat else mean))

    cube = P[:, :, None] if flat else P
    return CallableObjective(cube, pool, loss), pool, sign


def _as_float_array(predictions: Any) -> NDArray[Any]:
    P = np.asarray(predictions)
    if P.dtype not in (np.float32, np.float64):
        P = P.astype(np.float64)
    if P.ndim not in (2, 3) or 0 in P.shape:
        raise ValueError(
            "predictions must have shape (n_candidates, n_samples, n_classes) or "
            f"(n_candidates, n_samples), none of them 0, got {P.shape}. Stack what "
            "each candidate predicts."
        )
    return np.ascontiguousarray(P)


def _finite_members(P: NDArray[Any]) -> NDArray[np.intp]:
    pool = np.flatnonzero([np.isfinite(own).all() for own in P])
    if len(pool) == 0:
        raise ValueError(
            f"predictions must be finite for at least one of the {len(P)} candidates, "
            "got NaN or infinity in each. Leave out samples without a prediction."
        )
    return pool


def _check_range(P: NDArray[Any], pool: NDArray[np.intp]) -> None:
    for member in pool:
        low, high = P[member].min(), P[member].max()
        if low < -PROBABILITY_SLACK or high > 1 + PROBABILITY_SLACK:
            raise ValueError(
                "predictions must be probabilities in [0, 1], got values from "
                f"{low!r} to {high!r} in candidate {member}. Pass what predict_proba "
                "returns, or score='squared_error'."
            )
