# SPDX-License-Identifier: BSD-3-Clause
"""Models of a loss on the unit cube: mean, std and their input gradients."""

from accsmbo.surrogates._base import Surrogate
from accsmbo.surrogates._cubic import Cubic
from accsmbo.surrogates._derivative_gaussian_process import DerivativeGaussianProcess
from accsmbo.surrogates._gaussian_process import GaussianProcess
from accsmbo.surrogates._joint_likelihood import (
    DerivativeHyperparameters,
    DerivativePriors,
)
from accsmbo.surrogates._kernels import RBF, Kernel, Matern32, Matern52, MaternSum
from accsmbo.surrogates._likelihood import Hyperparameters, NormalPrior, Priors
from accsmbo.surrogates._multi_kernel import MultiKernelGaussianProcess
from accsmbo.surrogates._random_forest import RandomForestSurrogate
from accsmbo.surrogates._sobol_indices import SobolIndices, sobol_indices

__all__ = [
    "RBF",
    "Cubic",
    "DerivativeGaussianProcess",
    "DerivativeHyperparameters",
    "DerivativePriors",
    "GaussianProcess",
    "Hyperparameters",
    "Kernel",
    "Matern32",
    "Matern52",
    "MaternSum",
    "MultiKernelGaussianProcess",
    "NormalPrior",
    "Priors",
    "RandomForestSurrogate",
    "SobolIndices",
    "Surrogate",
    "sobol_indices",
]
