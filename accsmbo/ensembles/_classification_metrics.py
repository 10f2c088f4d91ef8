# SPDX-License-Identifier: BSD-3-Clause
"""How good, and how well calibrated, predicted probabilities are.

Notation
--------
p    (n, c) probabilities, one column a class
y    (n,) true labels
"""

from typing import Any

import numpy as np

from accsmbo._probabilities import (
    calibration_bins,
    check_probabilities,
    encode_labels,
)

__all__ = [
    "accuracy",
    "brier_score",
    "expected_calibration_error",
    "negative_log_likelihood",
]


def negative_log_likelihood(
    y_true: Any, y_prob: Any, *, labels: Any = None, sample_weight: Any = None
) -> float:
    """Mean negative log-likelihood, in nats; smaller is better.

    Probabilities are clipped to [eps, 1 - eps] with the eps of their dtype, as
    scikit-learn's ``log_loss`` does.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_prob : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probabilities; one dimension means the second of two classes.
    labels : array-like of shape (n_classes,), default=None
        Label of each column. None: the sorted distinct values of ``y_true``, or
        0, 1, ... where it holds such numbers.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    float
        The loss.

    Raises
    ------
    ValueError
        If the arrays do not fit or hold no probabilities.
    """
    p = check_probabilities(y_prob)
    codes = encode_labels(y_true, p.shape[1], labels)
    eps = np.finfo(p.dtype).eps
    likelihood = np.clip(p[np.arange(len(p)), codes], eps, 1 - eps)
    return float(
        np.average(-np.log(likelihood, dtype=np.float64), weights=sample_weight)
    )


def brier_score(
    y_true: Any,
    y_prob: Any,
    *,
    shifted: bool = False,
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Mean squared distance to the one-hot truth, over all classes.

    In [0, 2]; smaller is better. For two classes it is twice what scikit-learn's
    ``brier_score_loss`` returns by default (that one looks at one column).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_prob : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probabilities; one dimension means the second of two classes.
    shifted : bool, default=False
        Subtract 1: the form of Wenzel et al. (2020), ``sum_c p_c^2 - 2 p_y``, in
        [-1, 1].
    labels : array-like of shape (n_classes,), default=None
        Label of each column. None: the sorted distinct values of ``y_true``, or
        0, 1, ... where it holds such numbers.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    float
        The score.

    Raises
    ------
    ValueError
        If the arrays do not fit or hold no probabilities.
    """
    p = check_probabilities(y_prob).astype(np.float64)
    codes = encode_labels(y_true, p.shape[1], labels)
    p[np.arange(len(p)), codes] -= 1
    score = float(np.average(np.einsum("nc,nc->n", p, p), weights=sample_weight))
    return score - 1 if shifted else score


def accuracy(
    y_true: Any, y_prob: Any, *, labels: Any = None, sample_weight: Any = None
) -> float:
    """Share of rows whose largest probability is the true class's.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_prob : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probabilities; among equal ones the first column is the prediction.
    labels : array-like of shape (n_classes,), default=None
        Label of each column. None: the sorted distinct values of ``y_true``, or
        0, 1, ... where it holds such numbers.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    float
        The accuracy, greater is better.

    Raises
    ------
    ValueError
        If the arrays do not fit or hold no probabilities.
    """
    p = check_probabilities(y_prob)
    codes = encode_labels(y_true, p.shape[1], labels)
    return float(np.average(p.argmax(axis=1) == codes, weights=sample_weight))


def expected_calibration_error(
    y_true: Any,
    y_prob: Any,
    *,
    n_bins: int = 15,
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Mean gap between confidence and accuracy over equal-width bins.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_prob : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probabilities; the confidence of a row is its largest one.
    n_bins : int, default=15
        Number of equal-width bins over [0, 1], each ``(low, high]``.
    labels : array-like of shape (n_classes,), default=None
        Label of each column. None: the sorted distinct values of ``y_true``, or
        0, 1, ... where it holds such numbers.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    float
        The error, in [0, 1]; smaller is better. It is a biased estimate: few
        samples a bin make it larger.

    Raises
    ------
    ValueError
        If the arrays do not fit or hold no probabilities.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), On Calibration of Modern Neural Networks,
    equation 3.
    """
    bins = calibration_bins(
        y_true, y_prob, n_bins=n_bins, labels=labels, sample_weight=sample_weight
    )
    filled = bins.weight > 0
    gap = np.abs(bins.accuracy - bins.confidence)[filled]
    return float(np.sum(bins.weight[filled] * gap))
