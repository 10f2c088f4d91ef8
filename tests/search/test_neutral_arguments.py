# SPDX-License-Identifier: BSD-3-Clause
"""Arguments that are not about the question change neither candidates nor answer."""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import loguniform, randint
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from accsmbo import AccSMBOSearchCV, HOAGSearchCV, SMBOSearchCV
from accsmbo.search import GridSearchCV, RandomizedSearchCV

SEARCHES = (
    AccSMBOSearchCV,
    SMBOSearchCV,
    HOAGSearchCV,
    GridSearchCV,
    RandomizedSearchCV,
)


class Problem(NamedTuple):
    """Estimator, space, metric and data; whether HOAG can search it."""

    model: Any
    space: dict[str, Any]
    scoring: Any
    data: tuple[Any, Any]
    gradients: bool = False


IRIS = load_iris(return_X_y=True)
DIABETES = tuple(a[:150] for a in load_diabetes(return_X_y=True))
BINARY = make_classification(80, 6, random_state=0)
PENALTY = loguniform(1e-3, 1e3)
LOGISTIC = LogisticRegression(max_iter=500)
PROBLEMS = {
    "joint": Problem(LOGISTIC, {"C": PENALTY}, "neg_log_loss", BINARY, True),
    "joint in a pipeline": Problem(
        make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": PENALTY}, "r2",
        DIABETES, True,
    ),
    "not confirmed": Problem(
        LogisticRegression(max_iter=3), {"C": PENALTY}, "neg_log_loss", BINARY, True
    ),
    "classes": Problem(LOGISTIC, {"C": PENALTY}, "neg_log_loss", IRIS, True),
    "mixed": Problem(
        LOGISTIC, {"C": PENALTY, "fit_intercept": [True, False]}, "neg_log_loss",
        BINARY, True,
    ),
    "two penalties": Problem(
        ElasticNet(), {"alpha": PENALTY, "l1_ratio": [0.2, 0.5, 0.8]}, "r2", DIABETES,
        True,
    ),
    "kernel": Problem(
        KernelRidge(kernel="rbf"), {"alpha": PENALTY, "gamma": PENALTY}, "r2",
        DIABETES, True,
    ),
    "no gradient": Problem(SVC(), {"C": PENALTY, "gamma": PENALTY}, "accuracy", IRIS),
    "integers": Problem(
        DecisionTreeClassifier(random_state=0), {"max_depth": randint(1, 9)}, None, IRIS
    ),
    "a finite space": Problem(
        KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 7]}, ["accuracy", "f1_macro"],
        IRIS,
    ),
}  # fmt: skip
CHANGES: dict[str, list[Any]] = {
    "verbose": [0, 1, 2],
    "n_jobs": [1, 2],
    "storage": [False, True],
    "keep_predictions": [False, True],
    "callbacks": [None, lambda history: False],
    "timeout": [None, 3600.0],
}
# Every pair of values occurs in one of these rows.
PAIRS = [
    (0, 0, 0, 0, 0, 0),
    (0, 1, 1, 1, 1, 1),
    (1, 0, 1, 0, 1, 0),
    (1, 1, 0, 1, 0, 1),
    (2, 0, 0, 1, 1, 1),
    (2, 1, 1, 0, 0, 0),
    (1, 0, 1, 0, 0, 1),
    (2, 0, 1, 1, 1, 0),
]


def answer(kind, problem, folder, choice=PAIRS[0]):
    """Return candidates, scores and route of one search."""
    values = zip(CHANGES, choice, strict=True)
    settings = {name: CHANGES[name][k] for name, k in values}
    settings["storage"] = folder / "study.jsonl" if settings["storage"] else None
    settings |= {"cv": 3, "random_state": 0, "deterministic": True}
    settings["scoring"], space = problem.scoring, problem.space
    if isinstance(problem.scoring, list):
        settings["refit"] = problem.scoring[0]
    if kind is GridSearchCV:
        space = {n: _few(v) for n, v in space.items()}
    else:
        settings["n_iter"] = 6
    search = kind(clone(problem.model), space, **settings).fit(*problem.data)
    results = search.cv_results_
    scores = {n: v for n, v in results.items() if n.startswith(("split", "rank"))}
    return results["params"], scores, search.best_params_, search.history_.route


def _few(values):
    """Return three values of a distribution for a grid."""
    if not hasattr(values, "ppf"):
        return values
    few = values.ppf([0.1, 0.5, 0.9]).tolist()
    return list(map(int, few)) if hasattr(values, "pmf") else few


def assert_same(kind, problem, folder, choice, expected):
    """Compare the answer under a choice of changes with that under none."""
    params, scores, best, route = answer(kind, problem, folder, choice)
    assert params == expected[0]
    assert best == expected[2]
    assert route == expected[3]
    assert scores.keys() == expected[1].keys()
    for name, column in scores.items():
        np.testing.assert_array_equal(column, expected[1][name], err_msg=name)


def cases():
    """Return all pairs of a search and a problem that it can run."""
    return [
        (kind, name)
        for kind, name in itertools.product(SEARCHES, PROBLEMS)
        if kind is not HOAGSearchCV or PROBLEMS[name].gradients
    ]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("kind", "name", "choice"),
    [
        pytest.param(
            kind, name, PAIRS[1 + i % (len(PAIRS) - 1)], id=f"{kind.__name__}-{name}"
        )
        for i, (kind, name) in enumerate(cases())
    ],
)
def test_a_neutral_argument_changes_nothing(kind, name, choice, tmp_path, capfd):
    problem = PROBLEMS[name]
    expected = answer(kind, problem, tmp_path)
    assert_same(kind, problem, tmp_path, choice, expected)


def test_every_pair_of_changes_is_tried():
    rows = np.array(PAIRS)
    for (i, a), (j, b) in itertools.combinations(enumerate(CHANGES.values()), 2):
        pairs = set(map(tuple, rows[:, [i, j]]))
        assert len(pairs) >= min(len(a) * len(b), math.ceil(0.75 * len(a) * len(b)))
