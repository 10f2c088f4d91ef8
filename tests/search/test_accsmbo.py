# SPDX-License-Identifier: BSD-3-Clause
"""AccSMBOSearchCV: gradients, exact scores, densities."""

import numpy as np
import pytest
from scipy.stats import loguniform, norm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import accsmbo.search._cost as cost
import accsmbo.search._experience as experience
from accsmbo import AccSMBOSearchCV, Real
from accsmbo.default_spaces import default_space
from accsmbo.hypergradients import FoldHypergradient, hypergradient
from accsmbo.metalearning import EmpiricalDensity, PriorDensity, SourceTask
from accsmbo.optimizers import SMBO, AccSMBO

C = "logisticregression__C"
SPACE = {C: loguniform(1e-4, 1e4)}
MODEL = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000, tol=1e-9))
X, Y = (a[::4] for a in load_breast_cancer(return_X_y=True))


def search(model=MODEL, space=SPACE, n_iter=4, scoring="neg_log_loss", **settings):
    """Evaluate candidates; test_joint.py has the joint route."""
    own = {"n_iter": n_iter, "scoring": scoring, "random_state": 0}
    settings = own | settings
    return AccSMBOSearchCV(model, space, **settings).fit(X, Y)


@pytest.fixture(scope="module")
def with_gradients():
    return search(density=None, solver="gradients")


def test_gradients_reach_the_optimizer(with_gradients):
    evaluations = with_gradients.history_.evaluations
    assert all(set(e.gradient) == {C} for e in evaluations)
    tolerances = [t.tolerance for t in with_gradients.history_.trials]
    assert np.allclose(tolerances, [3e-2, 9e-3, 3e-3, 3e-3])


def test_few_candidates_are_enough(with_gradients):
    grid = [
        cross_val_score(
            clone(MODEL).set_params(**{C: c}), X, Y, scoring="neg_log_loss"
        ).mean()
        for c in np.logspace(-1.5, 1, 15)
    ]
    assert with_gradients.best_score_ > max(grid) * 1.005  # losses: within 0.5 %


def test_best_score_is_that_of_cross_val_score(with_gradients):
    best = clone(MODEL).set_params(**with_gradients.best_params_)
    expected = cross_val_score(best, X, Y, scoring="neg_log_loss").mean()
    assert with_gradients.best_score_ == pytest.approx(expected, rel=1e-12)
    scores = with_gradients.cv_results_["mean_test_score"]
    assert scores[with_gradients.best_index_] == with_gradients.best_score_
    assert (
        with_gradients.cv_results_["rank_test_score"][with_gradients.best_index_] == 1
    )


def test_every_row_is_what_cross_val_score_gives(with_gradients):
    results = with_gradients.cv_results_
    assert "score_error_estimate" not in results
    expected = [
        cross_val_score(
            clone(MODEL).set_params(**params), X, Y, scoring="neg_log_loss"
        ).mean()
        for params in results["params"]
    ]
    np.testing.assert_allclose(results["mean_test_score"], expected, rtol=1e-12)


def test_gradients_are_those_of_the_loss_with_its_sign(with_gradients):
    for trial, evaluation in with_gradients.history_:
        _, slope = hypergradient(MODEL, trial.params, X, Y, scoring="neg_log_loss")
        assert evaluation.gradient[C] == pytest.approx(-slope[C], rel=0.2, abs=1e-4)


def test_by_default_only_the_first_candidates_have_gradients(monkeypatch):
    """So that they cost little beside the fits, where these take long enough."""
    space = {**SPACE, "logisticregression__fit_intercept": [True, False]}
    assert search(space=space, n_iter=2).history_.route.solver == "estimator"
    monkeypatch.setattr(cost, "CALL", 1.0)
    found = search(space=space, n_iter=40)
    assert found.history_.route.solver == "gradients"
    known = [e.gradient is not None for e in found.history_.evaluations]
    assert known == sorted(known, reverse=True)
    assert 0 < sum(known) < 10


def test_a_gradient_that_fails_leaves_the_plain_evaluation(monkeypatch):
    def broken(*args, **kwargs):
        raise KeyError("broken")

    monkeypatch.setattr(FoldHypergradient, "gradient_at", broken)
    found = search(solver="gradients", n_iter=3)
    assert all(e.gradient is None for e in found.history_.evaluations)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()


def test_solver_estimator_never_takes_gradients():
    plain = search(solver="estimator", n_iter=5)
    assert all(e.gradient is None for e in plain.history_.evaluations)
    assert plain.history_.route.solver == "estimator"


@pytest.mark.parametrize(
    ("model", "space", "scoring"),
    [
        (MODEL, SPACE, "accuracy"),
        (KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 7, 9]}, None),
        (
            MODEL,
            {C: [0.1, 1.0, 10.0], "standardscaler__with_mean": [True, False]},
            None,
        ),
    ],
)
def test_without_gradients_it_searches_by_values(model, space, scoring):
    found = search(model, space, scoring=scoring, n_iter=3)
    assert all(e.gradient is None for e in found.history_.evaluations)


