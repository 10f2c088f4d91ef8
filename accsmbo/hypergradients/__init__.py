# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of cross-validated scores by hyperparameters."""

from accsmbo.hypergradients._cross_validation import hypergradient
from accsmbo.hypergradients._elastic_net import ElasticNetProblem
from accsmbo.hypergradients._fold import (
    FoldHypergradient,
    FoldResult,
    differentiable_names,
)
from accsmbo.hypergradients._gaussian_process import GaussianProcessProblem
from accsmbo.hypergradients._generalized_linear import GeneralizedLinearProblem
from accsmbo.hypergradients._group_penalty import (
    GroupLogisticRegressionProblem,
    GroupRidgeProblem,
)
from accsmbo.hypergradients._implicit import Hypergradient, implicit_hypergradient
from accsmbo.hypergradients._inner_problem import (
    InnerProblem,
    NotDifferentiableError,
    Solution,
)
from accsmbo.hypergradients._kernel_ridge import KernelRidgeProblem
from accsmbo.hypergradients._kernel_svm import SVCProblem, SVRProblem
from accsmbo.hypergradients._linear_problem import LinearProblem, Penalty
from accsmbo.hypergradients._linear_svm import LinearSVCProblem, LinearSVRProblem
from accsmbo.hypergradients._logistic import LogisticRegressionProblem
from accsmbo.hypergradients._multilayer_perceptron import (
    MultilayerPerceptronProblem,
)
from accsmbo.hypergradients._outer_loss import OuterLoss
from accsmbo.hypergradients._registry import (
    find_inner_problem,
    register_inner_problem,
)
from accsmbo.hypergradients._ridge import RidgeClassifierProblem, RidgeProblem
from accsmbo.hypergradients._scoring import outer_loss, squared_hinge_loss

__all__ = [
    "ElasticNetProblem",
    "FoldHypergradient",
    "FoldResult",
    "GaussianProcessProblem",
    "GeneralizedLinearProblem",
    "GroupLogisticRegressionProblem",
    "GroupRidgeProblem",
    "Hypergradient",
    "InnerProblem",
    "KernelRidgeProblem",
    "LinearProblem",
    "LinearSVCProblem",
    "LinearSVRProblem",
    "LogisticRegressionProblem",
    "MultilayerPerceptronProblem",
    "NotDifferentiableError",
    "OuterLoss",
    "Penalty",
    "RidgeClassifierProblem",
    "RidgeProblem",
    "SVCProblem",
    "SVRProblem",
    "Solution",
    "differentiable_names",
    "find_inner_problem",
    "hypergradient",
    "implicit_hypergradient",
    "outer_loss",
    "register_inner_problem",
    "squared_hinge_loss",
]
