# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of a shared kernel and of one member's row factors.

Notation
--------
t, r, s   taps (1 for a dense layer, l l for a convolution), inputs, outputs
W         shared kernel, (t, r, s)
r_k       row factors of member k, (r,)
G_k       gradient by W o r_k

The column factors s_k of equation (2) scale the outputs, which are smaller than the
kernels: [X (W o r_k)] o s_k^T. Theirs is a gradient of the layer.
"""

import numpy as np


def add_row_gradients(
    W: np.ndarray,
    r_k: np.ndarray | None,
    G_k: np.ndarray,
    *,
    dW: np.ndarray,
    dr_k: np.ndarray | None,
) -> None:
    """Add one member's gradients by W and r_k, given that by W o r_k.

    dW += r_k o G_k;  dr_k += rowsum(W o G_k), summed over the taps.

    Parameters
    ----------
    W : ndarray of shape (t, r, s)
        Shared kernel.
    r_k : ndarray of shape (r,) or None
        Row factors.
    G_k : ndarray of shape (t, r, s)
        Gradient by the scaled kernel; destroyed.
    dW, dr_k : ndarray
        Gradients that are added to; `dr_k` is None without factors.
    """
    if r_k is not None and dr_k is not None:
        dr_k += np.einsum("trs,trs->r", W, G_k)
        G_k *= r_k[:, None]
    dW += G_k
