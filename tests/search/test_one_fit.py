# SPDX-License-Identifier: BSD-3-Clause
"""Searches over penalties alone are run at once, and only where that is the same."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import accsmbo.search._gradient_search as gradient_search
import accsmbo.search._hoag as hoag
from accsmbo import AccSMBOSearchCV, Real
from accsmbo.linear_model import GroupRidge, _one_fit
from accsmbo.metalearning import PriorDensity
from accsmbo.optimizers import AccSMBO
from accsmbo.search import HOAGSearchCV
from accsmbo.search._one_fit_search import run_one_fit
from accsmbo.stopping import TargetReached

C = "logisticregression__C"
SPACE = {C: loguniform(1e-4, 1e4)}
MODEL = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000, tol=1e-9))
X, Y = (a[::4] for a in load_breast_cancer(return_X_y=True))
SEARCHES = [AccSMBOSearchCV, HOAGSearchCV]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Record for each search whether it was run at once."""
    seen = []

    def recorded(*args):
        done = run_one_fit(*args)
        seen.append(done is not None)
        return done

    monkeypatch.setattr(gradient_search, "run_one_fit", recorded)
    monkeypatch.setattr(hoag, "run_one_fit", recorded)
    return seen


def search(cls=AccSMBOSearchCV, model=MODEL, space=SPACE, data=(X, Y), **settings):
    own = {"scoring": "neg_log_loss", "n_iter": 20, "random_state": 0, "cv": 3}
    return cls(model, space, **own | settings).fit(*data)


@pytest.mark.parametrize("cls", SEARCHES)
def test_the_best_row_is_exact_and_no_worse_than_a_grid(cls, at_once):
    found = search(cls)
    assert at_once == [True]
    tuned = clone(MODEL).set_params(**found.best_params_)
    scores = cross_val_score(tuned, X, Y, cv=3, scoring="neg_log_loss")
    assert found.best_score_ == pytest.approx(scores.mean(), abs=1e-9)
    grid = max(
        cross_val_score(
            clone(MODEL).set_params(**{C: c}), X, Y, cv=3, scoring="neg_log_loss"
        ).mean()
        for c in np.geomspace(1e-2, 10, 10)
    )
    assert found.best_score_ >= grid - 1e-3 * abs(grid)
    assert found.best_estimator_.score(X, Y) > 0.95
    if cls is HOAGSearchCV:
        assert found.optimizer_.converged_


@pytest.mark.parametrize("cls", SEARCHES)
def test_rows_are_the_values_visited(cls):
    found = search(cls)
    results, n_rows = found.cv_results_, len(found.history_)
    assert 1 < n_rows <= 20
    assert len(set(results[f"param_{C}"])) == n_rows
    errors = results["score_error_estimate"]
    assert errors[found.best_index_] == 0.0
    for params, score, error in zip(
        results["params"], results["mean_test_score"], errors, strict=True
    ):
        exact = cross_val_score(
            clone(MODEL).set_params(**params), X, Y, cv=3, scoring="neg_log_loss"
        ).mean()
        assert abs(score - exact) <= 3 * error + 1e-3 * abs(exact)
    assert results["split2_test_score"].shape == (n_rows,)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("n_iter", [1, 3])
def test_n_iter_bounds_the_rows_and_keeps_the_best(n_iter, cls):
    whole, short = search(cls), search(cls, n_iter=n_iter)
    assert len(short.history_) == len(short.cv_results_["params"]) == n_iter
    assert len(whole.history_) < 20
    assert short.best_score_ == pytest.approx(whole.best_score_, abs=1e-9)
    assert short.best_params_ == whole.best_params_


def test_callbacks_see_every_row_and_may_end_the_search():
    lengths = []
    search(callbacks=lambda history: lengths.append(len(history)))
    assert lengths == list(range(1, len(lengths) + 1))
    assert len(search(callbacks=lambda history: len(history) == 2).history_) == 2


def test_weights_reach_the_training_of_the_last_step(at_once):
    weight = np.linspace(0.1, 3, len(Y))
    own = {"scoring": "neg_log_loss", "cv": 3, "random_state": 0}
    found = AccSMBOSearchCV(MODEL, SPACE, **own)
    found.fit(X, Y, logisticregression__sample_weight=weight)
    evaluated = AccSMBOSearchCV(MODEL, SPACE, n_iter=12, solver="evaluate", **own)
    evaluated.fit(X, Y, logisticregression__sample_weight=weight)
    assert at_once == [True, False]
    assert found.best_score_ == pytest.approx(evaluated.best_score_, rel=1e-3)


