# SPDX-License-Identifier: BSD-3-Clause
"""EmpiricalDensity: a density, its gradient, its floor, its tasks."""

import numpy as np
import pytest
from scipy.stats import truncnorm

from accsmbo import Categorical, Integer, Real
from accsmbo.exceptions import DensityWarning
from accsmbo.metalearning import EmpiricalDensity, SourceTask
from accsmbo.space import Space

SPACE = Space({"C": Real(1e-3, 1e3, log=True), "gamma": Real(1e-4, 10.0, log=True)})
MIXED = Space(
    {
        "C": Real(1e-3, 1e3, log=True),
        "kernel": Categorical(["rbf", "poly", "linear"]),
        "degree": Integer(1, 6),
    }
)


def won(n=12, seed=0):
    rng = np.random.default_rng(seed)
    u = np.clip(rng.normal([0.6, 0.3], [0.1, 0.15], (n, 2)), 0, 1)
    return [SPACE.subspaces[0].to_params(row) for row in u]


def mixed_won():
    rng = np.random.default_rng(1)
    kernels = ["rbf"] * 6 + ["poly"] * 5 + ["linear"]
    return [
        {
            "C": float(np.exp(rng.normal())),
            "kernel": k,
            "degree": int(rng.integers(1, 7)),
        }
        for k in kernels
    ]


def task(name, scores, kin=None):
    params = [{"C": 10.0**i, "gamma": 0.1} for i in range(-2, len(scores) - 2)]
    return SourceTask(name, params, list(scores), kin=kin)


CASES = {"numbers": (SPACE, won()), "mixed": (MIXED, mixed_won())}


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_integrates_to_one(case, joint):
    space, points = CASES[case]
    density = EmpiricalDensity(joint=joint).fit(points, space)
    U = np.random.default_rng(0).random((40000, space.subspaces[0].n_dims))
    assert density.pdf(U).mean() == pytest.approx(1.0, abs=0.03)
    assert density.pdf(U).min() >= density.floor_ * (0.999 if case == "numbers" else 0)
    assert np.allclose(density.logpdf(U), np.log(density.pdf(U)))


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_gradient_matches_central_differences(case, joint):
    space, points = CASES[case]
    subspace = space.subspaces[0]
    density = EmpiricalDensity(joint=joint).fit(points, space)
    U = subspace.snap(np.random.default_rng(3).random((20, subspace.n_dims)))
    analytic, h = density.gradient(U), 1e-6
    for j in range(subspace.n_dims):
        if subspace.categorical[j]:
            assert not analytic[:, j].any()
            continue
        e = np.eye(subspace.n_dims)[j] * h
        numeric = (density.pdf(U + e) - density.pdf(U - e)) / (2 * h)
        assert np.allclose(analytic[:, j], numeric, atol=1e-5)


def test_one_dimension_by_hand():
    u = np.array([0.1, 0.4, 0.5])
    density = EmpiricalDensity(floor=0.2).fit(u[:, None], {"x": Real(0, 1)})
    h = 3 ** (-1 / 5) * u.std()
    v = np.array([0.0, 0.3, 0.95])
    kernels = [truncnorm.pdf(v, -c / h, (1 - c) / h, loc=c, scale=h) for c in u]
    assert np.allclose(density.pdf(v[:, None]), 0.8 * np.mean(kernels, axis=0) + 0.2)


def test_floor_shrinks_with_tasks():
    few, many = (EmpiricalDensity().fit(won(n), SPACE).floor_ for n in (3, 60))
    assert few == 0.5
    assert many == 0.1


def test_choices_are_smoothed_frequencies():
    points = [{"kernel": "rbf"}] * 7 + [{"kernel": "poly"}]
    space = Space({"kernel": Categorical(["rbf", "poly", "linear"])})
    density = EmpiricalDensity(floor=1e-9).fit(points, space)
    for choice, count in (("rbf", 7), ("poly", 1), ("linear", 0)):
        expected = 3 * (count + 1) / (8 + 3)
        assert density.pdf_params({"kernel": choice}) == pytest.approx(expected)


def test_samples_follow_the_density():
    density = EmpiricalDensity().fit(mixed_won(), MIXED)
    drawn = density.sample(4000, random_state=0)
    assert np.array_equal(drawn, MIXED.subspaces[0].snap(drawn))
    uniform = np.random.default_rng(0).random((40000, 3))
    p = density.pdf(uniform)
    for j in (0, 1):
        below = (drawn[:, j] < 0.5).mean()
        assert below == pytest.approx((p * (uniform[:, j] < 0.5)).mean(), abs=0.04)
    assert np.array_equal(drawn, density.sample(4000, random_state=0))


def test_mode_is_where_the_points_are():
    density = EmpiricalDensity().fit(won(40), SPACE)
    mode = density.mode()
    assert np.abs(mode - [0.6, 0.3]).max() < 0.1
    assert density.peak() == density.pdf(mode[None, :])[0]


