# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of the members of a batch ensemble and the gradients of their factors.

Notation
--------
K, t, r, s   members, taps (1 for a dense layer, l l for a convolution), inputs, outputs
W            shared kernel, (t, r, s)
r_k, s_k     factors of member k, arrays of shape (K, r) and (K, s)
W_k          W o (r_k s_k^T), equation (2), broadcast over the taps as in (10)
G_k          gradient by W_k
"""

import numpy as np


def member_kernels(
    W: np.ndarray, r: np.ndarray | None, s: np.ndarray | None, out: np.ndarray
) -> None:
    """Write the kernels W o (r_k s_k^T) of all members, equation (2).

    Parameters
    ----------
    W : ndarray of shape (t, r, s)
        Shared kernel.
    r, s : ndarray of shape (K, r) and (K, s), or None
        Factors; None means that all are one.
    out : ndarray of shape (K, t, r, s)
        Filled with the result.
    """
    if r is None or s is None:
        out[...] = W
        return
    for target, r_k, s_k in zip(out, r, s, strict=True):
        np.multiply(W, r_k[:, None] * s_k, out=target)


def add_kernel_gradients(
    W: np.ndarray,
    r: np.ndarray | None,
    s: np.ndarray | None,
    G: np.ndarray,
    *,
    dW: np.ndarray,
    dr: np.ndarray | None,
    ds: np.ndarray | None,
) -> None:
    """Add the gradients by the shared kernel and the factors, given those by W_k.

    dW += sum_k (r_k s_k^T) o G_k;  dr_k += (W o G_k) s_k;  ds_k += (W o G_k)^T r_k,
    summed over the taps.

    Parameters
    ----------
    W : ndarray of shape (t, r, s)
        Shared kernel.
    r, s : ndarray of shape (K, r) and (K, s), or None
        Factors.
    G : ndarray of shape (K, t, r, s)
        Gradient by the members' kernels.
    dW, dr, ds : ndarray
        Gradients that are added to; `dr` and `ds` are None without factors.
    """
    if r is None or s is None or dr is None or ds is None:
        dW += G.sum(axis=0) if len(G) > 1 else G[0]
        return
    work = np.empty_like(W)
    for k, G_k in enumerate(G):
        np.multiply(W, G_k, out=work)
        dr[k] += (work @ s[k]).sum(axis=0)
        ds[k] += (r[k] @ work).sum(axis=0)
        np.multiply(G_k, r[k][:, None] * s[k], out=work)
        dW += work
