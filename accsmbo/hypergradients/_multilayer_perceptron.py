# SPDX-License-Identifier: BSD-3-Clause
"""Multi-layer perceptrons: alpha, approximately.

``L = sum_i s_i loss_i + kappa alpha |W|^2 / 2``; kappa is 1 for lbfgs, and samples over
batch size for the stochastic solvers, which add the whole penalty to each batch.
"""

import inspect
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone, is_classifier
from sklearn.neural_network import MLPClassifier, MLPRegressor

from accsmbo.hypergradients._conjugate_gradient import conjugate_gradient
from accsmbo.hypergradients._inner_problem import (
    Array,
    InnerProblem,
    NotDifferentiableError,
    Solution,
    inner,
    words,
)
from accsmbo.hypergradients._network import Network
from accsmbo.hypergradients._registry import register_inner_problem
from accsmbo.hypergradients._targets import encode_classes, one_hot

__all__ = ["MultilayerPerceptronProblem"]

DAMPING = 1e-6  # of the largest curvature met; keeps flat directions in check
MAX_PRODUCTS = 300


class MultilayerPerceptronProblem(InnerProblem):
    """Inner problem of scikit-learn's multi-layer perceptrons.

    The estimator is fitted by its own solver, so the score is exactly its own. The
    gradient is that of the local minimum the fit would reach if it went on. For
    ``solver="lbfgs"`` with a smooth activation and a small ``tol`` it agrees with
    differences of that minimum to 5 % (measured: 20 of 24 networks, the others to
    60 %, as scikit-learn's lbfgs stops early); with relu, or a stochastic solver, it
    is a direction only. Where the Hessian has negative curvature, the Gauss-Newton
    matrix takes its place.

    Parameters
    ----------
    estimator : MLPClassifier or MLPRegressor
        Carries the settings.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training rows.
    y : ndarray of shape (n_samples,)
        Training targets.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of the training rows (scikit-learn >= 1.7).

    See Also
    --------
    LogisticRegressionProblem : The network without a hidden layer, exact.
    accsmbo.ensembles.SelfTuningClassifier : A network that tunes itself in training.

    Notes
    -----
    The Hessian is seen through products only, by the R-operator [1]_, and the adjoint
    solved by conjugate gradients on ``H + 1e-6 |H| I``. Fits start from the
    estimator's own weights, never from an earlier fit, and their loss is not corrected.
    ``df/dalpha = -kappa q.W`` over the weights without the biases, with kappa = 1 for
    lbfgs and the number of samples over the batch size for the others.

    References
    ----------
    .. [1] B. A. Pearlmutter, Fast Exact Multiplication by the Hessian, Neural
       Computation 6, 1994.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.neural_network import MLPClassifier
    >>> from sklearn.preprocessing import scale
    >>> from accsmbo.hypergradients import hypergradient
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MLPClassifier(5, activation="tanh", solver="lbfgs", random_state=0)
    >>> _, gradient = hypergradient(
    ...     model, {"alpha": 50.0}, scale(X), y, cv=3, scoring="neg_log_loss")
    >>> bool(gradient["alpha"] < 0)  # far too much weight decay
    True
    """

    approximate = True

    gradient_cost = 0.3
    settings = words(
        "activation alpha batch_size beta_1 beta_2 early_stopping epsilon "
        "hidden_layer_sizes learning_rate learning_rate_init loss max_fun "
        "max_iter momentum n_iter_no_change nesterovs_momentum power_t "
        "random_state shuffle solver tol validation_fraction verbose warm_start"
    )

    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return alpha."""
        if getattr(estimator, "loss", "squared_error") not in (
            "squared_error",
            "log_loss",
        ):
            raise NotDifferentiableError(
                "MLPRegressor has gradients with loss='squared_error' only, got "
                f"{estimator.loss!r}. Use the squared error."
            )
        return ("alpha",)

    def __init__(
        self, estimator: Any, X: Any, y: Array, sample_weight: Array | None = None
    ) -> None:
        self.X, self.y, self.sample_weight = X, y, sample_weight
        weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        self.weight = weight[:, None]
        if not is_classifier(estimator):
            self.target = np.asarray(y, float).reshape(len(y), -1)
        else:
            self.classes, index = encode_classes(y)
            many = len(self.classes) > 2
            self.link = "softmax" if many else "logit"
            self.target = (
                one_hot(index, len(self.classes)) if many else index[:, None] * 1.0
            )

    def solve(
        self, estimator: Any, *, tolerance: float, start: Array | None = None
    ) -> Solution:
        """Fit the estimator by its own solver."""
        fitted = clone(estimator)
        extra = {}
        if self.sample_weight is not None:
            if "sample_weight" not in inspect.signature(fitted.fit).parameters:
                raise ValueError(
                    f"{type(estimator).__name__} takes sample_weight from "
                    "scikit-learn 1.7 on. Upgrade it or leave sample_weight out."
                )
            extra["sample_weight"] = self.sample_weight
        fitted.fit(self.X, self.y, **extra)
        return self.solution_of(fitted, tolerance=tolerance)

    def solution_of(self, fitted: Any, *, tolerance: float) -> Solution:
        """Return the weights of a fitted network."""
        network = Network(fitted)
        kappa, forward = self._penalty_factor(fitted), network.forward(self.X)
        strength = kappa * float(fitted.alpha)
        w = network.pack(network.weights, network.biases)
        gradient = network.backward(forward, self._slope(forward[-1]))
        gradient = gradient + strength * network.penalised(w)
        state = {
            "network": network,
            "kappa": kappa,
            "strength": strength,
            "forward": forward,
            "fitted": fitted,
        }
        return Solution(w, gradient, state)

    def _penalty_factor(self, estimator: Any) -> float:
        if estimator.solver == "lbfgs":
            return 1.0
        n = self.X.shape[0]
        batch = estimator.batch_size
        return float(n / (min(200, n) if batch == "auto" else min(batch, n)))

    def _response(self, f: Array) -> Array:
        if self.link == "softmax":
            return np.asarray(softmax(f, axis=1))
        return np.asarray(expit(f)) if self.link == "logit" else f

    def _slope(self, f: Array) -> Array:
        return np.asarray(self.weight * (self._response(f) - self.target))

    def _bend(self, f: Array, u: Array) -> Array:
        """Return the second derivative of the loss by the outputs, times u."""
        p = self._response(f)
        if self.link == "softmax":
            return np.asarray(
                self.weight * p * (u - (p * u).sum(axis=1, keepdims=True))
            )
        return np.asarray(
            self.weight * (p * (1 - p) if self.link == "logit" else 1) * u
        )

    def outputs(self, solution: Solution, X: Any) -> Array:
        """Return the values before the output activation."""
        forward = solution.state["network"].forward(X)
        solution.state["validation"] = forward
        f: Array = forward[-1]
        return f[:, 0] if f.shape[1] == 1 else f

    def outputs_vjp(
        self, solution: Solution, X: Any, cotangent: Array
    ) -> tuple[Array, dict[str, float]]:
        """Back-propagate the cotangent through the validation rows."""
        forward = solution.state["validation"]
        cotangent = cotangent.reshape(len(cotangent), -1)
        return solution.state["network"].backward(forward, cotangent), {}

    def adjoint(
        self,
        solution: Solution,
        rhs: Array,
        *,
        tolerance: float,
        start: Array | None = None,
    ) -> Array:
        """Solve the damped system by CG, with Gauss-Newton as the way out."""
        for gauss_newton in (False, True):
            product = self._product(solution.state, gauss_newton=gauss_newton)
            largest = _largest_curvature(product, rhs)
            damping = DAMPING * largest

            def damped(
                v: Array, product: Any = product, damping: float = damping
            ) -> tuple[Array, Array]:
                image = product(v) + damping * v
                return image, image

            q, _, residual = conjugate_gradient(
                damped,
                rhs,
                preconditioner=np.ones_like(rhs),
                rtol=max(tolerance, 1e-6),
                max_iter=MAX_PRODUCTS,
            )
            if inner(q, rhs) > 0 and residual < 0.1:
                break
        return q

    def _product(self, state: dict[str, Any], *, gauss_newton: bool) -> Any:
        network, forward = state["network"], state["forward"]
        slope = None if gauss_newton else self._slope(forward[-1])

        def product(v: Array) -> Array:
            tangents = network.tangents(forward, v)
            bent = self._bend(forward[-1], tangents[-1])
            result = network.backward(forward, bent, slope, tangents, v)
            return np.asarray(result + state["strength"] * network.penalised(v))

        return product

    def cross_product(self, solution: Solution, q: Array) -> dict[str, float]:
        """Return ``kappa q . W`` (the biases are not penalised)."""
        state = solution.state
        penalised = state["network"].penalised(solution.w)
        return {"alpha": state["kappa"] * inner(q, penalised)}

    def fitted_attributes(self, solution: Solution) -> dict[str, Any]:
        """Return all attributes of the fitted network."""
        fitted = solution.state["fitted"]
        own = set(fitted.get_params())
        return {k: v for k, v in vars(fitted).items() if k not in own}


def _largest_curvature(product: Any, start: Array) -> float:
    v = start / np.linalg.norm(start)
    value = 1.0
    for _ in range(8):
        image = product(v)
        value = float(np.linalg.norm(image))
        if value == 0:
            return 1.0
        v = image / value
    return value


for _network in (MLPClassifier, MLPRegressor):
    register_inner_problem(_network, MultilayerPerceptronProblem)
