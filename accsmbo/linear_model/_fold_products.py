# SPDX-License-Identifier: BSD-3-Clause
"""Products with the rows of all folds, made together and counted.

Several folds share one pass through X: five columns cost about three times one (rcv1,
CSR, float32). One fold alone is cut out, so that its products skip the other rows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from accsmbo.hypergradients._design import Design, raw_outputs, raw_outputs_vjp
from accsmbo.hypergradients._inner_problem import Array

_csr: Any = sparse.csr_array  # typed loosely: its stubs cover single dtypes

__all__ = ["FoldProducts"]


class FoldProducts:
    """``[X, constant]`` from both sides, for training and validation rows.

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

    Attributes
    ----------
    design : Design
        The rows that are multiplied: the training rows of a single fold, all rows of
        several.
    n_products : float
        Vectors multiplied so far by training rows or their transpose; validation
        rows count by their share.
    """

    def __init__(
        self,
        X: Any,
        splits: Sequence[tuple[Array, Array]],
        constant: float,
        dtype: Any,
    ) -> None:
        self.splits, self.constant = splits, constant
        self.single = len(splits) == 1
        X = _csr(X) if sparse.issparse(X) else X
        if self.single:
            train, test = splits[0]
            self.validation = X[test].astype(dtype, copy=False)
            X = X[train]
        self.design = Design(X, constant, dtype)
        self.n_products = 0.0

    def scatter(self, fold: int, values: Array, *, add: bool = False) -> Array:
        """Return values of a fold's training rows at the rows of the design."""
        if self.single:
            return values
        rows = self.splits[fold][0]
        full = np.zeros((self.design.X.shape[0], *values.shape[1:]), values.dtype)
        if add:
            np.add.at(full, rows, values)
        else:
            full[rows] = values
        return full

    def forward(self, vectors: Sequence[Array]) -> list[Array]:
        """Return ``[X, c] v`` for vectors of any number of folds."""
        return self._together(self.design.dot, vectors)

    def adjoint(self, outputs: Sequence[Array]) -> list[Array]:
        """Return ``[X, c]^T r`` for outputs of any number of folds."""
        return self._together(self.design.adjoint, outputs)

    def validate(self, fold: int, vector: Array, image: Array) -> Array:
        """Return the outputs of the validation rows, given those of the design."""
        if not self.single:
            return image[self.splits[fold][1]]
        self.n_products += self._share * vector[0].size
        return raw_outputs(self.design.expand(vector), self.validation, self.constant)

    def validation_adjoints(self, cotangents: Sequence[Array]) -> list[Array]:
        """Return ``V^T r`` for every fold in turn."""
        dtype = self.design.dtype
        if self.single:
            r = cotangents[0].astype(dtype)
            self.n_products += self._share * r[0].size
            full = raw_outputs_vjp(self.validation, r, self.constant)
            return [self.design.reduce(full)]
        outputs = []
        for (_, test), r in zip(self.splits, cotangents, strict=True):
            outputs.append(np.zeros((self.design.X.shape[0], *r.shape[1:]), dtype))
            np.add.at(outputs[-1], test, r.astype(dtype))
        return self.adjoint(outputs)

    @property
    def _share(self) -> float:
        return float(self.validation.shape[0] / max(self.design.X.shape[0], 1))

    def _together(self, product: Any, vectors: Sequence[Array]) -> list[Array]:
        self.n_products += sum(v[0].size for v in vectors)
        if len(vectors) == 1:
            return [np.asarray(product(vectors[0]))]
        stacked = np.stack(vectors, axis=1)
        flat = product(stacked.reshape(len(stacked), -1))
        result = flat.reshape(-1, *stacked.shape[1:])
        return [np.ascontiguousarray(result[:, k]) for k in range(len(vectors))]
