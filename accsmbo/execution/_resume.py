# SPDX-License-Identifier: BSD-3-Clause
"""Bring an optimizer to where an earlier run left it."""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from accsmbo.exceptions import NothingReady, SpaceExhausted
from accsmbo.history import Evaluation, Trial
from accsmbo.optimizers import Optimizer

__all__ = ["resume"]

Events = Sequence[tuple[str, Trial, Evaluation | None]]
# What an optimizer is asked by.
ASKING = ("ask", "request", "accept")


def resume(optimizer: Optimizer, events: Events, *, needed: int | None = None) -> None:
    """Bring an optimizer to where an earlier run left it.

    What was asked and told is repeated in the same order. Where the optimizer asks the
    same again, its inner state is the same too, and the run goes on as if it had not
    stopped. Elsewhere (another budget of a finite space, several workers with two
    stacks, another library version) the trials are taken over as they are. A finished
    run is not repeated, which takes as long as all of its proposals did, until
    something is asked after all.

    Parameters
    ----------
    optimizer : Optimizer
        Not asked yet.
    events : sequence of (str, Trial, Evaluation or None)
        ``"asked"`` and ``"told"`` in order, from a journal.
    needed : int or None, default=None
        Number of results with which the run is finished; None: something will be asked.
    """
    n_told = sum(kind == "told" for kind, _, _ in events)
    finished = needed is not None and n_told >= needed and 2 * n_told == len(events)
    if not events or (not finished and _repeated(optimizer, events)):
        return
    restored = _twin(optimizer) if finished else optimizer
    for kind, trial, evaluation in events:
        if kind == "asked":
            restored.restore(trial)
        else:
            restored.tell(trial, evaluation)
    if not finished:
        return
    if restored.n_extra:
        # It would need more trials than one that repeats.
        resume(optimizer, events)
        return
    optimizer.__dict__.update(restored.__dict__)
    for name in ASKING:
        optimizer.__dict__[name] = partial(_after_all, optimizer, events, name)


def _twin(optimizer: Optimizer) -> Optimizer:
    return type(optimizer)(**optimizer.get_params(deep=False))


def _after_all(optimizer: Optimizer, events: Events, name: str, *given: Any) -> Any:
    """Ask an optimizer that has not repeated the run that it was restored from."""
    for asking in ASKING:
        del optimizer.__dict__[asking]
    if 2 * len(optimizer.history) == len(events):
        _repeated(optimizer, events)
    return getattr(optimizer, name)(*given)


def _repeated(optimizer: Optimizer, events: Events) -> bool:
    """Put an optimizer in the state after the events, if it asks the same again."""
    twin = _twin(optimizer)
    # Sums in another order than in the loop could propose other points.
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        # Said in the earlier run.
        warnings.simplefilter("ignore")
        same = _repeat(twin, events)
    if same:
        optimizer.__dict__.update(twin.__dict__)
    return same


def _repeat(optimizer: Optimizer, events: Events) -> bool:
    """Ask and tell as the events say; False at the first difference."""
    asked: dict[int, Trial] = {}
    for kind, trial, evaluation in events:
        if kind == "told":
            optimizer.tell(asked[trial.number], evaluation)
            continue
        try:
            again = optimizer.ask()
        except (NothingReady, SpaceExhausted):
            return False
        if _identity(again) != _identity(trial):
            return False
        asked[trial.number] = again
    return True


def _identity(trial: Trial) -> tuple[Any, ...]:
    unit = np.asarray(trial.unit, dtype=float).tobytes()
    amounts = trial.tolerance, trial.fidelity
    return trial.number, trial.subspace, unit, trial.seed, *amounts
