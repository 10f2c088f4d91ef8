# SPDX-License-Identifier: BSD-3-Clause
"""The joint route: where it is taken, what it finds, and when it steps back."""

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

import accsmbo.search._joint as joint
from accsmbo import AccSMBOSearchCV, Real
from accsmbo.linear_model import GroupRidge, _one_fit
from accsmbo.optimizers import AccSMBO
from accsmbo.search import HOAGSearchCV

C = "logisticregression__C"
SPACE = {C: loguniform(1e-4, 1e4)}
MODEL = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000, tol=1e-9))
X, Y = (a[::4] for a in load_breast_cancer(return_X_y=True))
SEARCHES = [AccSMBOSearchCV, HOAGSearchCV]


def solver(found):
    """Return the solver that a search took in the end."""
    return found.history_.route.solver


def search(cls=AccSMBOSearchCV, model=MODEL, space=SPACE, data=(X, Y), **settings):
    own = {"scoring": "neg_log_loss", "n_iter": 20, "random_state": 0, "cv": 3}
    return cls(model, space, **own | settings).fit(*data)


@pytest.mark.parametrize("cls", SEARCHES)
def test_the_only_row_is_exact_and_no_worse_than_a_grid(cls):
    found = search(cls)
    assert solver(found) == "joint"
    assert len(found.history_) == len(found.cv_results_["params"]) == 1
    assert "score_error_estimate" not in found.cv_results_
    tuned = clone(MODEL).set_params(**found.best_params_)
    scores = cross_val_score(tuned, X, Y, cv=3, scoring="neg_log_loss")
    assert found.best_score_ == pytest.approx(scores.mean(), rel=1e-12)
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


NEUTRAL = {
    "verbose": {"verbose": 2},
    "workers": {"n_jobs": 2, "deterministic": True},
    "timeout": {"timeout": 600.0},
    "trial_timeout": {"trial_timeout": 600.0},
    "executor": {"executor": 1},
    "predictions": {"keep_predictions": True},
    "callbacks": {"callbacks": lambda history: False},
    "train scores": {"return_train_score": True},
    "several metrics": {
        "scoring": ["neg_log_loss", "accuracy"],
        "refit": "neg_log_loss",
    },
    "storage": {"storage": "study.jsonl"},
}


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("name", NEUTRAL)
def test_arguments_that_are_not_about_the_answer_do_not_change_it(
    cls, name, tmp_path, capsys
):
    settings = dict(NEUTRAL[name])
    if "storage" in settings:
        settings["storage"] = tmp_path / "study.jsonl"
    plain, other = search(cls), search(cls, **settings)
    assert solver(plain) == solver(other) == "joint"
    assert plain.cv_results_["params"] == other.cv_results_["params"]
    assert plain.history_.best_value == other.history_.best_value


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_finished_journal_is_not_searched_again(cls, tmp_path):
    first = search(cls, storage=tmp_path / "study.jsonl")
    again = search(cls, storage=tmp_path / "study.jsonl")
    assert solver(again) == "joint"
    times = [found.history_[0][1].end_time for found in (first, again)]
    assert len(again.history_) == 1
    assert times[0] == times[1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", SEARCHES)
def test_an_optimum_that_the_estimator_does_not_confirm_is_searched_from(
    cls, monkeypatch
):
    """The estimator stops long before it has converged, so its own scores count."""
    monkeypatch.setattr(joint, "LARGEST_SHARE", 1e9)
    monkeypatch.setattr(joint, "FREE_SHARE", 1e9)
    model = LogisticRegression(max_iter=15)
    found = search(cls, model, {"C": loguniform(1e-4, 1e4)}, n_iter=6)
    scores = [
        cross_val_score(
            clone(model).set_params(**params), X, Y, cv=3, scoring="neg_log_loss"
        ).mean()
        for params in found.cv_results_["params"]
    ]
    assert solver(found) == ("gradients" if cls is HOAGSearchCV else "estimator")
    assert "did not confirm" in found.history_.route.reason
    assert 1 < len(scores) <= 6
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], scores, rtol=1e-12)


@pytest.mark.parametrize("error", [ValueError, KeyError, MemoryError, AttributeError])
def test_any_exception_of_the_method_means_plain_evaluation(error, monkeypatch):
    def broken(*args, **kwargs):
        raise error("broken")

    monkeypatch.setattr(joint, "tune_penalties", broken)
    found = search(n_iter=3)
    assert found.history_.route == ("estimator", "joint tuning failed")
    assert len(found.history_) == 3


