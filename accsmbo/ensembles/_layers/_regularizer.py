# SPDX-License-Identifier: BSD-3-Clause
"""The L2 regulariser (12) in its vectorised form of appendix B.2, and its gradients.

Notation
--------
K, b, r, s  members, examples, inputs, outputs
nu          strengths, (K, b): one for each member and example
e           embeddings, (K, b, s)
W_k(lam)    W_k + D_k o e(lam)^T with W_k = W o (r_k s_k^T), D_k = Delta o (u_k v_k^T)
A, B, C     column sums of W_k o W_k, W_k o D_k and D_k o D_k, each (K, s)
<.>         mean over the examples

One example costs |W_k(lam)|^2 = sum(A_k) + 2 e.B_k + (e o e).C_k, so that (12) needs
the weights only through A, B and C, and those need only W o W, W o Delta and
Delta o Delta: no array has both a member axis and the shape of the weights.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Columns:
    """Column sums A and, with embeddings, (B, C), each of shape (K, s)."""

    A: np.ndarray
    moving: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True)
class Moments:
    """<nu> (K, 1) and, with embeddings, <nu e> and <nu e o e> (K, s), over K."""

    nu: np.ndarray
    moving: tuple[np.ndarray, np.ndarray] | None = None


def strength_moments(nu: np.ndarray, e: np.ndarray | None) -> Moments:
    """Return the averages over the examples of appendix B.2, divided by K."""
    row = nu * (1.0 / nu.size)
    mean = row.sum(axis=1, keepdims=True)
    if e is None:
        return Moments(mean)
    row = row[:, None]
    return Moments(mean, ((row @ e)[:, 0], (row @ (e * e))[:, 0]))


def penalty_value(columns: Columns, moments: Moments) -> float:
    """Return the regulariser (12)."""
    value = float((columns.A * moments.nu).sum())
    if columns.moving is not None and moments.moving is not None:
        (B, C), (nu_e, nu_ee) = columns.moving, moments.moving
        value += float((2.0 * B * nu_e).sum() + (C * nu_ee).sum())
    return value


def embedding_gradient(
    nu: np.ndarray, e: np.ndarray, columns: Columns, out: np.ndarray
) -> None:
    """Write the derivative of (12) by the embeddings, of shape (K, b, s)."""
    if columns.moving is None:
        raise ValueError("columns must hold B and C where there are embeddings.")
    weights = nu * (2.0 / nu.size)
    # Member by member, so that the three passes find the arrays in the cache.
    for k, (B_k, C_k) in enumerate(zip(*columns.moving, strict=True)):
        np.multiply(e[k], C_k, out=out[k])
        out[k] += B_k
        out[k] *= weights[k, :, None]


def strength_gradient(
    nu: np.ndarray, e: np.ndarray | None, columns: Columns
) -> np.ndarray:
    """Return the derivative of (12) by the strengths, of shape (K, b)."""
    norms = np.broadcast_to(columns.A.sum(axis=-1, keepdims=True), nu.shape)
    if e is not None and columns.moving is not None:
        B, C = columns.moving
        slope = 2.0 * B[:, None] + e * C[:, None]
        norms = norms + np.einsum("kbs,kbs->kb", e, slope)
    return norms / nu.size


def tap_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return left o right of two kernels (t, r, s), summed over the taps."""
    product = left * right
    return product[0] if len(product) == 1 else product.sum(axis=0)


@dataclass(frozen=True)
class Product:
    """W o W, W o Delta or Delta o Delta of some rows, and its sums.

    Attributes
    ----------
    values : ndarray of shape (r, s)
        The product.
    sums : ndarray of shape (K, s)
        (r_k o u_k) values, with the row factors that belong to the product.
    """

    values: np.ndarray
    sums: np.ndarray


def add_factor_gradients(
    product: Product,
    moment: np.ndarray,
    factors: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    gradients: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Add the gradients of sum_k moment_k.[(r_k o u_k) values] o (s_k o v_k).

    Parameters
    ----------
    product : Product
        The product of the kernels and its sums.
    moment : ndarray of shape (K, s) or (K, 1)
        Weight of each column.
    factors : tuple of ndarray
        The factors (r, s, u, v); r and u may be the same array, as may s and v.
    gradients : tuple of ndarray
        Arrays of the same shapes that are added to.
    """
    r, s, u, v = factors
    dr, ds, du, dv = gradients
    by_rows = (s * v * moment) @ product.values.T
    by_columns = product.sums * moment
    dr += by_rows * u
    du += by_rows * r
    ds += by_columns * v
    dv += by_columns * s
