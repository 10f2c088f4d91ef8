# SPDX-License-Identifier: BSD-3-Clause
"""Hyperband: successive halving from several starting amounts."""

import numpy as np
from numpy.typing import NDArray

from accsmbo.fidelity._bracket import bracket_sizes
from accsmbo.fidelity._ladder import Ladder

__all__ = ["Hyperband"]


class Hyperband(Ladder):
    """Successive halving from every amount of the resource, each at about equal cost.

    Where little of the resource tells little, halving from the least drops the best
    candidates; brackets that start with more do not. `n_iter` of the search is the
    number of candidates of all brackets together. They are shared out in the paper's
    proportions, ``factor**s / (s + 1)`` to the bracket with `s` promotions; with as
    many candidates as the paper's table has, they are its numbers.

    Parameters
    ----------
    resource : str, default="n_samples"
        ``"n_samples"``: training rows, in nested subsamples, stratified for
        classifiers; folds are tested on all of their test rows. Or an integer parameter
        of the estimator, such as ``"n_estimators"``, ``"max_iter"`` or a nested one.
    factor : float, default=3
        Of each rung ``1 / factor`` go on, rounded down, to `factor` times the resource.
        At least 2.
    min_resources : int or "auto", default="auto"
        Smallest amount to give. "auto": of samples two for each class and fold; else 1.
    max_resources : int or "auto", default="auto"
        Amount on the last rung. "auto": all samples, or the estimator's own value.
    continue_fits : bool, default=True
        Whether the fitted estimators of a candidate go on from where they are, as in
        :class:`SuccessiveHalving`.
    random_state : int, default=0
        Seed of the subsamples.

    See Also
    --------
    SuccessiveHalving : Its bracket of the least amount alone.
    ASHA : Does not wait for a whole rung.

    References
    ----------
    .. [1] L. Li et al., Hyperband: A Novel Bandit-Based Approach to Hyperparameter
       Optimization, 2018, algorithm 1 and table 1.
    .. [2] S. Falkner, A. Klein and F. Hutter, BOHB: Robust and Efficient Hyperparameter
       Optimization at Scale, 2018 (candidates from a model).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from accsmbo import SMBOSearchCV
    >>> from accsmbo.fidelity import Hyperband
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SMBOSearchCV(
    ...     RandomForestClassifier(random_state=0), {"max_features": [1, 2, 3, 4],
    ...     "max_depth": [1, 2, 3, 4]}, n_iter=9, cv=2, random_state=0,
    ...     selection=Hyperband("n_estimators", max_resources=18, min_resources=2),
    ... ).fit(X, y)
    >>> search.n_resources_, search.n_candidates_
    ([2, 6, 18], [5, 3, 4])
    """

    def _plan(
        self, n_candidates: int, levels: list[int]
    ) -> tuple[list[int], list[tuple[int, int]], int]:
        levels = levels[-n_candidates:]
        most = len(levels) - 1
        s = np.arange(most, -1, -1)
        counts = _shared_out(n_candidates, self.factor**s / (s + 1.0))
        brackets = [(first, count) for first, count in enumerate(counts)]
        n_trials = sum(
            sum(bracket_sizes(n, most + 1 - first, self.factor, round_up=False))
            for first, n in brackets
        )
        return levels, brackets, n_trials


def _shared_out(n: int, weights: NDArray[np.float64]) -> list[int]:
    """Share n out in proportion by largest remainders, at least 1 to each."""
    wanted = n * weights / weights.sum()
    counts = np.maximum(np.floor(wanted), 1)
    while counts.sum() > n:
        counts[np.argmax(counts)] -= 1
    while counts.sum() < n:
        counts[np.argmax(wanted - counts)] += 1
    return [int(count) for count in counts]
