# SPDX-License-Identifier: BSD-3-Clause
"""Experience: densities of good hyperparameters and the records they are made of."""

from accsmbo.metalearning._density import Density
from accsmbo.metalearning._empirical_density import EmpiricalDensity
from accsmbo.metalearning._prior_density import PriorDensity
from accsmbo.metalearning._shipped import shipped_tasks
from accsmbo.metalearning._source_task import MIN_TASKS, SourceTask

__all__ = [
    "MIN_TASKS",
    "Density",
    "EmpiricalDensity",
    "PriorDensity",
    "SourceTask",
    "shipped_tasks",
]
