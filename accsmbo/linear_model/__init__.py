# SPDX-License-Identifier: BSD-3-Clause
"""Linear models that gradients make worth tuning, and that tune themselves."""

from accsmbo.linear_model._bilevel_linear_svc import BilevelLinearSVCCV
from accsmbo.linear_model._bilevel_logistic_regression import (
    BilevelLogisticRegressionCV,
)
from accsmbo.linear_model._bilevel_poisson_regressor import BilevelPoissonRegressorCV
from accsmbo.linear_model._bilevel_ridge import BilevelRidgeCV
from accsmbo.linear_model._group_penalty import GroupLogisticRegression, GroupRidge

__all__ = [
    "BilevelLinearSVCCV",
    "BilevelLogisticRegressionCV",
    "BilevelPoissonRegressorCV",
    "BilevelRidgeCV",
    "GroupLogisticRegression",
    "GroupRidge",
]
