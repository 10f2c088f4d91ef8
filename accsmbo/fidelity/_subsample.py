# SPDX-License-Identifier: BSD-3-Clause
"""Nested subsamples of training rows, stratified for classifiers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

__all__ = ["nested_order", "strata"]

IndexArray = NDArray[np.intp]

# So many rows of each class come before all others: learners that set rows of each
# class aside need two.
N_FIRST = 2


def strata(estimator: Any, y: Any) -> NDArray[Any] | None:
    """Return the classes by which to stratify, as cross-validation does.

    Parameters
    ----------
    estimator : estimator
        What is tuned.
    y : array-like of shape (n_samples,) or None
        Target.

    Returns
    -------
    ndarray of int of shape (n_samples,) or None
        Codes of the classes; None for all but classifiers with one target.
    """
    if y is None or not is_classifier(estimator):
        return None
    if type_of_target(y) not in ("binary", "multiclass"):
        return None
    return np.unique(np.asarray(y), return_inverse=True)[1].ravel()


def nested_order(
    rows: IndexArray, classes: NDArray[Any] | None, rng: np.random.Generator
) -> IndexArray:
    """Return rows in an order whose every beginning is a good subsample.

    Each beginning holds the classes in proportion, apart from the first two rows of
    each class, which come before all others: no class is missing from as many rows as
    there are classes, and each has two in twice as many.

    Parameters
    ----------
    rows : ndarray of int of shape (n,)
        Rows to order.
    classes : ndarray of shape (n_samples,) or None
        Class of each row of the data; None: a random order.
    rng : Generator
        Source of the order.

    Returns
    -------
    ndarray of int of shape (n,)
        The same rows.
    """
    shuffled = rng.permutation(rows)
    if classes is None:
        return shuffled
    key = np.empty(len(shuffled))
    for label in np.unique(classes[shuffled]):
        of_class = np.flatnonzero(classes[shuffled] == label)
        place = np.arange(len(of_class))
        key[of_class] = np.where(
            place < N_FIRST, place - N_FIRST, (place + 0.5) / len(of_class)
        )
    return shuffled[np.argsort(key, kind="stable")]
