# SPDX-License-Identifier: BSD-3-Clause
"""Default spaces of scikit-learn's trees and their ensembles; class name -> space.

The number of trees is a budget and stays: more are better in a forest (Probst and
Boulesteix, JMLR 18(181), 2018), and in boosting the learning rate adapts to it.
"""

from typing import Any

from accsmbo.default_spaces._intervals import (
    ENSEMBLE_LEAF,
    FRACTION,
    LEARNING_RATE,
    PENALTY,
    SAMPLE_FRACTION,
)
from accsmbo.default_spaces._registry import FoundSpace, SpaceSource
from accsmbo.space import Categorical, Integer, Real

__all__ = ["TREES"]

# Probst, Boulesteix and Bischl 2019, rpart.
TREE: FoundSpace = {
    "max_depth": Integer(1, 30, log=True),
    "min_samples_leaf": Integer(1, 60, log=True),
}

# auto-sklearn; subsample there from 0.01, where trees see next to nothing.
GRADIENT_BOOSTING: FoundSpace = {
    "learning_rate": LEARNING_RATE,
    "max_depth": Integer(1, 10),
    "min_samples_leaf": ENSEMBLE_LEAF,
    "subsample": Real(0.5, 1.0),
    "max_features": FRACTION,
}

# auto-sklearn, where max_leaf_nodes ends at 2047; l2 as in Probst et al. 2019.
HIST_GRADIENT_BOOSTING: FoundSpace = {
    "learning_rate": LEARNING_RATE,
    "max_leaf_nodes": Integer(3, 255, log=True),
    "min_samples_leaf": Integer(1, 200, log=True),
    "l2_regularization": PENALTY,
    "max_features": FRACTION,
}

# auto-sklearn; van Rijn and Hutter 2018.
ADABOOST: FoundSpace = {"learning_rate": Real(0.01, 2.0, log=True)}


def _forest(params: dict[str, Any]) -> FoundSpace:
    space = {"max_features": FRACTION, "min_samples_leaf": ENSEMBLE_LEAF}
    return space | ({"max_samples": SAMPLE_FRACTION} if params["bootstrap"] else {})


def _bagging(params: dict[str, Any]) -> FoundSpace:
    space = {"max_samples": SAMPLE_FRACTION}
    # A given estimator may rely on the columns, as a ColumnTransformer does.
    return space | ({"max_features": FRACTION} if params["estimator"] is None else {})


TREES: dict[str, SpaceSource] = {
    "AdaBoostClassifier": ADABOOST,
    "AdaBoostRegressor": {
        **ADABOOST,
        "loss": Categorical(["linear", "square", "exponential"]),
    },
    "BaggingClassifier": _bagging,
    "BaggingRegressor": _bagging,
    "DecisionTreeClassifier": TREE,
    "DecisionTreeRegressor": TREE,
    "ExtraTreeClassifier": {**TREE, "max_features": FRACTION},
    "ExtraTreeRegressor": {**TREE, "max_features": FRACTION},
    "ExtraTreesClassifier": _forest,
    "ExtraTreesRegressor": _forest,
    "GradientBoostingClassifier": GRADIENT_BOOSTING,
    "GradientBoostingRegressor": GRADIENT_BOOSTING,
    "HistGradientBoostingClassifier": HIST_GRADIENT_BOOSTING,
    "HistGradientBoostingRegressor": HIST_GRADIENT_BOOSTING,
    "RandomForestClassifier": _forest,
    "RandomForestRegressor": _forest,
}
