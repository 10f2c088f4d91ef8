# SPDX-License-Identifier: BSD-3-Clause
"""Group-penalised models: scikit-learn's checks, and agreement with its own models."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_estimator,
    check_param_validation,
)

from accsmbo.linear_model import GroupLogisticRegression, GroupRidge

GROUPS = [0, 0, 1, 1, 2, 2]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("model", [GroupRidge(), GroupLogisticRegression()])
def test_sklearn_checks(model):
    check_estimator(model)


@pytest.mark.parametrize("model", [GroupRidge(), GroupLogisticRegression()])
def test_further_sklearn_checks(model):
    check_param_validation(type(model).__name__, model)
    check_dataframe_column_names_consistency(type(model).__name__, model)


@pytest.fixture(scope="module")
def regression():
    return make_regression(80, 6, noise=10, random_state=0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_equal_strengths_are_logistic_regression(n_classes):
    X, y = make_classification(
        120, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=0
    )
    ours = GroupLogisticRegression([2.0] * 3, groups=GROUPS, class_weight="balanced")
    theirs = LogisticRegression(
        C=0.5, tol=1e-10, max_iter=10_000, class_weight="balanced"
    )
    expected = theirs.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours.fit(X, y).predict_proba(X), expected, atol=1e-7)
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(X)), expected, atol=1e-7)


def test_group_ridge_is_ridge_on_scaled_features(regression):
    X, y = regression
    strengths = np.array([0.1, 3.0, 50.0])
    ours = GroupRidge(strengths, groups=GROUPS).fit(X, y)
    scale = np.sqrt(strengths[GROUPS])  # alpha w^2 = v^2 with v = sqrt(alpha) w
    theirs = Ridge(1.0).fit(X / scale, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_ / scale, rtol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8)


def test_targets_weights_and_sparse_agree_with_ridge(regression):
    X, y = regression
    Y, weight = np.column_stack([y, -y + X[:, 0]]), np.linspace(0.1, 2, len(X))
    ours = GroupRidge(3.0).fit(sparse.csr_array(X), Y, sample_weight=weight)
    theirs = Ridge(3.0).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)


def test_strengths_are_parameters_of_their_own():
    model = GroupRidge(groups=GROUPS)
    assert model.get_params()["alpha__2"] == 1.0
    changed = clone(model).set_params(alpha__2=5.0)
    assert changed.alpha == [1.0, 1.0, 5.0]
    assert model.alpha == 1.0
    again = clone(changed).set_params(alpha__0=2.0)
    assert (again.alpha, changed.alpha) == ([2.0, 1.0, 5.0], [1.0, 1.0, 5.0])
    pipeline = make_pipeline(StandardScaler(), model)
    pipeline.set_params(groupridge__alpha__1=7.0)
    assert pipeline[-1].alpha == [1.0, 7.0, 1.0]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GroupRidge([1.0, 2.0]), "groups is None"),
        (GroupRidge(groups=[0, 1]), "one integer for each of the 6 features"),
        (GroupRidge(groups=[0.5] * 6), "one integer for each of the 6 features"),
        (GroupRidge([1.0, 2.0], groups=GROUPS), "must lie between 0 and 1"),
        (GroupRidge([1.0, 2.0, -3.0], groups=GROUPS), "smallest one of -3"),
        (GroupRidge(-1.0), "'alpha' parameter of GroupRidge must be"),
        (GroupRidge("big"), "'alpha' parameter of GroupRidge must be"),
    ],
)
def test_errors(regression, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*regression)


@pytest.mark.parametrize("name", ["alpha__3", "alpha__x"])
def test_unknown_group(name):
    with pytest.raises(ValueError, match="there are 3 groups"):
        GroupRidge(groups=GROUPS).set_params(**{name: 1.0})
