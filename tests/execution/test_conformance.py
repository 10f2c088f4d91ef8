# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's estimator checks with two processes and with a thread executor."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import (
    check_param_validation,
    parametrize_with_checks,
)

from accsmbo import SMBOSearchCV
from tests._searches import make_search


class Pool(ThreadPoolExecutor):
    """A thread pool whose copies are itself: some checks copy all parameters."""

    def __repr__(self):
        # Without an address: the names of tests are the same in every process.
        return "Pool()"

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return the_pool, ()


def the_pool():
    return POOL


POOL = Pool(2)
WORKERS = [{"n_jobs": 2}, {"executor": POOL}]


def instances():
    return [
        make_search(
            SMBOSearchCV,
            LogisticRegression(),
            {"C": [0.1, 1.0]},
            cv=2,
            error_score="raise",
            n_iter=2,
            **workers,
        )
        for workers in WORKERS
    ]


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@parametrize_with_checks(instances())
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("workers", WORKERS, ids=["processes", "threads"])
def test_parameters_are_validated(workers):
    search = make_search(
        SMBOSearchCV, LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, **workers
    )
    if "n_jobs" in workers:
        check_param_validation("SMBOSearchCV", search)
    with pytest.raises(ValueError, match="'executor' parameter"):
        search.set_params(executor="fast").fit([[1.0]], [1])
