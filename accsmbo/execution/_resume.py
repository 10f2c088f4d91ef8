# SPDX-License-Identifier: BSD-3-Clause
"""Bring an optimizer to where an earlier run left it."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from accsmbo.exceptions import NothingReady, SpaceExhausted
from accsmbo.history import Evaluation, Trial
from accsmbo.optimizers import Optimizer

__all__ = ["resume"]

Events = Sequence[tuple[str, Trial, Evaluation | None]]


def resume(optimizer: Optimizer, events: Events) -> None:
    """Bring an optimizer to where an earlier run left it.

    What was asked and told is repeated in the same order. Where the optimizer asks the
    same again, its inner state is the same too, and the run goes on as if it had not
    stopped. Elsewhere (another budget of a finite space, several workers with two
    stacks, another library version) the trials are taken over as they are.

    Parameters
    ----------
    optimizer : Optimizer
        Not asked yet.
    events : sequence of (str, Trial, Evaluation or None)
        ``"asked"`` and ``"told"`` in order, from a journal.
    """
    if not events:
        return
    twin = type(optimizer)(**optimizer.get_params(deep=False))
    with warnings.catch_warnings():
        # Said in the earlier run.
        warnings.simplefilter("ignore")
        same = _repeat(twin, events)
    if same:
        optimizer.__dict__.update(twin.__dict__)
        return
    for kind, trial, evaluation in events:
        if kind == "asked":
            optimizer.restore(trial)
        else:
            optimizer.tell(trial, evaluation)


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
