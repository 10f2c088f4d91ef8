# SPDX-License-Identifier: BSD-3-Clause
"""Perceptrons: exact Hessian products, and a gradient right to its docstring's word."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.datasets import make_classification
from sklearn.neural_network import MLPClassifier, MLPRegressor

from accsmbo.hypergradients import (
    FoldHypergradient,
    MultilayerPerceptronProblem,
    NotDifferentiableError,
    outer_loss,
)

rng = np.random.default_rng(0)
X, Y2 = make_classification(80, 5, n_informative=4, n_redundant=0, random_state=0)
Y3 = make_classification(
    80, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0
)[1]
YR = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(80)
WEIGHT = rng.random(80) + 0.5
SETTINGS = {
    "solver": "lbfgs",
    "max_iter": 50_000,
    "max_fun": 500_000,
    "tol": 1e-12,
    "random_state": 0,
}
CASES = [
    (MLPClassifier, Y2, "neg_log_loss"),
    (MLPClassifier, Y3, "neg_log_loss"),
    (MLPRegressor, YR, "neg_mean_squared_error"),
]


def weight_for(model):
    # scikit-learn before 1.7 takes no weights here
    return WEIGHT if "sample_weight" in model.fit.__code__.co_varnames else None


def objective(problem, state, v, alpha):
    """Return L and its gradient at the weights v."""
    network = state["network"]
    network.weights, network.biases = network.unpack(v)
    forward = network.forward(problem.X)
    f, t, s = forward[-1], problem.target, problem.weight
    if problem.link == "identity":
        loss = np.sum(s * (f - t) ** 2) / 2
    elif problem.link == "logit":
        loss = np.sum(s * (np.logaddexp(0, f) - t * f))
    else:
        loss = np.sum(s[:, 0] * (logsumexp(f, axis=1) - np.sum(t * f, axis=1)))
    gradient = network.backward(forward, problem._slope(f))
    penalised = network.penalised(v)
    return loss + alpha * penalised @ penalised / 2, gradient + alpha * penalised


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize(("kind", "y", "scoring"), CASES)
def test_gradient_and_hessian_products(kind, y, scoring, activation):
    model = kind(
        hidden_layer_sizes=(4, 3), activation=activation, alpha=5.0, **SETTINGS
    )
    model.set_params(tol=1.0)
    problem = MultilayerPerceptronProblem(model, X, y, WEIGHT)
    problem.sample_weight = None  # any weights of the network will do here
    state = problem.solve(model, tolerance=1.0).state
    w = rng.standard_normal(len(state["network"].pack(*vars_of(state))))
    v, h = rng.standard_normal(len(w)), 1e-6
    plus, minus = (objective(problem, state, w + s * h * v, 5.0) for s in (1, -1))
    _, gradient = objective(problem, state, w, 5.0)
    assert gradient @ v == pytest.approx((plus[0] - minus[0]) / (2 * h), rel=1e-5)
    state["forward"] = state["network"].forward(X)
    product = problem._product(state, gauss_newton=False)(v)
    expected = (plus[1] - minus[1]) / (2 * h)
    np.testing.assert_allclose(product, expected, atol=1e-5 * np.abs(expected).max())
    gauss_newton = problem._product(state, gauss_newton=True)
    assert v @ gauss_newton(v) > 0


def vars_of(state):
    return state["network"].weights, state["network"].biases


@pytest.mark.parametrize(("kind", "y", "scoring"), CASES)
def test_gradient_is_that_of_the_minimum(kind, y, scoring):
    alpha, train, test = 3.0, np.arange(55), np.arange(55, 80)
    model = kind(hidden_layer_sizes=(4,), activation="tanh", alpha=alpha, **SETTINGS)
    fold = FoldHypergradient(model, X, y, train, test, names=["alpha"], scoring=scoring)
    result = fold({"alpha": alpha})
    assert result.approximate
    problem = MultilayerPerceptronProblem(model, X[train], y[train])
    solution = problem.solve(model, tolerance=1.0)

    def polished(alpha, start):
        options = {"ftol": 1e-16, "gtol": 1e-9, "maxiter": 20_000, "maxfun": 50_000}
        for _ in range(2):
            start = minimize(
                lambda v: objective(problem, solution.state, v, alpha),
                start,
                jac=True,
                method="L-BFGS-B",
                options=options,
            ).x
        objective(problem, solution.state, start, alpha)  # leaves the weights set
        raw = problem.outputs(solution, X[test])
        return start, outer_loss(scoring, model)(problem.link, raw, y[test])[0]

    base, loss = polished(alpha, solution.w.copy())
    assert result.loss == pytest.approx(loss, rel=1e-2)
    plus, minus = (polished(alpha * (1 + s * 1e-3), base)[1] for s in (1, -1))
    expected = (plus - minus) / (2e-3 * alpha)
    assert result.gradient["alpha"] == pytest.approx(expected, rel=0.05)


def test_stochastic_solvers_add_the_penalty_to_each_batch():
    model = MLPClassifier((3,), max_iter=2_000, batch_size=20, random_state=0)
    problem = MultilayerPerceptronProblem(model, X, Y2)
    assert problem._penalty_factor(model) == 4.0
    assert problem._penalty_factor(model.set_params(batch_size="auto")) == 1.0


def test_only_the_squared_error():
    model = MLPRegressor()
    model.loss = "poisson"
    with pytest.raises(NotDifferentiableError, match="loss='squared_error' only"):
        MultilayerPerceptronProblem.hyperparameters(model)
