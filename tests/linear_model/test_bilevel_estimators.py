# SPDX-License-Identifier: BSD-3-Clause
"""The estimators that tune their own penalty: scikit-learn's contract and models."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from accsmbo.linear_model import (
    BilevelLinearSVCCV,
    BilevelLogisticRegressionCV,
    BilevelPoissonRegressorCV,
    BilevelRidgeCV,
)

X, Y = load_breast_cancer(return_X_y=True)
X, Y = scale(X)[::3], Y[::3]
DIABETES = load_diabetes(return_X_y=True)
rng = np.random.default_rng(0)
COUNTS = rng.poisson(np.exp(0.5 * X[:, 0]))


@parametrize_with_checks(
    [
        BilevelLogisticRegressionCV(cv=3),
        BilevelLinearSVCCV(cv=3),
        BilevelRidgeCV(cv=3),
        BilevelPoissonRegressorCV(cv=3),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
