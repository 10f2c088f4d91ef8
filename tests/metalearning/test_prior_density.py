# SPDX-License-Identifier: BSD-3-Clause
"""PriorDensity: beliefs in the unit cube."""

import numpy as np
import pytest
from scipy.stats import loguniform, norm, poisson

from accsmbo import Categorical, Integer, Real
from accsmbo.metalearning import PriorDensity

SPACE = {
    "C": Real(1e-3, 1e3, log=True),
    "depth": Integer(1, 12),
    "kernel": Categorical(["rbf", "poly"]),
    "tol": Real(0.0, 1.0),
}
BELIEFS = {
    "C": loguniform(1e-1, 1e2),
    "depth": poisson(4),
    "kernel": {"rbf": 3, "poly": 1},
}


def prior(**beliefs):
    return PriorDensity(beliefs or BELIEFS).on(SPACE)


def test_integrates_to_one_and_has_no_opinion_of_the_rest():
    density = prior()
    U = np.random.default_rng(0).random((100000, 4))
    assert density.pdf(U).mean() == pytest.approx(1.0, abs=0.02)
    moved = U.copy()
    moved[:, 3] = 0.2
    assert np.array_equal(density.pdf(U), density.pdf(moved))


def test_values_are_those_of_the_distribution():
    density = prior(C=norm(100.0, 50.0))
    one, two = (
        density.pdf_params({"C": c, "depth": 3, "kernel": "rbf", "tol": 0.1}) - 0.1
        for c in (80.0, 150.0)
    )
    # density by u is pdf(x) dx/du, and dx/du is proportional to x here
    expected = norm(100, 50).pdf(80) * 80 / (norm(100, 50).pdf(150) * 150)
    assert one / two == pytest.approx(expected, rel=0.01)
    choice = prior(kernel={"rbf": 3, "poly": 1})
    p = [
        choice.pdf_params({"C": 1, "depth": 3, "kernel": k, "tol": 0.1})
        for k in ("rbf", "poly")
    ]
    assert np.allclose(p, [0.9 * 1.5 + 0.1, 0.9 * 0.5 + 0.1])


def test_mode_is_the_centre_where_nothing_is_believed():
    density = prior(C=norm(100.0, 5.0))
    mode = density.space_.subspaces[0].to_params(density.mode())
    assert mode["C"] == pytest.approx(100.0, rel=0.05)
    assert mode["kernel"] == "rbf"
    assert mode["tol"] == 0.5


def test_gradient_matches_central_differences():
    density, h = prior(C=norm(10.0, 5.0), tol=norm(0.3, 0.2)), 1e-7
    U = np.random.default_rng(0).random((30, 4))
    for j in range(4):
        e = np.eye(4)[j] * h
        numeric = (density.pdf(U + e) - density.pdf(U - e)) / (2 * h)
        assert np.allclose(density.gradient(U)[:, j], numeric, atol=1e-4 * (j != 1))


def test_samples_follow_the_belief():
    drawn = prior().sample(3000, random_state=0)
    inside = (drawn[:, 0] > 1 / 3) & (drawn[:, 0] < 5 / 6)
    assert inside.mean() == pytest.approx(0.9 + 0.1 * 0.5, abs=0.02)
    assert (drawn[:, 2] < 0.5).mean() == pytest.approx(0.9 * 0.75 + 0.05, abs=0.03)


def test_mode():
    mode = prior(C=norm(10.0, 1.0)).mode()
    assert mode[0] == pytest.approx(2 / 3, abs=0.02)


@pytest.mark.parametrize(
    ("beliefs", "message"),
    [
        ({"dept": norm(0, 1)}, r"unknown name 'dept'; .* Did you mean 'depth'"),
        ({"C": norm(-1e9, 1.0)}, r"distributions\['C'\] must have mass inside"),
        (
            {"kernel": {"sigmoid": 1}},
            r"distributions\['kernel'\] must have mass inside",
        ),
    ],
)
def test_wrong_beliefs(beliefs, message):
    with pytest.raises(ValueError, match=message):
        prior(**beliefs)


def test_wrong_floor():
    with pytest.raises(ValueError, match=r"floor must lie in \(0, 1\], got 0"):
        PriorDensity(BELIEFS, floor=0).on(SPACE)
