# SPDX-License-Identifier: BSD-3-Clause
"""Intervals and choices that several default spaces share, each with its source.

Sources
-------
[F] Feurer et al., Efficient and robust automated machine learning, NeurIPS 2015, with
    the search spaces in auto-sklearn's source.
[H] Hsu, Chang, Lin, A practical guide to support vector classification, 2003.
[P] Probst, Boulesteix, Bischl, Tunability: importance of hyperparameters of machine
    learning algorithms, JMLR 20(53), 2019, table 1.
[R] van Rijn, Hutter, Hyperparameter importance across datasets, KDD 2018.
"""

from typing import Any

from accsmbo.default_spaces._registry import FoundSpace
from accsmbo.space import Categorical, Integer, Real

__all__ = [
    "COST",
    "ENSEMBLE_LEAF",
    "EPSILON",
    "FRACTION",
    "GAMMA",
    "L1_RATIO",
    "LEARNING_RATE",
    "NOT_TUNED",
    "ON_OFF",
    "PENALTY",
    "SAMPLE_FRACTION",
    "SHRINKAGE",
    "at_most_current",
]

# Nothing to tune; also keeps a subclass from the space of its base class.
NOT_TUNED: FoundSpace = {}

ON_OFF = Categorical([False, True])

# [P] cost of the SVM and lambda of glmnet and xgboost: 2^-10 .. 2^10.
COST = Real(2.0**-10, 2.0**10, log=True)
PENALTY = Real(2.0**-10, 2.0**10, log=True)

# [H], [F], [R]: 2^-15 .. 2^3 for inputs of unit scale.
GAMMA = Real(2.0**-15, 2.0**3, log=True)

# [F]; for targets of unit scale.
EPSILON = Real(1e-3, 1.0, log=True)

# [P] 0 .. 1; scikit-learn calls coordinate descent unreliable below 0.01.
L1_RATIO = Real(0.05, 1.0)

# [F], [P] 0.1 .. 1: share of the features at a split.
FRACTION = Real(0.1, 1.0)

# [P] 0.1 .. 1: share of the samples for a tree; scikit-learn warns below 10 samples,
# of which 0.4 is a safe share from 30 on.
SAMPLE_FRACTION = Real(0.4, 1.0)

# [F], [R] 1 .. 20 for forests and boosted trees.
ENSEMBLE_LEAF = Integer(1, 20, log=True)

# [F] 0.01 .. 1 for boosting.
LEARNING_RATE = Real(0.01, 1.0, log=True)

# [F] 0 .. 1 for discriminant analysis; zero fails on singular covariances.
SHRINKAGE = Real(1e-3, 1.0, log=True)


def at_most_current(params: dict[str, Any], name: str) -> FoundSpace:
    """Return the space of a count that the width of the data bounds.

    The width is unknown here. The value that the estimator carries is taken to fit the
    data, so every smaller one does too.

    Parameters
    ----------
    params : dict
        ``estimator.get_params(deep=False)``.
    name : str
        Name of the count.

    Returns
    -------
    dict
        1 up to the current value; empty where that leaves no choice worth a search.
    """
    value = params[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 3:
        return NOT_TUNED
    return {name: Integer(1, value, log=True)}
