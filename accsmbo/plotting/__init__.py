# SPDX-License-Identifier: BSD-3-Clause
"""Displays of searches, in scikit-learn's Display convention; they need matplotlib.

What is imported here beyond `__all__` is shared with `accsmbo.report` alone.
"""

from accsmbo.plotting._convergence import ConvergenceDisplay
from accsmbo.plotting._lambda_path import LambdaPathDisplay
from accsmbo.plotting._matplotlib import ink as ink
from accsmbo.plotting._matplotlib import label as label
from accsmbo.plotting._matplotlib import pyplot as pyplot
from accsmbo.plotting._parallel_coordinates import ParallelCoordinatesDisplay
from accsmbo.plotting._parameter_importance import ParameterImportanceDisplay
from accsmbo.plotting._reliability import ReliabilityDisplay
from accsmbo.plotting._surrogate import STD as STD
from accsmbo.plotting._surrogate import SurrogateDisplay
from accsmbo.plotting._surrogate import draw_contour as draw_contour
from accsmbo.plotting._surrogate import slice_limits as slice_limits
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