def test_several_metrics_and_train_scores():
    found = search(
        scoring=["accuracy", "neg_log_loss"],
        refit="neg_log_loss",
        return_train_score=True,
        n_iter=3,
        solver="gradients",
    )
    assert all(e.gradient for e in found.history_.evaluations)
    best = clone(MODEL).set_params(**found.best_params_)
    for metric in ("accuracy", "neg_log_loss"):
        expected = cross_val_score(best, X, Y, scoring=metric).mean()
        got = found.cv_results_[f"mean_test_{metric}"][found.best_index_]
        assert got == pytest.approx(expected, abs=1e-10)
    assert "mean_train_accuracy" in found.cv_results_


def test_candidates_without_a_gradient_are_scored_by_value():
    choice = (
        {"logisticregression__l1_ratio": [0.0, 0.5]}
        if "l1_ratio" in default_space(LogisticRegression(solver="saga"))
        else {"logisticregression__penalty": ["l2", "l1"]}  # scikit-learn < 1.8
    )
    space = {C: loguniform(1e-2, 1e2), **choice}
    model = make_pipeline(
        StandardScaler(), LogisticRegression(solver="saga", max_iter=20000, tol=1e-3)
    )
    found = search(model, space, n_iter=5)
    assert len(found.cv_results_["params"]) == 5
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()


def test_given_optimizer_is_kept():
    found = search(optimizer=SMBO(), n_iter=3)
    assert isinstance(found.optimizer_, SMBO)
    assert not isinstance(found.optimizer_, AccSMBO)
    assert found.density_ is None
    with pytest.raises(
        ValueError, match="optimizer and density must not both be given"
    ):
        search(optimizer=SMBO(), density=None)


def test_prior_belief_by_hand():
    prior = PriorDensity({C: norm(1.0, 1.0)})
    found = search(density=prior, n_iter=3)
    assert found.density_ is prior
    assert found.optimizer_.density is prior


def tasks(n=22):
    rng = np.random.default_rng(0)
    values = np.exp(rng.normal(np.log(0.3), 0.5, n))
    return [
        SourceTask(f"set {i}", [{"C": float(c)}], n_evaluations=50)
        for i, c in enumerate(values)
    ]


def test_auto_density_is_that_of_estimator_and_metric(monkeypatch):
    asked = []

    def shipped(name, **what):
        asked.append((name, what["group"], what["kind"], what["sparse"]))
        return tasks() if name == "LogisticRegression" else []

    monkeypatch.setattr(experience, "shipped_tasks", shipped)
    found = search(n_iter=2, solver="gradients")
    assert asked == [("LogisticRegression", "probability", "binary", False)]
    assert isinstance(found.density_, EmpiricalDensity)
    assert "LogisticRegression" in found.density_.source_
    assert 0.1 < found.history_.trials[0].params[C] < 1.0
    assert search(Ridge(), {"alpha": Real(0.1, 1.0)}, scoring="r2").density_ is None
    assert asked[-1] == ("Ridge", "squared error", "regression", False)


@pytest.mark.parametrize(
    "some", [tasks(2), [SourceTask(t.name, [{"tol": 1.0}]) for t in tasks()]]
)
def test_auto_density_falls_back_to_none(monkeypatch, some):
    monkeypatch.setattr(experience, "shipped_tasks", lambda *a, **k: some)
    assert search(n_iter=1).density_ is None


def test_unknown_metrics_have_no_density():
    found = search(scoring=lambda model, X, y: model.score(X, y), n_iter=1)
    assert found.density_ is None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def losses(fitted):
    return {str(t.params): e.value for t, e in fitted.history_}


def test_a_resumed_search_with_gradients_equals_an_unbroken_one(tmp_path):
    own = {"density": None, "solver": "gradients"}
    search(n_iter=2, storage=tmp_path / "study.jsonl", **own)
    resumed = search(n_iter=5, storage=tmp_path / "study.jsonl", **own)
    unbroken = search(n_iter=5, **own)
    assert losses(resumed) == losses(unbroken)


def test_results_do_not_depend_on_the_worker():
    points = [{C: c} for c in (0.01, 0.1, 1.0, 10.0)]

    def losses_of(points, n_jobs):
        optimizer = AccSMBO(
            points_to_evaluate=points, initial_tolerance=1e-2, tolerance=1e-2
        )
        return losses(search(n_jobs=n_jobs, optimizer=optimizer))

    assert losses_of(points, 2) == losses_of(points[::-1], 3)


def test_two_jobs_give_gradients_too():
    data = make_classification(80, random_state=0)
    found = AccSMBOSearchCV(
        LogisticRegression(),
        {"C": loguniform(1e-2, 1e2)},
        n_iter=3,
        cv=2,
        n_jobs=2,
        scoring="neg_log_loss",
        solver="gradients",
        random_state=0,
    ).fit(*data)
    assert all(e.gradient for e in found.history_.evaluations)
    assert issubclass(ConvergenceWarning, UserWarning)


@pytest.mark.parametrize("wrong", [{"solver": "liblinear"}, {"density": "shipped"}])
def test_wrong_arguments(wrong):
    with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter"):
        search(**wrong)
