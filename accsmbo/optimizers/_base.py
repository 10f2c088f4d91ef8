# SPDX-License-Identifier: BSD-3-Clause
"""Optimizer: ask and tell, pending trials, shares of the subspaces, no point twice."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from accsmbo._validation import root_seed
from accsmbo.exceptions import SpaceExhausted
from accsmbo.history import Evaluation, History, Trial
from accsmbo.optimizers._observations import (
    Observations,
    Proposal,
    Request,
    as_evaluation,
    check_gradient_names,
    observe,
)
from accsmbo.space import Space

__all__ = ["Observations", "Optimizer"]

FloatArray = NDArray[np.float64]

# Random draws before a finite subspace is enumerated for points not seen yet.
N_REDRAWS = 100


class Optimizer(BaseEstimator):
    """Base of all optimizers.

    A subclass implements :meth:`_propose` for one subspace. With several workers it may
    run in a thread beside :meth:`accept` and :meth:`tell`: it learns from its argument
    alone. Alternatives of a space get equal shares of the trials. No point is asked
    twice while others are left.

    Parameters
    ----------
    space : Space, dict or list of dict, default=None
        What to search; needed by the first :meth:`ask`.
    points_to_evaluate : list of dict, default=None
        Params to ask first, in this order.
    random_state : int, RandomState, Generator or None, default=None
        Seed; an int makes the run repeatable.

    Attributes
    ----------
    adaptive : bool
        Whether what is told changes what is asked.
    sequential : bool
        Whether to ask no more trials at once than all workers can be busy with.
    n_extra : int
        Trials of an earlier run that may be needed beside the budget.

    See Also
    --------
    SMBO : A model of the values.
    RandomSearch : The simplest.
    accsmbo.testing.check_optimizer : Check one of your own.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.optimizers import Optimizer
    >>> class NearTheBest(Optimizer):
    ...     def _propose(self, observations, rng):
    ...         step = 0.1 * rng.standard_normal(observations.subspace.n_dims)
    ...         if not len(observations.y):
    ...             return 0.5 + step
    ...         return np.clip(observations.U[observations.y.argmin()] + step, 0, 1)
    >>> history = minimize(lambda p: (p["x"] - 0.3) ** 2, {"x": Real(-1, 2)},
    ...                    optimizer=NearTheBest(), n_trials=40, random_state=0)
    >>> history.best_value < 0.01
    True
    """

    adaptive: bool = True
    sequential: bool = False
    n_extra: int = 0

    def __init__(
        self,
        space: Any = None,
        *,
        points_to_evaluate: list[dict[str, Any]] | None = None,
        random_state: Any = None,
    ) -> None:
        self.space = space
        self.points_to_evaluate = points_to_evaluate
        self.random_state = random_state

    def _propose(self, observations: Observations, rng: np.random.Generator) -> Any:
        """Return a point of the unit cube of ``observations.subspace``."""
        raise NotImplementedError

    def _next_point(
        self, index: int, rng: np.random.Generator
    ) -> tuple[Any, float | None]:
        """Return a point of a subspace, and the accuracy to ask of its inner solve."""
        observations = self.observations(index)
        return self._propose(observations, rng), self._tolerance(observations)

    def _propose_several(
        self, observations: Observations, rng: np.random.Generator, n: int
    ) -> list[Any]:
        """Return n points, the first choice first; earlier ones count as pending."""
        points: list[FloatArray] = []
        for _ in range(n):
            u = observations.subspace.snap(self._propose(observations, rng))
            points.append(u)
            pending = np.vstack([observations.pending, u])
            observations = replace(observations, pending=pending)
        return points

    def _in_design(self, index: int) -> bool:
        """Tell whether the next point of a subspace is one of its first design."""
        return False

    def _tolerance(self, observations: Observations) -> float | None:
        """Return the accuracy to ask of the next trial's inner solve."""
        return None

    def ask(self) -> Trial:
        """Return the next trial to evaluate; it is pending until it is told.

        Returns
        -------
        Trial
            Its ``params`` are the user's own objects or plain int/float.

        Raises
        ------
        SpaceExhausted
            If every point of a finite space has been asked.
        ValueError
            If there is no space, or it is invalid.
        """
        self._start()
        rng = self._rng()
        located = self._next_given_point()
        if located is None:
            index = self._next_subspace()
            proposed, tolerance = self._next_point(index, rng)
            u = self._unseen(index, np.asarray(proposed, dtype=float), rng)
        else:
            (index, u), tolerance = located, None
        return self._new_trial(index, u, rng, tolerance)

    def propose(self, n: int) -> list[Proposal]:
        """Return points that could be asked now, without making them trials.

        Each counts as pending for those after it, so that they lie apart.

        Parameters
        ----------
        n : int
            How many; the subspaces get equal shares.

        Returns
        -------
        list of Proposal
            The first choice first, none asked before; fewer where fewer are left.
        """
        proposals = self.answer(self.request(n))
        return [p for p in proposals if not self.knows(p)]

    def request(self, n: int) -> Request:
        """Return a copy of what is known now, for :meth:`answer`.

        Parameters
        ----------
        n : int
            How many proposals to ask for; subspaces get equal shares, those that are
            still in their first design only where no other is open.

        Returns
        -------
        Request
            Asking and telling go on without changing it.
        """
        self._start()
        rng = self._rng(len(self.history_), n)
        shares = [0] * len(self.space_.subspaces)
        begun = [i for i in self._order if self._n_free(i) and not self._in_design(i)]
        for _ in range(n):
            open_ = [i for i in begun or self._order if self._n_free(i) > shares[i]]
            if open_:
                least = min(open_, key=lambda i: len(self._seen[i]) + shares[i])
                shares[least] += 1
        known = [(i, k, self.observations(i)) for i, k in enumerate(shares) if k]
        return Request(known, rng)

    def answer(self, request: Request) -> list[Proposal]:
        """Return the proposals that were requested.

        It uses the models: it may run in another thread while trials are accepted and
        told, but neither beside :meth:`ask` nor beside another call.

        Parameters
        ----------
        request : Request
            What :meth:`request` returned.

        Returns
        -------
        list of Proposal
            The first choice first; some may be known.
        """
        return [
            Proposal(np.asarray(u, dtype=float), i)
            for i, n, observations in request.known
            for u in self._propose_several(observations, request.rng, n)
        ]

    def accept(self, proposal: Proposal) -> Trial:
        """Make a proposal the next trial; it is pending until it is told.

        Parameters
        ----------
        proposal : Proposal
            One of :meth:`propose` that was not asked since.

        Returns
        -------
        Trial
            As from :meth:`ask`.

        Raises
        ------
        ValueError
            If the point has been asked.
        """
        if self.knows(proposal):
            raise ValueError(
                "proposal must be a point that was not asked yet, got the known point "
                f"{proposal.unit}. Propose again."
            )
        observations = self.observations(proposal.subspace)
        tolerance = self._tolerance(observations)
        u = np.array(proposal.unit)
        return self._new_trial(proposal.subspace, u, self._rng(), tolerance)

    def knows(self, proposal: Proposal) -> bool:
        """Tell whether the point of a proposal has been asked.

        Parameters
        ----------
        proposal : Proposal
            A point.

        Returns
        -------
        bool
            True for finished, pending and forgotten trials.
        """
        self._start()
        return proposal.unit.tobytes() in self._seen[proposal.subspace]

    def restore(self, trial: Trial) -> None:
        """Take over a trial of an earlier run as asked and pending.

        Parameters
        ----------
        trial : Trial
            A trial of the same space.
        """
        self._start()
        self._n_asked: int = max(self._n_asked, trial.number + 1)
        self._seen[trial.subspace].add(trial.unit.tobytes())
        self._pending[trial.number] = trial

    @property
    def in_design(self) -> bool:
        """Whether :meth:`ask` returns a given point or one of the first design."""
        self._start()
        if self._given:
            return True
        open_ = [i for i in self._order if self._n_free(i) > 0]
        if not open_:
            return False
        return self._in_design(min(open_, key=lambda i: len(self._seen[i])))

    def _n_free(self, index: int) -> float:
        return self.space_.subspaces[index].size - len(self._seen[index])

    def _rng(self, *key: int) -> np.random.Generator:
        """Return the generator of the next trial, or of one step towards it."""
        key = (self._n_asked, *key)
        return np.random.default_rng(np.random.SeedSequence(self._root, spawn_key=key))

    def _new_trial(
        self,
        index: int,
        u: FloatArray,
        rng: np.random.Generator,
        tolerance: float | None,
    ) -> Trial:
        u.setflags(write=False)
        trial = Trial(
            number=self._n_asked,
            params=self.space_.subspaces[index].to_params(u),
            unit=u,
            subspace=index,
            seed=int(rng.integers(2**31 - 1)),
            tolerance=tolerance,
        )
        self._n_asked += 1
        self._seen[index].add(u.tobytes())
        self._pending[trial.number] = trial
        return trial

    def tell(
        self,
        trial: Trial,
        value: float | Evaluation | None = None,
        gradient: dict[str, float] | None = None,
        *,
        noise: float | None = None,
        error: str | BaseException | None = None,
    ) -> None:
        """Report what a trial gave.

        Parameters
        ----------
        trial : Trial
            A trial that :meth:`ask` returned and that was not told yet.
        value : float or Evaluation, default=None
            The loss (smaller is better); a value that is not finite counts as failed.
        gradient : dict of str to float, default=None
            Derivatives d value / d parameter, in the parameter's own units.
        noise : float, default=None
            Standard error of ``value``.
        error : str or exception, default=None
            Why the trial failed. Exactly one of ``value`` and ``error`` is given.

        Raises
        ------
        ValueError
            If the trial is not pending, or not exactly one of ``value`` and ``error``
            is given, or the gradient names an unknown parameter.
        """
        if (value is None) == (error is None):
            raise ValueError(
                "tell needs exactly one of value and error, got "
                f"value={value!r}, error={error!r}. Give the loss of a trial that "
                "succeeded or the reason of one that failed."
            )
        if trial.number not in self._pending_trials():
            raise ValueError(
                f"trial must be pending, got trial number {trial.number}, which "
                "was told before or was not asked by this optimizer. Tell each "
                "trial that ask() returned once."
            )
        evaluation = as_evaluation(value, gradient, noise, error)
        check_gradient_names(evaluation, trial)
        del self._pending[trial.number]
        self.history_.append(trial, evaluation)

    def forget(self, trial: Trial) -> None:
        """Drop a pending trial that will never be told; its point may not come again.

        Parameters
        ----------
        trial : Trial
            A pending trial.
        """
        self._pending_trials().pop(trial.number, None)

    def start_of(self, trial: Trial) -> Sequence[Any] | None:
        """Return what a pending trial may start from: a state for each fold, or None.

        Parameters
        ----------
        trial : Trial
            A pending trial.

        Returns
        -------
        sequence or None
            The ``Evaluation.warm_start`` of another trial.
        """
        return None

    @property
    def history(self) -> History:
        """The trials told so far."""
        self._start()
        return self.history_

    @property
    def seed(self) -> int:
        """Seed of the run, drawn where ``random_state`` is not an int."""
        self._start()
        return self._root

    @property
    def n_asked(self) -> int:
        """Number of trials asked so far."""
        self._start()
        return self._n_asked

    @property
    def pending(self) -> tuple[Trial, ...]:
        """The trials asked and not told, in order of asking."""
        return tuple(self._pending_trials().values())

    def observations(self, index: int = 0) -> Observations:
        """Return what is known of one subspace.

        Parameters
        ----------
        index : int, default=0
            Index into ``space.subspaces``.

        Returns
        -------
        Observations
            Arrays in the unit cube.
        """
        self._start()
        pending = [t for t in self._pending.values() if t.subspace == index]
        n_started = len(self._seen[index])
        subspace = self.space_.subspaces[index]
        return observe(subspace, index, self.history_, pending, n_started)

    def _start(self) -> None:
        if hasattr(self, "history_"):
            return
        if self.space is None:
            raise ValueError(
                f"space must be given to {type(self).__name__} before ask(), got None. "
                "Pass it to the constructor or by set_params(space=...)."
            )
        space = Space(self.space)
        given = [space.locate(params) for params in self.points_to_evaluate or []]
        self.space_ = space
        self._given = given
        self._root = root_seed(self.random_state)
        self._n_asked = 0
        self._seen: list[set[bytes]] = [set() for _ in space.subspaces]
        self._pending: dict[int, Trial] = {}
        order = np.random.default_rng(self._root).permutation(len(space.subspaces))
        self._order = [int(i) for i in order]
        self.history_ = History(space)

    def _pending_trials(self) -> dict[int, Trial]:
        self._start()
        return self._pending

    def _next_given_point(self) -> tuple[int, FloatArray] | None:
        while self._given:
            index, u = self._given.pop(0)
            if u.tobytes() not in self._seen[index]:
                return index, u
        return None

    def _next_subspace(self) -> int:
        """Return the open subspace with the fewest trials so far."""
        subspaces = self.space_.subspaces
        open_ = [i for i in self._order if len(self._seen[i]) < subspaces[i].size]
        if not open_:
            raise SpaceExhausted(
                f"all {self.space_.size} points of the space have been asked."
            )
        return min(open_, key=lambda i: len(self._seen[i]))

    def _unseen(
        self, index: int, u: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return ``u``, or where it was asked before a random point that was not."""
        subspace, seen = self.space_.subspaces[index], self._seen[index]
        u = subspace.snap(u)
        for _ in range(N_REDRAWS):
            if u.tobytes() not in seen:
                return u
            u = subspace.snap(rng.random(subspace.n_dims))
        if math.isinf(subspace.size):
            return u
        points = [subspace.to_unit(params) for params in subspace.grid()]
        left = [p for p in points if p.tobytes() not in seen]
        return left[int(rng.integers(len(left)))]
