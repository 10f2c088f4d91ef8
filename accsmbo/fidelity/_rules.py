# SPDX-License-Identifier: BSD-3-Clause
"""When a challenger is out: rules on its differences to the incumbent, fold by fold.

Notation
--------
K       folds of a full evaluation
d       (k,)    losses of the challenger minus those of the incumbent, 0 < k < K
s       standard deviation of such differences
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["RULES", "Differences", "Rule", "is_worse", "is_worse_by_test"]

FloatArray = NDArray[np.float64]

# Spread of the differences of bad candidates over their mean, as measured on the tasks
# of benchmarks/studies/racing.py.
USUAL_SPREAD = 0.25


@dataclass(frozen=True)
class Differences:
    """What is known of a challenger against the incumbent.

    Attributes
    ----------
    d : ndarray of shape (k,)
        Losses of the challenger minus those of the incumbent, on the folds it has.
    n_folds : int
        K.
    squares : float
        Sum of squared deviations of other trials' differences from their means.
    weight : float
        Degrees of freedom that those are worth, 0 where there are none.
    """

    d: FloatArray
    n_folds: int
    squares: float = 0.0
    weight: float = 0.0

    @property
    def mean(self) -> float:
        """Mean of d."""
        return float(self.d.mean())

    @property
    def degrees(self) -> float:
        """Degrees of freedom of s."""
        return len(self.d) - 1 + self.weight

    @property
    def standard_error(self) -> float:
        """Standard error of the mean over all K folds, given k of them.

        ``s sqrt(1/k - 1/K)``, with s pooled over the challenger and the others; where
        nothing is known of s, it is a quarter of the mean.
        """
        own = float(np.sum((self.d - self.mean) ** 2))
        known = self.degrees > 0.0
        guess = USUAL_SPREAD * abs(self.mean)
        s = np.sqrt((own + self.squares) / self.degrees) if known else guess
        return float(s * np.sqrt(1.0 / len(self.d) - 1.0 / self.n_folds))


def is_worse(differences: Differences, level: float) -> bool:
    """Tell whether the challenger's mean is worse over the folds it shares.

    Parameters
    ----------
    differences : Differences
        Of the challenger.
    level : float
        Not used.

    Returns
    -------
    bool
        False for equal means.
    """
    return differences.mean > 0.0


def is_worse_by_test(differences: Differences, level: float) -> bool:
    """Tell whether a paired test says that the challenger cannot win any more.

    Given k of K differences that are independent and normal, the mean of all K has the
    predictive distribution ``mean(d) + s sqrt(1/k - 1/K) t``. The challenger is out
    where that lies below zero with probability at most `level`. This holds for each
    look; several looks at one challenger are not corrected for.

    Parameters
    ----------
    differences : Differences
        Of the challenger.
    level : float
        Between 0 and 1.

    Returns
    -------
    bool
        False where nothing is known of s.
    """
    if not differences.mean > 0.0 or differences.degrees <= 0.0:
        return False
    error = differences.standard_error
    if error == 0.0:
        return True
    chance = stats.t.sf(differences.mean / error, differences.degrees)
    return bool(chance <= level)


Rule = Callable[[Differences, float], bool]
RULES: dict[str, Rule] = {"aggressive": is_worse, "paired-test": is_worse_by_test}
