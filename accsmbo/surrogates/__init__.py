# SPDX-License-Identifier: BSD-3-Clause
"""Models of a loss on the unit cube: mean, std and their input gradients."""

from accsmbo.surrogates._base import Surrogate
from accsmbo.surrogates._gaussian_process import GaussianProcess
from accsmbo.surrogates._kernels import RBF, Kernel, Matern32, Matern52, MaternSum
from accsmbo.surrogates._likelihood import Hyperparameters, NormalPrior, Priors

__all__ = [
    "RBF",
    "GaussianProcess",
    "Hyperparameters",
    "Kernel",
    "Matern32",
    "Matern52",
    "MaternSum",
    "NormalPrior",
    "Priors",
    "Surrogate",
]
