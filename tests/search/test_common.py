# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's estimator checks on every search class."""

import inspect

import pytest
from sklearn.base import clone, is_classifier
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    parametrize_with_checks,
)

from tests._searches import MODEL_BASED, SEARCHES, make_search


def pca_pipeline(estimator):
    return Pipeline([("pca", PCA()), ("estimator", estimator)])


# As scikit-learn tests its own searches.
ESTIMATORS_AND_SPACES = [
    (Ridge(), {"alpha": [0.1, 1.0]}),
    (LogisticRegression(), {"C": [0.1, 1.0]}),
    (pca_pipeline(Ridge()), {"estimator__alpha": [0.1, 1.0]}),
    (pca_pipeline(LogisticRegression()), {"estimator__C": [0.1, 1.0]}),
]


def instances():
    """Four instances of our own searches, the two plain ones of the baselines."""
    pairs = [(cls, pair) for cls in MODEL_BASED for pair in ESTIMATORS_AND_SPACES]
    baselines = [cls for cls in SEARCHES if cls not in MODEL_BASED]
    pairs += [(cls, pair) for cls in baselines for pair in ESTIMATORS_AND_SPACES[:2]]
    arguments = {"cv": 2, "error_score": "raise", "n_iter": 2}
    return [
        make_search(cls, clone(estimator), space, **arguments)
        for cls, (estimator, space) in pairs
    ]


def expected_failed_checks(search):
    """Those that scikit-learn lists for its own searches, where they do fail."""
    if is_classifier(search):
        return {}
    return {"check_supervised_y_2d": "the DataConversionWarning is not caught"}


# One of the checks puts inf and NaN into integer targets.
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@parametrize_with_checks(instances(), expected_failed_checks=expected_failed_checks)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", SEARCHES)
def test_parameters_are_validated(cls):
    search = make_search(cls, Ridge(), {"alpha": [0.1, 1.0]}, cv=2, n_iter=2)
    check_param_validation(cls.__name__, search)


@pytest.mark.parametrize("cls", SEARCHES)
def test_every_parameter_has_a_constraint(cls):
    names = set(inspect.signature(cls).parameters)
    assert names == set(cls._parameter_constraints)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize(("estimator", "space"), ESTIMATORS_AND_SPACES[:2])
def test_dataframe_column_names_are_kept(cls, estimator, space):
    search = make_search(cls, clone(estimator), space, cv=2, n_iter=2)
    check_dataframe_column_names_consistency(cls.__name__, search)
