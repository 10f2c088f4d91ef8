# SPDX-License-Identifier: BSD-3-Clause
"""RungOptimizer: candidates of an inner optimizer, climbing the rungs of a resource.

Notation
--------
candidate   a trial of the inner optimizer, by its number there
rung        place on the ladder of amounts of the resource, from 0
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from accsmbo.exceptions import NothingReady, SpaceExhausted
from accsmbo.fidelity._bracket import Bracket
from accsmbo.fidelity._comparable import comparable_evaluations, loss_of
from accsmbo.history import Evaluation, History, Trial
from accsmbo.optimizers import Observations, Optimizer, RandomSearch
from accsmbo.optimizers._observations import Proposal, as_evaluation

__all__ = ["RungOptimizer"]

# One of so many candidates is random, as in BOHB; all but one of so many before a
# promotion has told more than the least of the resource does.
EXPLORE_EVERY = 3


class RungOptimizer(Optimizer):
    """Gives candidates little of a resource first, and more to the best of them.

    Each evaluation of a candidate is a trial of its own, with the amount of the
    resource as its ``fidelity`` and the seed of the candidate. A failed trial is never
    promoted; of equal losses the earlier candidate goes on.

    Where the inner optimizer has a model, every third candidate after its initial
    design is a random one, as in BOHB [1]_. Before the first result of a promotion two
    of three are: what is best with little of the resource need not be with more, and a
    model of it alone would propose the same again and again.

    What the inner optimizer learns from is one loss for each candidate, that of its
    highest rung, moved by the median change of a loss between rungs where that is not
    the highest rung reached by any, and with the spread of this change as its noise.

    Parameters
    ----------
    optimizer : Optimizer
        Proposes candidates; not started.
    levels : sequence of int
        Amounts of the resource, ascending.
    brackets : sequence of (int, int)
        First rung and number of candidates of each bracket, in the order of starting. A
        later one starts where workers would wait for the results of an earlier one.
    factor : float
        Of each rung ``1 / factor`` go on.
    asynchronous : bool, default=False
        Promote without waiting for the whole rung.
    round_up : bool, default=False
        Whether the number of those that go on is rounded up.
    parameter : str or None, default=None
        Parameter of the estimator that is the resource: it becomes part of ``params``.

    Attributes
    ----------
    optimizer_ : Optimizer
        The inner one; its history holds one record for each candidate.
    max_resources_ : int
        All of the resource.

    References
    ----------
    .. [1] S. Falkner, A. Klein and F. Hutter, BOHB: Robust and Efficient Hyperparameter
       Optimization at Scale, 2018, algorithm 2 (rho = 1/3).
    """

    points_to_evaluate: list[dict[str, Any]] | None = None

    def __init__(
        self,
        optimizer: Optimizer,
        *,
        levels: Sequence[int],
        brackets: Sequence[tuple[int, int]],
        factor: float,
        asynchronous: bool = False,
        round_up: bool = False,
        parameter: str | None = None,
    ) -> None:
        self.optimizer = optimizer
        self.levels = levels
        self.brackets = brackets
        self.factor = factor
        self.asynchronous = asynchronous
        self.round_up = round_up
        self.parameter = parameter

    @property
    def space(self) -> Any:
        """The space of the inner optimizer."""
        return self.optimizer.space

    @space.setter
    def space(self, space: Any) -> None:
        self.optimizer.space = space

    @property
    def random_state(self) -> Any:
        """The seed of the inner optimizer."""
        return self.optimizer.random_state

    @random_state.setter
    def random_state(self, random_state: Any) -> None:
        self.optimizer.random_state = random_state

    @property
    def max_resources_(self) -> int:
        """All of the resource."""
        return self.levels[-1]

    def ask(self) -> Trial:
        """Return the next trial: a promotion where one is due, else a new candidate.

        Returns
        -------
        Trial
            With the amount of the resource as ``fidelity``.

        Raises
        ------
        NothingReady
            If what comes next depends on a trial that is pending.
        SpaceExhausted
            If all candidates have been evaluated as far as they go.
        """
        self._start()
        for index, bracket in enumerate(self._brackets):
            promotion = bracket.next_promotion()
            if promotion is not None:
                bracket.promote(*promotion)
                return self._issue(*promotion)
            if bracket.wants_candidate:
                trial = self._new_candidate(index)
                if trial is not None:
                    return trial
                return self.ask()
        if self._pending:
            raise NothingReady(
                f"a pending trial must be told before the next one, got "
                f"{len(self._pending)} pending trials. Tell one of them."
            )
        raise SpaceExhausted("all candidates have been evaluated as far as they go.")

    def tell(
        self,
        trial: Trial,
        value: float | Evaluation | None = None,
        gradient: dict[str, float] | None = None,
        *,
        noise: float | None = None,
        error: str | BaseException | None = None,
    ) -> None:
        """Report what a trial gave; arguments as in :meth:`Optimizer.tell`.

        Parameters
        ----------
        trial : Trial
            A pending trial.
        value : float or Evaluation, default=None
            The loss. The ``warm_start`` of an evaluation is kept, one state for each
            fold, until the candidate is out or has been promoted.
        gradient : dict of str to float, default=None
            Kept in the history.
        noise : float, default=None
            Kept in the history.
        error : str or exception, default=None
            Why the trial failed.
        """
        states = None
        if isinstance(value, Evaluation):
            states, value = value.warm_start, replace(value, warm_start=None)
        trial = self._pending_trials().get(trial.number, trial)
        super().tell(trial, value, gradient, noise=noise, error=error)
        evaluation = as_evaluation(value, gradient, noise, error)
        candidate, rung = self._places[trial.number]
        first = not self._results[candidate]
        self._results[candidate][rung] = evaluation
        bracket = self._bracket_of(candidate)
        bracket.finish(candidate, rung, loss_of(evaluation))
        if first:
            self.optimizer_.tell(self._candidates[candidate], evaluation)
        self._teach()
        self._states.pop(candidate, None)
        if states is not None:
            self._states[candidate] = states
        for gone in bracket.out(c for c in self._states if self._is_in(c, bracket)):
            del self._states[gone]

    def start_of(self, trial: Trial) -> Sequence[Any] | None:
        """Return what a trial may start from: a state for each fold, or None.

        Parameters
        ----------
        trial : Trial
            A pending trial.

        Returns
        -------
        sequence or None
            The ``warm_start`` of the candidate's last evaluation.
        """
        return self._states.get(self._places[trial.number][0])

    def forget(self, trial: Trial) -> None:
        """Drop a pending trial that will never be told; its candidate goes no further.

        Parameters
        ----------
        trial : Trial
            A pending trial.
        """
        if trial.number not in self._pending_trials():
            return
        super().forget(trial)
        candidate, rung = self._places[trial.number]
        self._bracket_of(candidate).forget(candidate, rung)
        self._states.pop(candidate, None)
        if not self._results[candidate]:
            self.optimizer_.forget(self._candidates[candidate])

    def restore(self, trial: Trial) -> None:
        """Take over a trial of an earlier run as asked and pending.

        Parameters
        ----------
        trial : Trial
            A trial of the same space and resource.
        """
        self._start()
        self.n_extra += 1
        key = trial.subspace, trial.unit.tobytes()
        rung = self._rung_of(trial)
        candidate = self._by_point.get(key)
        if candidate is None:
            index = self._bracket_for(rung)
            candidate = self._admit(
                replace(trial, number=len(self._candidates), fidelity=None), index
            )
            self.optimizer_.restore(self._candidates[candidate])
            self._brackets[index].enter(candidate, rung)
        else:
            self._bracket_of(candidate).promote(candidate, rung)
        trial = replace(trial, params=self._params(candidate, rung))
        self._places[trial.number] = candidate, rung
        super().restore(trial)

    def observations(self, index: int = 0) -> Observations:
        """Return what the inner optimizer knows of one subspace.

        Parameters
        ----------
        index : int, default=0
            Index into ``space.subspaces``.

        Returns
        -------
        Observations
            One row for each candidate.
        """
        self._start()
        return self.optimizer_.observations(index)

    def propose(self, n: int) -> list[Proposal]:
        """Return no proposals: whether one is wanted depends on the promotions.

        Parameters
        ----------
        n : int
            Not used.

        Returns
        -------
        list
            Empty.
        """
        return []

    def _start(self) -> None:
        if hasattr(self, "history_"):
            return
        inner = self.optimizer
        self.optimizer_ = type(inner)(**inner.get_params(deep=False))
        super()._start()
        self._brackets = [
            Bracket(
                first,
                len(self.levels),
                n_candidates,
                self.factor,
                asynchronous=self.asynchronous,
                round_up=self.round_up,
            )
            for first, n_candidates in self.brackets
        ]
        self._explorer = RandomSearch(self.space_, random_state=self._root)
        self._candidates: list[Trial] = []
        self._results: list[dict[int, Evaluation]] = []
        self._membership: list[int] = []
        self._by_point: dict[tuple[int, bytes], int] = {}
        self._places: dict[int, tuple[int, int]] = {}
        self._states: dict[int, Any] = {}

    def _new_candidate(self, index: int) -> Trial | None:
        """Return the first trial of a new candidate; None where none is left."""
        try:
            asked = self._explored() if self._explores() else self.optimizer_.ask()
        except SpaceExhausted:
            for bracket in self._brackets:
                bracket.close()
            return None
        candidate = self._admit(asked, index)
        rung = self._brackets[index].first
        self._brackets[index].enter(candidate, rung)
        return self._issue(candidate, rung)

    def _explores(self) -> bool:
        """Tell whether the next candidate is a random one."""
        inner = self.optimizer_
        if len(self.levels) == 1 or not inner.adaptive or inner.in_design:
            return False
        turn = len(self._candidates) % EXPLORE_EVERY == 0
        informed = any(len(by_rung) > 1 for by_rung in self._results)
        return turn if informed else not turn

    def _explored(self) -> Trial:
        """Return a random candidate that the inner optimizer does not know."""
        while True:
            drawn = self._explorer.ask()
            proposal = Proposal(drawn.unit, drawn.subspace)
            if not self.optimizer_.knows(proposal):
                return self.optimizer_.accept(proposal)

    def _admit(self, asked: Trial, index: int) -> int:
        """Note a candidate and its bracket; return its number."""
        self._candidates.append(asked)
        self._results.append({})
        self._membership.append(index)
        candidate = len(self._candidates) - 1
        self._by_point[asked.subspace, asked.unit.tobytes()] = candidate
        return candidate

    def _issue(self, candidate: int, rung: int) -> Trial:
        trial = replace(
            self._candidates[candidate],
            number=self._n_asked,
            params=self._params(candidate, rung),
            fidelity=float(self.levels[rung]),
        )
        self._n_asked += 1
        self._pending[trial.number] = trial
        self._places[trial.number] = candidate, rung
        return trial

    def _params(self, candidate: int, rung: int) -> dict[str, Any]:
        params = self._candidates[candidate].params
        if self.parameter is None:
            return params
        return {**params, self.parameter: int(self.levels[rung])}

    def _teach(self) -> None:
        """Give the inner optimizer what is known of each candidate by now."""
        if not self.optimizer_.adaptive:
            return
        history = History(self.optimizer_.space_)
        known = comparable_evaluations(self._results, len(self.levels))
        for candidate, evaluation in zip(self._candidates, known, strict=True):
            if evaluation is not None:
                history.append(candidate, evaluation)
        self.optimizer_.history_ = history

    def _bracket_of(self, candidate: int) -> Bracket:
        return self._brackets[self._membership[candidate]]

    def _is_in(self, candidate: int, bracket: Bracket) -> bool:
        return self._bracket_of(candidate) is bracket

    def _rung_of(self, trial: Trial) -> int:
        amount = self.max_resources_ if trial.fidelity is None else trial.fidelity
        distance = [abs(math.log(level / amount)) for level in self.levels]
        return distance.index(min(distance))

    def _bracket_for(self, rung: int) -> int:
        """Return the bracket that a candidate of an earlier run belongs to."""
        order = range(len(self._brackets))
        fitting = [i for i in order if self._brackets[i].first == rung]
        fitting += [i for i in order if self._brackets[i].first < rung]
        wanting = [i for i in fitting if self._brackets[i].wants_candidate]
        return (wanting or fitting or list(order))[0]
