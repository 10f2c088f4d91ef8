# SPDX-License-Identifier: BSD-3-Clause
"""ASHA: successive halving that never waits."""

from accsmbo.fidelity._ladder import Ladder

__all__ = ["ASHA"]


class ASHA(Ladder):
    """Asynchronous successive halving: promote as soon as a candidate is good enough.

    A free worker gets the best candidate that is among the best ``1 / factor`` of those
    that have finished its rung, from the highest rung down; else a new candidate on the
    lowest rung. `n_iter` of the search is the number of candidates. When all have been
    started, every rung promotes at least one, so that the last rung is reached.

    Early promotions are made with little to compare with, so that some candidates get
    more of the resource than they deserve; in return no worker waits. Fitted estimators
    that may go on are kept until the end of the search.

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
    SuccessiveHalving : Waits for a whole rung.
    Hyperband : Also starts some candidates with more.

    References
    ----------
    .. [1] L. Li et al., A System for Massively Parallel Hyperparameter Tuning, 2020,
       algorithm 2.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from accsmbo import SMBOSearchCV
    >>> from accsmbo.fidelity import ASHA
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SMBOSearchCV(
    ...     SVC(), {"C": loguniform(1e-3, 1e3)}, n_iter=9, cv=3, random_state=0,
    ...     selection=ASHA(),
    ... ).fit(X, y)
    >>> search.n_resources_
    [50, 150]
    """

    def _form(self) -> dict[str, bool]:
        return {"asynchronous": True}

    def _plan(
        self, n_candidates: int, levels: list[int]
    ) -> tuple[list[int], list[tuple[int, int]], int]:
        return levels, [(0, n_candidates)], n_candidates * len(levels)
