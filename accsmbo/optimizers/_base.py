# SPDX-License-Identifier: BSD-3-Clause
"""Optimizer: which trial comes next, asked at once or proposed ahead."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo._validation import check_integer, check_is
from accsmbo.history import Trial
from accsmbo.optimizers._observations import Observations, Proposal, Request
from accsmbo.optimizers._trial_keeper import TrialKeeper

__all__ = ["Observations", "Optimizer"]

FloatArray = NDArray[np.float64]


class Optimizer(TrialKeeper):
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

    def _propose(self, observations: Observations, rng: np.random.Generator) -> Any:
        """Return a point of the unit cube of ``observations.subspace``."""
        raise NotImplementedError(
            f"{type(self).__name__} proposes nothing ahead. Use ask(), or implement "
            "_propose."
        )

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
        check_integer("n", n, minimum=0)
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
        check_is("proposal", proposal, Proposal, "one of those of propose()")
        self._start()
        return proposal.unit.tobytes() in self._seen[proposal.subspace]

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
