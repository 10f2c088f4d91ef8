# SPDX-License-Identifier: BSD-3-Clause
"""Inner losses: slopes and bends are the derivatives of the values."""

import numpy as np
import pytest

from accsmbo.hypergradients._losses import (
    EpsilonSquaredLoss,
    LogisticLoss,
    SoftmaxLoss,
    SquaredHingeLoss,
    SquaredLoss,
    TweedieLoss,
)
from accsmbo.linear_model import GroupRidge

rng = np.random.default_rng(0)
N = 7
SIGNS = np.where(rng.random(N) < 0.5, -1.0, 1.0)
POSITIVE = rng.random(N) + 0.1
WEIGHT = rng.random(N) + 0.5
F = rng.standard_normal(N)
F3 = rng.standard_normal((N, 3))


class Tube:
    epsilon = 0.1


LOSSES = [
    (SquaredLoss(POSITIVE, WEIGHT), F),
    (LogisticLoss(SIGNS, WEIGHT), F),
    (SquaredHingeLoss(SIGNS, WEIGHT), F),
    (EpsilonSquaredLoss(POSITIVE, WEIGHT).configured(Tube), F),
    *((TweedieLoss(POSITIVE, WEIGHT, power), F) for power in (0, 1, 1.5, 2, 3)),
    (SoftmaxLoss(np.eye(3)[rng.integers(3, size=N)], WEIGHT), F3),
]


@pytest.mark.parametrize(("loss", "f"), LOSSES)
def test_slope_and_bend_are_derivatives(loss, f):
    u, h = rng.standard_normal(f.shape), 1e-6
    value = (loss.value(f + h * u) - loss.value(f - h * u)) / (2 * h)
    assert np.sum(loss.slope(f) * u) == pytest.approx(value, rel=1e-6)
    slope = (loss.slope(f + h * u) - loss.slope(f - h * u)) / (2 * h)
    curvature = loss.curvature(f)
    np.testing.assert_allclose(curvature.product(u), slope, rtol=1e-5, atol=1e-7)
    unit = np.zeros_like(f)
    unit.flat[0] = 1.0
    assert curvature.product(unit).flat[0] == pytest.approx(curvature.bend.flat[0])


def test_derivative_by_epsilon():
    loss = LOSSES[3][0]
    wide, narrow = Tube(), Tube()
    wide.epsilon, narrow.epsilon = 0.1 + 1e-6, 0.1 - 1e-6
    expected = (
        loss.configured(wide).slope(F) - loss.configured(narrow).slope(F)
    ) / 2e-6
    np.testing.assert_allclose(
        loss.slope_derivatives(F)["epsilon"], expected, atol=1e-7
    )


def test_values_stay_finite_far_out():
    far = np.array([-1e4, 1e4])
    loss = LogisticLoss(np.array([1.0, 1.0]), np.ones(2))
    assert loss.value(far) == pytest.approx(1e4)
    assert np.isfinite(loss.slope(far)).all()
    assert TweedieLoss(np.ones(2), np.ones(2), 1.0).value(far) == np.inf


def test_precision_changes_in_a_copy():
    loss = LOSSES[1][0]
    single = loss.with_dtype(np.float32)
    assert (single.y.dtype, loss.y.dtype) == (np.float32, np.float64)
    assert loss.configured(GroupRidge()) is loss
