# SPDX-License-Identifier: BSD-3-Clause
"""SuccessiveHalving: all candidates with little, the best of them with more."""

from accsmbo.fidelity._bracket import bracket_sizes
from accsmbo.fidelity._ladder import Ladder

__all__ = ["SuccessiveHalving"]


class SuccessiveHalving(Ladder):
    """Evaluate all candidates with little of a resource, and the best with more.

    `n_iter` of the search is the number of candidates, as ``n_candidates`` of
    scikit-learn's ``HalvingRandomSearchCV``. There are as many rungs as the candidates
    need to come down to fewer than `factor`, and as the range of the resource allows;
    the last has all of it. With ``n_iter = factor**k`` candidates and `k` + 1 rungs
    each rung costs as much as one candidate with all of the resource: `k` + 1 in all.

    Parameters
    ----------
    resource : str, default="n_samples"
        ``"n_samples"``: training rows, in nested subsamples, stratified for
        classifiers; folds are tested on all of their test rows. Or an integer parameter
        of the estimator, such as ``"n_estimators"``, ``"max_iter"`` or a nested one.
    factor : float, default=3
        Of each rung ``1 / factor`` go on, rounded up, to `factor` times the resource.
        At least 2.
    min_resources : int or "auto", default="auto"
        Smallest amount to give. "auto": of samples two for each class and fold, as
        scikit-learn's ``"smallest"``; else 1.
    max_resources : int or "auto", default="auto"
        Amount on the last rung. "auto": all samples, or the estimator's own value.
    continue_fits : bool, default=True
        Whether the fitted estimators of a candidate go on from where they are, where
        they can: by ``warm_start``, to the same result as a fit from nothing where the
        parameter counts what there is in all (trees of a forest); or by so many epochs
        of ``partial_fit`` as ``max_iter`` says, which no tolerance ends earlier. False:
        always from nothing.
    random_state : int, default=0
        Seed of the subsamples.

    See Also
    --------
    Hyperband : Also starts some candidates with more.
    ASHA : Does not wait for a whole rung.

    References
    ----------
    .. [1] K. Jamieson and A. Talwalkar, Non-stochastic Best Arm Identification and
       Hyperparameter Optimization, 2016, figure 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from accsmbo.fidelity import SuccessiveHalving
    >>> from accsmbo.search import RandomizedSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = RandomizedSearchCV(
    ...     KNeighborsClassifier(), {"n_neighbors": range(1, 8)}, n_iter=6, cv=3,
    ...     random_state=0, selection=SuccessiveHalving(),
    ... ).fit(X, y)
    >>> search.cv_results_["n_resources"]
    array([ 50,  50,  50,  50,  50,  50, 150, 150])
    """

    def _form(self) -> dict[str, bool]:
        return {"round_up": True}

    def _plan(
        self, n_candidates: int, levels: list[int]
    ) -> tuple[list[int], list[tuple[int, int]], int]:
        n_rungs, needed = 1, float(self.factor)
        while n_rungs < len(levels) and needed <= n_candidates:
            n_rungs, needed = n_rungs + 1, needed * self.factor
        sizes = bracket_sizes(n_candidates, n_rungs, self.factor, round_up=True)
        return levels[-n_rungs:], [(0, n_candidates)], sum(sizes)
