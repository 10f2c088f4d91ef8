# SPDX-License-Identifier: BSD-3-Clause
"""Ensembles as scikit-learn estimators: its own checks."""

import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    parametrize_with_checks,
)

from accsmbo.ensembles import (
    DeepEnsembleClassifier,
    DeepEnsembleRegressor,
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    HyperDeepEnsembleClassifier,
    HyperDeepEnsembleRegressor,
)

SPACE = {"max_depth": [2, 3, 5]}
TREE = DecisionTreeClassifier(max_features=1, random_state=0)
ENSEMBLES = [
    EnsembleSelectionClassifier([GaussianNB(), TREE], cv=2, random_state=0),
    EnsembleSelectionClassifier(
        [GaussianNB()], members="folds", selection="top-k", cv=2, random_state=0
    ),
    EnsembleSelectionRegressor([Ridge(), Ridge(10)], cv=2, random_state=0),
    DeepEnsembleClassifier(TREE, n_members=2, random_state=0),
    DeepEnsembleRegressor(
        DecisionTreeRegressor(max_features=1), n_members=2, random_state=0
    ),
    HyperDeepEnsembleClassifier(
        TREE, SPACE, n_members=2, n_candidates=3, cv=2, refit=False, random_state=0
    ),
    HyperDeepEnsembleRegressor(
        DecisionTreeRegressor(max_features=1),
        SPACE,
        n_members=2,
        n_candidates=3,
        random_state=0,
    ),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@parametrize_with_checks(ENSEMBLES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("ensemble", ENSEMBLES[2:], ids=lambda e: type(e).__name__)
def test_further_checks(ensemble):
    name = type(ensemble).__name__
    check_param_validation(name, ensemble)
    check_dataframe_column_names_consistency(name, ensemble)


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=lambda e: type(e).__name__)
def test_documented_attributes_are_those_that_fit_sets(ensemble):
    docscrape = pytest.importorskip("numpydoc.docscrape")
    X, y = load_iris(return_X_y=True, as_frame=True)
    fitted = clone(ensemble).fit(X, y)
    sections = docscrape.NumpyDocString(ensemble.__doc__)
    documented = {part.name for part in sections["Attributes"]}
    assert documented == {name for name in vars(fitted) if name.endswith("_")}
