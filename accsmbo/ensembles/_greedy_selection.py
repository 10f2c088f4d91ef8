# SPDX-License-Identifier: BSD-3-Clause
"""Greedy and top-K selection of ensemble members from their predictions.

Caruana, Niculescu-Mizil, Crew, Ksikes (2004), Ensemble Selection from Libraries of
Models; Algorithm 2 of Wenzel et al. (2020), Hyperparameter Ensembles for Robustness
and Uncertainty Quantification.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accsmbo._validation import check_integer, root_seed
from accsmbo.ensembles._ensemble_objective import EnsembleObjective
from accsmbo.ensembles._objectives import make_objective

__all__ = ["Selection", "SelectionStep", "greedy_selection", "top_k_selection"]

# Losses this close (relative to 1 or to themselves) differ by rounding only.
SAME = 1e-12


class SelectionStep(NamedTuple):
    """One round of a selection.

    The steps of a selection tell which member helped how much. A member that comes
    again, as greedy selection draws with replacement, gains weight.

    Parameters
    ----------
    member : int
        The member taken.
    score : float
        Score of the ensemble with it, in the direction of the score itself.
    bag : int
        Bag the round belongs to; 0 without bagging.

    See Also
    --------
    greedy_selection : Makes such steps.
    accsmbo.ensembles.Selection : Holds them as its path.

    Examples
    --------
    Two members that are wrong on different samples are better together:

    >>> import numpy as np
    >>> from accsmbo.ensembles import greedy_selection
    >>> p = np.array([[[0.9, 0.1], [0.7, 0.3]], [[0.2, 0.8], [0.1, 0.9]]])
    >>> path = greedy_selection(p, [0, 1], n_members=2, max_rounds=2).path
    >>> [(step.member, round(float(step.score), 2)) for step in path]
    [(0, 0.65), (1, 0.55)]
    """

    member: int
    score: float
    bag: int = 0


class Selection(NamedTuple):
    """Result of a selection.

    The weights are all that it takes to predict with the ensemble: its prediction is
    the weighted mean of those of the candidates. The path shows how the score went,
    also in the rounds after the best one.

    Parameters
    ----------
    weights : ndarray of shape (n_members,)
        Non-negative, sum 1.
    path : tuple of SelectionStep
        Every round, in order.
    best : int
        Place in ``path`` of the best score, the earliest of equals.

    See Also
    --------
    greedy_selection : Adds the member that helps most, again and again.
    top_k_selection : Averages the individually best.
    EnsembleSelectionClassifier : Selects among the candidates of a search, and fits.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.ensembles import greedy_selection
    >>> p = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.6, 0.4], [0.1, 0.9]]])
    >>> selection = greedy_selection(p, [0, 1], n_members=2, random_state=0)
    >>> np.tensordot(selection.weights, p, axes=1)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    weights: NDArray[np.float64]
    path: tuple[SelectionStep, ...]
    best: int


