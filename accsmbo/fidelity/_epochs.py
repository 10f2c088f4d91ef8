# SPDX-License-Identifier: BSD-3-Clause
"""Epochs: an optimizer that is asked for several candidates from one model."""

from typing import Any

from accsmbo.history import History, Trial
from accsmbo.optimizers import Observations, Optimizer
from accsmbo.optimizers._observations import Proposal

__all__ = ["Epochs"]


class Epochs(Optimizer):
    """Ask an optimizer for several candidates at once, and hand them out in turn.

    One fit of its surrogate serves them all: what is told in between counts from the
    next epoch on. Its first design is asked one by one.

    Parameters
    ----------
    optimizer : Optimizer
        Proposes; a twin of it, with the same params, is asked.
    n_candidates : int, default=4
        Candidates of an epoch.

    Attributes
    ----------
    optimizer_ : Optimizer
        The twin.
    """

    _queue: list[Proposal]

    def __init__(self, optimizer: Optimizer, *, n_candidates: int = 4) -> None:
        self.optimizer = optimizer
        self.n_candidates = n_candidates

    @property
    def space(self) -> Any:
        """What is searched."""
        return self.optimizer.space

    @property
    def random_state(self) -> Any:
        """Seed of the optimizer."""
        return self.optimizer.random_state

    @property
    def points_to_evaluate(self) -> Any:  # type: ignore[override]
        """Params to ask first."""
        return self.optimizer.points_to_evaluate

    def ask(self) -> Trial:
        """Return the next candidate of the epoch; see the base class."""
        self._start()
        inner = self.optimizer_
        if not self._queue and not inner.in_design:
            self._queue = list(inner.propose(self.n_candidates))
        while self._queue:
            proposal = self._queue.pop(0)
            if not inner.knows(proposal):
                return inner.accept(proposal)
        return inner.ask()

    def propose(self, n: int) -> list[Proposal]:
        """Return points that could be asked now; see the base class."""
        self._start()
        return self.optimizer_.propose(n)

    def accept(self, proposal: Proposal) -> Trial:
        """Make a proposal the next trial; see the base class."""
        self._start()
        return self.optimizer_.accept(proposal)

    def knows(self, proposal: Proposal) -> bool:
        """Tell whether a point has been asked; see the base class."""
        self._start()
        return self.optimizer_.knows(proposal)

    def restore(self, trial: Trial) -> None:
        """Take over a trial as asked and pending; see the base class."""
        self._start()
        self.optimizer_.restore(trial)

    def tell(self, trial: Trial, *args: Any, **kwargs: Any) -> None:
        """Report what a trial gave; see the base class."""
        self._start()
        self.optimizer_.tell(trial, *args, **kwargs)

    def forget(self, trial: Trial) -> None:
        """Drop a pending trial; see the base class."""
        self._start()
        self.optimizer_.forget(trial)

    @property
    def in_design(self) -> bool:
        """Whether the next candidate is a given or a first one."""
        self._start()
        return not self._queue and self.optimizer_.in_design

    @property
    def history(self) -> History:
        """The trials told so far."""
        self._start()
        return self.optimizer_.history

    @property
    def seed(self) -> int:
        """Seed of the run."""
        self._start()
        return self.optimizer_.seed

    @property
    def n_asked(self) -> int:
        """Number of trials asked so far."""
        self._start()
        return self.optimizer_.n_asked

    @property
    def pending(self) -> tuple[Trial, ...]:
        """The trials asked and not told, in order of asking."""
        self._start()
        return self.optimizer_.pending

    def observations(self, index: int = 0) -> Observations:
        """Return what is known of one subspace; see the base class."""
        self._start()
        return self.optimizer_.observations(index)

    def _start(self) -> None:
        if not hasattr(self, "optimizer_"):
            # clone would take the data from a fitted density.
            params = self.optimizer.get_params(deep=False)
            self.optimizer_: Optimizer = type(self.optimizer)(**params)
            self.adaptive = self.optimizer_.adaptive
            self.sequential = self.optimizer_.sequential
            self._queue = []
