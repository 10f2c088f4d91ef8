# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions and warnings of accsmbo."""

__all__ = [
    "Converged",
    "DensityWarning",
    "NothingReady",
    "SearchInterruptedWarning",
    "SpaceExhausted",
    "SurrogateFailedWarning",
]


class SpaceExhausted(Exception):
    """Raised by ``ask`` when every point of a finite space has been asked."""


class Converged(SpaceExhausted):
    """Raised by ``ask`` when an optimizer has converged and has nothing to propose."""


class NothingReady(Exception):
    """Raised by ``ask`` when a pending trial must be told before there is another."""


class SearchInterruptedWarning(UserWarning):
    """A search ended before its budget: interrupted, or out of time."""


class SurrogateFailedWarning(UserWarning):
    """A surrogate could not be fitted; a random point was proposed instead."""


class DensityWarning(UserWarning):
    """A density of good hyperparameters is ignored, or says little."""
