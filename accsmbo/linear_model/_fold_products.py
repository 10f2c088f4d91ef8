# SPDX-License-Identifier: BSD-3-Clause
"""Products with the rows of all folds, made together and counted.

Several folds share one pass through X: five columns cost about 2.4 times one (rcv1,
CSR, float32). Folds whose rows differ (each behind transformers of its own) and a
single fold have matrices of their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from accsmbo.hypergradients._design import Design, raw_outputs, raw_outputs_vjp
from accsmbo.hypergradients._inner_problem import Array
from accsmbo.linear_model._work import PASS, Work, product_cost

__all__ = ["FoldProducts", "SeparateFolds", "SharedRows"]

SETUP_CALLS = 60  # of a fold's problem: targets, penalty, products


class FoldProducts(ABC):
    """``[X, constant]`` from both sides, for training and validation rows.

    Attributes
    ----------
    constant : float
        Value of the constant column, 0 for none.
    dtype : dtype
        Precision of the products.
    n_products : float
        Vectors multiplied so far by training rows or their transpose; products with
        validation rows apart count by their share.
    work : Work
        Charged with all products.
    """

    constant: float
    dtype: Any
    work: Work
    n_products: float = 0.0

    @abstractmethod
    def design(self, fold: int) -> Design:
        """Return the rows that are multiplied for a fold."""

    @abstractmethod
    def scatter(self, fold: int, values: Array, *, add: bool = False) -> Array:
        """Return values of a fold's training rows at the rows of its design.

        With ``add`` those of rows that occur several times are added up.
        """

    @abstractmethod
    def forward(self, folds: Sequence[int], vectors: Sequence[Array]) -> list[Array]:
        """Return ``[X, c] v`` for one vector of each of some folds."""

    @abstractmethod
    def adjoint(self, folds: Sequence[int], outputs: Sequence[Array]) -> list[Array]:
        """Return ``[X, c]^T r`` for outputs of each of some folds."""

    @abstractmethod
    def validate(self, fold: int, vector: Array, image: Array) -> Array:
        """Return the outputs of the validation rows, given those of the design."""

    @abstractmethod
    def validation_adjoints(self, cotangents: Sequence[Array]) -> list[Array]:
        """Return ``V^T r`` for every fold."""

    @abstractmethod
    def validation_rows(self, fold: int, rows: Array) -> Array:
        """Return the validation rows, (k, m), given those of a dense design, (k, n)."""


class SharedRows(FoldProducts):
    """Folds that are rows of one matrix; products go over all rows.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        All rows.
    splits : sequence of (ndarray of int, ndarray of int)
        Training and validation rows of each fold.
    constant : float
        Value of the constant column, 0 for none.
    dtype : dtype
        Precision of the products.
    work : Work, default=None
        Counts them.
    """

    def __init__(
        self,
        X: Any,
        splits: Sequence[tuple[Array, Array]],
        constant: float,
        dtype: Any,
        work: Work | None = None,
    ) -> None:
        self.constant, self.dtype, self.work = constant, dtype, work or Work()
        self.work.charge(_setup_cost(X), SETUP_CALLS)
        self._splits, self._design = splits, Design(X, constant, dtype)

    def design(self, fold: int) -> Design:
        """Return all rows."""
        return self._design

    def scatter(self, fold: int, values: Array, *, add: bool = False) -> Array:
        """Return an array with zeros at the rows that the fold does not train on."""
        rows = self._splits[fold][0]
        full = np.zeros((self._design.X.shape[0], *values.shape[1:]), values.dtype)
        if add:
            np.add.at(full, rows, values)
        else:
            full[rows] = values
        return full

    def forward(self, folds: Sequence[int], vectors: Sequence[Array]) -> list[Array]:
        """Multiply in one pass."""
        return self._together(self._design.dot, vectors)

    def adjoint(self, folds: Sequence[int], outputs: Sequence[Array]) -> list[Array]:
        """Multiply in one pass."""
        return self._together(self._design.adjoint, outputs)

    def validate(self, fold: int, vector: Array, image: Array) -> Array:
        """Return a part of the image."""
        return image[self._splits[fold][1]]

    def validation_adjoints(self, cotangents: Sequence[Array]) -> list[Array]:
        """Multiply in one pass, zeros at the other rows."""
        outputs = []
        for (_, test), r in zip(self._splits, cotangents, strict=True):
            outputs.append(
                np.zeros((self._design.X.shape[0], *r.shape[1:]), self.dtype)
            )
            np.add.at(outputs[-1], test, r.astype(self.dtype))
        return self.adjoint(range(len(outputs)), outputs)

    def validation_rows(self, fold: int, rows: Array) -> Array:
        """Return some of the columns."""
        return rows[:, self._splits[fold][1]]

    def _together(self, product: Any, vectors: Sequence[Array]) -> list[Array]:
        n_vectors = sum(v[0].size for v in vectors)
        self.n_products += n_vectors
        moved = PASS * sum(v.size for v in vectors)
        self.work.charge(product_cost(self._design.X, n_vectors) + moved, 4)
        if len(vectors) == 1:
            return [np.asarray(product(vectors[0]))]
        stacked = np.stack(vectors, axis=1)
        flat = product(stacked.reshape(len(stacked), -1))
        result = flat.reshape(-1, *stacked.shape[1:])
        return [np.ascontiguousarray(result[:, k]) for k in range(len(vectors))]


class SeparateFolds(FoldProducts):
    """Folds with matrices of their own.

    Parameters
    ----------
    parts : sequence of ({ndarray, sparse matrix}, {ndarray, sparse matrix})
        Training and validation rows of each fold.
    constant : float
        Value of the constant column, 0 for none.
    dtype : dtype
        Precision of the products.
    work : Work, default=None
        Counts them.
    """

    def __init__(
        self,
        parts: Sequence[tuple[Any, Any]],
        constant: float,
        dtype: Any,
        work: Work | None = None,
    ) -> None:
        self.constant, self.dtype, self.work = constant, dtype, work or Work()
        for part in parts:
            self.work.charge(sum(map(_setup_cost, part)), SETUP_CALLS)
        self._designs = [Design(X, constant, dtype) for X, _ in parts]
        self._validation = [V.astype(dtype, copy=False) for _, V in parts]

    def design(self, fold: int) -> Design:
        """Return the fold's training rows."""
        return self._designs[fold]

    def scatter(self, fold: int, values: Array, *, add: bool = False) -> Array:
        """Return the values."""
        return values

    def forward(self, folds: Sequence[int], vectors: Sequence[Array]) -> list[Array]:
        """Multiply one after the other."""
        self._count(folds, vectors)
        return [self._designs[k].dot(v) for k, v in zip(folds, vectors, strict=True)]

    def adjoint(self, folds: Sequence[int], outputs: Sequence[Array]) -> list[Array]:
        """Multiply one after the other."""
        self._count(folds, outputs)
        return [
            self._designs[k].adjoint(r) for k, r in zip(folds, outputs, strict=True)
        ]

    def validate(self, fold: int, vector: Array, image: Array) -> Array:
        """Multiply the validation rows."""
        self._count_validation(fold, vector)
        full = self._designs[fold].expand(vector)
        return raw_outputs(full, self._validation[fold], self.constant)

    def validation_adjoints(self, cotangents: Sequence[Array]) -> list[Array]:
        """Multiply the validation rows of each fold."""
        results = []
        for k, r in enumerate(cotangents):
            self._count_validation(k, r)
            r = r.astype(self.dtype, copy=False)
            full = raw_outputs_vjp(self._validation[k], r, self.constant)
            results.append(self._designs[k].reduce(full))
        return results

    def validation_rows(self, fold: int, rows: Array) -> Array:
        """Return the transposed validation rows, a row of constants last."""
        V = self._validation[fold].T
        if not self.constant:
            return np.asarray(V)
        return np.vstack([V, np.full((1, V.shape[1]), self.constant)])

    def _count(self, folds: Sequence[int], vectors: Sequence[Array]) -> None:
        for k, vector in zip(folds, vectors, strict=True):
            n_vectors = vector[0].size
            self.n_products += n_vectors
            self.work.charge(product_cost(self._designs[k].X, n_vectors), 3)

    def _count_validation(self, fold: int, vector: Array) -> None:
        n_rows = self._designs[fold].X.shape[0]
        share = self._validation[fold].shape[0] / max(n_rows, 1)
        self.n_products += share * vector[0].size
        self.work.charge(product_cost(self._validation[fold], vector[0].size), 4)


def _setup_cost(X: Any) -> float:
    return float(PASS * (X.nnz if hasattr(X, "indptr") else X.size))