def test_it_steps_back_before_it_costs_a_share_of_the_plain_fits(monkeypatch):
    monkeypatch.setattr(joint, "LARGEST_SHARE", 1e-6)
    found = search(n_iter=3)
    assert found.history_.route.solver == "estimator"
    assert "cost" in found.history_.route.reason
    assert 1 <= len(found.history_) <= 3


@pytest.mark.parametrize(("share", "n"), [(0.0, 3), (1e9, 4)])
def test_what_it_costs_beyond_a_share_is_taken_off_the_candidates(
    share, n, monkeypatch
):
    monkeypatch.setattr(joint, "FREE_SHARE", share)
    monkeypatch.setattr(joint, "LARGEST_SHARE", 1e-6)
    found = search(n_iter=4)
    assert found.history_.route.solver == "estimator"
    assert len(found.history_) == n


def test_what_will_run_is_told_beforehand():
    settings = {"scoring": "neg_log_loss", "cv": 3}
    route = AccSMBOSearchCV(MODEL, SPACE, **settings).solver_for(X, Y)
    assert route.solver == "joint"
    settings["scoring"] = "accuracy"
    route = AccSMBOSearchCV(MODEL, SPACE, **settings).solver_for(X, Y)
    assert route.solver == "estimator"
    assert "accuracy" in route.reason


def test_what_runs_is_printed(capsys):
    search(verbose=1)
    assert "Solver: joint (" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "settings", "reason"),
    [
        (Ridge(positive=True), {"scoring": "r2"}, "positive"),
        (LogisticRegression(), {"scoring": "accuracy"}, "accuracy"),
        (SVC(), {"scoring": "accuracy"}, "accuracy"),
        (LogisticRegression(), {"optimizer": AccSMBO()}, "optimizer"),
        (LogisticRegression(), {"refit": lambda results: 0}, "refit"),
    ],
)
def test_asking_for_what_does_not_fit_is_an_error_with_the_reason(
    model, settings, reason
):
    name = "alpha" if isinstance(model, Ridge) else "C"
    with pytest.raises(ValueError, match=rf"solver='joint' does not fit.*{reason}"):
        search(
            model=model, space={name: loguniform(0.1, 10)}, solver="joint", **settings
        )


def test_weights_reach_the_training_of_the_last_step():
    weight = np.linspace(0.1, 3, len(Y))
    own = {"scoring": "neg_log_loss", "cv": 3, "random_state": 0}
    found = AccSMBOSearchCV(MODEL, SPACE, **own)
    found.fit(X, Y, logisticregression__sample_weight=weight)
    evaluated = AccSMBOSearchCV(MODEL, SPACE, n_iter=12, solver="estimator", **own)
    evaluated.fit(X, Y, logisticregression__sample_weight=weight)
    assert solver(found) == "joint"
    assert found.best_score_ == pytest.approx(evaluated.best_score_, rel=1e-3)


@pytest.mark.parametrize("kind", ["csr", "one split", "mask", "frame"])
def test_kinds_of_rows_and_splits(kind):
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
    assert solver(found) == "joint"
    scores = cross_val_score(
        model.set_params(**found.best_params_),
        *data,
        cv=options.get("cv", 3),
        scoring="neg_log_loss",
    )
    assert found.best_score_ == pytest.approx(scores.mean(), rel=1e-12)


def test_a_few_penalties_are_tuned_together():
    data = load_diabetes(return_X_y=True)
    space = {f"alpha__{k}": loguniform(1e-4, 1e2) for k in range(2)}
    model = GroupRidge(groups=[0] * 4 + [1] * 6)
    found = search(model=model, space=space, data=data, scoring=None)
    single = search(
        model=Ridge(), space={"alpha": loguniform(1e-4, 1e2)}, data=data, scoring=None
    )
    assert solver(found) == solver(single) == "joint"
    assert found.best_score_ > single.best_score_ - 1e-6


OTHER_QUESTIONS = {
    "estimator": {"solver": "estimator"},
    "gradients": {"solver": "gradients"},
    "optimizer": {
        "optimizer": AccSMBO(points_to_evaluate=[{C: 0.5}]),
        "density": "auto",
    },
    "callable refit": {
        "refit": lambda results: int(np.argmin(results["rank_test_score"]))
    },
    "no gradient": {"scoring": "accuracy"},
    "a list": {"space": {C: [0.1, 1.0, 10.0]}},
    "another parameter": {
        "space": {**SPACE, "logisticregression__tol": Real(1e-5, 1e-4)}
    },
    "alternatives": {"space": [SPACE, {C: [1.0]}]},
    "another model": {
        "model": SVC(),
        "space": {"C": loguniform(0.1, 10)},
        "scoring": "accuracy",
    },
}


