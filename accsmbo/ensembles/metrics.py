# SPDX-License-Identifier: BSD-3-Clause
"""Metrics of predicted probabilities, ensembles and foreign samples."""

from accsmbo._probabilities import CalibrationBins, calibration_bins
from accsmbo.ensembles._classification_metrics import (
    accuracy,
    brier_score,
    expected_calibration_error,
    negative_log_likelihood,
)
from accsmbo.ensembles._ensemble_metrics import (
    member_and_ensemble_scores,
    predictive_disagreement,
)
from accsmbo.ensembles._out_of_distribution import (
    fpr_at_tpr,
    mean_maximum_confidence,
    out_of_distribution_auroc,
)
from accsmbo.ensembles._scorers import SCORERS, ProbabilityScorer

__all__ = [
    "SCORERS",
    "CalibrationBins",
    "ProbabilityScorer",
    "accuracy",
    "brier_score",
    "calibration_bins",
    "expected_calibration_error",
    "fpr_at_tpr",
    "mean_maximum_confidence",
    "member_and_ensemble_scores",
    "negative_log_likelihood",
    "out_of_distribution_auroc",
    "predictive_disagreement",
]