@pytest.mark.parametrize("kind", ["csr", "one split", "mask", "frame"])
def test_kinds_of_rows_and_splits(kind, at_once):
    data, options = (X, Y), {}
    model = LogisticRegression(max_iter=5000, tol=1e-9)
    Z = StandardScaler().fit_transform(X)
    if kind == "csr":
        data = (sparse.csr_array(np.where(np.abs(Z) > 1, Z, 0.0)), Y)
    elif kind == "frame":
        pandas = pytest.importorskip("pandas")
        data = (pandas.DataFrame(Z), Y)
    else:
        rows = np.arange(len(Y))
        split = (rows[::2], rows[1::2])
        if kind == "mask":
            split = tuple(np.isin(rows, part) for part in split)
        data, options = (Z, Y), {"cv": [split]}
    found = search(
        model=model, space={"C": Real(1e-4, 1e4, log=True)}, data=data, **options
    )
    assert at_once == [True]
    scores = cross_val_score(
        model.set_params(**found.best_params_),
        *data,
        cv=options.get("cv", 3),
        scoring="neg_log_loss",
    )
    assert found.best_score_ == pytest.approx(scores.mean(), abs=1e-9)


def test_a_few_penalties_are_tuned_together(at_once):
    data = load_diabetes(return_X_y=True)
    space = {f"alpha__{k}": loguniform(1e-4, 1e2) for k in range(2)}
    model = GroupRidge(groups=[0] * 4 + [1] * 6)
    found = search(model=model, space=space, data=data, scoring=None)
    single = search(
        model=Ridge(), space={"alpha": loguniform(1e-4, 1e2)}, data=data, scoring=None
    )
    assert at_once == [True, True]
    assert found.best_score_ > single.best_score_ - 1e-6


NOT_AT_ONCE = {
    "evaluate": {"solver": "evaluate"},
    "estimator": {"solver": "estimator"},
    "optimizer": {
        "optimizer": AccSMBO(points_to_evaluate=[{C: 0.5}]),
        "density": "auto",
    },
    "density": {"density": PriorDensity({C: loguniform(0.1, 1.0)})},
    "timeout": {"timeout": 60.0},
    "trial_timeout": {"trial_timeout": 60.0},
    "executor": {"executor": 1},
    "stop_when": {"stop_when": TargetReached(-1.0)},
    "train scores": {"return_train_score": True},
    "predictions": {"keep_predictions": True},
    "several metrics": {
        "scoring": ["neg_log_loss", "accuracy"],
        "refit": "neg_log_loss",
    },
    "no gradient": {"scoring": "accuracy"},
    "a list": {"space": {C: [0.1, 1.0, 10.0]}},
    "another parameter": {
        "space": {**SPACE, "logisticregression__tol": Real(1e-5, 1e-4)}
    },
    "alternatives": {"space": [SPACE, {C: [1.0]}]},
    "verbose": {"verbose": 2},
}


def test_hoag_goes_step_by_step_where_asked(at_once):
    found = search(HOAGSearchCV, solver="evaluate", n_iter=3)
    assert at_once == [False]
    assert len(found.history_) <= 3
    assert "score_error_estimate" not in found.cv_results_


@pytest.mark.parametrize("name", NOT_AT_ONCE)
def test_what_asks_for_single_candidates_gets_them(name, at_once, capsys):
    found = search(**{"n_iter": 2, "density": None} | NOT_AT_ONCE[name])
    assert at_once == [False]
    assert len(found.history_) == (1 if name == "stop_when" else 2)


def test_storage_is_kept_to(tmp_path, at_once):
    search(n_iter=2, storage=tmp_path / "study.jsonl")
    assert at_once == [False]


def test_other_models_are_evaluated(at_once):
    search(model=SVC(), space={"C": loguniform(0.1, 10)}, scoring="accuracy", n_iter=2)
    assert at_once == [False]


