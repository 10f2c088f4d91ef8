# SPDX-License-Identifier: BSD-3-Clause
"""MultiKernelGaussianProcess: its equations, its gradients, its variance."""

import numpy as np
import pytest

from accsmbo.surrogates import RBF, Cubic, Matern52, MultiKernelGaussianProcess

KERNELS = {
    "default": None,
    "paper": [(RBF(), 1.0), (Cubic(), 1.0)],
    "matern": [(RBF(), 1.0), (Matern52(), 2.0)],
}


def problem(n=12, d=2, seed=0):
    U = np.random.default_rng(seed).random((n, d))
    y = np.sin(3 * U[:, 0]) + (U[:, 1:] ** 2).sum(axis=1)
    g = np.c_[3 * np.cos(3 * U[:, 0]), 2 * U[:, 1:]]
    for array in (U, y, g):
        array.setflags(write=False)
    return U, y, g


def differences(f, U, h=1e-6):
    d = U.shape[1]
    return np.stack([(f(U + h * e) - f(U - h * e)) / (2 * h) for e in np.eye(d)], -1)


@pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("d", [1, 2])
def test_input_gradients_match_central_differences(kernels, d):
    U, y, g = problem(d=d)
    gp = MultiKernelGaussianProcess(kernels).fit(U, y, gradient=g)
    V = problem(5, d, seed=1)[0]
    mean, std, dmean, dstd = gp.predict_gradient(V)
    assert np.array_equal((mean, std), gp.predict(V))
    assert np.allclose(dmean, differences(lambda W: gp.predict(W)[0], V), atol=1e-6)
    assert np.allclose(dstd, differences(lambda W: gp.predict(W)[1], V), atol=1e-6)


def test_value_equations_are_exact_and_gradients_are_approached():
    U, y, g = problem()
    gp = MultiKernelGaussianProcess(KERNELS["paper"], length_scale=0.5)
    gp.fit(U, y, gradient=g)
    assert np.allclose(gp.predict(U)[0], y, atol=1e-3)
    plain = MultiKernelGaussianProcess([(RBF(), 1.0)], length_scale=0.5).fit(U, y)
    error = np.abs(gp.predict_gradient(U)[2] - g).mean()
    assert error < 0.3 * np.abs(plain.predict_gradient(U)[2] - g).mean()


def test_solution_is_that_of_the_stacked_equations():
    # Equations (3) and (4) of the paper solved as one weighted least squares problem.
    U, y, g = problem(6, 1)
    f = (y - y.mean()) / y.std()
    width, D = 0.25, U - U.T
    K1, K2 = np.exp(-0.5 * (D / width) ** 2), np.abs(D / width) ** 3
    dK1, dK2 = -K1 * D / width**2, 3 * np.abs(D / width) * D / width**2
    weight = 1e7
    M = np.block([[weight * (K1 + 1e-6 * np.eye(6)), weight * K2], [dK1, dK2]])
    rhs = np.concatenate([weight * f, g[:, 0] / y.std()])
    beta, alpha = np.split(np.linalg.lstsq(M, rhs, rcond=None)[0], 2)
    v = np.array([[0.33], [0.6]])
    k1, k2 = np.exp(-0.5 * ((v - U.T) / width) ** 2), np.abs((v - U.T) / width) ** 3
    expected = y.mean() + y.std() * (k1 @ beta + k2 @ alpha)
    gp = MultiKernelGaussianProcess().fit(U, y, gradient=g)
    assert np.allclose(gp.predict(v)[0], expected, atol=2e-3)


def test_missing_gradients_and_categories():
    U, y, g = problem()
    U, g = U.copy(), g.copy()
    U[:, 1] = np.where(U[:, 1] < 0.5, 0.25, 0.75)
    g[:, 1] = np.nan
    g[3, 0] = np.nan
    gp = MultiKernelGaussianProcess().fit(U, y, gradient=g, categorical=[False, True])
    dmean, dstd = gp.predict_gradient(U[:3])[2:]
    assert not dmean[:, 1].any()
    assert not dstd[:, 1].any()


def test_no_gradients_is_a_plain_gaussian_process():
    from accsmbo.surrogates import GaussianProcess, Hyperparameters

    U, y, _ = problem()
    gp = MultiKernelGaussianProcess(length_scale=0.5).fit(U, y)
    hyper = Hyperparameters(np.full(2, 0.5), noise=1e-6, amplitude=1.0)
    plain = GaussianProcess(RBF(), hyperparameters=hyper, mean_variance=0.0).fit(U, y)
    V = problem(4, seed=2)[0]
    assert np.allclose(gp.predict(V)[0], plain.predict(V)[0], atol=1e-6)
    ratio = gp.predict(V)[1] / plain.predict(V)[1]
    assert np.allclose(ratio, gp.amplitude_)


def test_variance_is_calibrated():
    U, y, g = problem(30)
    gp = MultiKernelGaussianProcess().fit(U, y, gradient=g)
    V, truth, _ = problem(200, seed=7)
    mean, std = gp.predict(V)
    z = (mean - truth) / std
    assert 0.1 < np.sqrt(np.mean(z**2)) < 3.0
    assert gp.length_scale_ in (0.25, 0.5, 1.0)


def test_condition_keeps_the_original():
    U, y, g = problem()
    gp = MultiKernelGaussianProcess().fit(U, y, gradient=g)
    V = problem(2, seed=5)[0]
    before = gp.predict(V)
    after = gp.condition(V, before[0]).predict(V)
    assert np.allclose(after[0], before[0], atol=1e-3)
    assert (after[1] < before[1]).all()
    assert np.array_equal(gp.predict(V), before)


@pytest.mark.parametrize("n", [1, 2])
def test_very_few_points(n):
    gp = MultiKernelGaussianProcess().fit(
        np.linspace(0.2, 0.8, n)[:, None], np.ones(n), gradient=np.ones((n, 1))
    )
    assert np.isfinite(gp.predict([[0.5]])).all()


def test_noise_frees_the_value_equations():
    U, y, _ = problem()
    exact = MultiKernelGaussianProcess(length_scale=0.5).fit(U, y)
    noisy = MultiKernelGaussianProcess(length_scale=0.5).fit(
        U, y, noise=np.full(12, 0.5)
    )
    assert np.abs(noisy.predict(U)[0] - y).max() > np.abs(exact.predict(U)[0] - y).max()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernels": []}, "kernels must hold at least one pair"),
        ({"length_scale": 0.0}, "length_scale must be positive, got 0.0"),
    ],
)
def test_wrong_settings(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiKernelGaussianProcess(**arguments).fit([[0.1], [0.2]], [1.0, 2.0])
