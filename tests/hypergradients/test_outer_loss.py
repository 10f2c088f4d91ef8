# SPDX-License-Identifier: BSD-3-Clause
"""Outer losses: scikit-learn's scores, and derivatives by central differences."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn import metrics

from accsmbo.hypergradients import OuterLoss, outer_loss, squared_hinge_loss
from accsmbo.hypergradients import _outer_loss as outer
from accsmbo.hypergradients._scoring import _TABLE

rng = np.random.default_rng(0)
M = 12
INDEX2, INDEX3 = np.arange(M) % 2, np.arange(M) % 3
F, F3 = 2 * rng.standard_normal(M), 2 * rng.standard_normal((M, 3))
Y, POSITIVE = rng.standard_normal(M), rng.random(M) + 0.2
Y2, F2 = rng.standard_normal((M, 2)), rng.standard_normal((M, 2))
WEIGHT = rng.random(M) + 0.1


def proba2(f):
    return np.column_stack([expit(-f), expit(f)])


# metric, keyword arguments, link, raw outputs, targets, response
CASES = [
    (metrics.log_loss, {}, "logit", F, INDEX2, proba2),
    (metrics.log_loss, {}, "softmax", F3, INDEX3, lambda f: softmax(f, axis=1)),
    (metrics.brier_score_loss, {}, "logit", F, INDEX2, expit),
    (metrics.hinge_loss, {}, "margin", F, INDEX2, lambda f: f),
    (metrics.hinge_loss, {}, "softmax", F3, INDEX3, lambda f: f),
    (squared_hinge_loss, {}, "margin", F, INDEX2, lambda f: f),
    (squared_hinge_loss, {}, "margin", F3, INDEX3, lambda f: f),
    (metrics.mean_squared_error, {}, "identity", F2, Y2, lambda f: f),
    (metrics.root_mean_squared_error, {}, "identity", F2, Y2, lambda f: f),
    (metrics.mean_poisson_deviance, {}, "exp", F, POSITIVE, np.exp),
    (metrics.mean_gamma_deviance, {}, "exp", F, POSITIVE, np.exp),
    (metrics.mean_tweedie_deviance, {"power": 0}, "exp", F, POSITIVE, np.exp),
    (metrics.mean_tweedie_deviance, {"power": 1.5}, "exp", F, POSITIVE, np.exp),
    (metrics.mean_tweedie_deviance, {"power": 3}, "exp", F, POSITIVE, np.exp),
    (metrics.r2_score, {}, "exp", F, POSITIVE, np.exp),
]


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize(("metric", "kwargs", "link", "f", "y", "respond"), CASES)
def test_value_is_that_of_scikit_learn(metric, kwargs, link, f, y, respond, weight):
    factory, _, sign = _TABLE[metric]
    value, slope = factory(kwargs)(link, f, y, weight)
    theirs = metric(y, respond(f), sample_weight=weight, **kwargs)
    assert value == pytest.approx(-sign * theirs)
    check_slope(factory(kwargs), link, f, y, weight, slope)


def check_slope(loss, link, f, y, weight, slope):
    u, h = rng.standard_normal(f.shape), 1e-6
    plus, minus = (loss(link, f + s * h * u, y, weight)[0] for s in (1, -1))
    assert np.sum(slope * u) == pytest.approx((plus - minus) / (2 * h), rel=1e-5)


@pytest.mark.parametrize("half", [False, True, "auto"])
def test_brier_of_three_classes(half):
    loss = _TABLE[metrics.brier_score_loss][0]({"scale_by_half": half})
    value, slope = loss("softmax", F3, INDEX3)
    squares = ((softmax(F3, axis=1) - np.eye(3)[INDEX3]) ** 2).sum(axis=1)
    assert value == pytest.approx(squares.mean() * (0.5 if half is True else 1.0))
    check_slope(loss, "softmax", F3, INDEX3, None, slope)


def test_brier_not_halved_for_two_classes_counts_both_columns():
    loss = _TABLE[metrics.brier_score_loss][0]({"scale_by_half": False})
    expected = 2 * np.mean((expit(F) - INDEX2) ** 2)
    assert loss("logit", F, INDEX2)[0] == pytest.approx(expected)


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5, 2.0])
def test_explained_deviance(power):
    loss = outer.of_response("D2", outer.negated_d2(power))
    value, slope = loss("exp", F, POSITIVE, WEIGHT)
    theirs = metrics.d2_tweedie_score(
        POSITIVE, np.exp(F), power=power, sample_weight=WEIGHT
    )
    assert value == pytest.approx(-theirs)
    check_slope(loss, "exp", F, POSITIVE, WEIGHT, slope)


@pytest.mark.parametrize("predicted", [2.0, 3.0])
def test_r2_of_a_constant_target(predicted):
    loss = outer.of_response("R2", outer.negated_r2)
    y, f = np.full(4, 2.0), np.full(4, predicted)
    value, slope = loss("identity", f, y)
    assert value == -metrics.r2_score(y, f)
    assert not slope.any()


def test_probabilities_are_clipped_as_scikit_learn_does():
    f, y = np.array([-1e3, 1e3]), np.array([1, 1])
    value, slope = _TABLE[metrics.log_loss][0]({})("logit", f, y)
    theirs = metrics.log_loss(y, proba2(f), labels=[0, 1])
    assert value == pytest.approx(theirs)
    assert not slope.any()
    wide = np.array([[1e3, 0.0, 0.0]])
    value, slope = _TABLE[metrics.log_loss][0]({})("softmax", wide, np.array([1]))
    assert value == pytest.approx(outer.CLIP)
    assert not slope.any()


def test_deviance_of_negative_predictions():
    loss = outer_loss("neg_mean_poisson_deviance", None)
    with pytest.raises(ValueError, match="smallest one of -1"):
        loss("identity", np.array([-1.0, 2.0]), np.ones(2))


def test_an_outer_loss_passes_through():
    loss = OuterLoss("mine", {})
    assert outer_loss(loss, None) is loss


def test_exact_fit_has_no_slope():
    loss = outer_loss("neg_root_mean_squared_error", None)
    value, slope = loss("identity", Y, Y)
    assert value == 0
    assert not slope.any()