def noisy(n=90, p=6, seed=0):
    """Return rows and labels whose best C is near one."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p))
    return Z, (Z[:, 0] + rng.normal(size=n) > 0).astype(int)


def extremes():
    """Return data, range and the end of it that is right, None where it is inside."""
    Z, labels = noisy()
    line = Z[:, :1] + np.sign(Z[:, :1])
    constant = np.c_[Z, np.full(90, 3.0), np.zeros(90)]
    return {
        "separable": ((line, (line[:, 0] > 0).astype(int)), (1e-4, 1e4), 1e4),
        "range above": ((Z, labels), (1e3, 1e4), 1e3),
        "range below": ((Z, labels), (1e-6, 1e-4), 1e-4),
        "constant column": ((constant, labels), (1e-4, 1e4), None),
        "n < p": (noisy(40, 90), (1e-4, 1e4), None),
        "p = 1": (noisy(p=1), (1e-4, 1e4), None),
    }


@pytest.mark.parametrize("direct", [True, False], ids=["small", "basis"])
@pytest.mark.parametrize("name", extremes())
@pytest.mark.parametrize("cls", SEARCHES)
def test_extremes_end_where_a_grid_says(cls, name, direct, at_once, monkeypatch):
    if not direct:
        monkeypatch.setattr(_one_fit, "DIRECT_WORK", 0)
    data, ends, right = extremes()[name]
    model = LogisticRegression(max_iter=5000, tol=1e-9)
    found = search(cls, model, {"C": loguniform(*ends)}, data)
    assert at_once == [True]

    def exact(C):
        tuned = clone(model).set_params(C=C)
        return cross_val_score(tuned, *data, cv=3, scoring="neg_log_loss").mean()

    assert found.best_score_ == pytest.approx(exact(**found.best_params_), abs=1e-6)
    grid = np.array([exact(c) for c in np.geomspace(*ends, 9)])
    assert found.best_score_ >= grid.max() - 1e-3 * abs(grid.max())
    if right is not None:
        assert found.best_params_["C"] == pytest.approx(right)


def test_a_row_of_weight_zero_is_a_row_that_is_not_there(at_once):
    Z, labels = noisy()
    # In the training part alone: not every scikit-learn weights the scores as well.
    train, test = np.arange(60), np.arange(60, 90)
    kept = (np.arange(90) % 3 > 0) | (np.arange(90) >= 60)
    splits, apart = [(train, test)], [(train[kept[:60]], test)]
    own = {"scoring": "neg_log_loss", "random_state": 0}
    model = LogisticRegression(max_iter=5000, tol=1e-9)
    found, without = (
        AccSMBOSearchCV(model, {"C": loguniform(1e-4, 1e4)}, cv=cv, **own).fit(
            Z, labels, sample_weight=weight
        )
        for cv, weight in ((splits, kept.astype(float)), (apart, np.ones(90)))
    )
    assert at_once == [True, True]
    assert found.best_score_ == pytest.approx(without.best_score_, abs=1e-6)


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_fold_with_one_class_fails_as_in_any_search(cls, at_once):
    Z, labels = noisy()
    order = np.argsort(labels)
    with pytest.raises(ValueError, match="class"):
        search(
            cls,
            LogisticRegression(),
            {"C": loguniform(1e-4, 1e4)},
            (Z, labels),
            cv=[(order[:30], order[30:])],
            n_iter=2,
            error_score="raise",
        )
    assert at_once == [False]


def test_rows_that_are_not_numbers_fail_as_in_any_search(at_once):
    broken = X.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        search(data=(broken, Y), error_score="raise", n_iter=1)
    assert at_once == [False]


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("solver", ["auto", "evaluate"])
def test_weights_of_another_length_are_named(cls, solver):
    Z, labels = noisy()
    given = cls(
        LogisticRegression(),
        {"C": loguniform(1e-2, 1e2)},
        scoring="neg_log_loss",
        n_iter=2,
        cv=3,
        solver=solver,
    )
    with pytest.raises(ValueError, match=r"sample_weight.shape|inconsistent numbers"):
        given.fit(Z, labels, sample_weight=np.ones(5))


PLAIN = LogisticRegression(max_iter=5000, tol=1e-9)
RANGE = {"C": loguniform(1e-4, 1e4)}


@pytest.mark.parametrize("cls", SEARCHES)
def test_case_47_groups_reach_the_splitter(cls, at_once):
    Z, labels = noisy()
    groups = np.arange(90) % 10
    own = {"cv": GroupKFold(3), "scoring": "neg_log_loss"}
    found = cls(PLAIN, RANGE, **own).fit(Z, labels, groups=groups)
    tuned = clone(PLAIN).set_params(**found.best_params_)
    scores = cross_val_score(tuned, Z, labels, groups=groups, **own)
    assert at_once == [True]
    assert found.best_score_ == pytest.approx(scores.mean(), abs=1e-9)


@pytest.mark.parametrize("cls", SEARCHES)
def test_case_51_weights_are_repeated_rows_in_fits_and_scores(cls, at_once):
    Z, labels = noisy()
    weight = np.random.default_rng(1).integers(1, 4, 90)
    half, n = int(weight[:45].sum()), int(weight.sum())
    rows = np.repeat(np.arange(90), weight)
    best = []
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(PLAIN).set_fit_request(sample_weight=True)
        scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=True)
        for middle, end, picked, given in (
            (45, 90, slice(None), weight),
            (half, n, rows, np.ones(n)),
        ):
            parts = np.arange(middle), np.arange(middle, end)
            found = cls(model, RANGE, scoring=scorer, cv=[parts, parts[::-1]])
            found.fit(Z[picked], labels[picked], sample_weight=given)
            best.append((found.best_score_, found.best_params_["C"]))
    assert at_once == [True, True]
    np.testing.assert_allclose(best[0], best[1], rtol=1e-6)


@pytest.mark.parametrize("cls", SEARCHES)
def test_case_55_and_59_every_fit_starts_afresh_on_the_same_splits(cls, at_once):
    Z, labels = noisy()
    found = cls(PLAIN, RANGE, cv=KFold(3).split(Z), scoring="neg_log_loss")
    seen = []
    for data in ((Z, labels), (-Z[::-1], labels), (Z, labels)):
        found.fit(*data)
        seen.append((found.best_params_["C"], len(found.history_)))
    assert at_once == [True] * 3
    assert seen[0] == seen[2] != seen[1]
