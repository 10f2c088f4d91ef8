# SPDX-License-Identifier: BSD-3-Clause
"""Searches with scikit-learn's interface."""

from accsmbo.search._accsmbo import AccSMBOSearchCV
from accsmbo.search._grid import GridSearchCV
from accsmbo.search._hoag import HOAGSearchCV
from accsmbo.search._randomized import RandomizedSearchCV
from accsmbo.search._smbo import SMBOSearchCV

__all__ = [
    "AccSMBOSearchCV",
    "GridSearchCV",
    "HOAGSearchCV",
    "RandomizedSearchCV",
    "SMBOSearchCV",
]
