# SPDX-License-Identifier: BSD-3-Clause
"""What a display is given -> a history, what its values mean, and in which space."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo.history import History
from accsmbo.storage import JournalStorage

__all__ = ["Readout", "as_readout", "is_complete", "is_readable", "resources"]


@dataclass(frozen=True, eq=False)
class Readout:
    """A history and how to read its values.

    Attributes
    ----------
    history : History
        All finished trials.
    value_name : str
        What the values are: a metric, "score" or "loss".
    is_score : bool
        Whether people read minus the loss: greater is better.
    """

    history: History
    value_name: str
    is_score: bool

    @property
    def sign(self) -> float:
        """What a loss is multiplied by before it is shown."""
        return -1.0 if self.is_score else 1.0


def is_readable(given: Any) -> bool:
    """Tell whether something is a history, a fitted search or the path of a journal.

    Parameters
    ----------
    given : object
        Anything.

    Returns
    -------
    bool
        Whether :func:`as_readout` takes it; the journal need not exist.
    """
    paths = (str, os.PathLike, JournalStorage)
    return isinstance(getattr(given, "history_", given), (History, *paths))


def as_readout(given: Any, name: str = "history") -> Readout:
    """Return the readout of what a user means.

    Parameters
    ----------
    given : History, fitted search, str, path-like or JournalStorage
        A path is that of a journal.
    name : str, default="history"
        Name of the argument, for messages.

    Returns
    -------
    Readout
        Its history and what the values mean.

    Raises
    ------
    TypeError
        If it is none of these.
    FileNotFoundError
        If there is no such journal.
    ValueError
        If the file is no journal of this version.
    """
    if not is_readable(given):
        raise TypeError(
            f"{name} must hold History objects, fitted searches or paths of journals, "
            f"got {given!r} (of type {type(given).__name__}). Give search.history_, "
            "what minimize returns, or 'study.jsonl'."
        )
    if isinstance(given, (str, os.PathLike)):
        given = JournalStorage(given)
    if isinstance(given, JournalStorage):
        given = given.load()
    history: History = getattr(given, "history_", given)
    return Readout(history, history.metric or "loss", history.metric is not None)


def is_complete(history: History) -> NDArray[np.bool_]:
    """Tell which trials had all folds and the largest resource that any trial had.

    Parameters
    ----------
    history : History
        Any history, also one with failures.

    Returns
    -------
    ndarray of bool of shape (n_trials,)
        False for trials whose values are those of less.
    """
    amounts = resources(history)
    full: NDArray[np.bool_] = amounts == amounts.max(initial=0.0)
    full[[e.partial for e in history.evaluations]] = False
    return full


def resources(history: History) -> NDArray[np.float64]:
    """Return the resource of each trial, shape (n_trials,), infinity for all of it."""
    return np.array(
        [np.inf if t.fidelity is None else t.fidelity for t in history.trials]
    )
