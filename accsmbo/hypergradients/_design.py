# SPDX-License-Identifier: BSD-3-Clause
"""The training matrix as an operator, with an optional constant column.

X is (n, p); with an intercept the operator is ``[X, c 1]`` of shape (n, p + 1).
Columns of a sparse X without an entry are dropped: their coefficients are zero at any
positive penalty.
"""

from typing import Any

import numpy as np
from scipy import sparse

from accsmbo.hypergradients._inner_problem import Array

_csr: Any = sparse.csr_array  # typed loosely: its stubs cover single dtypes

__all__ = ["Design", "raw_outputs", "raw_outputs_vjp"]


class Design:
    """``[X, constant]`` for products from both sides.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training rows, or all rows where the folds share them.
    constant : float
        Value of the constant column; 0 means none.
    dtype : dtype
        float32 halves the memory traffic of the products, float64 is exact.
    """

    def __init__(self, X: Any, constant: float, dtype: Any) -> None:
        self.n_features = X.shape[1]
        self.constant = constant
        self.kept: Array | None = None
        if sparse.issparse(X):
            X = self._drop_empty_columns(_csr(X))
        self.X = X.astype(dtype, copy=False)
        self._transposed = self.X.T  # scipy checks all indices at each transposition
        self.dtype = np.dtype(dtype)
        self.size = self.X.shape[1] + bool(constant)
        self._squared: Any = None
        self._column_squares: Array | None = None
        self._by_column: Any = None

    def _drop_empty_columns(self, X: Any) -> Any:
        used = np.zeros(X.shape[1], dtype=bool)
        used[X.indices] = True
        if used.all():
            return X
        self.kept = np.flatnonzero(used)
        position = np.cumsum(used, dtype=np.int32) - 1
        return _csr(
            (X.data, position[X.indices], X.indptr),
            shape=(X.shape[0], len(self.kept)),
        )

    def dot(self, w: Array) -> Array:
        """Return ``[X, c] w``."""
        X = self._columns_first() if self._sparse and w.ndim == 2 else self.X
        if not self.constant:
            return np.asarray(X @ w)
        return np.asarray(X @ w[:-1] + self.constant * w[-1])

    def adjoint(self, r: Array) -> Array:
        """Return ``[X, c]^T r``."""
        product = self._transposed @ r
        if not self.constant:
            return np.asarray(product)
        result = _with_row(product, self.constant * r.sum(axis=0))
        return result.astype(self.dtype, copy=False)

    def squared_adjoint(self, d: Array) -> Array:
        """Return ``([X, c] o [X, c])^T d``, the diagonal of ``X^T diag(d) X``."""
        if self._squared is None:
            self._squared = self._squares() if self._sparse else self.X**2
        product = self._squared.T @ d
        if not self.constant:
            return np.asarray(product)
        result = _with_row(product, self.constant**2 * d.sum(axis=0))
        return result.astype(self.dtype, copy=False)

    def column_squares(self) -> Array:
        """Return the sum of squares of each column, kept after the first call."""
        if self._column_squares is None:
            if self._sparse:
                squares = self._squares().T @ np.ones(self.X.shape[0], self.dtype)
            else:
                squares = np.einsum("ij,ij->j", self.X, self.X)
            if self.constant:
                squares = np.append(squares, self.constant**2 * self.X.shape[0])
            self._column_squares = squares.astype(self.dtype)
        return self._column_squares

    def _squares(self) -> Any:
        """Return the squared entries of a sparse X, which shares its indices."""
        parts = self.X.data**2, self.X.indices, self.X.indptr
        return _csr(parts, shape=self.X.shape)

    def columns(self, index: Array) -> Array:
        """Return some columns of ``[X, c]`` as a dense matrix."""
        inside = index[index < self.X.shape[1]]
        if self._sparse:
            chosen = self._columns_first()[:, inside].toarray()
        else:
            chosen = self.X[:, inside]
        if len(inside) < len(index):
            last = np.full((self.X.shape[0], 1), self.constant, self.dtype)
            chosen = np.hstack([chosen, last])
        return np.asarray(chosen)

    def weighted_gram(self, d: Array) -> Array:
        """Return ``[X, c]^T diag(d) [X, c]`` as a dense (size, size) matrix."""
        if self._sparse:
            scaled = self.X.multiply(d[:, None])
            gram = (self.X.T @ _csr(scaled)).toarray()
        else:
            gram = self.X.T @ (self.X * d[:, None])
        if not self.constant:
            return np.asarray(gram)
        edge = self.constant * (self.X.T @ d)
        corner = self.constant**2 * d.sum()
        return np.block([[gram, edge[:, None]], [edge[None], np.atleast_2d(corner)]])

    def _columns_first(self) -> Any:
        """Return X by columns, which halves the time of a product with several vectors.

        By rows, each addition of scipy's loop waits for the one before.
        """
        if self._by_column is None:
            self._by_column = self.X.tocsc()
        return self._by_column

    @property
    def _sparse(self) -> bool:
        return bool(sparse.issparse(self.X))

    def expand(self, w: Array) -> Array:
        """Return ``w`` for all columns of X (and the constant), zeros where dropped."""
        if self.kept is None:
            return w
        full = np.zeros((self.n_features + bool(self.constant), *w.shape[1:]), w.dtype)
        full[self.kept] = w[: len(self.kept)]
        if self.constant:
            full[-1] = w[-1]
        return full

    def reduce(self, w: Array) -> Array:
        """Return the entries of a full ``w`` that belong to the kept columns."""
        if self.kept is None:
            return np.asarray(w, self.dtype)
        parts = [w[self.kept]] + ([w[-1:]] if self.constant else [])
        return np.concatenate(parts).astype(self.dtype, copy=False)


def raw_outputs(w: Array, X: Any, constant: float) -> Array:
    """Return ``[X, c] w`` for a full ``w`` and any rows."""
    if not constant:
        return np.asarray(X @ w)
    return np.asarray(X @ w[:-1] + constant * w[-1])


def raw_outputs_vjp(X: Any, cotangent: Array, constant: float) -> Array:
    """Return ``[X, c]^T cotangent``."""
    product = np.asarray(X.T @ cotangent)
    if not constant:
        return product
    return _with_row(product, constant * cotangent.sum(axis=0))


def _with_row(product: Array, last: Any) -> Array:
    """Return a product with X^T and, below it, that with the constant column."""
    return np.concatenate([product, np.reshape(last, (1, *product.shape[1:]))])
