# SPDX-License-Identifier: BSD-3-Clause
"""Ensembles: selection from a search's candidates, deep and hyper-deep, neural."""

from accsmbo.ensembles._batch_ensemble import BatchEnsembleClassifier
from accsmbo.ensembles._greedy_selection import (
    Selection,
    SelectionStep,
    greedy_selection,
    top_k_selection,
)
from accsmbo.ensembles._hyper_batch_ensemble import HyperBatchEnsembleClassifier
from accsmbo.ensembles._self_tuning import SelfTuningClassifier

__all__ = [
    "BatchEnsembleClassifier",
    "HyperBatchEnsembleClassifier",
    "Selection",
    "SelectionStep",
    "SelfTuningClassifier",
    "greedy_selection",
    "top_k_selection",
]