def greedy_selection(
    predictions: Any,
    y: Any,
    *,
    n_members: int,
    score: str | Callable[[Any, Any], float] = "nll",
    greater_is_better: bool = False,
    max_rounds: int = 100,
    patience: int | None = 1,
    n_initial: int = 0,
    n_bags: int = 1,
    bag_fraction: float = 0.5,
    labels: Any = None,
    random_state: Any = None,
) -> Selection:
    """Grow an ensemble, with replacement, by the member that helps most.

    Each round takes the member whose addition gives the best score. Once
    ``n_members`` distinct ones are in, only these compete, so that their weights
    go on improving (the paper's ``<= K`` would let one more in). The weights are
    those of the best point of the path.

    Parameters
    ----------
    predictions : ndarray of shape (n_candidates, n_samples, n_classes)
        Predicted probabilities of the candidates on held-out samples; for
        ``score="squared_error"`` predictions of shape (n_candidates, n_samples)
        or (n_candidates, n_samples, n_outputs). float32 is read as it is, a
        memory map stays one. A candidate with a value that is not finite is never
        taken.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Truth on these samples.
    n_members : int
        Largest number of distinct members.
    score : {"nll", "brier", "accuracy", "squared_error"} or callable, default="nll"
        What to improve. A callable ``score(y, prediction)`` gets a single averaged
        prediction, in float64; it is called once a candidate and round.
    greater_is_better : bool, default=False
        Direction of a callable; the named scores know theirs.
    max_rounds : int, default=100
        Largest number of rounds.
    patience : int or None, default=1
        End after that many rounds without a strict improvement. None: never early.
    n_initial : int, default=0
        Start from that many of the individually best candidates (Caruana's sorted
        initialisation), at most ``n_members``. They count as rounds.
    n_bags : int, default=1
        Above 1: repeat the selection on that many random subsets of the candidates
        and average the weights (Caruana's bagging). If the union has more than
        ``n_members`` members, those of largest weight stay.
    bag_fraction : float, default=0.5
        Share of the candidates in a bag, in (0, 1].
    labels : array-like of shape (n_classes,), default=None
        Class of each column. None: the sorted distinct values of ``y``, or
        0, 1, ... where it holds such numbers.
    random_state : int, RandomState instance or None, default=None
        Decides between candidates of the same score (to 1e-12) and draws the bags.
        None: ties fall at random.

    Returns
    -------
    Selection
        ``weights``, ``path``, ``best``.

    Raises
    ------
    ValueError
        If an argument is out of range, the arrays do not fit, or no candidate is
        finite.

    References
    ----------
    Wenzel et al. (2020), Algorithm 2; Caruana et al. (2004), sections 2.1-2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.ensembles import greedy_selection
    >>> predictions = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.6, 0.4], [0.1, 0.9]]])
    >>> greedy_selection(predictions, [0, 1], n_members=2, random_state=0).weights
    array([0.5, 0.5])
    """
    check_integer("n_members", n_members, minimum=1)
    check_integer("max_rounds", max_rounds, minimum=1)
    check_integer("n_initial", n_initial, minimum=0)
    check_integer("n_bags", n_bags, minimum=1)
    if patience is not None:
        check_integer("patience", patience, minimum=1)
    _check_bounds(n_initial, n_members, max_rounds, bag_fraction)
    objective, pool, sign = make_objective(
        predictions, y, score, greater_is_better, labels=labels
    )
    rng = np.random.default_rng(root_seed(random_state))
    grow = _Growth(objective, n_members, max_rounds, patience, n_initial, sign)
    if n_bags == 1:
        return grow(pool, rng)
    bags = []
    size = max(1, round(bag_fraction * len(pool)))
    for bag in range(n_bags):
        subset = np.sort(rng.choice(pool, size, replace=False))
        bags.append(grow(subset, rng, bag))
    return _average(bags, n_members, sign)


def top_k_selection(
    predictions: Any,
    y: Any,
    *,
    n_members: int,
    score: str | Callable[[Any, Any], float] = "nll",
    greater_is_better: bool = False,
    labels: Any = None,
    random_state: Any = None,
) -> Selection:
    """Average the individually best candidates, with equal weights.

    The ablation of Wenzel et al. (2020), appendix C.7.5.

    Parameters
    ----------
    predictions : ndarray of shape (n_candidates, n_samples, n_classes)
        As in `greedy_selection`.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Truth on these samples.
    n_members : int
        Number of members (all finite candidates if there are fewer).
    score : {"nll", "brier", "accuracy", "squared_error"} or callable, default="nll"
        What to sort by.
    greater_is_better : bool, default=False
        Direction of a callable.
    labels : array-like of shape (n_classes,), default=None
        Class of each column. None: the sorted distinct values of ``y``, or
        0, 1, ... where it holds such numbers.
    random_state : int, RandomState instance or None, default=None
        Decides between candidates of the same score.

    Returns
    -------
    Selection
        The path lists the members from the best on; ``best`` is its last place, as
        all of it is the ensemble.

    Raises
    ------
    ValueError
        If an argument is out of range, the arrays do not fit, or no candidate is
        finite.
    """
    check_integer("n_members", n_members, minimum=1)
    objective, pool, sign = make_objective(
        predictions, y, score, greater_is_better, labels=labels
    )
    rng = np.random.default_rng(root_seed(random_state))
    path = []
    for member in _sorted_members(objective, pool, rng)[:n_members]:
        objective.add(member)
        path.append(SelectionStep(int(member), sign * objective.loss()))
    return Selection(
        _weights([step.member for step in path], objective.n_members),
        tuple(path),
        len(path) - 1,
    )


