# SPDX-License-Identifier: BSD-3-Clause
"""Default spaces of neighbours, naive Bayes, discriminants, networks and calibration.

Not listed: the radius neighbours, whose radius has the unknown scale of the data and
may leave a point without neighbours.
"""

from typing import Any

from accsmbo.default_spaces._intervals import ON_OFF, SHRINKAGE
from accsmbo.default_spaces._registry import FoundSpace, SpaceSource
from accsmbo.space import Categorical, Integer, Real

__all__ = ["NEIGHBORS_BAYES_NETWORKS"]

# Probst, Boulesteix and Bischl 2019, kknn.
N_NEIGHBORS = Integer(1, 30, log=True)
WEIGHTS = Categorical(["uniform", "distance"])

# auto-sklearn.
DISCRETE_BAYES: FoundSpace = {
    "alpha": Real(1e-2, 1e2, log=True),
    "fit_prior": ON_OFF,
}

# auto-sklearn: 16 .. 264 nodes.
WIDTHS = (16, 32, 64, 128, 256)


def _neighbors(params: dict[str, Any]) -> FoundSpace:
    space = {"n_neighbors": N_NEIGHBORS, "weights": WEIGHTS}
    # Other powers are slower by far.
    if params["metric"] == "minkowski":
        return space | {"p": Categorical([1, 2], ordered=True)}
    return space


def _multilayer_perceptron(params: dict[str, Any]) -> FoundSpace:
    layers = params["hidden_layer_sizes"]
    depth = len(layers) if hasattr(layers, "__len__") else 1
    sizes = Categorical([(width,) * depth for width in WIDTHS], ordered=True)
    space = {"hidden_layer_sizes": sizes, "alpha": Real(1e-5, 1.0, log=True)}
    if params["solver"] == "lbfgs":
        return space
    # auto-sklearn ends at 0.5, where Adam diverges, and plain descent does at 0.1.
    highest = 1e-1 if params["solver"] == "adam" else 1e-2
    return space | {"learning_rate_init": Real(1e-4, highest, log=True)}


def _linear_discriminant(params: dict[str, Any]) -> FoundSpace:
    if params["covariance_estimator"] is not None:
        return {}
    # "svd" has no shrinkage, "lsqr" no transform; "eigen" has both.
    solver = {"solver": ["eigen"]} if params["solver"] == "svd" else {}
    return {"shrinkage": SHRINKAGE, **solver}


def _quadratic_discriminant(params: dict[str, Any]) -> FoundSpace:
    if params.get("solver", "svd") == "svd":
        return {"reg_param": SHRINKAGE}
    estimator = params["covariance_estimator"]
    return {"shrinkage": SHRINKAGE} if estimator is None else {}


def _calibration(params: dict[str, Any]) -> FoundSpace:
    methods = ["sigmoid", "isotonic"]
    return {"method": Categorical(methods)} if params["method"] in methods else {}


NEIGHBORS_BAYES_NETWORKS: dict[str, SpaceSource] = {
    "BernoulliNB": DISCRETE_BAYES,
    "CalibratedClassifierCV": _calibration,
    "CategoricalNB": DISCRETE_BAYES,
    "ComplementNB": {"alpha": DISCRETE_BAYES["alpha"], "norm": ON_OFF},
    # From scikit-learn's default, a guard against zero variance, to one variance.
    "GaussianNB": {"var_smoothing": Real(1e-9, 1.0, log=True)},
    "KNeighborsClassifier": _neighbors,
    "KNeighborsRegressor": _neighbors,
    "LinearDiscriminantAnalysis": _linear_discriminant,
    "MLPClassifier": _multilayer_perceptron,
    "MLPRegressor": _multilayer_perceptron,
    "MultinomialNB": DISCRETE_BAYES,
    "QuadraticDiscriminantAnalysis": _quadratic_discriminant,
}
