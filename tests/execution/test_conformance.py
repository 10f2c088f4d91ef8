# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's estimator checks with two processes and with a thread executor.

All checks for one search, and for the others those in which a worker can make a
difference: repeated and pickled fits, data that are read-only or mapped, errors.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import (
    check_param_validation,
    estimator_checks_generator,
    parametrize_with_checks,
)

from accsmbo import HOAGSearchCV, SMBOSearchCV
from tests._searches import SEARCHES, make_search


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


OTHERS = [*(cls for cls in SEARCHES if cls is not SMBOSearchCV), HOAGSearchCV]
CHECKS = {
    "check_dict_unchanged",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_fit_idempotent",
    "check_n_features_in",
    "check_readonly_memmap_input",
}


def instance(cls, workers):
    return make_search(
        cls,
        LogisticRegression(),
        {"C": [0.1, 1.0]},
        cv=2,
        error_score="raise",
        n_iter=2,
        **workers,
    )


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@parametrize_with_checks([instance(SMBOSearchCV, workers) for workers in WORKERS])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("cls", OTHERS)
@pytest.mark.parametrize("workers", WORKERS, ids=["processes", "threads"])
def test_sklearn_checks_of_the_other_searches(cls, workers):
    found = set()
    for estimator, check in estimator_checks_generator(instance(cls, workers)):
        if check.func.__name__ in CHECKS:
            check(estimator)
            found.add(check.func.__name__)
    assert found == CHECKS


@pytest.mark.parametrize("workers", WORKERS, ids=["processes", "threads"])
def test_parameters_are_validated(workers):
    search = make_search(
        SMBOSearchCV, LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, **workers
    )
    if "n_jobs" in workers:
        check_param_validation("SMBOSearchCV", search)
    with pytest.raises(ValueError, match="'executor' parameter"):
        search.set_params(executor="fast").fit([[1.0]], [1])