class _Growth:
    """Settings of one greedy run, applied to a pool of candidates."""

    def __init__(
        self,
        objective: EnsembleObjective,
        n_members: int,
        max_rounds: int,
        patience: int | None,
        n_initial: int,
        sign: int,
    ) -> None:
        self.objective = objective
        self.n_members = n_members
        self.max_rounds = max_rounds
        self.patience = patience
        self.n_initial = n_initial
        self.sign = sign

    def __call__(
        self, pool: NDArray[np.intp], rng: np.random.Generator, bag: int = 0
    ) -> Selection:
        objective = self.objective
        objective.reset()
        start = _sorted_members(objective, pool, rng) if self.n_initial else pool[:0]
        start = start[: self.n_initial]
        path: list[SelectionStep] = []
        best, lowest, stale = 0, np.inf, 0
        for number in range(self.max_rounds):
            if number < len(start):
                member = int(start[number])
            else:
                member = _pick(objective, self._competitors(path, pool), rng)
            objective.add(member)
            loss = objective.loss()
            path.append(SelectionStep(member, self.sign * loss, bag))
            if number == 0 or loss < lowest - _same(lowest):
                best, lowest, stale = number, loss, 0
            elif number >= len(start):
                stale += 1
            if stale == self.patience:
                break
        taken = [step.member for step in path[: best + 1]]
        return Selection(_weights(taken, objective.n_members), tuple(path), best)

    def _competitors(
        self, path: list[SelectionStep], pool: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        distinct = np.unique([step.member for step in path]).astype(np.intp)
        return distinct if len(distinct) >= self.n_members else pool


def _pick(
    objective: EnsembleObjective, members: NDArray[np.intp], rng: np.random.Generator
) -> int:
    """Return the member that gives the least loss; equals are drawn."""
    losses = objective.screen(members)
    margin = objective.margin(losses)
    if margin > 0:
        members = members[losses <= losses.min() + margin]
        losses = objective.refine(members)
    least = losses.min()
    ties = members[losses <= least + _same(least)]
    return int(ties[0] if len(ties) == 1 else rng.choice(ties))


def _sorted_members(
    objective: EnsembleObjective, pool: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the pool from the individually best member on; equals are shuffled."""
    shuffled = rng.permutation(pool)
    losses = objective.refine(shuffled)
    return shuffled[np.argsort(losses, kind="stable")]


def _same(loss: float) -> float:
    return SAME * max(1.0, abs(loss)) if np.isfinite(loss) else 0.0


def _weights(taken: Sequence[int], n_members: int) -> NDArray[np.float64]:
    return np.bincount(taken, minlength=n_members) / len(taken)


def _average(bags: list[Selection], n_members: int, sign: int) -> Selection:
    """Mean weights of the bags, cut to the ``n_members`` largest."""
    weights = np.mean([bag.weights for bag in bags], axis=0)
    weights[np.argsort(-weights, kind="stable")[n_members:]] = 0
    path = tuple(step for bag in bags for step in bag.path)
    best = int(np.argmin([sign * step.score for step in path]))
    return Selection(weights / weights.sum(), path, best)


def _check_bounds(
    n_initial: int, n_members: int, max_rounds: int, bag_fraction: float
) -> None:
    if n_initial > min(n_members, max_rounds):
        raise ValueError(
            f"n_initial must be at most n_members={n_members} and "
            f"max_rounds={max_rounds}, got {n_initial}. Lower it."
        )
    if not 0 < bag_fraction <= 1:
        raise ValueError(
            f"bag_fraction must be in (0, 1], got {bag_fraction!r}. 0.5 is usual."
        )
