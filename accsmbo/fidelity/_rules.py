# SPDX-License-Identifier: BSD-3-Clause
"""When a challenger is out: rules on its differences to the incumbent, fold by fold.

Notation
--------
K       folds of a full evaluation
d       (k,)    losses of the challenger minus those of the incumbent, 0 < k < K
s       standard deviation of d
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["RULES", "Rule", "is_worse", "is_worse_by_test"]

FloatArray = NDArray[np.float64]
Rule = Callable[[FloatArray, int, float], bool]


def is_worse(d: FloatArray, n_folds: int, level: float) -> bool:
    """Tell whether the challenger's mean is worse over the folds it shares.

    Parameters
    ----------
    d : ndarray of shape (k,)
        Losses of the challenger minus those of the incumbent.
    n_folds : int
        Not used.
    level : float
        Not used.

    Returns
    -------
    bool
        False for equal means.
    """
    return bool(d.mean() > 0.0)


def is_worse_by_test(d: FloatArray, n_folds: int, level: float) -> bool:
    """Tell whether a paired test says that the challenger cannot win any more.

    Given k of K differences that are independent and normal, the mean of all K has the
    predictive distribution ``mean(d) + s sqrt(1/k - 1/K) t`` with k - 1 degrees of
    freedom. The challenger is out where it lies below zero with probability at most
    ``level / (K - 2)``: there are at most K - 2 such looks, k = 2 .. K - 1, so that
    all of them together drop a challenger that would have won with probability at
    most `level` (Bonferroni).

    Parameters
    ----------
    d : ndarray of shape (k,)
        Losses of the challenger minus those of the incumbent.
    n_folds : int
        K.
    level : float
        Between 0 and 1.

    Returns
    -------
    bool
        False with one fold: it has no standard deviation.
    """
    k = len(d)
    if k < 2 or not d.mean() > 0.0:
        return False
    scale = d.std(ddof=1) * np.sqrt(1.0 / k - 1.0 / n_folds)
    if scale == 0.0:
        return True
    chance = stats.t.sf(d.mean() / scale, k - 1)
    return bool(chance <= level / (n_folds - 2))


RULES: dict[str, Rule] = {"aggressive": is_worse, "paired-test": is_worse_by_test}
