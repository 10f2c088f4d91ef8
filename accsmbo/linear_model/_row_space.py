# SPDX-License-Identifier: BSD-3-Clause
"""Wide tables in as many columns as they have rows.

Where all coefficients share one l2 penalty, the solution lies in the span of the rows:
X = Z Q^T with orthonormal columns of Q, and w = Q c with the same norm.
"""

from typing import Any

import numpy as np
from scipy import linalg

from accsmbo.hypergradients._inner_problem import Array
from accsmbo.linear_model._work import SPARSE, Work

__all__ = ["RowSpace"]


class RowSpace:
    """An orthonormal basis of the span of some rows.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Fewer rows than columns.
    work : Work, default=None
        Charged with the decomposition.

    Attributes
    ----------
    rows : ndarray of shape (n_samples, n_kept)
        Z.
    """

    def __init__(self, X: Any, work: Work | None = None) -> None:
        work, n = work or Work(), X.shape[0]
        if not hasattr(X, "indptr"):
            work.charge(3.0 * X.size * n, 20)
            self._left, R = linalg.qr(np.asarray(X.T, np.float64), mode="economic")
            self._X, self.rows = None, np.ascontiguousarray(R.T)
            return
        in_column = np.bincount(X.indices, minlength=1).astype(float)
        work.charge(SPARSE * float(in_column @ in_column) + 20.0 * n**3, 30)
        self._X = X.astype(np.float64, copy=False)
        squares, U = linalg.eigh((self._X @ self._X.T).toarray())
        kept = squares > n * np.finfo(float).eps * squares[-1]
        kept[-1] = True
        roots = np.sqrt(np.maximum(squares[kept], np.finfo(float).tiny))
        self.rows, self._left = U[:, kept] * roots, U[:, kept] / roots

    def expand(self, c: Array) -> Array:
        """Return the coefficients of X, given those of ``rows``.

        Parameters
        ----------
        c : ndarray of shape (n_kept,) or (n_kept + 1,), or of two dimensions
            Coefficients; one for a constant column may be the last.

        Returns
        -------
        ndarray
            Q c.
        """
        size = self.rows.shape[1]
        w = self._left @ c[:size]
        if self._X is not None:
            w = self._X.T @ w
        return np.concatenate([w, c[size:]])
