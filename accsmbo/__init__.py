# SPDX-License-Identifier: BSD-3-Clause
"""Hyperparameter search for scikit-learn: gradients, experience, every worker."""

__version__ = "0.1.0"

__all__ = ["__version__"]
