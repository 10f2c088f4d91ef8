# SPDX-License-Identifier: BSD-3-Clause
"""CrossValidationObjective: losses, folds, errors, against cross_validate."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from accsmbo.evaluation import CrossValidationObjective
from accsmbo.history import Trial

X, y = make_classification(n_samples=90, random_state=0)
X.setflags(write=False)
SPLITS = list(StratifiedKFold(3).split(X, y))


def objective(estimator=None, **kwargs):
    kwargs = {"splits": SPLITS, "scorer": get_scorer("neg_log_loss"), **kwargs}
    return CrossValidationObjective(estimator or LogisticRegression(), X, y, **kwargs)


def trial(**params):
    return Trial(0, params, np.zeros(len(params)))


def test_the_value_is_minus_the_cross_validated_score():
    evaluation = objective()(trial(C=0.3))
    scores = cross_val_score(
        LogisticRegression(C=0.3), X, y, cv=SPLITS, scoring="neg_log_loss"
    )
    assert evaluation.value == pytest.approx(-scores.mean(), rel=1e-12)
    found = [fold["test_scores"] for fold in evaluation.folds]
    np.testing.assert_allclose(found, scores, rtol=1e-12)
    assert evaluation.start_time <= evaluation.end_time


def test_folds_may_be_run_apart_and_combined():
    whole = objective()(trial(C=2.0))
    one = objective()
    folds = [one.fold(trial(C=2.0), i) for i in range(one.n_folds)]
    assert one.combine(folds, 0.0, 1.0).value == whole.value


@pytest.mark.parametrize(
    ("metric", "name"), [("accuracy", "accuracy"), (None, "neg_log_loss")]
)
def test_of_several_metrics_one_is_optimised(metric, name):
    scorers = check_scoring(LogisticRegression(), ["neg_log_loss", "accuracy"])
    evaluation = objective(scorer=scorers, metric=metric)(trial(C=1.0))
    expected = np.mean([fold["test_scores"][name] for fold in evaluation.folds])
    assert evaluation.value == -expected


def test_fit_parameters_are_sliced_to_the_training_fold():
    weights = np.arange(len(y), dtype=float)
    evaluation = objective(fit_params={"sample_weight": weights})(trial(C=1.0))
    train, test = SPLITS[0]
    by_hand = LogisticRegression().fit(X[train], y[train], sample_weight=weights[train])
    expected = get_scorer("neg_log_loss")(by_hand, X[test], y[test])
    assert evaluation.folds[0]["test_scores"] == pytest.approx(expected, rel=1e-12)


def test_a_failed_fit_is_an_evaluation_with_its_traceback():
    evaluation = objective(DecisionTreeClassifier())(trial(max_depth=-1))
    assert evaluation.failed
    assert evaluation.value is None
    assert "max_depth" in evaluation.error
    assert len(evaluation.folds) == 3


def test_a_numeric_error_score_is_the_score_of_a_failed_fold():
    evaluation = objective(DecisionTreeClassifier(), error_score=-9.0)(
        trial(max_depth=-1)
    )
    assert evaluation.value == 9.0
    assert "max_depth" in evaluation.error


def test_error_score_raise_raises():
    with pytest.raises(ValueError, match="max_depth"):
        objective(DecisionTreeClassifier(), error_score="raise")(trial(max_depth=-1))


def test_a_score_that_is_not_finite_is_a_failure():
    evaluation = objective(scorer=lambda estimator, X, y: float("nan"))(trial(C=1.0))
    assert evaluation.failed
    assert "not finite: nan" in evaluation.error
