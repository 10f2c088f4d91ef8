# SPDX-License-Identifier: BSD-3-Clause
"""Searches over a resource as the tests construct them."""

from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from accsmbo import SMBOSearchCV
from accsmbo.fidelity import ASHA, Hyperband, SuccessiveHalving
from tests._searches import make_search

X, Y = make_classification(120, 6, n_informative=4, random_state=0)
STRATEGIES = [SuccessiveHalving, Hyperband, ASHA]
TREE = {"max_depth": list(range(1, 12)), "min_samples_leaf": list(range(1, 12))}


def search_of(cls=SMBOSearchCV, selection=None, **kwargs):
    kwargs = {"n_iter": 12, "cv": 2} | kwargs
    estimator = kwargs.pop("estimator", DecisionTreeClassifier(random_state=0))
    space = kwargs.pop("space", TREE)
    kwargs["selection"] = selection or SuccessiveHalving()
    return make_search(cls, estimator, space, **kwargs)


def rows(search):
    """Return what was asked, in the order of asking."""
    results = search.cv_results_
    return list(
        zip(map(str, results["params"]), results["n_resources"].tolist(), strict=True)
    )
