# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of the members of a batch ensemble and the gradients of their row factors.

Notation
--------
K, t, r, s   members, taps (1 for a dense layer, l l for a convolution), inputs, outputs
W            shared kernel, (t, r, s)
r_k          row factors of member k, an array of shape (K, r)
G_k          gradient by r_k o W

The column factors s_k of equation (2) scale the outputs, which are smaller than the
kernels: [X (W o r_k)] o s_k^T. Theirs is a gradient of the layer.
"""

from collections.abc import Iterator

import numpy as np

BLOCK = 24576  # entries: a handful of float32 arrays of this size fit the L2 cache


def row_blocks(W: np.ndarray) -> Iterator[slice]:
    """Yield slices of the input axis of a kernel (t, r, s), of about BLOCK entries."""
    taps, n_rows, n_columns = W.shape
    step = max(1, BLOCK // (taps * n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, start + step)


def scale_rows(W: np.ndarray, r: np.ndarray | None, out: np.ndarray) -> None:
    """Write the kernels W o r_k of all members.

    Parameters
    ----------
    W : ndarray of shape (t, r, s)
        Shared kernel.
    r : ndarray of shape (K, r) or None
        Row factors; None means that all are one.
    out : ndarray of shape (K, t, r, s)
        Filled with the result.
    """
    if r is None:
        out[...] = W
        return
    for rows in row_blocks(W):
        for target, r_k in zip(out, r, strict=True):
            np.multiply(W[:, rows], r_k[rows, None], out=target[:, rows])


def add_row_gradients(
    W: np.ndarray,
    r: np.ndarray | None,
    G: np.ndarray,
    *,
    dW: np.ndarray,
    dr: np.ndarray | None,
) -> None:
    """Add the gradients by shared kernel and row factors, given those by W o r_k.

    dW += sum_k r_k o G_k;  dr_k += rowsum(W o G_k), summed over the taps.

    Parameters
    ----------
    W : ndarray of shape (t, r, s)
        Shared kernel.
    r : ndarray of shape (K, r) or None
        Row factors.
    G : ndarray of shape (K, t, r, s)
        Gradient by the members' scaled kernels.
    dW, dr : ndarray
        Gradients that are added to; `dr` is None without factors.
    """
    if r is None or dr is None:
        dW += G.sum(axis=0) if len(G) > 1 else G[0]
        return
    for rows in row_blocks(W):
        for k, G_k in enumerate(G[:, :, rows]):
            dr[k, rows] += np.einsum("trs,trs->r", W[:, rows], G_k)
            dW[:, rows] += G_k * r[k, rows, None]
