# SPDX-License-Identifier: BSD-3-Clause
"""Views: which observations a surrogate sees, and on what scale.

Notation
--------
y       (n,)    losses of all finished trials
rows    (r,)    indices of the observations that are modelled
t       (r,)    their transformed losses
slope   (r,)    dt/dy, to turn standard errors of y into ones of t

An optimizer takes its views in turn: what one of them hides another shows, and no step
depends on one of them being right.
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from accsmbo.surrogates._output_transforms import (
    HalfRank,
    OutputTransform,
    Standardize,
    YeoJohnson,
)

__all__ = ["VIEWS", "GlobalView", "LocalView", "turn"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


class GlobalView(BaseEstimator):
    """All observations, their losses transformed to tame the bad ones.

    Parameters
    ----------
    transform : OutputTransform
        Transform of the losses.
    """

    def __init__(self, transform: OutputTransform) -> None:
        self.transform = transform

    def select(
        self, y: FloatArray, n_dims: int
    ) -> tuple[IndexArray, FloatArray, FloatArray]:
        """Return rows, t and slope."""
        t, slope = self.transform.transform(y)
        return np.arange(len(y)), t, slope


class LocalView(BaseEstimator):
    """The best observations only, on their own scale.

    Beside losses of diverged models the last digits near the minimum are invisible to a
    global model; among themselves they are not. As the search goes on, the best half
    gathers round the minimum and the view narrows by itself.

    Parameters
    ----------
    share : float, default=0.5
        Share of the observations.
    transform : OutputTransform, default=None
        Transform of their losses; None means :class:`Standardize`.
    """

    def __init__(
        self, share: float = 0.5, transform: OutputTransform | None = None
    ) -> None:
        self.share = share
        self.transform = transform

    def select(
        self, y: FloatArray, n_dims: int
    ) -> tuple[IndexArray, FloatArray, FloatArray]:
        """Return rows, t and slope; at least n_dims + 4 rows."""
        n = min(len(y), max(int(self.share * len(y)), n_dims + 4))
        rows = np.sort(np.argsort(y, kind="stable")[:n])
        t, slope = (self.transform or Standardize()).transform(y[rows])
        return rows, t, slope


VIEWS = (GlobalView(YeoJohnson()), GlobalView(HalfRank()), LocalView())
N_GLOBAL = 2
# Every third proposal is local, once there are enough observations for it.
LOCAL_EVERY = 3
LOCAL_FROM = 12


def turn(n_asked: int) -> int:
    """Return the index of the next proposal's view, by the trials asked before it."""
    if n_asked >= LOCAL_FROM and n_asked % LOCAL_EVERY == 0:
        return N_GLOBAL
    return (n_asked - n_asked // LOCAL_EVERY) % N_GLOBAL
