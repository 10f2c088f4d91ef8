# SPDX-License-Identifier: BSD-3-Clause
"""What members bring to an ensemble: diversity, and members against the whole.

Notation
--------
P    (m, n, c) probabilities of m members
w    (m,) weights of the members, sum 1
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo._probabilities import encode_labels
from accsmbo.ensembles._classification_metrics import (
    accuracy,
    brier_score,
    expected_calibration_error,
    negative_log_likelihood,
)

__all__ = ["member_and_ensemble_scores", "predictive_disagreement"]

DEFAULT_METRICS: dict[str, Callable[..., float]] = {
    "nll": negative_log_likelihood,
    "brier": brier_score,
    "ece": expected_calibration_error,
    "accuracy": accuracy,
}


def predictive_disagreement(
    predictions: Any,
    y_true: Any = None,
    *,
    weights: Any = None,
    labels: Any = None,
) -> float:
    """Share of samples on which two members predict different classes.

    The mean over all pairs of members; 0 where all agree, 1 where all differ.
    Given ``y_true`` it is divided by the ensemble's error rate (one minus its
    accuracy), so that random members are not the most diverse.

    Parameters
    ----------
    predictions : array-like of shape (n_members, n_samples, n_classes)
        Probabilities of at least two members.
    y_true : array-like of shape (n_samples,), default=None
        True labels; None leaves the disagreement as it is.
    weights : array-like of shape (n_members,), default=None
        Weights of the members in the ensemble whose error divides. Members of
        weight zero take no part at all. None: equal.
    labels : array-like of shape (n_classes,), default=None
        Label of each column. None: the sorted distinct values of ``y_true``, or
        0, 1, ... where it holds such numbers.

    Returns
    -------
    float
        The diversity, greater is more diverse. 0 for a single member; infinite
        where members disagree and the ensemble makes no error.

    Raises
    ------
    ValueError
        If the array is not three-dimensional.

    References
    ----------
    Wenzel et al. (2020), Hyperparameter Ensembles for Robustness and Uncertainty
    Quantification, appendix C.7.3; Fort, Hu, Lakshminarayanan (2019).
    """
    members, weights = _active_members(predictions, weights)
    n_members, n_samples, n_classes = members.shape
    if n_members == 1:
        return 0.0
    votes = np.zeros((n_samples, n_classes))
    for member in members:
        votes[np.arange(n_samples), member.argmax(axis=1)] += 1
    agreeing = np.sum(votes * (votes - 1), axis=1) / (n_members * (n_members - 1))
    disagreement = float(1 - agreeing.mean())
    if y_true is None:
        return disagreement
    codes = encode_labels(y_true, n_classes, labels)
    error = float(np.mean(np.tensordot(weights, members, 1).argmax(axis=1) != codes))
    if error == 0:
        return 0.0 if disagreement == 0 else float("inf")
    return disagreement / error


def member_and_ensemble_scores(
    predictions: Any,
    y_true: Any,
    *,
    weights: Any = None,
    metrics: Mapping[str, Callable[..., float]] | None = None,
    labels: Any = None,
) -> dict[str, dict[str, float]]:
    """Score the average member beside the ensemble of all.

    Parameters
    ----------
    predictions : array-like of shape (n_members, n_samples, n_classes)
        Probabilities of the members.
    y_true : array-like of shape (n_samples,)
        True labels.
    weights : array-like of shape (n_members,), default=None
        Weights of the members; they weigh the mean over members too. None: equal.
    metrics : dict of str to callable, default=None
        Functions ``metric(y_true, y_prob, labels=...)``. None: "nll", "brier",
        "ece" and "accuracy".
    labels : array-like of shape (n_classes,), default=None
        Label of each column. None: the sorted distinct values of ``y_true``, or
        0, 1, ... where it holds such numbers.

    Returns
    -------
    dict of str to dict
        For each metric ``{"members": ..., "ensemble": ...}``.

    Raises
    ------
    ValueError
        If the array is not three-dimensional.
    """
    members, weights = _active_members(predictions, weights)
    ensemble = np.tensordot(weights, members, 1)
    scores = {}
    for name, metric in (DEFAULT_METRICS if metrics is None else metrics).items():
        alone = [metric(y_true, member, labels=labels) for member in members]
        scores[name] = {
            "members": float(np.dot(weights, alone)),
            "ensemble": metric(y_true, ensemble, labels=labels),
        }
    return scores


def _active_members(
    predictions: Any, weights: Any
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Members of weight above zero, and their weights scaled to sum 1."""
    members = np.asarray(predictions)
    if members.ndim != 3 or len(members) == 0:
        raise ValueError(
            "predictions must have shape (n_members, n_samples, n_classes), got "
            f"{members.shape}. Stack what predict_proba of each member returns."
        )
    if weights is None:
        return members, np.full(len(members), 1 / len(members))
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(members),) or np.any(weights < 0) or weights.sum() <= 0:
        raise ValueError(
            f"weights must hold {len(members)} numbers >= 0 with a positive sum, got "
            f"{weights!r}. Pass the weights_ of an ensemble, or None."
        )
    active = weights > 0
    return members[active], weights[active] / weights.sum()
