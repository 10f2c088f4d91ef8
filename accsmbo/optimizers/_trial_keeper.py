# SPDX-License-Identifier: BSD-3-Clause
"""TrialKeeper: what an optimizer was asked and told, and which points are left."""

import math
from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from accsmbo._validation import check_is, root_seed, shown
from accsmbo.exceptions import SpaceExhausted
from accsmbo.history import Evaluation, History, Trial
from accsmbo.optimizers._observations import (
    Observations,
    as_evaluation,
    check_gradient,
    observe,
)
from accsmbo.space import Space

__all__ = ["TrialKeeper"]

FloatArray = NDArray[np.float64]

# Random draws before a finite subspace is enumerated for points not seen yet.
N_REDRAWS = 100
# What messages offer.
TRIAL = "a Trial that ask() returned"
POINTS = "a list of dicts of params, or None"


class TrialKeeper(BaseEstimator):
    """The trials of a run, pending and told, and the points that none of them had.

    It numbers and seeds trials, and shares them out among the subspaces. Which point
    comes next is for `Optimizer` to say.

    Parameters
    ----------
    space : Space, dict or list of dict, default=None
        What is searched; needed by the first trial.
    points_to_evaluate : list of dict, default=None
        Params of the first trials.
    random_state : int, RandomState, Generator or None, default=None
        Seed.
    """

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
        check_is("trial", trial, Trial, TRIAL)
        if (value is None) == (error is None):
            raise ValueError(
                "tell needs exactly one of value and error, got "
                f"value={shown(value)}, error={shown(error)}. Give the loss of a "
                "trial that succeeded or the reason of one that failed."
            )
        if trial.number not in self._pending_trials():
            raise ValueError(
                f"trial must be pending, got trial number {trial.number}, which "
                "was told before or was not asked by this optimizer. Tell each "
                "trial that ask() returned once."
            )
        evaluation = as_evaluation(value, gradient, noise, error)
        check_gradient(evaluation, trial)
        del self._pending[trial.number]
        self.history_.append(trial, evaluation)

    def forget(self, trial: Trial) -> None:
        """Drop a pending trial that will never be told; its point may not come again.

        Parameters
        ----------
        trial : Trial
            A pending trial.
        """
        check_is("trial", trial, Trial, TRIAL)
        self._pending_trials().pop(trial.number, None)

    def restore(self, trial: Trial) -> None:
        """Take over a trial of an earlier run as asked and pending.

        Parameters
        ----------
        trial : Trial
            A trial of the same space.
        """
        check_is("trial", trial, Trial, TRIAL)
        self._start()
        self._n_asked: int = max(self._n_asked, trial.number + 1)
        self._seen[trial.subspace].add(trial.unit.tobytes())
        self._pending[trial.number] = trial

    @property
    def history(self) -> History:
        """The trials told so far."""
        self._start()
        return self.history_

    @property
    def pending(self) -> tuple[Trial, ...]:
        """The trials asked and not told, in order of asking."""
        return tuple(self._pending_trials().values())

    @property
    def n_asked(self) -> int:
        """Number of trials asked so far."""
        self._start()
        return self._n_asked

    @property
    def seed(self) -> int:
        """Seed of the run, drawn where ``random_state`` is not an int."""
        self._start()
        return self._root

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
        points = self.points_to_evaluate
        check_is("points_to_evaluate", points, (list, tuple, NoneType), POINTS)
        for params in points or []:
            check_is("points_to_evaluate", params, Mapping, POINTS)
        space = Space(self.space)
        given = [space.locate(params) for params in points or []]
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

    def _n_free(self, index: int) -> float:
        return self.space_.subspaces[index].size - len(self._seen[index])

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
