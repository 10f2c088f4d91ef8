# SPDX-License-Identifier: BSD-3-Clause
"""StopReason: why a run ended."""

from enum import Enum

__all__ = ["StopReason"]


class StopReason(Enum):
    """Why a run ended."""

    BUDGET = "all trials of the budget were evaluated"
    EXHAUSTED = "every point of the finite space was evaluated"
    TIMEOUT = "the time limit was reached"
    CALLBACK = "a callback asked to stop"
    INTERRUPTED = "it was interrupted"
    STORAGE = "the journal could not be written"
    EXECUTOR = "the executor broke"
