# SPDX-License-Identifier: BSD-3-Clause
"""Bases of ensembles that predict a weighted average of fitted members.

Notation
--------
w_k      weight of member k, sum 1
mu_k     prediction of member k
s2_k     its own variance
mean     sum_k w_k mu_k
var      sum_k w_k (s2_k + mu_k^2) - mean^2, a mixture of Gaussians
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, indexable

from accsmbo._predictions import fold_predictions

__all__ = [
    "WeightedAverage",
    "WeightedAverageClassifier",
    "WeightedAverageRegressor",
]


class WeightedAverage(BaseEstimator):
    """Base: holds ``members_`` and ``member_weights_``, and averages.

    A subclass sets them with ``_set_members``; members of weight zero are not kept.
    """

    def _check_X_y(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Check the shapes and keep the classes; members check the rest."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but "
                "the target y is None."
            )
        X, y = indexable(X, y)
        return X, self._check_y(np.asarray(y))

    def _check_y(self, y: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    def _set_members(self, members: list[Any], weights: Any) -> None:
        """Keep the members of weight above zero, weights scaled to sum 1."""
        weights = np.asarray(weights, dtype=np.float64)
        kept = np.flatnonzero(weights > 0)
        self.members_ = [members[i] for i in kept]
        self.member_weights_ = weights[kept] / weights[kept].sum()
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.members_[0], name):
                setattr(self, name, getattr(self.members_[0], name))

    def _average(
        self, outputs: Iterator[NDArray[Any]], fallback: Callable[[Any], Any]
    ) -> NDArray[np.float64]:
        """Average outputs; a row that is not finite leaves its weight to the others.

        ``fallback`` makes the row of a sample for which no member is finite, from
        the output of the member of largest weight.
        """
        heaviest = int(np.argmax(self.member_weights_))
        total: Any = 0.0
        mass: Any = 0.0
        lost: Any = None
        for k, output in enumerate(outputs):
            output = np.asarray(output, dtype=np.float64)
            finite = np.isfinite(output).reshape(len(output), -1).all(axis=1)
            share = np.where(finite, self.member_weights_[k], 0.0)
            part = np.where(_column(finite, output), output, 0.0)
            total = total + _column(share, output) * part
            mass = mass + share
            lost = output if k == heaviest else lost
        empty = mass == 0
        average: NDArray[np.float64] = total / _column(
            np.where(empty, 1.0, mass), total
        )
        if np.any(empty):
            average[empty] = fallback(lost[empty])
        return average

    def _with_member_tags(self, tags: Any, estimators: Iterable[Any]) -> Any:
        """Take over what the members can read; one that cannot is left out in fit."""
        inner = [e.__sklearn_tags__().input_tags for e in estimators]
        for name in ("allow_nan", "categorical", "sparse", "string"):
            setattr(tags.input_tags, name, any(getattr(t, name) for t in inner))
        return tags


class WeightedAverageClassifier(ClassifierMixin, WeightedAverage):
    """Averages class probabilities (votes of members without them)."""

    def _check_y(self, y: NDArray[Any]) -> NDArray[Any]:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        return y

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Average the class probabilities of the members.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``. A member whose row is not finite
            leaves its weight to the others; without any, the row is uniform.
        """
        check_is_fitted(self, "members_")
        outputs = (fold_predictions(m, X, self.classes_) for m in self.members_)
        return self._average(outputs, lambda _: 1 / len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of largest average probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


class WeightedAverageRegressor(RegressorMixin, WeightedAverage):
    """Averages predictions; the members form a mixture of Gaussians."""

    def _check_y(self, y: NDArray[Any]) -> NDArray[Any]:
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return y

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the mean, and the spread of the mixture of members.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        return_std : bool, default=False
            Also return the standard deviation, in the units of ``y``. The variance
            of a member is what its own ``predict(X, return_std=True)`` says, else
            its mean squared error on held-out data where the ensemble has measured
            it (``member_variances_``), else 0.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Weighted mean. A member whose row is not finite leaves its weight to the
            others; without any, the row is that of the member of largest weight.
        std : ndarray of the same shape
            Only with ``return_std``: sqrt(sum_k w_k (s2_k + mu_k^2) - mean^2).
        """
        check_is_fitted(self, "members_")
        if not return_std:
            return self._average((m.predict(X) for m in self.members_), _same)
        moments = [self._moments(k, X) for k in range(len(self.members_))]
        mean = self._average((mu for mu, _ in moments), _same)
        # Centred, so that no digits are lost where the mean is large.
        with np.errstate(invalid="ignore", over="ignore"):
            spread = [s2 + (mu - mean) ** 2 for mu, s2 in moments]
        return mean, np.sqrt(self._average(iter(spread), _same))

    def _moments(self, k: int, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        member = self.members_[k]
        if "return_std" in inspect.signature(member.predict).parameters:
            mean, std = member.predict(X, return_std=True)
            return mean, np.square(std)
        mean = np.asarray(member.predict(X))
        known = getattr(self, "member_variances_", None)
        variance = 0.0 if known is None else known[k]
        return mean, np.broadcast_to(variance, mean.shape)


def _same(rows: NDArray[Any]) -> NDArray[Any]:
    return rows


def _column(values: NDArray[Any], like: NDArray[Any]) -> NDArray[Any]:
    """Give values of shape (n,) the number of dimensions of ``like``."""
    return values.reshape(-1, *[1] * (like.ndim - 1))
