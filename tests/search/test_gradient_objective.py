# SPDX-License-Identifier: BSD-3-Clause
"""GradientObjective: the gradient of an evaluation is that of its value."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from accsmbo.evaluation import CrossValidationObjective
from accsmbo.history import Trial
from accsmbo.hypergradients import hypergradient
from accsmbo.search._gradient_objective import GradientObjective

IRIS = load_iris(return_X_y=True)
TWO = tuple(a[50:] for a in IRIS)
DIABETES = load_diabetes(return_X_y=True)
CV = KFold(3, shuffle=True, random_state=0)
TIGHT = {"max_iter": 5000, "tol": 1e-10}
WEIGHT = np.linspace(0.1, 3, 442)
C = "logisticregression__C"
CASES = {
    "ridge": (Ridge(), {"alpha": 0.1}, DIABETES, "neg_mean_squared_error"),
    "lasso": (Lasso(tol=1e-12), {"alpha": 0.3}, DIABETES, "r2"),
    "pipeline": (
        make_pipeline(StandardScaler(), LogisticRegression(**TIGHT)),
        {C: 0.1},
        TWO,
        "neg_log_loss",
    ),
    "classes": (LogisticRegression(**TIGHT), {"C": 0.2}, IRIS, "neg_log_loss"),
}


def evaluate(case, n_gradients=None, **settings):
    """Return the evaluation of a case, and the function from params to one."""
    model, params, (X, y), metric = case
    objective = CrossValidationObjective(
        model,
        X,
        y,
        splits=list(CV.split(X, y)),
        scorer=get_scorer(metric),
        **settings,
    )
    objective = GradientObjective.from_values(objective, n_gradients=n_gradients)

    def at(params, number=0):
        return objective(Trial(number, params, np.zeros(1)))

    return at(params), at


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_minus_that_of_the_mean_score(name):
    model, params, data, metric = CASES[name]
    found, _ = evaluate(CASES[name])
    score, slope = hypergradient(model, params, *data, cv=CV, scoring=metric)
    assert found.value == pytest.approx(-score, rel=1e-6)
    assert found.gradient == pytest.approx({n: -v for n, v in slope.items()}, rel=1e-4)


@pytest.mark.parametrize("weighted", ["fit_params", "score_params"])
@pytest.mark.parametrize("name", CASES)
def test_with_weights_it_is_the_slope_of_the_values(name, weighted):
    _, params, (X, _), _ = CASES[name]
    last = "logisticregression__" if name == "pipeline" else ""
    key = f"{last if weighted == 'fit_params' else ''}sample_weight"
    found, at = evaluate(CASES[name], **{weighted: {key: WEIGHT[: len(X)]}})
    ((parameter, value),) = params.items()
    up, down = (at({parameter: value * f}).value for f in (1.001, 0.999))
    slope = (up - down) / (0.002 * value)
    assert found.gradient[parameter] == pytest.approx(slope, rel=1e-3)


def test_only_the_first_trials_have_one():
    _, at = evaluate(CASES["ridge"], n_gradients=2)
    known = [at({"alpha": 1.0}, number).gradient for number in range(4)]
    assert [gradient is not None for gradient in known] == [True, True, False, False]


def test_far_from_the_minimum_there_is_one_only_where_asked_for():
    early = (LogisticRegression(max_iter=2), *CASES["classes"][1:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert evaluate(early, n_gradients=9)[0].gradient is None
        assert evaluate(early)[0].gradient


def combine(*folds):
    """Return the evaluation made of records of folds."""
    model, _, (X, y), metric = CASES["ridge"]
    splits = list(KFold(len(folds)).split(X))
    plain = CrossValidationObjective(
        model, X, y, splits=splits, scorer=get_scorer(metric)
    )
    return GradientObjective.from_values(plain).combine(folds, 0.0, 1.0)


def record(score, gradient):
    """Return the record of a fold."""
    return {"test_scores": score, "fit_error": None, "gradient": gradient}


def test_value_and_gradient_are_means_over_the_folds():
    evaluation = combine(
        record(-1.0, {"C": 0.5, "a": -2.0}),
        record(-2.0, {"C": 1.5, "a": 5.0}),
        record(-6.0, {"C": 7.0, "a": 6.0}),
    )
    assert evaluation.value == pytest.approx(3.0)
    assert evaluation.gradient == pytest.approx({"C": 3.0, "a": 3.0})
    assert not any("gradient" in fold for fold in evaluation.folds)


def test_a_derivative_unknown_on_one_fold_is_unknown():
    evaluation = combine(
        record(-1.0, {"C": 0.5, "a": np.nan}), record(-2.0, {"C": 1.5, "a": 5.0})
    )
    assert evaluation.gradient == {"C": 1.0}


def test_a_fold_without_a_gradient_leaves_the_trial_without():
    plain = {"test_scores": -2.0, "fit_error": None}
    evaluation = combine(record(-1.0, {"C": 0.5}), plain)
    assert (evaluation.value, evaluation.gradient) == (1.5, None)
