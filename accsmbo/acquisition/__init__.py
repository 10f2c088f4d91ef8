# SPDX-License-Identifier: BSD-3-Clause
"""Acquisition functions: which point promises most, and the search for it."""

from accsmbo.acquisition._base import AcquisitionFunction
from accsmbo.acquisition._expected_improvement import (
    ExpectedImprovement,
    LogExpectedImprovement,
)
from accsmbo.acquisition._lower_confidence_bound import LowerConfidenceBound
from accsmbo.acquisition._maximize import maximize_acquisition
from accsmbo.acquisition._meta_acquisition import MetaAcquisition
from accsmbo.acquisition._probability_of_improvement import ProbabilityOfImprovement

__all__ = [
    "AcquisitionFunction",
    "ExpectedImprovement",
    "LogExpectedImprovement",
    "LowerConfidenceBound",
    "MetaAcquisition",
    "ProbabilityOfImprovement",
    "maximize_acquisition",
]