@pytest.mark.parametrize("name", OTHER_QUESTIONS)
def test_other_questions_get_all_their_candidates(name):
    found = search(**{"n_iter": 2, "density": None} | OTHER_QUESTIONS[name])
    assert solver(found) != "joint"
    assert len(found.history_) == 2


def test_hoag_goes_step_by_step_where_asked():
    found = search(HOAGSearchCV, solver="gradients", n_iter=3)
    assert solver(found) == "gradients"
    assert 1 < len(found.history_) <= 3


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
def test_extremes_end_where_a_grid_says(cls, name, direct, monkeypatch):
    if not direct:
        monkeypatch.setattr(_one_fit, "DIRECT_WORK", 0)
    data, ends, right = extremes()[name]
    model = LogisticRegression(max_iter=5000, tol=1e-9)
    found = search(cls, model, {"C": loguniform(*ends)}, data)

    def exact(C):
        tuned = clone(model).set_params(C=C)
        return cross_val_score(tuned, *data, cv=3, scoring="neg_log_loss").mean()

    assert found.best_score_ == pytest.approx(exact(**found.best_params_), abs=1e-6)
    grid = np.array([exact(c) for c in np.geomspace(*ends, 9)])
    assert found.best_score_ >= grid.max() - 1e-3 * abs(grid.max())
    if right is not None:
        assert found.best_params_["C"] == pytest.approx(right)


def test_a_row_of_weight_zero_is_a_row_that_is_not_there():
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
    assert solver(found) == solver(without) == "joint"
    assert found.best_score_ == pytest.approx(without.best_score_, abs=1e-6)


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_fold_with_one_class_fails_as_in_any_search(cls):
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


def test_rows_that_are_not_numbers_fail_as_in_any_search():
    broken = X.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        search(data=(broken, Y), error_score="raise", n_iter=1)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("how", ["auto", "gradients"])
def test_weights_of_another_length_are_named(cls, how):
    Z, labels = noisy()
    given = cls(
        LogisticRegression(),
        {"C": loguniform(1e-2, 1e2)},
        scoring="neg_log_loss",
        n_iter=2,
        cv=3,
        solver=how,
    )
    with pytest.raises(ValueError, match=r"sample_weight.shape|inconsistent numbers"):
        given.fit(Z, labels, sample_weight=np.ones(5))


PLAIN = LogisticRegression(max_iter=5000, tol=1e-9)
RANGE = {"C": loguniform(1e-4, 1e4)}


@pytest.mark.parametrize("cls", SEARCHES)
def test_groups_reach_the_splitter(cls):
    """See the reports of case 47.

    https://github.com/scikit-learn/scikit-learn/issues/19841
    https://github.com/scikit-learn/scikit-learn/issues/22126
    """
    Z, labels = noisy()
    groups = np.arange(90) % 10
    own = {"cv": GroupKFold(3), "scoring": "neg_log_loss"}
    found = cls(PLAIN, RANGE, **own).fit(Z, labels, groups=groups)
    tuned = clone(PLAIN).set_params(**found.best_params_)
    scores = cross_val_score(tuned, Z, labels, groups=groups, **own)
    assert solver(found) == "joint"
    assert found.best_score_ == pytest.approx(scores.mean(), rel=1e-12)


@pytest.mark.parametrize("cls", SEARCHES)
def test_weights_are_repeated_rows_in_fits_and_scores(cls):
    """See https://github.com/scikit-learn/scikit-learn/issues/30743 (case 51)."""
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
            assert solver(found) == "joint"
            best.append((found.best_score_, found.best_params_["C"]))
    np.testing.assert_allclose(best[0], best[1], rtol=1e-6)


@pytest.mark.parametrize("cls", SEARCHES)
def test_every_fit_starts_afresh_on_the_same_splits(cls):
    """See the reports of cases 55 and 59.

    https://github.com/optuna/optuna/issues/5196
    https://github.com/optuna/optuna-integration/issues/118
    """
    Z, labels = noisy()
    found = cls(PLAIN, RANGE, cv=KFold(3).split(Z), scoring="neg_log_loss")
    seen = []
    for data in ((Z, labels), (-Z[::-1], labels), (Z, labels)):
        found.fit(*data)
        seen.append((found.best_params_["C"], len(found.history_)))
    assert seen[0] == seen[2] != seen[1]
