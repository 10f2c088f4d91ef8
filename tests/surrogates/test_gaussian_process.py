# SPDX-License-Identifier: BSD-3-Clause
"""GaussianProcess: scikit-learn's numbers, derivatives, reuse, hard data."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as SkRBF
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from accsmbo.surrogates import RBF, GaussianProcess, Hyperparameters, Matern52
from accsmbo.testing import check_surrogate

SCALES = np.array([0.4, 0.9, 1.7])


def data(n=25, d=3, seed=0):
    rng = np.random.default_rng(seed)
    U = rng.random((n, d))
    y = 5.0 + np.sin(6 * U[:, 0]) + U[:, 1:].sum(axis=1) ** 2
    U.setflags(write=False)
    y.setflags(write=False)
    return U, y


@pytest.mark.parametrize(
    "surrogate",
    [
        GaussianProcess(),
        GaussianProcess(warp=True),
        GaussianProcess(warp=True, warm_start=True),
    ],
    ids=repr,
)
def test_contract(surrogate):
    check_surrogate(surrogate)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(Matern52(), Matern(SCALES, nu=2.5)), (RBF(), SkRBF(SCALES))],
)
def test_agrees_with_sklearn_at_equal_hyperparameters(ours, theirs):
    U, y = data()
    V = data(40, seed=1)[0]
    hyper = Hyperparameters(SCALES, noise=1e-3, amplitude=1.7)
    mean, std = GaussianProcess(ours, hyperparameters=hyper).fit(U, y).predict(V)
    reference = GaussianProcessRegressor(
        ConstantKernel(1.7) * (ConstantKernel(1.0) + theirs),
        alpha=1.7e-3,
        optimizer=None,
        normalize_y=True,
    ).fit(U, y)
    expected_mean, expected_std = reference.predict(V, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-8)
    np.testing.assert_allclose(std, expected_std, rtol=1e-8)


def test_finds_the_length_scales_of_a_sample():
    rng = np.random.default_rng(3)
    U = rng.random((120, 2))
    scales = np.array([0.15, 1.5])
    K = Matern52().value(
        (((U[:, None] - U[None]) / scales) ** 2).sum(-1)
    ) + 1e-6 * np.eye(120)
    y = np.linalg.cholesky(K) @ rng.standard_normal(120)
    found = GaussianProcess(max_iter=60).fit(U, y).hyperparameters_.length_scales
    assert 0.07 < found[0] < 0.35
    assert found[1] > 0.6


def test_warm_start_keeps_hyperparameters_and_extends_the_factor():
    U, y = data(60)
    gp = GaussianProcess(warm_start=True, refit_growth=0.2).fit(U[:50], y[:50])
    before = gp.hyperparameters_.length_scales
    gp.fit(U[:55], y[:55])
    np.testing.assert_array_equal(gp.hyperparameters_.length_scales, before)
    fresh = GaussianProcess(
        hyperparameters=Hyperparameters(before, gp.hyperparameters_.noise)
    ).fit(U[:55], y[:55])
    V = data(30, seed=2)[0]
    for one, other in zip(gp.predict(V), fresh.predict(V), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
    gp.fit(U, y)
    assert not np.array_equal(gp.hyperparameters_.length_scales, before)


def test_warm_start_with_other_points_forgets_the_factor():
    U, y = data(30)
    gp = GaussianProcess(warm_start=True, refit_growth=10.0).fit(U, y)
    V, w = data(31, seed=4)
    gp.fit(V, w)
    np.testing.assert_allclose(gp.predict(V)[0], w, atol=0.2)


def test_condition_equals_fitting_with_the_same_hyperparameters():
    U, y = data(30)
    gp = GaussianProcess().fit(U[:25], y[:25])
    more = gp.condition(U[25:], y[25:])
    V = data(20, seed=5)[0]
    assert not np.allclose(more.predict(V)[0], gp.predict(V)[0])
    at = more.predict(U[25:])
    np.testing.assert_allclose(at[0], y[25:], atol=0.1)
    assert np.all(at[1] <= gp.predict(U[25:])[1])


def test_known_noise_is_not_interpolated():
    rng = np.random.default_rng(0)
    U = rng.random((40, 1))
    clean = np.sin(5 * U[:, 0])
    y = clean + 0.4 * rng.standard_normal(40)
    gp = GaussianProcess().fit(U, y, noise=np.full(40, 0.4))
    mean = gp.predict(U)[0]
    assert np.mean((mean - clean) ** 2) < 0.3 * np.mean((y - clean) ** 2)


def test_expected_noise_is_that_of_observations_whose_noise_is_unknown():
    rng = np.random.default_rng(0)
    U = rng.random((30, 1))
    exact = np.arange(30) < 15
    y = np.sin(5 * U[:, 0]) + np.where(exact, 0.0, 0.4 * rng.standard_normal(30))
    mixed = GaussianProcess().fit(U, y, noise=np.where(exact, np.nan, 0.4))
    known = GaussianProcess().fit(U, y, noise=np.where(exact, 1e-9, 0.4))
    assert mixed.noise_ < 0.05 < known.noise_


def test_hyperparameters_are_learnt_from_a_subset_of_many_points():
    U, y = data(90)
    gp = GaussianProcess(max_fit_points=30).fit(U, y)
    np.testing.assert_allclose(gp.predict(U)[0], y, atol=0.3)


@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_noise_free_points_in_ten_dimensions(noise):
    """See the reports of cases 35 and 31.

    https://github.com/scikit-optimize/scikit-optimize/issues/324
    https://github.com/rodrigo-arenas/Sklearn-genetic-opt/issues/109
    """
    rng = np.random.default_rng(0)
    U = rng.random((31, 10))
    y = (U**2).sum(1)
    hyper = Hyperparameters(np.full(10, 30.0), noise)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean, std = GaussianProcess(hyperparameters=hyper).fit(U, y).predict(U)
    assert np.isfinite(mean).all()
    assert np.all(std > 0)


def test_copies_of_one_point_without_noise():
    """See the report of cases 35 and 20.

    https://github.com/scikit-optimize/scikit-optimize/issues/324
    """
    U = np.full((20, 2), 0.3)
    hyper = Hyperparameters(np.ones(2), 0.0)
    gp = GaussianProcess(hyperparameters=hyper).fit(U, np.linspace(0, 1, 20))
    assert gp.jitter_ > 0.0
    assert gp.predict(U[:1])[0][0] == pytest.approx(0.5, abs=1e-3)


def test_points():
    """See the report of cases 35 and 500.

    https://github.com/scikit-optimize/scikit-optimize/issues/324
    """
    U, y = data(500, d=5)
    mean, std = GaussianProcess().fit(U, y).predict(U[:50])
    np.testing.assert_allclose(mean, y[:50], atol=0.2)
    assert np.isfinite(std).all()


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_extreme_magnitudes(scale):
    U, y = data(20)
    plain = GaussianProcess().fit(U, y).predict(U)
    scaled = GaussianProcess().fit(U, y * scale).predict(U)
    np.testing.assert_allclose(scaled[0] / scale, plain[0], rtol=1e-4)
    np.testing.assert_allclose(scaled[1] / scale, plain[1], rtol=1e-2)


def test_bad_arguments_are_named():
    U, y = data(5)
    gp = GaussianProcess()
    with pytest.raises(ValueError, match=r"U must have shape \(n_points, n_dims\)"):
        gp.fit(U[0], y)
    with pytest.raises(ValueError, match="y must have one value for each of the 5"):
        gp.fit(U, y[:3])
    with pytest.raises(ValueError, match="y must be finite, got NaN or infinity"):
        gp.fit(U, np.full(5, np.nan))
    with pytest.raises(ValueError, match="U must be finite"):
        gp.fit(np.full((5, 2), np.inf), y)
    with pytest.raises(ValueError, match="at least one observed point, got none"):
        gp.fit(np.zeros((0, 2)), [])
    with pytest.raises(ValueError, match="one flag for each of the 3 dimensions"):
        gp.fit(U, y, categorical=[True])
    with pytest.raises(ValueError, match="noise must be 5 standard errors"):
        gp.fit(U, y, noise=[-1.0] * 5)


def test_clone_and_arguments_stay_as_they_are():
    hyper = Hyperparameters(SCALES)
    gp = GaussianProcess(hyperparameters=hyper)
    copy = clone(gp)
    U, y = data()
    gp.fit(U, y)
    assert gp.hyperparameters is hyper
    assert hyper.amplitude is None
    assert repr(copy.get_params()) != ""
