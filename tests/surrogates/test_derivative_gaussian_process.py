# SPDX-License-Identifier: BSD-3-Clause
"""DerivativeGaussianProcess: differences, formulas written out, contradictions."""

import numpy as np
import pytest

from accsmbo.surrogates import (
    DerivativeGaussianProcess,
    DerivativeHyperparameters,
    DerivativePriors,
)
from accsmbo.surrogates._joint_covariance import Derivatives, JointCovariance

CATEGORICAL = np.array([False, False, True])


def problem(n=9, seed=0):
    rng = np.random.default_rng(seed)
    U = rng.random((n, 3))
    U[:, 2] = (rng.integers(0, 3, n) + 0.5) / 3
    y = np.sin(3 * U[:, 0]) + U[:, 1] ** 2 + U[:, 2]
    g = np.c_[3 * np.cos(3 * U[:, 0]), 2 * U[:, 1], np.full(n, np.nan)]
    g[2] = np.nan
    g[4, 1] = np.nan
    for array in (U, y, g):
        array.setflags(write=False)
    return U, y, g


def differences(f, U, h=1e-6):
    d = U.shape[1]
    return np.stack([(f(U + h * e) - f(U - h * e)) / (2 * h) for e in np.eye(d)], -1)


def test_covariance_of_derivatives_is_the_derivative_of_the_covariance():
    U, _, g = problem()
    entries = Derivatives.known(g)
    lengths = np.array([0.4, 0.7, 1.3])

    def covariance(V):
        return JointCovariance(V, Derivatives.known(g), lengths, 2.0, CATEGORICAL)

    K, _ = covariance(U).matrix()
    n, h = len(U), 1e-4
    assert np.allclose(K, K.T)

    def moved(e, sign):
        V = U[entries.i[e]].copy()
        V[entries.j[e]] += sign * h
        return V[None, :]

    plain = JointCovariance(
        U, Derivatives(entries.i[:0], entries.j[:0]), lengths, 2.0, CATEGORICAL
    )
    for e in range(len(entries)):
        up, down = moved(e, 1.0), moved(e, -1.0)
        row = (plain.kernel(up) - plain.kernel(down))[0] / (2 * h)
        assert np.allclose(K[n + e, :n], row, atol=1e-6)
        joint = (covariance(U).cross(up) - covariance(U).cross(down))[0] / (2 * h)
        assert np.allclose(K[n + e], joint, atol=1e-5)


def test_likelihood_gradient_matches_central_differences():
    U, y, g = problem()
    gp = DerivativeGaussianProcess().fit(U, y, gradient=g, categorical=CATEGORICAL)
    priors = DerivativePriors().of(3)
    theta = np.log([0.5, 0.9, 1.5, 1.2, 0.03, 0.2])
    _, analytic = gp._data.penalised_likelihood(theta, priors)
    numeric = differences(
        lambda rows: np.array(gp._data.penalised_likelihood(rows[0], priors)[0]),
        theta[None, :],
    )
    assert np.allclose(analytic, numeric, rtol=1e-6, atol=1e-6)


def test_likelihood_is_the_normal_density_times_the_priors():
    from scipy.stats import multivariate_normal, norm

    U, y, g = problem()
    gp = DerivativeGaussianProcess().fit(U, y, gradient=g, categorical=CATEGORICAL)
    priors = DerivativePriors().of(3)

    def both(theta):
        hyper = DerivativeHyperparameters.unpack(theta)
        R = gp._data.covariance(hyper).matrix()[0]
        R = R + np.diag(gp._data.noise_variances(hyper))
        density = multivariate_normal(np.zeros(len(R)), R).logpdf(gp._data.t)
        prior = sum(
            norm(p.mean, p.sd).logpdf(v) for p, v in zip(priors, theta, strict=True)
        )
        return gp._data.penalised_likelihood(theta, priors)[0] + density + prior

    first = np.log([0.5, 0.9, 1.5, 1, 0.03, 0.2])
    second = np.log([0.3, 1, 1, 2, 0.1, 0.1])
    assert both(first) == pytest.approx(both(second), abs=1e-8)


@pytest.mark.parametrize("conditioned", [False, True])
def test_input_gradients_match_central_differences(conditioned):
    U, y, g = problem()
    gp = DerivativeGaussianProcess().fit(U, y, gradient=g, categorical=CATEGORICAL)
    V = problem(6, seed=1)[0]
    if conditioned:
        gp = gp.condition(V[:2], gp.predict(V[:2])[0])
        V = V[2:]
    mean, std, dmean, dstd = gp.predict_gradient(V)
    assert np.array_equal(mean, gp.predict(V)[0])
    assert np.allclose(std, gp.predict(V)[1])
    ordered = ~CATEGORICAL
    for analytic, part in ((dmean, 0), (dstd, 1)):
        numeric = differences(lambda W, part=part: gp.predict(W)[part], V)
        assert np.allclose(analytic[:, ordered], numeric[:, ordered], atol=1e-6)
        assert not analytic[:, ~ordered].any()


