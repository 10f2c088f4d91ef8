# SPDX-License-Identifier: BSD-3-Clause
"""Kernel matrices of scikit-learn's named kernels and their derivatives.

rbf         exp(-gamma |a - b|^2)        laplacian   exp(-gamma |a - b|_1)
polynomial  (gamma a.b + coef0)^degree   sigmoid     tanh(gamma a.b + coef0)
"""

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import (
    euclidean_distances,
    linear_kernel,
    manhattan_distances,
    pairwise_kernels,
)

from accsmbo.hypergradients._inner_problem import Array, NotDifferentiableError

__all__ = ["kernel_and_derivatives", "kernel_hyperparameters"]

PARAMETERS = {
    "laplacian": ("gamma",),
    "poly": ("gamma", "coef0"),
    "polynomial": ("gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
}


def kernel_hyperparameters(estimator: Any) -> tuple[str, ...]:
    """Return the kernel parameters that are numbers and differentiable.

    Raises
    ------
    NotDifferentiableError
        If the kernel is precomputed: its rows cannot be cut here.
    """
    if estimator.kernel == "precomputed":
        raise NotDifferentiableError(
            f"{type(estimator).__name__}(kernel='precomputed') has no gradients. "
            "Give the features and a named kernel."
        )
    names = PARAMETERS.get(estimator.kernel, ()) if _is_named(estimator) else ()
    return tuple(n for n in names if n != "gamma" or _is_number(estimator.gamma))


def kernel_and_derivatives(
    estimator: Any, A: Any, B: Any, gamma: float | None
) -> tuple[Array, dict[str, Array]]:
    """Return ``k(A, B)`` and its derivatives by ``gamma`` and ``coef0``.

    Parameters
    ----------
    estimator : estimator
        Carries ``kernel``, ``degree``, ``coef0`` (and ``kernel_params``).
    A, B : {ndarray, sparse matrix}
        Rows.
    gamma : float or None
        The number that stands for the estimator's gamma; None means one over the
        number of features.

    Returns
    -------
    K : ndarray of shape (len(A), len(B))
        Kernel matrix.
    derivatives : dict of str to ndarray
        By name, each of the shape of K.
    """
    kernel = estimator.kernel
    if not _is_named(estimator) or kernel not in PARAMETERS:
        extra = getattr(estimator, "kernel_params", None) or {}
        if isinstance(kernel, str):
            extra = {"gamma": gamma} if kernel == "chi2" else {}
        return pairwise_kernels(A, B, metric=kernel, **extra), {}
    gamma = 1.0 / A.shape[1] if gamma is None else gamma
    if kernel in ("rbf", "laplacian"):
        distance = (
            euclidean_distances(A, B, squared=True)
            if kernel == "rbf"
            else manhattan_distances(A, B)
        )
        K = np.exp(-gamma * distance)
        return K, {"gamma": -distance * K}
    product = linear_kernel(A, B)
    inside = gamma * product + estimator.coef0
    if kernel == "sigmoid":
        K = np.tanh(inside)
        outer = 1 - K**2
    else:
        K = inside**estimator.degree
        outer = estimator.degree * inside ** (estimator.degree - 1)
    return K, {"gamma": outer * product, "coef0": outer}


def _is_named(estimator: Any) -> bool:
    return isinstance(estimator.kernel, str)


def _is_number(value: Any) -> bool:
    return value is not None and not isinstance(value, str)
