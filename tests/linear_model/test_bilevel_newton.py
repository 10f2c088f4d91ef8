# SPDX-License-Identifier: BSD-3-Clause
"""The bilevel Newton method against dense float64 scans and finite differences."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import make_scorer
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from accsmbo.datasets import data_folder, load_pc4
from accsmbo.hypergradients import (
    FoldHypergradient,
    NotDifferentiableError,
    hypergradient,
    squared_hinge_loss,
)
from accsmbo.linear_model import (
    GroupLogisticRegression,
    _basis,
    _bilevel_newton,
    _one_fit,
)
from accsmbo.linear_model._one_fit import tune_penalties

BOUNDS = {"C": (np.exp(-8.0), np.exp(8.0))}
LAMS = np.linspace(-8, 8, 65)
needs_pc4 = pytest.mark.skipif(
    not (data_folder() / "pc4.csv.gz").exists(),
    reason=f"NO DATA: {data_folder() / 'pc4.csv.gz'} is missing; set ACCSMBO_DATA",
)


def problem(seed, n=160, p=30, kind="dense"):
    """Return a random two-class problem and one split."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.exp(rng.normal(size=p))
    if kind == "sparse":
        X *= rng.random((n, p)) < 0.2
    w = rng.normal(size=p) * (rng.random(p) < 0.3)
    y = np.where(rng.random(n) < expit(X @ w + 0.3), 1.0, -1.0)
    order = rng.permutation(n)
    return X, y, [(order[n // 3 :], order[: n // 3])]


def dense_scan(X, y, train, test, lams=LAMS):
    """Return the losses at each lam by plain float64 Newton steps, no intercept."""
    A, b, V, v = X[train], y[train], X[test], y[test]
    losses, w = [], np.zeros(X.shape[1])
    for lam in np.sort(lams)[::-1]:
        for _ in range(60):
            s = expit(-b * (A @ w))
            g = np.exp(lam) * w - A.T @ (b * s)
            H = (A.T * (s * (1 - s))) @ A + np.exp(lam) * np.eye(len(w))
            step = cho_solve(cho_factor(H), g)
            t = 1.0
            while value(A, b, lam, w - t * step) > value(A, b, lam, w) and t > 1e-6:
                t /= 2
            w = w - t * step
            if g @ step < 1e-14 * len(b):
                break
        losses.append(np.logaddexp(0, -v * (V @ w)).mean())
    return np.array(losses)[::-1][np.argsort(np.argsort(lams))]


def value(A, b, lam, w):
    return np.logaddexp(0, -b * (A @ w)).sum() + 0.5 * np.exp(lam) * w @ w


def tune(X, y, splits, model=None, bounds=BOUNDS, scoring="neg_log_loss", **options):
    model = LogisticRegression(fit_intercept=False) if model is None else model
    return tune_penalties(model, bounds, X, y, splits, scoring=scoring, **options)


@pytest.fixture(params=["small", "basis"])
def method(request, monkeypatch):
    """Take both ways: factorised whole, and in a basis of Newton directions."""
    if request.param == "basis":
        monkeypatch.setattr(_one_fit, "DIRECT_WORK", 0)
    return request.param


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("seed", range(10))
def test_the_minimum_is_that_of_a_dense_scan(seed, kind, method):
    X, y, splits = problem(seed, kind=kind)
    truth = dense_scan(X, y, *splits[0])
    found = tune(sparse.csr_array(X) if kind == "sparse" else X, y, splits)
    lam = -np.log(found.params["C"])
    reached = dense_scan(X, y, *splits[0], lams=np.array([lam]))[0]
    assert reached <= truth.min() * 1.001
    assert found.losses[0] == pytest.approx(reached, rel=3e-3)
    assert found.converged


def test_two_local_minima_are_seen_and_the_lower_one_is_taken(method):
    X, y, splits, truth = two_valleys()
    inside = (truth[1:-1] < truth[:-2]) & (truth[1:-1] < truth[2:])
    assert inside.sum() == 2
    found = tune(X, y, splits)
    lam = -np.log(found.params["C"])
    assert abs(lam - LAMS[truth.argmin()]) < 0.4
    assert len(found.minima) >= 2


@needs_pc4
@pytest.mark.parametrize("seed", [3, 5, 8])
def test_splits_of_pc4_with_two_minima_end_in_the_lower_one(seed):
    X, y = load_pc4()
    X, y = scale(X), np.where(y, 1, -1)
    rows = np.random.RandomState(seed).permutation(len(y))
    test, train = np.split(rows, [int(0.3 * len(y))])
    lams = np.linspace(-8, 8, 33)

    def loss(lam):
        model = LogisticRegression(
            C=np.exp(-lam), solver="newton-cholesky", tol=1e-8, max_iter=1000
        )
        f = model.fit(X[train], y[train]).decision_function(X[test])
        return np.logaddexp(0, -y[test] * f).mean()

    truth = np.array([loss(lam) for lam in lams])
    found = tune(X, y, [(train, test)], LogisticRegression())
    lam = -np.log(found.params["C"])
    assert abs(lam - lams[truth.argmin()]) < 0.5
    assert loss(lam) <= truth.min() * 1.0005
    if seed == 5:  # the ridges of the others are less than 0.2 % high
        assert len(found.minima) == 2


def two_valleys():
    """Return a problem of few strong and many weak columns: two good penalties."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(90, 24)) * np.r_[np.full(4, 12.0), np.full(20, 0.3)]
        w = np.r_[rng.normal(size=4) / 12, 3 * rng.normal(size=20)]
        y = np.where(rng.random(90) < expit(X @ w), 1.0, -1.0)
        splits = [(np.arange(45), np.arange(45, 90))]
        truth = dense_scan(X, y, *splits[0])
        low = np.flatnonzero((truth[1:-1] < truth[:-2]) & (truth[1:-1] < truth[2:])) + 1
        if len(low) == 2:
            ridge = truth[low[0] : low[1]].max()
            depth = ridge - truth[low].max()
            if depth > 0.02 * ridge and abs(np.diff(truth[low])[0]) > 0.01 * ridge:
                return X, y, splits, truth
    raise AssertionError("no such problem")


def regression(seed=0, n=120, p=20):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    f = X @ (rng.normal(size=p) * (rng.random(p) < 0.4)) + 0.5
    return X, f, rng


def cases():
    X, f, rng = regression()
    labels = np.where(f + rng.normal(size=len(f)) > 0.5, "b", "a")
    many = np.digitize(f + 0.5 * rng.normal(size=len(f)), [-1.0, 1.5])
    noisy = f + 3 * rng.normal(size=len(f))
    counts = rng.poisson(np.exp(0.3 * f))
    squared = hinge_scorer()
    return {
        "logistic": (LogisticRegression(), "C", X, labels, "neg_log_loss"),
        "weighted classes": (
            LogisticRegression(class_weight="balanced"),
            "C",
            X,
            labels,
            "neg_brier_score",
        ),
        "liblinear": (
            LogisticRegression(solver="liblinear", intercept_scaling=2.0),
            "C",
            X,
            labels,
            "neg_log_loss",
        ),
        "softmax": (LogisticRegression(), "C", X, many, "neg_log_loss"),
        "ridge": (Ridge(), "alpha", X, noisy, None),
        "ridge of two targets": (
            Ridge(),
            "alpha",
            X,
            np.c_[noisy, f - noisy],
            "neg_mean_squared_error",
        ),
        "svc": (LinearSVC(), "C", X, labels, squared),
        "svc of three classes": (LinearSVC(), "C", X, many, squared),
        "poisson": (
            PoissonRegressor(),
            "alpha",
            X,
            counts,
            "neg_mean_poisson_deviance",
        ),
    }


def hinge_scorer():
    return make_scorer(
        squared_hinge_loss,
        greater_is_better=False,
        response_method="decision_function",
    )


def three_folds(n):
    rows = np.random.default_rng(1).permutation(n)
    return [(np.setdiff1d(rows, rows[k::3]), rows[k::3]) for k in range(3)]


@pytest.mark.parametrize(
    ("sparse_rows", "weighted"),
    [(False, False), (True, True)],
    ids=["dense", "csr with weights"],
)
@pytest.mark.parametrize("name", list(cases()))
def test_families_agree_with_hypergradients(name, sparse_rows, weighted, method):
    model, penalty, X, y, scoring = cases()[name]
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    weight = weight if weighted else None
    splits = three_folds(len(y))
    found = tune_penalties(
        model,
        {penalty: (1e-4, 1e4)},
        sparse.csr_array(X) if sparse_rows else X,
        y,
        splits,
        scoring=scoring,
        sample_weight=weight,
    )

    def exact(x):
        score, gradient = hypergradient(
            model,
            {penalty: float(np.exp(x))},
            X,
            y,
            splits,
            scoring,
            log_scale=[penalty],
            sample_weight=weight,
        )
        return -score, -gradient[penalty]

    loss, slope = exact(np.log(found.params[penalty]))
    scale = max(abs(loss), 1e-3)
    assert found.losses.mean() == pytest.approx(loss, abs=3e-3 * scale)
    grid = [exact(x)[0] for x in np.linspace(np.log(1e-4), np.log(1e4), 13)]
    assert loss <= min(grid) + 1e-3 * scale
    assert found.at_bound or abs(slope) < 2e-2 * scale


def two_groups():
    """Return a model with two penalties, its range, rows and labels."""
    X, y, _ = problem(5, p=12)
    model = GroupLogisticRegression(alpha=[1.0, 1.0], groups=[0] * 6 + [1] * 6)
    return model, dict.fromkeys(["alpha__0", "alpha__1"], (1e-3, 1e3)), X, y


@pytest.mark.parametrize("name", [*cases(), "groups"])
def test_derivatives_in_the_basis_are_those_of_its_values(name, method):
    if name == "groups":
        model, bounds, X, y = two_groups()
        scoring = "neg_log_loss"
    else:
        model, penalty, X, y, scoring = cases()[name]
        bounds = {penalty: (1e-4, 1e4)}
    splits = three_folds(len(y))
    objective = reduced_objective(X, y, splits, model, bounds, scoring)
    objective.tolerance = 1e-14
    for x in (-2.0, 0.5, 3.0):
        x = np.linspace(x, -x, len(bounds))
        slope = objective(x)[1]
        for g, unit in enumerate(np.eye(len(x))):
            up, down = (objective(x + h * unit)[0] for h in (1e-5, -1e-5))
            assert slope[g] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-9)


def reduced_objective(*problem_and_model):
    """Return the objective that the last scan of a run used."""
    seen = []
    original = _one_fit._result

    def result(method, *rest):
        seen.append(method)
        return original(method, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_one_fit, "_result", result)
        tune(*problem_and_model)
    method = seen[0]
    if hasattr(method, "folds"):
        return method._objective(thin=False)
    return method._tight


def test_groups_of_features_get_penalties_of_their_own(method):
    X, y, splits = problem(5, n=200, p=12)
    X[:, 6:] = np.random.default_rng(0).normal(size=(200, 6))
    model = GroupLogisticRegression(alpha=[1.0, 1.0], groups=[0] * 6 + [1] * 6)
    bounds = dict.fromkeys(["alpha__0", "alpha__1"], (1e-3, 1e3))
    found = tune(X, y, splits, model, bounds)
    fold = FoldHypergradient(
        model, X, y, *splits[0], names=list(bounds), scoring="neg_log_loss"
    )
    there = fold(found.params)
    assert found.losses[0] == pytest.approx(there.loss, rel=1e-3)
    single = [
        fold(dict.fromkeys(bounds, float(a))).loss for a in np.logspace(-3, 3, 13)
    ]
    assert there.loss < min(single)


def test_folds_behind_transformers_have_rows_of_their_own(method):
    X, y, _ = problem(1)
    splits = three_folds(len(y))
    parts = [
        ((X[a] - X[a].mean(0)) / X[a].std(0), (X[b] - X[a].mean(0)) / X[a].std(0))
        for a, b in splits
    ]
    together = tune(None, y, splits, parts=parts)
    losses = [
        dense_scan(
            np.vstack(part),
            np.r_[y[a], y[b]],
            np.arange(len(a)),
            np.arange(len(a), len(y)),
            lams=np.array([-np.log(together.params["C"])]),
        )[0]
        for part, (a, b) in zip(parts, splits, strict=True)
    ]
    np.testing.assert_allclose(together.losses, losses, rtol=3e-3)


# Bad input and extremes


def test_separable_data_end_at_the_weakest_penalty(method):
    X = np.linspace(-1, 1, 60)[:, None] * np.ones((1, 2))
    y = np.where(X[:, 0] > 0, 1, 0)
    rows = np.arange(60)
    found = tune(X, y, [(rows[::2], rows[1::2])], LogisticRegression())
    assert found.at_bound == {"C": "high"}
    assert found.params["C"] == pytest.approx(BOUNDS["C"][1], rel=0.1)


def test_a_range_that_excludes_the_optimum_ends_at_its_end(method):
    X, y, splits = problem(0)
    best = tune(X, y, splits).params["C"]
    above = tune(X, y, splits, bounds={"C": (30 * best, 1000 * best)})
    below = tune(X, y, splits, bounds={"C": (best / 1000, best / 30)})
    assert (above.at_bound, below.at_bound) == ({"C": "low"}, {"C": "high"})


def test_a_constant_column_and_zero_weights(method):
    X, y, splits = problem(2)
    with_constant = np.c_[X, np.full(len(y), 3.0), np.zeros(len(y))]
    weight = np.ones(len(y))
    weight[splits[0][0][:20]] = 0.0
    found = tune(with_constant, y, splits, LogisticRegression(), sample_weight=weight)
    kept = splits[0][0][20:]
    plain = tune(with_constant, y, [(kept, splits[0][1])], LogisticRegression())
    assert found.params["C"] == pytest.approx(plain.params["C"], rel=0.15)
    assert found.losses[0] == pytest.approx(plain.losses[0], rel=3e-3)


@pytest.mark.parametrize("shape", [(40, 90), (60, 1)], ids=["n < p", "p = 1"])
def test_extreme_shapes(shape, method):
    X, y, splits = problem(4, *shape)
    truth = dense_scan(X, y, *splits[0])
    found = tune(X, y, splits)
    assert found.losses[0] <= truth.min() * 1.003


def test_a_fold_with_one_class_is_refused(method):
    X, y, _ = problem(0)
    ordered = np.argsort(y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        tune(X, y, [(ordered[:50], ordered[50:])])


def test_what_cannot_be_tuned_is_refused():
    X, y, splits = problem(0)
    l1 = LogisticRegression(solver="saga", l1_ratio=0.5, penalty="elasticnet")
    with pytest.raises(NotDifferentiableError, match="must be quadratic"):
        tune(X, y, splits, clone(l1))
    with pytest.raises(NotDifferentiableError, match="has no gradient"):
        tune(X, y, splits, scoring="accuracy")


def test_a_basis_that_is_full_keeps_its_solution(monkeypatch):
    monkeypatch.setattr(_one_fit, "DIRECT_WORK", 0)
    monkeypatch.setattr(_basis, "KEPT", 4)
    monkeypatch.setattr(_basis, "SIZE", 9)
    X, y, splits = problem(6)
    found = tune(X, y, splits)
    assert found.losses[0] <= dense_scan(X, y, *splits[0]).min() * 1.003


def test_unbalanced_many_rows_are_thinned_for_the_scan(monkeypatch):
    monkeypatch.setattr(_one_fit, "DIRECT_WORK", 0)
    monkeypatch.setattr(_bilevel_newton, "SCAN_ROWS", 100)
    X, y = make_classification(600, 20, weights=[0.9], random_state=0)
    rows = np.arange(600)
    splits = [(rows[::2], rows[1::2])]
    found = tune(X, np.where(y, 1.0, -1.0), splits)
    truth = dense_scan(X, np.where(y, 1.0, -1.0), *splits[0]).min()
    assert found.losses[0] == pytest.approx(truth, rel=3e-3)


def test_dense_rows_are_factorised_where_sparse_ones_get_a_basis():
    X, y = make_classification(2000, 180, n_informative=40, random_state=0)
    X *= np.random.default_rng(0).random(X.shape) < 0.05
    splits = three_folds(len(y))
    bounds = {"C": (1e-4, 1e4)}
    found = {
        kind: tune(rows, y, splits, LogisticRegression(), bounds, "neg_log_loss")
        for kind, rows in (("dense", X), ("sparse", sparse.csr_array(X)))
    }
    assert found["dense"].n_products == 0
    assert found["sparse"].n_products > 0
    assert found["sparse"].losses.mean() == pytest.approx(
        found["dense"].losses.mean(), rel=3e-3
    )


def test_folds_that_share_their_rows_share_them_in_memory():
    X, y = make_classification(300, 6, random_state=0)
    bounds = {"C": (1e-4, 1e4)}
    objective = reduced_objective(
        X, y, three_folds(len(y)), LogisticRegression(), bounds, "neg_log_loss"
    )
    first, *others = (problem.F for problem in objective.problems)
    assert len(others) == 2
    assert all(F is first for F in others)
