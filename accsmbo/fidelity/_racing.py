# SPDX-License-Identifier: BSD-3-Clause
"""Racing: a candidate that loses on its first folds does not get the others."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo._validation import check_integer
from accsmbo.evaluation import CrossValidationObjective
from accsmbo.fidelity._base import Records, Selection
from accsmbo.fidelity._epochs import Epochs
from accsmbo.fidelity._fold_race import FoldRace
from accsmbo.fidelity._rules import RULES
from accsmbo.optimizers import HOAG, Optimizer

__all__ = ["Racing"]


class Racing(Selection):
    """Run the folds of a candidate one after the other, and give up the losers.

    The best candidate so far with all folds is the incumbent. A challenger runs fold
    by fold, in a random order that follows from the seed of the search and the number
    of the candidate; after each fold it is dropped where it is worse than the incumbent
    over the folds that it has. One that reaches all folds with a better mean is the new
    incumbent, and only candidates with all folds can be ``best_params_``.

    With several workers, other challengers run at the same time, each one fold at a
    time, and each is compared with whoever is the incumbent when a fold of it comes
    in: a change takes effect at the next fold. With ``deterministic=True`` it is the
    incumbent at its opening.

    What the optimizer is told of a dropped candidate is its difference to the
    incumbent over the shared folds added to the incumbent's mean, with the standard
    error that the missing folds leave. Its gradient is not used.

    Parameters
    ----------
    rule : {"paired-test", "aggressive"}, default="paired-test"
        When a challenger is dropped. "paired-test": a t-test of the differences says
        that it will hardly win over all folds. "aggressive": its mean over the shared
        folds is worse, as in SMAC [1]_; about a third fewer fits, but good candidates
        are lost to one unlucky fold.
    level : float, default=0.2
        For "paired-test": the error of each look at a challenger, that is the largest
        probability to win over all folds with which it is dropped, for normal
        differences.
    n_challengers : int, default=1
        How many candidates one fit of the surrogate proposes, to race against the
        incumbent one after the other; the AccSMBO paper [2]_ has 4.

    See Also
    --------
    accsmbo.SMBOSearchCV : Takes it as ``selection``.

    Notes
    -----
    ``cv_results_`` holds NaN for folds that were not run; means, standard deviations
    and times are those of the folds that were, ``n_folds_run`` says how many. Ranks
    compare means corrected by how hard the folds were for the candidates with all of
    them, and nobody ranks above the best of these.

    References
    ----------
    .. [1] F. Hutter, H. Hoos, K. Leyton-Brown, "Sequential Model-Based Optimization
       for General Algorithm Configuration", LION 2011, procedure Intensify.
    .. [2] Using Gradient Based Multikernel Gaussian Process and Meta-Acquisition
       Function to Accelerate SMBO, ICTAI 2019, algorithm 1, step 4.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from accsmbo import SMBOSearchCV
    >>> from accsmbo.fidelity import Racing
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SMBOSearchCV(
    ...     SVC(), {"C": loguniform(1e-3, 1e3), "gamma": loguniform(1e-4, 1e1)},
    ...     n_iter=20, cv=5, selection=Racing(), random_state=0,
    ... ).fit(X, y)
    >>> bool(search.cv_results_["n_folds_run"].sum() < 80)  # of 100
    True
    """

    def __init__(
        self, rule: str = "paired-test", *, level: float = 0.2, n_challengers: int = 1
    ) -> None:
        self.rule = rule
        self.level = level
        self.n_challengers = n_challengers

    def check(self, objective: CrossValidationObjective, optimizer: Optimizer) -> None:
        """Check the arguments; parameters as in the base class."""
        if self.rule not in RULES:
            raise ValueError(
                f"rule of Racing must be one of {list(RULES)}, got {self.rule!r}."
            )
        level: Any = self.level
        if not isinstance(level, Real) or not 0.0 < float(level) < 1.0:
            raise ValueError(
                f"level of Racing must lie between 0 and 1, got {level!r}. "
                "0.2 drops a challenger that wins with a probability below one fifth."
            )
        check_integer("n_challengers", self.n_challengers, minimum=1)
        if objective.n_folds < 2:
            raise ValueError(
                f"Racing needs at least two folds, got cv with {objective.n_folds}: "
                "with a single one there is nothing to save. Use more folds or "
                "selection=None."
            )
        if isinstance(optimizer, HOAG):
            raise ValueError(
                "Racing needs an optimizer that learns from values, got HOAG, which "
                "follows the gradient over all folds. Use another optimizer or "
                "selection=None."
            )

    def wrap(
        self, optimizer: Optimizer, n_trials: int, objective: CrossValidationObjective
    ) -> tuple[Optimizer, int]:
        """Return the optimizer, in epochs of `n_challengers` candidates."""
        if self.n_challengers == 1 or not optimizer.adaptive:
            return optimizer, n_trials
        return Epochs(optimizer, n_candidates=self.n_challengers), n_trials

    def race(self, objective: CrossValidationObjective) -> FoldRace:
        """Return the race of one search; parameters as in the base class."""
        return FoldRace(objective, RULES[self.rule], self.level)

    def may_win(self, records: Records) -> NDArray[np.bool_]:
        """Tell which candidates have all folds; parameters as in the base class."""
        return np.array([not evaluation.partial for _, evaluation in records])

    def columns(self, records: Records) -> dict[str, Any]:
        """Return ``n_folds_run``; parameters as in the base class."""
        return {"n_folds_run": np.array([len(e.folds) for _, e in records])}
