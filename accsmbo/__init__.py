# SPDX-License-Identifier: BSD-3-Clause
"""Hyperparameter search for scikit-learn: gradients, experience, every worker."""

from accsmbo.execution import minimize
from accsmbo.search import AccSMBOSearchCV, SMBOSearchCV
from accsmbo.space import Categorical, Integer, Real, Space

__version__ = "0.1.0"

__all__ = [
    "AccSMBOSearchCV",
    "Categorical",
    "Integer",
    "Real",
    "SMBOSearchCV",
    "Space",
    "__version__",
    "minimize",
]
