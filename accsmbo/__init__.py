# SPDX-License-Identifier: BSD-3-Clause
"""Hyperparameter search for scikit-learn: gradients, experience, every worker."""

from accsmbo.execution import minimize
from accsmbo.history import History
from accsmbo.hypergradients import InnerProblem, hypergradient, register_inner_problem
from accsmbo.metalearning import EmpiricalDensity
from accsmbo.optimizers import HOAG, SMBO, AccSMBO, GridSearch, RandomSearch
from accsmbo.search import AccSMBOSearchCV, HOAGSearchCV, SMBOSearchCV
from accsmbo.space import Categorical, Integer, Real, Space
from accsmbo.storage import JournalStorage

__version__ = "0.1.0"

__all__ = [
    "HOAG",
    "SMBO",
    "AccSMBO",
    "AccSMBOSearchCV",
    "Categorical",
    "EmpiricalDensity",
    "GridSearch",
    "HOAGSearchCV",
    "History",
    "InnerProblem",
    "Integer",
    "JournalStorage",
    "RandomSearch",
    "Real",
    "SMBOSearchCV",
    "Space",
    "__version__",
    "hypergradient",
    "minimize",
    "register_inner_problem",
]