def test_posterior_is_the_textbook_formula():
    # d = 1, two values and one derivative, everything written out by hand.
    length, s, sn, sg = 0.3, 1.0, 0.01, 0.1
    U, y = np.array([[0.2], [0.7]]), np.array([1.0, -1.0])
    g = np.array([[np.nan], [0.5]])
    hyper = DerivativeHyperparameters(np.array([length]), s, sn, sg)
    gp = DerivativeGaussianProcess(hyperparameters=hyper).fit(U, y, gradient=g)

    def k(a, b):
        return np.exp(-0.5 * ((a - b) / length) ** 2)

    a, b, v = 0.2, 0.7, 0.45
    R = np.array(
        [
            [1 + sn**2, k(a, b), k(a, b) * (a - b) / length**2],
            [k(a, b), 1 + sn**2, 0.0],
            [k(a, b) * (a - b) / length**2, 0.0, 1 / length**2 + (sg * 0.5) ** 2],
        ]
    )
    c = np.array([k(v, a), k(v, b), k(v, b) * (v - b) / length**2])
    mean, std = gp.predict([[v]])  # median 0 and standard deviation 1
    assert mean[0] == pytest.approx(c @ np.linalg.solve(R, [1.0, -1.0, 0.5]))
    assert std[0] == pytest.approx(np.sqrt(1 - c @ np.linalg.solve(R, c)))


def test_gradients_sharpen_the_mean():
    U, y, g = problem(12)
    V, truth, _ = problem(40, seed=3)
    with_, without = (
        DerivativeGaussianProcess().fit(U, y, gradient=s, categorical=CATEGORICAL)
        for s in (g, None)
    )
    error_with = np.abs(with_.predict(V)[0] - truth).mean()
    assert error_with < 0.5 * np.abs(without.predict(V)[0] - truth).mean()


def test_contradicting_gradients_raise_their_noise_not_the_mean():
    U = np.linspace(0, 1, 9)[:, None]
    y = (U[:, 0] - 0.4) ** 2
    right, wrong = 2 * (U - 0.4), -2 * (U - 0.4)
    good = DerivativeGaussianProcess().fit(U, y, gradient=right)
    bad = DerivativeGaussianProcess().fit(U, y, gradient=wrong)
    noise = bad.hyperparameters_.gradient_noise
    assert noise > 5 * good.hyperparameters_.gradient_noise
    assert np.abs(bad.predict(U)[0] - y).max() < 0.05 * np.ptp(y)


def test_screening_drops_the_gradient_with_the_wrong_sign():
    U = np.linspace(0, 1, 9)[:, None]
    y, g = np.sin(5 * U[:, 0]), 5 * np.cos(5 * U)
    g[4] *= -1
    gp = DerivativeGaussianProcess(screening=True).fit(U, y, gradient=g)
    assert gp.n_derivatives_ == 8
    assert 4 not in gp._data.derivatives.i
    right = 5 * np.cos(5 * U)
    kept = DerivativeGaussianProcess(screening=True).fit(U, y, gradient=right)
    assert kept.n_derivatives_ == 9


def test_size_is_capped_by_leaving_out_the_gradients_of_the_worst():
    U, y, g = problem(20)
    gp = DerivativeGaussianProcess(max_size=46).fit(
        U, y, gradient=g, categorical=CATEGORICAL
    )
    assert len(gp._data.U) == 20
    assert 24 <= gp.n_derivatives_ <= 26
    assert np.argmin(y) in gp._data.derivatives.i
    assert set(gp._data.derivatives.i) <= set(np.argsort(y)[:15])


@pytest.mark.parametrize("y", [[3.0], [0.0], [2.0, 2.0]])
def test_equal_losses(y):
    U = np.linspace(0.2, 0.7, len(y))[:, None]
    gp = DerivativeGaussianProcess().fit(U, y, gradient=np.full(U.shape, -1.0))
    mean, std = gp.predict([[0.75]])
    assert np.isfinite([mean[0], std[0]]).all()
    assert gp.predict_gradient([[0.2]])[2][0, 0] < 0
    flat = DerivativeGaussianProcess().fit(U, y)
    assert np.allclose(flat.predict(U)[0], y)


def test_scale_of_the_losses_does_not_matter():
    U, y, g = problem()
    V = problem(5, seed=2)[0]
    base, scaled = (
        DerivativeGaussianProcess().fit(
            U, a * y + 7, gradient=a * g, categorical=CATEGORICAL
        )
        for a in (1.0, 1e6)
    )
    assert np.allclose((scaled.predict(V)[0] - 7) / 1e6, base.predict(V)[0] - 7, 1e-4)


def test_condition_keeps_the_original():
    U, y, g = problem()
    gp = DerivativeGaussianProcess().fit(U, y, gradient=g, categorical=CATEGORICAL)
    V = problem(5, seed=5)[0]
    before = gp.predict(V)
    after = gp.condition(V, before[0]).predict(V)
    assert np.allclose(after[0], before[0], atol=1e-8)
    assert (after[1] < before[1]).all()
    assert np.array_equal(gp.predict(V), before)


def test_warm_start_is_no_worse():
    U, y, g = problem(12)
    gp = DerivativeGaussianProcess(warm_start=True)
    for n in (7, 8, 9, 10, 11, 12):  # the last of them starts afresh as well
        gp.fit(U[:n], y[:n], gradient=g[:n], categorical=CATEGORICAL)
    cold = DerivativeGaussianProcess().fit(U, y, gradient=g, categorical=CATEGORICAL)
    assert gp.log_likelihood_ >= cold.log_likelihood_ - 1e-6


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (
            np.zeros((4, 1)),
            r"gradient must have the shape of U, \(2, 1\), got \(4, 1\)",
        ),
        ([[np.inf], [0.0]], "gradient must be finite or NaN, got infinity"),
    ],
)
def test_wrong_gradients(gradient, message):
    with pytest.raises(ValueError, match=message):
        DerivativeGaussianProcess().fit([[0.1], [0.2]], [1.0, 2.0], gradient=gradient)


def test_gradient_along_a_category_is_refused():
    with pytest.raises(ValueError, match="must be NaN along unordered choices"):
        DerivativeGaussianProcess().fit(
            [[0.25], [0.75]], [1.0, 2.0], gradient=[[1.0], [np.nan]], categorical=[True]
        )
