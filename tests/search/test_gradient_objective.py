# SPDX-License-Identifier: BSD-3-Clause
"""The gradient that a search learns from: the mean over folds, of the loss."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from accsmbo import Real
from accsmbo.evaluation import CrossValidationObjective
from accsmbo.hypergradients import hypergradient
from accsmbo.optimizers import AccSMBO
from accsmbo.search._gradient_objective import GradientObjective

CLASSES = make_classification(60, 5, random_state=0)
NUMBERS = make_regression(60, 5, noise=20.0, random_state=0)
PROBLEMS = {
    "logistic": (
        LogisticRegression(),
        CLASSES,
        {"C": Real(1e-3, 1e3, log=True)},
        "neg_log_loss",
    ),
    "ridge in a pipeline": (
        make_pipeline(StandardScaler(), Ridge()),
        NUMBERS,
        {"ridge__alpha": Real(1e-2, 1e2, log=True)},
        "neg_mean_squared_error",
    ),
    "two parameters": (
        ElasticNet(),
        NUMBERS,
        {"alpha": Real(1e-2, 1.0, log=True), "l1_ratio": Real(0.1, 0.9)},
        "r2",
    ),
}


def gradient_objective(estimator, data, scoring, n_folds):
    X, y = data
    splits = list(KFold(n_folds, shuffle=True, random_state=0).split(X))
    values = CrossValidationObjective(
        estimator, X, y, splits=splits, scorer=get_scorer(scoring)
    )
    return GradientObjective.from_values(values, warm_start=False), splits


def record(score, gradient, error=0.0):
    return {
        "test_scores": score,
        "fit_error": None,
        "gradient": gradient,
        "error": error,
    }


def combine(*folds):
    estimator, data, _, scoring = PROBLEMS["logistic"]
    objective, _ = gradient_objective(estimator, data, scoring, len(folds))
    return objective.combine(folds, 0.0, 1.0)


def test_value_gradient_and_error_are_means_over_the_folds():
    evaluation = combine(
        record(-1.0, {"C": 0.5, "a": -2.0}, 0.1),
        record(-2.0, {"C": 1.5, "a": 5.0}, 0.3),
        record(-6.0, {"C": 7.0, "a": 6.0}, 0.2),
    )
    assert evaluation.value == pytest.approx(3.0)
    assert evaluation.gradient == pytest.approx({"C": 3.0, "a": 3.0})
    assert evaluation.error_estimate == pytest.approx(0.2)


def test_a_derivative_unknown_on_one_fold_is_unknown():
    evaluation = combine(
        record(-1.0, {"C": 0.5, "a": np.nan}), record(-2.0, {"C": 1.5, "a": 5.0})
    )
    assert evaluation.gradient == {"C": 1.0}


def test_a_fold_without_a_gradient_leaves_the_trial_without():
    plain = {"test_scores": -2.0, "fit_error": None}
    evaluation = combine(record(-1.0, {"C": 0.5}), plain)
    assert (evaluation.value, evaluation.gradient) == (1.5, None)


@pytest.mark.parametrize("n_folds", [2, 5])
@pytest.mark.parametrize("name", PROBLEMS)
def test_it_is_minus_the_public_hypergradient_of_the_score(name, n_folds):
    estimator, data, space, scoring = PROBLEMS[name]
    objective, splits = gradient_objective(estimator, data, scoring, n_folds)
    trial = AccSMBO(space, random_state=0).ask()
    evaluation = objective(trial)
    score, gradient = hypergradient(
        estimator, trial.params, *data, cv=splits, scoring=scoring
    )
    assert evaluation.value == pytest.approx(-score, rel=1e-6)
    assert evaluation.gradient == pytest.approx(
        {name: -slope for name, slope in gradient.items()}, rel=1e-4
    )


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_is_the_slope_of_the_values(name):
    """Central differences of the values themselves: sign and scale."""
    estimator, data, space, scoring = PROBLEMS[name]
    objective, _ = gradient_objective(estimator, data, scoring, 3)
    trial = AccSMBO(space, random_state=0).ask()
    found = objective(trial).gradient
    for parameter, value in trial.params.items():
        values = []
        for factor in (1 - 1e-3, 1 + 1e-3):
            near = AccSMBO(
                space, points_to_evaluate=[trial.params | {parameter: factor * value}]
            ).ask()
            values.append(objective(near).value)
        slope = (values[1] - values[0]) / (2e-3 * value)
        assert found[parameter] == pytest.approx(slope, rel=1e-2)
