# SPDX-License-Identifier: BSD-3-Clause
"""StopReason: why a run ended, and what may ask for its end."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

__all__ = ["StopReason", "as_conditions"]


class StopReason(Enum):
    """Why a run ended.

    BUDGET, EXHAUSTED and CONVERGED are the planned ends; TIMEOUT, CALLBACK and
    CONDITION are what the user asked for; INTERRUPTED, STORAGE and EXECUTOR are
    trouble. In all cases what was told before stays in the history. A member's value
    completes "because ...".

    See Also
    --------
    run : Returns one.
    SearchInterruptedWarning : Said with the last three.

    Examples
    --------
    >>> from accsmbo.execution import StopReason
    >>> f"No more trials, because {StopReason.TIMEOUT.value}."
    'No more trials, because the time limit was reached.'
    """

    BUDGET = "all trials of the budget were evaluated"
    EXHAUSTED = "every candidate of the space was evaluated"
    CONVERGED = "the optimizer has converged"
    TIMEOUT = "the time limit was reached"
    CALLBACK = "a callback ended it"
    CONDITION = "a condition of stop_when was met"
    INTERRUPTED = "it was interrupted"
    STORAGE = "the journal could not be written"
    EXECUTOR = "the executor broke"


def as_conditions(stop_when: Any) -> Sequence[Any]:
    """Return what ``stop_when`` holds as a list.

    Parameters
    ----------
    stop_when : object with ``should_stop``, list of them or None
        As given by the user.

    Returns
    -------
    list
        Objects with ``should_stop(optimizer) -> bool``.

    Raises
    ------
    TypeError
        If something else is among them.
    """
    several = isinstance(stop_when, (list, tuple))
    conditions = list(stop_when) if several else [stop_when]
    if stop_when is None:
        return []
    for condition in conditions:
        if isinstance(condition, type) or not hasattr(condition, "should_stop"):
            raise TypeError(
                "stop_when must be an object with should_stop(optimizer), or a list of "
                f"them, got {condition!r}. Give one of accsmbo.stopping."
            )
    return conditions
