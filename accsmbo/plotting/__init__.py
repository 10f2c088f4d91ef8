# SPDX-License-Identifier: BSD-3-Clause
"""Displays of searches, in scikit-learn's Display convention; they need matplotlib."""

from accsmbo.plotting._convergence import ConvergenceDisplay

__all__ = ["ConvergenceDisplay"]
