# SPDX-License-Identifier: BSD-3-Clause
"""Exact validation loss and hypergradient of logistic regression with group penalties.

Notation
--------
X, V    (n, p), (m, p)  training and validation rows, a constant column last
y       (n,)            labels, +1 or -1
lam     (d,)            log penalties of d groups of columns
r       (p,)            exp(lam) of each column's group; 1e-10 for the constant
L(w) = sum log(1 + exp(-y Xw)) + sum r w^2 / 2;  f(lam) = mean log loss on V at argmin L
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

LOW, HIGH = -8.0, 8.0


class GroupPenalties:
    """One split of one data set with its columns in d groups."""

    def __init__(self, X: Any, y: Any, d: int, split: int) -> None:
        p = np.random.RandomState(split).permutation(len(y))
        k = int(0.3 * len(y))
        X = np.c_[X, np.ones(len(y))]
        self.X, self.y, self.V, self.v = X[p[k:]], y[p[k:]], X[p[:k]], y[p[:k]]
        self.group = np.zeros(X.shape[1], int)
        for g, columns in enumerate(np.array_split(np.arange(X.shape[1] - 1), d)):
            self.group[columns] = g
        self.d, self.w = d, np.zeros(X.shape[1])

    def __call__(self, u: Any) -> tuple[float, Any]:
        """Return the loss and its gradient at a point of the unit cube."""
        lam = LOW + (HIGH - LOW) * np.asarray(u)
        r = np.exp(lam)[self.group]
        r[-1] = 1e-10
        factor = self._solve(r)
        margin = self.v * (self.V @ self.w)
        by_w = -self.V.T @ (self.v * expit(-margin)) / len(self.v)
        q = cho_solve(factor, by_w)
        terms = -r * self.w * q
        terms[-1] = 0.0
        gradient = np.bincount(self.group, terms, self.d) * (HIGH - LOW)
        return float(np.logaddexp(0.0, -margin).mean()), gradient

    def _solve(self, r: Any) -> Any:
        """Newton with backtracking to rounding; returns the factored Hessian."""
        X, y, w = self.X, self.y, self.w

        def value(w: Any) -> float:
            return float(np.logaddexp(0, -y * (X @ w)).sum() + 0.5 * r @ w**2)

        f = value(w)
        for _ in range(100):
            s = expit(-y * (X @ w))
            g = r * w - X.T @ (y * s)
            H = (X.T * (s * (1 - s))) @ X
            H[np.diag_indices_from(H)] += r + 1e-12
            factor = cho_factor(H)
            step = -cho_solve(factor, g)
            decrease = -float(g @ step)
            if decrease < 1e-11 * (1 + f):
                w = w + step
                break
            a, new = 1.0, value(w + step)
            while new > f - 1e-4 * a * decrease and a > 1e-8:
                a *= 0.5
                new = value(w + a * step)
            w, f = w + a * step, new
        self.w = w
        return factor


def load_pc4(folder: str) -> tuple[Any, Any]:
    """Return standardised columns and labels of pc4.csv.gz in a folder."""
    table = np.genfromtxt(
        Path(folder) / "pc4.csv.gz", delimiter=",", dtype=str, skip_header=1
    )
    X = table[:, :-1].astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.where(table[:, -1] == "TRUE", 1.0, -1.0)


def load_digits(folder: str) -> tuple[Any, Any]:
    """Return standardised pixels of scikit-learn's digits, even against odd."""
    from sklearn.datasets import load_digits as load

    X, y = load(return_X_y=True)
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.where(y % 2 == 0, 1.0, -1.0)


LOADERS = {"pc4": load_pc4, "digits": load_digits}
