# SPDX-License-Identifier: BSD-3-Clause
"""Optimizers: ask for a trial, tell what it gave."""

from accsmbo.optimizers._accsmbo import AccSMBO
from accsmbo.optimizers._base import Observations, Optimizer
from accsmbo.optimizers._grid_search import GridSearch
from accsmbo.optimizers._hoag import HOAG
from accsmbo.optimizers._initial_design import InitialDesign
from accsmbo.optimizers._local_first import LocalFirst
from accsmbo.optimizers._random_search import RandomSearch
from accsmbo.optimizers._smbo import SMBO

__all__ = [
    "HOAG",
    "SMBO",
    "AccSMBO",
    "GridSearch",
    "InitialDesign",
    "LocalFirst",
    "Observations",
    "Optimizer",
    "RandomSearch",
]
