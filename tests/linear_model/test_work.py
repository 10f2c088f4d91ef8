# SPDX-License-Identifier: BSD-3-Clause
"""tune_penalties knows the settings it covers, counts its work and stops in time."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC, LinearSVR

from accsmbo.hypergradients import NotDifferentiableError
from accsmbo.linear_model._one_fit import tune_penalties
from accsmbo.linear_model._work import Work, WorkSpent

KINDS = {"small": (90, 8, 1.0), "wide": (60, 400, 1.0), "sparse": (150, 600, 0.05)}


def tune(kind, model=None, bounds=None, **options):
    n, p, density = KINDS[kind]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < density)
    y = X[:, :5].sum(axis=1) + 0.3 * rng.normal(size=n) > 0
    return tune_penalties(
        LogisticRegression() if model is None else model,
        bounds or {"C": (1e-4, 1e4)},
        sparse.csr_array(X) if density < 1 else X,
        y.astype(float),
        list(KFold(3).split(X)),
        scoring="neg_log_loss" if model is None else None,
        **options,
    )


@pytest.mark.parametrize(
    ("model", "bounds", "reason"),
    [
        (Ridge(positive=True), {"alpha": (1e-3, 1e4)}, r"positive=True\) has no grad"),
        (LinearSVC(loss="hinge"), {"C": (1e-3, 1e3)}, r"loss='hinge'\) has no grad"),
        (LinearSVR(), {"C": (1e-3, 1e3)}, "its loss has a kink"),
        (Ridge(), {"alpha": (1e-3, 1e3), "tol": (1e-6, 1e-2)}, r"bounds for \['tol'\]"),
        (LogisticRegression(penalty=None), {"C": (1, 2)}, r"tuned by \[\], got"),
    ],
)
def test_settings_that_no_formula_covers_are_refused(model, bounds, reason):
    """See https://github.com/scikit-learn/scikit-learn/issues/18369.

    See https://github.com/scikit-learn/scikit-learn/issues/18369 (case 93).
    """
    with pytest.raises(NotDifferentiableError, match=reason):
        tune("small", model, bounds)


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_same_data_take_the_same_work(kind):
    first, second = tune(kind), tune(kind)
    assert 1e-4 < first.work == second.work < 10
    first.rescore()
    assert first.work > second.work


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("share", [0.85, 0.95])
def test_a_limit_ends_the_method_with_the_best_it_knows(kind, share):
    free = tune(kind)
    found = tune(kind, max_work=share * free.work)
    assert not found.converged
    assert share * free.work < found.work < (share + 0.1) * free.work
    assert 1e-4 <= found.params["C"] <= 1e4
    assert found.params["C"] == pytest.approx(float(np.exp(found.visits[-1].x[0])))
    assert found.losses.mean() == found.visits[-1].losses.mean()
    assert found.losses.mean() < 1.1 * free.losses.mean()
    assert len(found.rescore()) == len(found.visits)


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_limit_before_anything_is_known_is_an_error(kind):
    with pytest.raises(NotDifferentiableError, match=r"max_work=1e-05 seconds"):
        tune(kind, max_work=1e-5)


def test_a_limit_that_is_not_reached_changes_nothing():
    free = tune("wide")
    limited = tune("wide", max_work=1.01 * free.work)
    assert limited.converged
    assert (limited.params, limited.work) == (free.params, free.work)


def test_a_step_is_refused_once_the_limit_is_passed():
    work = Work(limit=1e-6)
    work.charge(1e5)
    with pytest.raises(WorkSpent):
        work.charge(1.0)
    assert work.multiply_adds == 1e5
