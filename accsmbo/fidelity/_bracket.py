# SPDX-License-Identifier: BSD-3-Clause
"""Bracket: which candidates of a group go on to more of the resource.

Notation
--------
rung        place on the ladder of amounts of the resource, from 0; a bracket starts at
            one of them and ends at the last
n           candidates that finished a rung, failed ones included
quota       how many of them may go on: n / factor
"""

import math
from collections.abc import Iterable

__all__ = ["Bracket", "bracket_sizes", "resource_levels"]

# Powers of a factor that is not whole miss whole numbers by rounding.
ROUNDING = 1e-9


def resource_levels(low: int, high: int, factor: float) -> list[int]:
    """Return the amounts of a resource that the rungs get.

    Parameters
    ----------
    low, high : int
        Smallest and largest amount, ``1 <= low <= high``.
    factor : float
        Ratio of neighbouring amounts, at least 2.

    Returns
    -------
    list of int
        ``high / factor**k`` rounded down, for as long as it reaches `low`; ascending,
        the last is `high`.
    """
    levels = []
    amount = float(high)
    while math.floor(amount + ROUNDING) >= low:
        levels.append(math.floor(amount + ROUNDING))
        amount = high / factor ** len(levels)
    return levels[::-1]


def bracket_sizes(
    n_candidates: int, n_rungs: int, factor: float, *, round_up: bool
) -> list[int]:
    """Return how many candidates each rung of a bracket has where none fails.

    Parameters
    ----------
    n_candidates : int
        On the first rung.
    n_rungs : int
        Number of rungs.
    factor : float
        Share that goes on is ``1 / factor``.
    round_up : bool
        Whether shares are rounded up.

    Returns
    -------
    list of int
        One number for each rung.
    """
    sizes = [n_candidates]
    while len(sizes) < n_rungs:
        sizes.append(_share(sizes[-1], factor, round_up=round_up))
    return sizes


def _share(n: int, factor: float, *, round_up: bool) -> int:
    """Return n / factor, at least 1 of any."""
    if round_up:
        return math.ceil(n / factor - ROUNDING)
    return max(min(n, 1), math.floor(n / factor + ROUNDING))


class _Rung:
    """What happened on one rung."""

    def __init__(self) -> None:
        self.running: set[int] = set()
        self.losses: dict[int, float] = {}
        self.promoted: set[int] = set()

    def ranked(self) -> list[int]:
        """Return the candidates that did not fail, the best first, ties by number."""
        finite = [c for c, loss in self.losses.items() if math.isfinite(loss)]
        return sorted(finite, key=lambda c: (self.losses[c], c))


class Bracket:
    """Successive halving of a group of candidates.

    Synchronous: a rung must be finished before its best go on. Asynchronous: a
    candidate goes on as soon as it is among the best ``1 / factor`` of those that have
    finished its rung; once the group is complete, rungs end as in the synchronous form,
    so that the last rung is always reached.

    Parameters
    ----------
    first : int
        First rung.
    n_rungs : int
        Rungs of the whole ladder.
    n_candidates : int
        Size of the group.
    factor : float
        Share that goes on is ``1 / factor``.
    asynchronous : bool, default=False
        Which form.
    round_up : bool, default=False
        Whether shares are rounded up.

    References
    ----------
    .. [1] K. Jamieson and A. Talwalkar, Non-stochastic Best Arm Identification and
       Hyperparameter Optimization, 2016, figure 1.
    .. [2] L. Li et al., A System for Massively Parallel Hyperparameter Tuning, 2020,
       algorithm 2.
    """

    def __init__(
        self,
        first: int,
        n_rungs: int,
        n_candidates: int,
        factor: float,
        *,
        asynchronous: bool = False,
        round_up: bool = False,
    ) -> None:
        self.first = first
        self.last = n_rungs - 1
        self.n_candidates = n_candidates
        self.factor = factor
        self.asynchronous = asynchronous
        self.round_up = round_up
        self.n_members = 0
        self._rungs = [_Rung() for _ in range(n_rungs)]

    @property
    def wants_candidate(self) -> bool:
        """Whether the group is not complete."""
        return self.n_members < self.n_candidates

    def close(self) -> None:
        """Take no more candidates."""
        self.n_candidates = self.n_members

    def enter(self, candidate: int, rung: int) -> None:
        """Note that a new candidate runs."""
        self.n_members += 1
        self._rungs[rung].running.add(candidate)

    def promote(self, candidate: int, rung: int) -> None:
        """Note that a candidate runs on this rung, having finished the one below."""
        self._rungs[rung - 1].promoted.add(candidate)
        self._rungs[rung].running.add(candidate)

    def finish(self, candidate: int, rung: int, loss: float) -> None:
        """Note a result; a loss that is not finite is a failure."""
        self._rungs[rung].running.discard(candidate)
        self._rungs[rung].losses[candidate] = loss

    def forget(self, candidate: int, rung: int) -> None:
        """Note that a candidate will not finish a rung."""
        self._rungs[rung].running.discard(candidate)

    def next_promotion(self) -> tuple[int, int] | None:
        """Return a candidate and the rung it goes on to, the highest first, or None."""
        for rung in range(self.last - 1, self.first - 1, -1):
            for candidate in self._entitled(rung):
                if candidate not in self._rungs[rung].promoted:
                    return candidate, rung + 1
        return None

    def out(self, candidates: Iterable[int]) -> set[int]:
        """Return those of some candidates that will not go on any more."""
        may: set[int] = set()
        for rung in range(self.first, self.last):
            place = self._rungs[rung]
            going = self._entitled(rung) if self._is_over(rung) else place.ranked()
            may |= place.running | (set(going) - place.promoted)
        return set(candidates) - may

    def _entitled(self, rung: int) -> list[int]:
        """Return the candidates of a rung that may go on."""
        n = len(self._rungs[rung].losses)
        if self._is_over(rung):
            quota = _share(n, self.factor, round_up=self.round_up)
        elif self.asynchronous:
            quota = math.floor(n / self.factor + ROUNDING)
        else:
            return []
        return self._rungs[rung].ranked()[:quota]

    def _is_over(self, rung: int) -> bool:
        """Whether no more candidates will come to a rung, and none runs on it."""
        if self._rungs[rung].running:
            return False
        if rung == self.first:
            return not self.wants_candidate
        below = self._rungs[rung - 1]
        return self._is_over(rung - 1) and below.promoted >= set(
            self._entitled(rung - 1)
        )
