# SPDX-License-Identifier: BSD-3-Clause
"""Class labels and class weights, as scikit-learn's estimators take them."""

import inspect
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from accsmbo.hypergradients._inner_problem import Array

__all__ = ["class_weights", "encode_classes", "one_hot", "signs"]


def encode_classes(y: Array) -> tuple[Array, Array]:
    """Return the sorted classes and the index of each label.

    Raises
    ------
    ValueError
        If there is one class only.
    """
    classes, index = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            "A classifier needs samples of at least 2 classes in the training part "
            f"of each fold, got one class only: {classes[0]!r}. Use a stratified cv "
            "with fewer folds."
        )
    return classes, index.reshape(-1)


def class_weights(
    class_weight: Any, classes: Array, y: Array, sample_weight: Array | None
) -> Array:
    """Return one weight per class; "balanced" counts samples by their weight.

    scikit-learn releases whose ``compute_class_weight`` takes no sample weights
    balance by plain counts, and so do their estimators.
    """
    if class_weight is None:
        return np.ones(len(classes))
    extra = {}
    if "sample_weight" in inspect.signature(compute_class_weight).parameters:
        extra["sample_weight"] = sample_weight
    weights = compute_class_weight(class_weight, classes=classes, y=y, **extra)
    return np.asarray(weights, float)


def signs(index: Array) -> Array:
    """Return -1 and +1 for class indices 0 and 1."""
    return np.where(index == 1, 1.0, -1.0)


def one_hot(index: Array, n_classes: int) -> Array:
    """Return an (n, n_classes) matrix of zeros with a one for each label."""
    return np.eye(n_classes)[index]
