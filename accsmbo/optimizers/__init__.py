# SPDX-License-Identifier: BSD-3-Clause
"""Optimizers: ask for a trial, tell what it gave."""

from accsmbo.optimizers._base import Observations, Optimizer
from accsmbo.optimizers._grid_search import GridSearch
from accsmbo.optimizers._random_search import RandomSearch

__all__ = ["GridSearch", "Observations", "Optimizer", "RandomSearch"]
