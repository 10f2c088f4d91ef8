# SPDX-License-Identifier: BSD-3-Clause
"""What fitted linear models predict; mixins for the estimators of this folder."""

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["ClassPredictions", "LinearOutputs", "ProbabilityPredictions"]


class LinearOutputs:
    """``X @ coef_.T + intercept_`` of checked rows, dense or sparse."""

    coef_: Any
    intercept_: Any

    def _linear(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )
        return X @ self.coef_.T + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


class ClassPredictions(LinearOutputs):
    """Classes of a linear classifier."""

    classes_: Any

    def decision_function(self, X: Any) -> Any:
        """Return the raw outputs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Output for the second class, or one column per class.
        """
        raw = self._linear(X)
        return raw.ravel() if len(self.classes_) == 2 else raw

    def predict(self, X: Any) -> Any:
        """Predict the class of the largest output.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        raw = self.decision_function(X)
        best = (raw > 0).astype(int) if raw.ndim == 1 else raw.argmax(axis=1)
        return self.classes_[best]


class ProbabilityPredictions(ClassPredictions):
    """Classes and probabilities of logistic regression."""

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        raw = self.decision_function(X)
        if raw.ndim == 1:
            return np.column_stack([expit(-raw), expit(raw)])
        return softmax(raw, axis=1)

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log probabilities.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
