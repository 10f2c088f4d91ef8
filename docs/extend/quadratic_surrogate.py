# SPDX-License-Identifier: BSD-3-Clause
"""A surrogate in one page: Bayesian regression on a quadratic polynomial."""

import numpy as np
from sklearn.base import BaseEstimator, clone


class QuadraticSurrogate(BaseEstimator):
    """A paraboloid over the numeric dimensions, a constant for each choice.

    Parameters
    ----------
    ridge : float, default=1e-2
        Prior precision of the coefficients, in units of the noise.
    """

    def __init__(self, ridge=1e-2):
        self.ridge = ridge

    def fit(self, U, y, *, categorical=None, noise=None):
        """Learn from points U (n, d) and losses y (n,)."""
        self.U_, self.y_ = np.array(U, float), np.array(y, float)
        d = self.U_.shape[1]
        kinds = np.zeros(d, bool) if categorical is None else np.asarray(categorical)
        self.categorical_ = kinds
        self.choices_ = {j: np.unique(self.U_[:, j]) for j in np.flatnonzero(kinds)}
        self.center_ = self.y_.mean()
        self.scale_ = np.abs(self.y_ - self.center_).max() or 1.0
        F = self._features(self.U_)
        self.covariance_ = np.linalg.inv(F.T @ F + self.ridge * np.eye(F.shape[1]))
        t = (self.y_ - self.center_) / self.scale_
        self.coef_ = self.covariance_ @ F.T @ t
        self.noise_ = np.sqrt(np.mean((t - F @ self.coef_) ** 2) + 1e-6)
        return self

    def predict(self, U):
        """Return mean (m,) and std (m,)."""
        return self.predict_gradient(U)[:2]

    def predict_gradient(self, U):
        """Return mean (m,), std (m,) and their derivatives by U, (m, d) each."""
        U = np.asarray(U, float)
        F, dF = self._features(U), self._derivatives(U)
        FS = F @ self.covariance_
        std = np.sqrt(np.einsum("mf,mf->m", FS, F))
        dstd = np.einsum("mf,mdf->md", FS, dF) / std[:, None]
        size = self.noise_ * self.scale_
        mean = self.center_ + self.scale_ * (F @ self.coef_)
        return mean, size * std, self.scale_ * (dF @ self.coef_), size * dstd

    def condition(self, U, y):
        """Return a new surrogate that has also seen U and y."""
        return clone(self).fit(
            np.vstack([self.U_, U]),
            np.append(self.y_, y),
            categorical=self.categorical_,
        )

    def _features(self, U):
        """Return 1, u_i, u_i u_j for numbers and a column for each choice."""
        N = U[:, ~self.categorical_] - 0.5
        rows, columns = np.triu_indices(N.shape[1])
        one_hot = [U[:, [j]] == values for j, values in self.choices_.items()]
        return np.hstack(
            [np.ones((len(U), 1)), N, N[:, rows] * N[:, columns], *one_hot]
        )

    def _derivatives(self, U):
        """Return the derivatives of the features, (m, d, n_features)."""
        numbers = np.flatnonzero(~self.categorical_)
        N = U[:, numbers] - 0.5
        rows, columns = np.triu_indices(len(numbers))
        result = np.zeros((*U.shape, self._features(U).shape[1]))
        for i, dimension in enumerate(numbers):
            result[:, dimension, 1 + i] = 1.0
            products = (rows == i) * N[:, columns] + (columns == i) * N[:, rows]
            start = 1 + len(numbers)
            result[:, dimension, start : start + len(rows)] = products
        return result