def test_mode_is_the_centre_where_nothing_is_known():
    space = {
        "kernel": ["rbf", "poly"],
        "C": Real(1e-3, 1e3, log=True),
        "coef0": Real(-1.0, 3.0),
    }
    tasks = [SourceTask(f"set {i}", [{"C": 10.0}]) for i in range(5)]
    density = EmpiricalDensity().fit_tasks(tasks, space)
    mode = density.space_.subspaces[0].to_params(density.mode())
    assert mode == {"kernel": "rbf", "C": pytest.approx(10.0), "coef0": 1.0}
    assert density.peak() == density.pdf(density.mode()[None, :])[0]


def test_weights_count():
    near, far = {"C": 1.0, "gamma": 0.01}, {"C": 900.0, "gamma": 9.0}
    density = EmpiricalDensity().fit([near, far], SPACE, weights=[9.0, 1.0])
    assert density.pdf_params(near) > 1.5 * density.pdf_params(far)


def test_tasks_weigh_the_same_and_enter_by_their_best():
    big = SourceTask("big", won(60), list(np.linspace(0, 1, 60)))
    small = SourceTask("small", [{"C": 900.0, "gamma": 9.0}], n_evaluations=60)
    density = EmpiricalDensity().fit_tasks([big, small], SPACE)
    kde = density._kdes[0]
    assert len(kde.P) == 4
    assert np.allclose(sorted(kde.w), [1 / 6, 1 / 6, 1 / 6, 1 / 2])
    assert density.n_tasks_ == 2
    assert density.n_good_tasks_ == 2


def test_tasks_that_do_not_vary_are_dropped():
    flat, tied = task("flat", [0.9, 0.91, 0.9]), task("tied", [0.9] * 5 + [0.1])
    density = EmpiricalDensity().fit_tasks([flat, tied, task("ok", [1, 2, 3])], SPACE)
    assert density.dropped_ == ["flat", "tied"]
    assert density.n_tasks_ == 1


def test_exclude_takes_the_kin_along():
    tasks = [task("kc1", [1, 2, 3], "nasa"), task("pc4", [1, 2, 3], "nasa")]
    tasks += [task("wine", [1, 2, 3]), task("iris", [3, 2, 1])]
    density = EmpiricalDensity().fit_tasks(tasks, SPACE, exclude=["PC4", "iris"])
    assert density.n_tasks_ == 1
    with pytest.raises(ValueError, match="tasks must hold at least one source task"):
        EmpiricalDensity().fit_tasks(tasks[:2], SPACE, exclude=["pc4"])


def test_on_another_space_goes_by_names():
    density = EmpiricalDensity().fit(won(30), SPACE)
    assert density.on(SPACE) is density
    other = density.on({"svc__C": Real(1e-1, 1e2, log=True), "tol": Real(0, 1)})
    names = other.space_.subspaces[0].names
    u = np.full((2, 2), 0.5)
    u[:, names.index("tol")] = [0.1, 0.9]
    assert np.ptp(other.pdf(u)) == pytest.approx(0.0)
    U = np.random.default_rng(0).random((20000, 2))
    assert other.pdf(U).mean() == pytest.approx(1.0, abs=0.03)
    assert np.ptp(other.pdf(U)) > 0.5


def test_alternatives_have_densities_of_their_own():
    space = [
        {"C": Real(0.1, 10.0), "kernel": ["rbf"]},
        {"kernel": ["linear"], "C": [1, 2]},
    ]
    points = [{"C": 1.0, "kernel": "rbf"}] * 4
    density = EmpiricalDensity().fit(points, space)
    assert np.ptp(density.pdf([[0.1], [0.9]], 0)) > 0
    assert np.array_equal(density.pdf([[0.25], [0.75]], 1), [1.0, 1.0])
    assert not density.gradient([[0.25]], 1).any()


def test_score_tells_agreement_from_chance():
    agree = EmpiricalDensity().fit(won(30), SPACE)
    assert agree.score_ > 0.3
    U = np.random.default_rng(0).random((30, 2))
    chance = EmpiricalDensity().fit(U, SPACE)
    assert chance.score_ < 0.1
    with pytest.warns(DensityWarning, match="the density says little"):
        chance.warn_if_uninformative()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EmpiricalDensity().pdf([[0.5]]), "has no points yet. Call fit"),
        (lambda: EmpiricalDensity().fit([], SPACE), "weights must be 0 numbers"),
        (lambda: EmpiricalDensity(floor=0).fit(won(), SPACE), r"floor must lie in \(0"),
        (
            lambda: EmpiricalDensity().fit(won(), SPACE).pdf([0.5, 0.5]),
            r"U must have shape \(n_points, 2\), got \(2,\)",
        ),
        (
            lambda: EmpiricalDensity().fit(won(2), SPACE, weights=[1, -1]),
            "weights must be 2 numbers >= 0",
        ),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
