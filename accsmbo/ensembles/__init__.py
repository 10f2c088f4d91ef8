# SPDX-License-Identifier: BSD-3-Clause
"""Ensembles: selection from a search's candidates, deep and hyper-deep, neural."""

from accsmbo.ensembles._batch_ensemble import BatchEnsembleClassifier
from accsmbo.ensembles._deep_ensemble import (
    DeepEnsembleClassifier,
    DeepEnsembleRegressor,
)
from accsmbo.ensembles._greedy_selection import (
    Selection,
    SelectionStep,
    greedy_selection,
    top_k_selection,
)
from accsmbo.ensembles._hyper_batch_ensemble import HyperBatchEnsembleClassifier
from accsmbo.ensembles._hyper_deep_ensemble import (
    HyperDeepEnsembleClassifier,
    HyperDeepEnsembleRegressor,
)
from accsmbo.ensembles._selection import (
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
)
from accsmbo.ensembles._self_tuning import SelfTuningClassifier

__all__ = [
    "BatchEnsembleClassifier",
    "DeepEnsembleClassifier",
    "DeepEnsembleRegressor",
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "HyperBatchEnsembleClassifier",
    "HyperDeepEnsembleClassifier",
    "HyperDeepEnsembleRegressor",
    "Selection",
    "SelectionStep",
    "SelfTuningClassifier",
    "greedy_selection",
    "top_k_selection",
]
