# SPDX-License-Identifier: BSD-3-Clause
"""Telling known from foreign samples by the confidence of the predictions.

Wenzel et al. (2020), Hyperparameter Ensembles for Robustness and Uncertainty
Quantification, appendix D.3. A sample of the training distribution is the positive
class; its score is the confidence, the largest probability of the row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from accsmbo._probabilities import check_probabilities

__all__ = ["fpr_at_tpr", "mean_maximum_confidence", "out_of_distribution_auroc"]


def mean_maximum_confidence(y_prob: Any) -> float:
    """Mean of the largest probability of each row.

    On samples from elsewhere smaller is better.

    Parameters
    ----------
    y_prob : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probabilities.

    Returns
    -------
    float
        In [1 / n_classes, 1].

    Raises
    ------
    ValueError
        If the array holds no probabilities.
    """
    return float(_confidence(y_prob, "y_prob").mean())


def out_of_distribution_auroc(prob_in: Any, prob_out: Any) -> float:
    """Area under the ROC curve of confidence as a detector of known samples.

    Parameters
    ----------
    prob_in : array-like of shape (n_in, n_classes)
        Probabilities for samples of the training distribution.
    prob_out : array-like of shape (n_out, n_classes)
        Probabilities for samples from elsewhere.

    Returns
    -------
    float
        Chance that a known sample gets more confidence than a foreign one (ties
        count half); greater is better.

    Raises
    ------
    ValueError
        If an array holds no probabilities.
    """
    known, foreign = _confidence(prob_in, "prob_in"), _confidence(prob_out, "prob_out")
    ranks = rankdata(np.concatenate([known, foreign]))
    n_in, n_out = len(known), len(foreign)
    # Mann-Whitney: U = sum of ranks minus its smallest possible value.
    return float((ranks[:n_in].sum() - n_in * (n_in + 1) / 2) / (n_in * n_out))


def fpr_at_tpr(prob_in: Any, prob_out: Any, *, tpr: float = 0.95) -> float:
    """Return the false positive rate where a share of known samples is kept.

    Parameters
    ----------
    prob_in : array-like of shape (n_in, n_classes)
        Probabilities for samples of the training distribution.
    prob_out : array-like of shape (n_out, n_classes)
        Probabilities for samples from elsewhere.
    tpr : float, default=0.95
        Least share of known samples to keep, in (0, 1].

    Returns
    -------
    float
        Share of foreign samples at or above the highest threshold that keeps
        that share of the known ones; smaller is better.

    Raises
    ------
    ValueError
        If ``tpr`` is not in (0, 1], or an array holds no probabilities.
    """
    if not 0 < tpr <= 1:
        raise ValueError(f"tpr must be in (0, 1], got {tpr!r}. 0.95 is usual.")
    known, foreign = _confidence(prob_in, "prob_in"), _confidence(prob_out, "prob_out")
    kept = max(1, int(np.ceil(round(tpr * len(known), 9))))
    threshold = np.sort(known)[len(known) - kept]
    return float(np.mean(foreign >= threshold))


def _confidence(y_prob: Any, name: str) -> NDArray[np.float64]:
    return check_probabilities(y_prob, name=name).max(axis=1).astype(np.float64)
