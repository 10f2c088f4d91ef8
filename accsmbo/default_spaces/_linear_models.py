# SPDX-License-Identifier: BSD-3-Clause
"""Default spaces of scikit-learn's linear models; class name -> space.

Not listed, for there is nothing to tune: LinearRegression, TheilSenRegressor, and the
``*CV`` models, which tune themselves. Not listed, for the count must not exceed the
number of features: OrthogonalMatchingPursuit.
"""

import math
from typing import Any

from accsmbo.default_spaces._intervals import (
    COST,
    EPSILON,
    L1_RATIO,
    NOT_TUNED,
    PENALTY,
)
from accsmbo.default_spaces._registry import FoundSpace, SpaceSource
from accsmbo.space import Categorical, Real

__all__ = ["LINEAR_MODELS"]

# The grid of LogisticRegressionCV; of Ridge the same, alpha = 1 / C.
WIDE = Real(1e-4, 1e4, log=True)

# auto-sklearn.
SGD_ALPHA = Real(1e-7, 1e-1, log=True)

# auto-sklearn; above 0.01 the squared error diverges.
SGD_STEP = Real(1e-4, 1e-2, log=True)

# auto-sklearn, C of the passive-aggressive models.
AGGRESSIVENESS = Real(1e-5, 10.0, log=True)

# Mean lambda_1 / lambda_2 of the prior of the precision; from flat to decisive.
GAMMA_PRIOR = Real(1e-6, 1e2, log=True)


def _logistic_regression(params: dict[str, Any]) -> FoundSpace:
    penalty = params.get("penalty", "deprecated")
    if penalty is None or math.isinf(params["C"]):
        return NOT_TUNED
    space = {"C": WIDE}
    either = params["solver"] in {"liblinear", "saga"} and not params["dual"]
    # From scikit-learn 1.8 on l1_ratio names the penalty; liblinear has no mixtures.
    renamed = penalty == "deprecated"
    if penalty == "elasticnet" or (renamed and params["solver"] == "saga"):
        return space | {"l1_ratio": Real(0.0, 1.0)}
    if not either:
        return space
    if renamed:
        return space | {"l1_ratio": Categorical([0.0, 1.0], ordered=True)}
    return space | {"penalty": Categorical(["l1", "l2"])}


def _stochastic_gradient(params: dict[str, Any]) -> FoundSpace:
    if params["learning_rate"] in {"pa1", "pa2"}:
        return {"eta0": AGGRESSIVENESS}
    space = {}
    if params["penalty"] is not None:
        space["alpha"] = SGD_ALPHA
    if params["penalty"] == "elasticnet":
        space["l1_ratio"] = Real(0.0, 1.0)
    if params["learning_rate"] != "optimal":
        space["eta0"] = SGD_STEP
    return space


def _perceptron(params: dict[str, Any]) -> FoundSpace:
    return {} if params["penalty"] is None else {"alpha": SGD_ALPHA}


LINEAR_MODELS: dict[str, SpaceSource] = {
    "ARDRegression": {"threshold_lambda": Real(1e3, 1e5, log=True)},
    "BayesianRidge": {"lambda_1": GAMMA_PRIOR, "lambda_2": GAMMA_PRIOR},
    "ElasticNet": {"alpha": PENALTY, "l1_ratio": L1_RATIO},
    "GammaRegressor": {"alpha": PENALTY},
    "HuberRegressor": {
        # 1.345 has 95 % efficiency at the normal (Huber 1981), 3 has all of it.
        "epsilon": Real(1.05, 3.0),
        "alpha": Real(1e-6, 1e2, log=True),
    },
    "Lasso": {"alpha": PENALTY},
    "LassoLars": {"alpha": PENALTY},
    "LinearSVC": {"C": COST},
    "LinearSVR": {"C": COST, "epsilon": EPSILON},
    "LogisticRegression": _logistic_regression,
    "LogisticRegressionCV": NOT_TUNED,
    "MultiTaskElasticNet": {"alpha": PENALTY, "l1_ratio": L1_RATIO},
    "MultiTaskLasso": {"alpha": PENALTY},
    "Perceptron": _perceptron,
    "PoissonRegressor": {"alpha": PENALTY},
    "QuantileRegressor": {"alpha": PENALTY},
    "Ridge": {"alpha": WIDE},
    "RidgeClassifier": {"alpha": WIDE},
    "SGDClassifier": _stochastic_gradient,
    "SGDRegressor": _stochastic_gradient,
    "TweedieRegressor": {"alpha": PENALTY},
}
