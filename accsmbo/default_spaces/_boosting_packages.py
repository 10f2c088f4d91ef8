# SPDX-License-Identifier: BSD-3-Clause
"""Default spaces of XGBoost, LightGBM and CatBoost; package -> class name -> space.

Ranges of Probst, Boulesteix and Bischl 2019 (xgboost), carried over to the names of
the other packages; the learning rate, with a fixed number of trees, from 0.01.
"""

from typing import Any

from accsmbo.default_spaces._intervals import FRACTION, LEARNING_RATE, PENALTY
from accsmbo.default_spaces._registry import FoundSpace, SpaceSource
from accsmbo.space import Integer, Real

__all__ = ["BOOSTING_PACKAGES"]


XGBOOST_TREE: FoundSpace = {
    "max_depth": Integer(1, 15),
    "min_child_weight": Real(1.0, 2.0**7, log=True),
    "subsample": Real(0.5, 1.0),
}


def _xgboost(params: dict[str, Any]) -> FoundSpace:
    space = {"learning_rate": LEARNING_RATE, "reg_lambda": PENALTY}
    if params.get("booster") == "gblinear":
        return space | {"reg_alpha": PENALTY}
    return {**space, **XGBOOST_TREE, "colsample_bytree": FRACTION}


# A forest is averaged, not shrunk, and draws features at each split.
XGBOOST_FOREST: FoundSpace = {**XGBOOST_TREE, "colsample_bynode": FRACTION}

LIGHTGBM: FoundSpace = {
    "learning_rate": LEARNING_RATE,
    "num_leaves": Integer(3, 255, log=True),
    "min_child_samples": Integer(1, 200, log=True),
    "reg_lambda": PENALTY,
    "colsample_bytree": FRACTION,
}

CATBOOST: FoundSpace = {
    "learning_rate": LEARNING_RATE,
    "depth": Integer(1, 10),
    "l2_leaf_reg": PENALTY,
}

BOOSTING_PACKAGES: dict[str, dict[str, SpaceSource]] = {
    "catboost": {"CatBoostClassifier": CATBOOST, "CatBoostRegressor": CATBOOST},
    "lightgbm": {"LGBMClassifier": LIGHTGBM, "LGBMRegressor": LIGHTGBM},
    "xgboost": {
        "XGBClassifier": _xgboost,
        "XGBRFClassifier": XGBOOST_FOREST,
        "XGBRFRegressor": XGBOOST_FOREST,
        "XGBRegressor": _xgboost,
    },
}
