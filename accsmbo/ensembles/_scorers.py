# SPDX-License-Identifier: BSD-3-Clause
"""Scorers, greater is better, from metrics on probabilities."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from accsmbo._probabilities import align_classes
from accsmbo.ensembles._classification_metrics import (
    accuracy,
    brier_score,
    expected_calibration_error,
    negative_log_likelihood,
)

__all__ = ["SCORERS", "ProbabilityScorer"]


class ProbabilityScorer:
    """Scorer ``scorer(estimator, X, y)`` that looks at ``predict_proba``.

    Unlike a scorer of scikit-learn it knows the classes of the estimator, so a
    fold that lacks a class, or holds one that training lacked, still has a score.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_prob, labels=..., sample_weight=...)``.
    greater_is_better : bool, default=False
        Whether the metric is a score; a loss is negated.

    See Also
    --------
    negative_log_likelihood : A metric to give it; ``SCORERS["neg_nll"]`` is that one.
    brier_score : Another, bounded.
    sklearn.metrics.make_scorer : Where every fold holds all classes.

    Examples
    --------
    Iris is sorted by class: without shuffling each fold is tested on a class that was
    not trained on.

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from accsmbo.ensembles.metrics import ProbabilityScorer, brier_score
    >>> X, y = load_iris(return_X_y=True)
    >>> scorer = ProbabilityScorer(brier_score)
    >>> scores = cross_val_score(GaussianNB(), X, y, cv=KFold(3), scoring=scorer)
    >>> bool(np.isfinite(scores).all())
    True
    """

    def __init__(
        self, metric: Callable[..., float], *, greater_is_better: bool = False
    ) -> None:
        self.metric = metric
        self.greater_is_better = greater_is_better

    def __repr__(self) -> str:
        name = getattr(self.metric, "__name__", repr(self.metric))
        return f"ProbabilityScorer({name}, greater_is_better={self.greater_is_better})"

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any = None
    ) -> float:
        """Score a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``predict_proba`` and ``classes_``.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
            The score, greater is better.
        """
        y = column_or_1d(y)
        classes = np.union1d(estimator.classes_, y)
        y_prob = align_classes(estimator.predict_proba(X), estimator.classes_, classes)
        value = self.metric(y, y_prob, labels=classes, sample_weight=sample_weight)
        return value if self.greater_is_better else -value


SCORERS: dict[str, ProbabilityScorer] = {
    "accuracy": ProbabilityScorer(accuracy, greater_is_better=True),
    "neg_brier": ProbabilityScorer(brier_score),
    "neg_ece": ProbabilityScorer(expected_calibration_error),
    "neg_nll": ProbabilityScorer(negative_log_likelihood),
}
