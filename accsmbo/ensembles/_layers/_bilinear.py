# SPDX-License-Identifier: BSD-3-Clause
"""Bilinear forms sum_k R_k V S_k^T of a shared matrix, and their gradients.

Notation
--------
K, r, s  members, inputs, outputs
V        product of two shared kernels, summed over the taps, (r, s)
R, S     weights of rows and columns of each member, (K, r) and (K, s)
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


def tap_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return left o right of two kernels (t, r, s), summed over the taps."""
    product = left * right
    return product[0] if len(product) == 1 else product.sum(axis=0)


@dataclass(frozen=True)
class BilinearForm:
    """The form of V with weights R of the rows, as a function of S.

    Attributes
    ----------
    V : ndarray of shape (r, s)
        Shared matrix.
    R : ndarray of shape (K, r)
        Weights of the rows.
    """

    V: np.ndarray
    R: np.ndarray

    @cached_property
    def by_columns(self) -> np.ndarray:
        """Derivative by S: R V, of shape (K, s)."""
        return self.R @ self.V

    def value(self, S: np.ndarray) -> float:
        """Return the form, summed over the members."""
        return float(np.vdot(self.by_columns, S))

    def by_rows(self, S: np.ndarray) -> np.ndarray:
        """Return the derivative by R: S V^T, of shape (K, r)."""
        # Few products with vectors take half the time of one with a narrow matrix.
        return np.stack([self.V @ S_k for S_k in S])

    def by_matrix(self, S: np.ndarray) -> np.ndarray:
        """Return the derivative by V: R^T S, of shape (r, s)."""
        return self.R.T @ S
