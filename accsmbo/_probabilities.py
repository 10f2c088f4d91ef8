# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of class probabilities: checks, label codes, class alignment, bins.

Notation
--------
n    samples
c    classes
p    (n, c) predicted probabilities, columns in the order of ``labels``
y    (n,) labels; ``codes`` are their columns
B    number of equal-width confidence bins
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

__all__ = [
    "CalibrationBins",
    "align_classes",
    "calibration_bins",
    "check_probabilities",
    "encode_labels",
]

# A sum of float32 shares may pass 1 by a few units in the last place.
PROBABILITY_SLACK = 1e-5


class CalibrationBins(NamedTuple):
    """What happened in each confidence bin.

    A calibrated model is right as often as it says: accuracy and confidence agree in
    every bin. Their gaps are what a reliability diagram shows, and the sign of a gap
    tells over-confidence from under-confidence; the mean size of the gaps, weighted by
    the samples in the bins, is the expected calibration error (Guo et al. 2017, eq. 3).

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Bin limits; bin ``b`` holds confidences in ``(edges[b], edges[b + 1]]``,
        the first one also 0.
    confidence : ndarray of shape (n_bins,)
        Mean confidence in the bin (NaN when empty).
    accuracy : ndarray of shape (n_bins,)
        Share of right predictions in the bin (NaN when empty).
    weight : ndarray of shape (n_bins,)
        Share of the samples in the bin; sums to 1.

    See Also
    --------
    calibration_bins : Computes them.
    expected_calibration_error : One number instead of the bins.
    ReliabilityDisplay : Draws them.

    Examples
    --------
    Over-confident where it is unsure, under-confident where it is sure:

    >>> from accsmbo.ensembles.metrics import calibration_bins
    >>> bins = calibration_bins([1, 1, 0, 1], [0.9, 0.9, 0.6, 0.7], n_bins=4)
    >>> (bins.confidence - bins.accuracy)[2:].round(2)
    array([ 0.15, -0.1 ])
    """

    edges: NDArray[np.float64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    weight: NDArray[np.float64]


def encode_labels(y: Any, n_classes: int, labels: Any = None) -> NDArray[np.intp]:
    """Turn labels into column numbers of a probability array.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True labels.
    n_classes : int
        Number of columns.
    labels : array-like of shape (n_classes,), default=None
        Label of each column. None: the sorted distinct values of ``y``; where these
        are fewer than the columns and whole numbers below their number, they are the
        columns themselves.

    Returns
    -------
    ndarray of shape (n_samples,)
        Column of each label.

    Raises
    ------
    ValueError
        If the number of labels is not the number of columns, or ``y`` holds a
        label that is not listed.
    """
    y = column_or_1d(y)
    classes = _labels_in(y, n_classes) if labels is None else column_or_1d(labels)
    if len(classes) != n_classes:
        raise ValueError(
            f"labels must name each of the {n_classes} columns of the probabilities, "
            f"got {len(classes)}: {classes!r}. Pass labels=estimator.classes_ (y "
            "alone does not show classes that it lacks)."
        )
    order = np.argsort(classes, kind="stable")
    place = np.searchsorted(classes, y, sorter=order)
    codes = order[np.minimum(place, n_classes - 1)]
    strange = classes[codes] != y
    if np.any(strange):
        raise ValueError(
            f"y must hold only the labels {classes!r}, got also "
            f"{np.unique(y[strange])!r}. Pass labels= with every class."
        )
    return np.asarray(codes, dtype=np.intp)


def _labels_in(y: NDArray[Any], n_classes: int) -> NDArray[Any]:
    """Return the labels of the columns, as far as ``y`` tells."""
    found: NDArray[Any] = np.unique(y)
    is_code = found.dtype.kind in "iu" and found[0] >= 0 and found[-1] < n_classes
    return np.arange(n_classes) if is_code and len(found) < n_classes else found


def check_probabilities(y_prob: Any, *, name: str = "y_prob") -> NDArray[Any]:
    """Return probabilities as a float array of shape (n_samples, n_classes).

    Parameters
    ----------
    y_prob : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probabilities; one dimension means the second of two classes.
    name : str, default="y_prob"
        Name of the argument, for the messages.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        float32 and float64 are kept, all else becomes float64.

    Raises
    ------
    ValueError
        If the shape is wrong, or a value is not in [0, 1].
    """
    p: NDArray[Any] = np.asarray(y_prob)
    if p.dtype not in (np.float32, np.float64):
        p = p.astype(np.float64)
    if p.ndim == 1:
        p = np.column_stack([1 - p, p])
    if p.ndim != 2 or p.shape[0] == 0 or p.shape[1] < 2:
        raise ValueError(
            f"{name} must have shape (n_samples, n_classes) with at least one sample "
            f"and two classes, got {p.shape}. Pass what predict_proba returns."
        )
    inside = (p >= -PROBABILITY_SLACK) & (p <= 1 + PROBABILITY_SLACK)
    if not inside.all():
        raise ValueError(
            f"{name} must hold probabilities in [0, 1], got {p[~inside][0]!r}. Pass "
            "what predict_proba returns, not decision values."
        )
    return p


def align_classes(p: Any, own: Any, classes: Any) -> NDArray[np.float64]:
    """Spread the columns of an estimator that saw fewer classes over all of them.

    Parameters
    ----------
    p : array-like of shape (n_samples, n_own)
        Probabilities of the classes ``own``.
    own : array-like of shape (n_own,)
        Classes of the columns of ``p``; a subset of ``classes``.
    classes : array-like of shape (n_classes,)
        Sorted classes of the result.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        A class that the estimator never saw has probability 0.
    """
    p = np.asarray(p)
    if p.ndim == 1:
        p = np.column_stack([1 - p, p])
    aligned = np.zeros((p.shape[0], len(classes)), dtype=p.dtype)
    aligned[:, np.searchsorted(classes, own)] = p
    return aligned


def calibration_bins(
    y_true: Any,
    y_prob: Any,
    *,
    n_bins: int = 15,
    labels: Any = None,
    sample_weight: Any = None,
) -> CalibrationBins:
    """Compare confidence with accuracy in equal-width bins of the confidence.

    The confidence is the largest probability of a row, the prediction its column
    (the first one of equals).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_prob : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probabilities.
    n_bins : int, default=15
        Number of bins over [0, 1].
    labels : array-like of shape (n_classes,), default=None
        Label of each column. None: the sorted distinct values of ``y_true``, or
        0, 1, ... where it holds such numbers.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    CalibrationBins
        Edges, and mean confidence, accuracy and weight of each bin.

    Raises
    ------
    ValueError
        If ``n_bins`` is below 1, or the arrays do not fit.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), On Calibration of Modern Neural Networks,
    equations 2 and 3.
    """
    if n_bins < 1:
        raise ValueError(
            f"n_bins must be at least 1, got {n_bins!r}. 10 to 20 are usual."
        )
    p = check_probabilities(y_prob)
    codes = encode_labels(y_true, p.shape[1], labels)
    confidence = p.max(axis=1).astype(np.float64)
    right = p.argmax(axis=1) == codes
    weight = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight)
    edges = np.linspace(0, 1, n_bins + 1)
    place = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, n_bins - 1)

    def total(values: NDArray[Any]) -> NDArray[np.float64]:
        sums = np.bincount(place, weights=values, minlength=n_bins)
        return sums.astype(np.float64)

    mass = total(weight)
    with np.errstate(invalid="ignore"):
        return CalibrationBins(
            edges,
            total(weight * confidence) / mass,
            total(weight * right) / mass,
            mass / mass.sum(),
        )
