# SPDX-License-Identifier: BSD-3-Clause
"""Cross entropies of an ensemble with label smoothing, and their gradients.

Notation
--------
K, b, C  members, examples, classes
Z        logits, (K, b, C)
y        class indices, (b,)
eps      label smoothing, (K, b): the target is (1 - eps) onehot(y) + eps / C
"""

import numpy as np

LOSSES = ("members", "ensemble")


def log_softmax(Z: np.ndarray) -> np.ndarray:
    """Return the logarithms of the class probabilities along the last axis."""
    shifted = Z - Z.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted


def member_cross_entropy(
    Z: np.ndarray, y: np.ndarray, smoothing: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """Return the cross entropy averaged over members and examples, and its gradient.

    Parameters
    ----------
    Z : ndarray of shape (K, b, C)
        Logits.
    y : ndarray of shape (b,)
        Class indices.
    smoothing : ndarray of shape (K, b) or None
        Label smoothing for each member and example.

    Returns
    -------
    loss : float
        Average cross entropy in nats.
    dZ : ndarray of shape (K, b, C)
        Gradient by the logits.
    """
    targets = _targets(Z, y, smoothing)
    log_p = log_softmax(Z)
    weight = 1.0 / (Z.shape[0] * Z.shape[1])
    loss = -weight * float((targets * log_p).sum())
    return loss, (np.exp(log_p) - targets) * weight


def smoothing_gradient(Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the derivative of `member_cross_entropy` by the smoothing, (K, b)."""
    log_p = log_softmax(Z)
    chosen = log_p[:, np.arange(len(y)), y]
    return (chosen - log_p.mean(axis=-1)) / (Z.shape[0] * Z.shape[1])


def ensemble_cross_entropy(
    Z: np.ndarray, y: np.ndarray, smoothing: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """Return the cross entropy of the averaged probabilities, and its gradient.

    Parameters
    ----------
    Z : ndarray of shape (K, b, C)
        Logits.
    y : ndarray of shape (b,)
        Class indices.
    smoothing : ndarray of shape (K, b) or None
        Label smoothing; the target of an example is the mean of its members' targets.

    Returns
    -------
    loss : float
        Average cross entropy in nats.
    dZ : ndarray of shape (K, b, C)
        Gradient by the logits.
    """
    targets = _targets(Z, y, smoothing).mean(axis=0)
    p = np.exp(log_softmax(Z))
    mean = np.maximum(p.mean(axis=0), np.finfo(Z.dtype).tiny)
    loss = -float((targets * np.log(mean)).sum()) / Z.shape[1]
    by_p = -targets / (mean * (Z.shape[0] * Z.shape[1]))
    return loss, p * (by_p - (p * by_p).sum(axis=-1, keepdims=True))


def _targets(Z: np.ndarray, y: np.ndarray, smoothing: np.ndarray | None) -> np.ndarray:
    onehot = np.zeros((1, *Z.shape[1:]), Z.dtype)
    onehot[0, np.arange(len(y)), y] = 1.0
    if smoothing is None:
        return onehot
    eps = smoothing[..., None]
    return (1.0 - eps) * onehot + eps / Z.shape[-1]
