# SPDX-License-Identifier: BSD-3-Clause
"""Displays of searches, in scikit-learn's Display convention; they need matplotlib."""

from accsmbo.plotting._convergence import ConvergenceDisplay
from accsmbo.plotting._lambda_path import LambdaPathDisplay
from accsmbo.plotting._parallel_coordinates import ParallelCoordinatesDisplay
from accsmbo.plotting._parameter_importance import ParameterImportanceDisplay
from accsmbo.plotting._reliability import ReliabilityDisplay
from accsmbo.plotting._surrogate import SurrogateDisplay
from accsmbo.plotting._worker_timeline import WorkerTimelineDisplay

__all__ = [
    "ConvergenceDisplay",
    "LambdaPathDisplay",
    "ParallelCoordinatesDisplay",
    "ParameterImportanceDisplay",
    "ReliabilityDisplay",
    "SurrogateDisplay",
    "WorkerTimelineDisplay",
]
