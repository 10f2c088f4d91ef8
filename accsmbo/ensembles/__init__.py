# SPDX-License-Identifier: BSD-3-Clause
"""Ensembles: selection from a search's candidates, deep and hyper-deep, neural."""

from accsmbo.ensembles._greedy_selection import (
    Selection,
    SelectionStep,
    greedy_selection,
    top_k_selection,
)

__all__ = [
    "Selection",
    "SelectionStep",
    "greedy_selection",
    "top_k_selection",
]
