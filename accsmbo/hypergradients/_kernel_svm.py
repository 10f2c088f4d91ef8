# SPDX-License-Identifier: BSD-3-Clause
"""Kernel support vector machines through their dual: C, gamma, coef0, epsilon.

beta  (n,)      signed dual coefficients, f(v) = sum_j beta_j k(v, x_j) + b
F, B            free (0 < |beta| < C_i) and bounded (|beta| = C_i) support vectors
C_i = C s_i     s_i: sample weight times class weight
On F the outputs equal their targets t (y for a classifier, y - epsilon sign(beta) for
a regressor), so that z = (beta_F, b) solves

    [K_FF 1; 1' 0] z = [t - K_FB beta_B; -sum beta_B].

This holds around lam as long as F and B do not change (Chapelle et al. 2002). Where
no free support vector fixes b, or the system is singular, or a vector sits on the
border between two sets, the gradient is unknown and comes back as NaN.
"""

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import clone
from sklearn.svm import SVC, SVR

from accsmbo.hypergradients._inner_problem import (
    Array,
    InnerProblem,
    NotDifferentiableError,
    Solution,
    inner,
    words,
)
from accsmbo.hypergradients._kernel_derivatives import (
    kernel_and_derivatives,
    kernel_hyperparameters,
)
from accsmbo.hypergradients._registry import register_inner_problem
from accsmbo.hypergradients._targets import class_weights, encode_classes, signs

__all__ = ["SVCProblem", "SVRProblem"]

LIBSVM_TOLERANCE = 1e-8
BORDER = 1e-7  # of the bound: closer is on it
# How far coefficients of libsvm may be from those of its sets, over the largest one:
# farther, the sets are not those of the solution. At its tightest, and at any tol.
MOVED, LOOSELY_MOVED = 1e-3, 0.1


class SVRProblem(InnerProblem):
    """Inner problem of :class:`sklearn.svm.SVR`.

    Libsvm finds which training rows are free and which bounded support vectors. As long
    as these sets stay the same, the solution is a smooth function of C, epsilon and the
    kernel's ``gamma`` and ``coef0``; it is differentiated there. Where a vector sits on
    the border of two sets, or none is free, the gradient is NaN, which a search takes
    for unknown. The kernel may be "rbf", "linear" or "poly".

    Parameters
    ----------
    estimator : SVR
        Carries the settings.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training rows.
    y : ndarray of shape (n_samples,)
        Training targets.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of the training rows.

    See Also
    --------
    SVCProblem : For classification.
    KernelRidgeProblem : The squared error: smooth everywhere, not sparse.
    LinearSVRProblem : For many rows, without a kernel.

    Notes
    -----
    At the free vectors F the outputs are on the edge of the tube, so that their
    coefficients and the intercept, ``z = (beta_F, b)``, solve
    ``[K_FF 1; 1' 0] z = [t - K_FB beta_B; -sum beta_B]`` with
    ``t = y - epsilon sign(beta)`` and B the bounded ones. The adjoint solves the same
    system; what depends on C, epsilon and the kernel is differentiated on both sides
    ([1]_ for classification).

    References
    ----------
    .. [1] O. Chapelle, V. Vapnik, O. Bousquet and S. Mukherjee, Choosing Multiple
       Parameters for Support Vector Machines, Machine Learning 46, 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.svm import SVR
    >>> from accsmbo.hypergradients import hypergradient
    >>> X, y = load_diabetes(return_X_y=True)
    >>> params = {"C": 100.0, "gamma": 1.0, "epsilon": 5.0}
    >>> score, gradient = hypergradient(SVR(), params, X[:200], y[:200], cv=4)
    >>> {name: bool(slope > 0) for name, slope in gradient.items()}
    {'C': True, 'gamma': True, 'epsilon': True}
    """

    own_names: tuple[str, ...] = ("C", "epsilon")

    settings = words(
        "C break_ties cache_size class_weight coef0 decision_function_shape "
        "degree epsilon gamma kernel max_iter probability random_state shrinking "
        "tol verbose"
    )

    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return C, epsilon of a regressor, and the kernel's numeric parameters."""
        if estimator.kernel not in ("rbf", "linear", "poly"):
            raise NotDifferentiableError(
                f"{type(estimator).__name__} has gradients with kernel='rbf', 'linear' "
                f"or 'poly', got {estimator.kernel!r}. Use one of them."
            )
        return (*cls.own_names, *kernel_hyperparameters(estimator))

    def __init__(
        self, estimator: Any, X: Any, y: Array, sample_weight: Array | None = None
    ) -> None:
        self.X, self.y = X, y
        self.sample_weight = sample_weight
        self.weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        self.target = np.asarray(y, float)

    def solve(
        self, estimator: Any, *, tolerance: float, start: Array | None = None
    ) -> Solution:
        """Let libsvm find the sets, then solve for z exactly."""
        fitted = clone(estimator).set_params(tol=min(tolerance, LIBSVM_TOLERANCE))
        fitted.fit(self.X, self.y, sample_weight=self.sample_weight)
        return self._read(fitted, MOVED)

    def solution_of(self, fitted: Any, *, tolerance: float) -> Solution:
        """Read the sets from a fitted machine, then solve for z exactly."""
        return self._read(fitted, LOOSELY_MOVED)

    def _read(self, estimator: Any, moved: float) -> Solution:
        """Return the solution whose sets a fitted machine has found."""
        beta = np.zeros(self.X.shape[0])
        beta[estimator.support_] = np.asarray(_dense(estimator.dual_coef_)).ravel()
        gamma = estimator._gamma  # the number behind "scale" and "auto"
        K, derivatives = kernel_and_derivatives(estimator, self.X, self.X, gamma)
        bound = float(estimator.C) * self.weight
        free = (np.abs(beta) > BORDER * bound) & (np.abs(beta) < (1 - BORDER) * bound)
        bounded = (np.abs(beta) > 0) & ~free & (np.abs(beta) > 0.5 * bound)
        beta = np.where(bounded, np.sign(beta) * bound, np.where(free, beta, 0.0))
        state = {
            "free": free,
            "bounded": bounded,
            "derivatives": derivatives,
            "estimator": estimator,
            "gamma": gamma,
        }
        z = self._solve_free(K, beta, free, bounded, moved, state)
        if z is None:
            state["factor"] = None
            z = np.append(beta[free], float(estimator.intercept_[0]))
        state["beta"] = np.where(free, 0.0, beta)
        state["beta"][free] = z[:-1]
        return Solution(z, np.zeros_like(z), state)

    def _target(self, beta: Array, estimator: Any) -> Array:
        return self.target - float(estimator.epsilon) * np.sign(beta)

    def _solve_free(
        self,
        K: Array,
        beta: Array,
        free: Array,
        bounded: Array,
        moved: float,
        state: dict[str, Any],
    ) -> Array | None:
        """Return z, or None where it is not a differentiable function of lam."""
        n_free = int(free.sum())
        if not n_free:
            return None
        M = np.ones((n_free + 1, n_free + 1))
        M[:-1, :-1], M[-1, -1] = K[np.ix_(free, free)], 0.0
        rhs = (
            self._target(beta, state["estimator"])[free]
            - K[free][:, bounded] @ beta[bounded]
        )
        rhs = np.append(rhs, -beta[bounded].sum())
        if np.linalg.cond(M) > 1e12:
            return None
        state["factor"] = linalg.lu_factor(M)
        z = linalg.lu_solve(state["factor"], rhs)
        gap = np.abs(z[:-1] - beta[free])
        return None if gap.max() > moved * np.abs(beta[free]).max() else np.asarray(z)

    def outputs(self, solution: Solution, X: Any) -> Array:
        """Return the decision values or predictions."""
        state = solution.state
        K, derivatives = kernel_and_derivatives(
            state["estimator"], X, self.X, state["gamma"]
        )
        state["validation"] = (K, derivatives)
        return np.asarray(K @ state["beta"] + solution.w[-1])

    def outputs_vjp(
        self, solution: Solution, X: Any, cotangent: Array
    ) -> tuple[Array, dict[str, float]]:
        """Return the derivative by z, and the direct ones by C and the kernel."""
        state = solution.state
        K, derivatives = state["validation"]
        back = K.T @ cotangent
        direct = {
            n: inner(cotangent, dK @ state["beta"]) for n, dK in derivatives.items()
        }
        direct["C"] = inner(back, self._bound_derivative(state))
        return np.append(back[state["free"]], cotangent.sum()), direct

    def _bound_derivative(self, state: dict[str, Any]) -> Array:
        """Return d beta / d C of the bounded support vectors, zero elsewhere."""
        return np.asarray(state["bounded"] * np.sign(state["beta"]) * self.weight)

    def adjoint(
        self,
        solution: Solution,
        rhs: Array,
        *,
        tolerance: float,
        start: Array | None = None,
    ) -> Array:
        """Solve the bordered system; NaN where there is none."""
        factor = solution.state["factor"]
        if factor is None:
            return np.full_like(rhs, np.nan)
        return np.asarray(linalg.lu_solve(factor, rhs))

    def cross_product(self, solution: Solution, q: Array) -> dict[str, float]:
        """Return q times the derivative of the bordered system by each name."""
        state, free = solution.state, solution.state["free"]
        spread = np.zeros(len(self.weight))
        spread[free] = q[:-1]
        result = {
            n: inner(spread, dK @ state["beta"])
            for n, dK in state["derivatives"].items()
        }
        change = self._bound_derivative(state)
        K, _ = kernel_and_derivatives(
            state["estimator"], self.X, self.X, state["gamma"]
        )
        result["C"] = inner(spread, K @ change) + q[-1] * change.sum()
        if "epsilon" in self.own_names:
            result["epsilon"] = inner(spread, np.sign(state["beta"]))
        return result


class SVCProblem(SVRProblem):
    """Inner problem of a two-class :class:`sklearn.svm.SVC`.

    C and the kernel's ``gamma`` and ``coef0`` are tuned by a hinge loss of the decision
    values (the probabilities of ``SVC`` come from a cross-validation of their own and
    have no gradient). ``gamma`` must be a number: "scale" and "auto" follow the data.

    Parameters
    ----------
    estimator : SVC
        Carries the settings.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training rows.
    y : ndarray of shape (n_samples,)
        Class labels, two of them.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of the rows.

    Raises
    ------
    NotDifferentiableError
        If there are more than two classes.

    See Also
    --------
    SVRProblem : For regression; what its Notes say holds here with ``t = y``.
    LinearSVCProblem : Any number of classes, without a kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import make_scorer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn.svm import SVC
    >>> from accsmbo.hypergradients import hypergradient, squared_hinge_loss
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> metric = make_scorer(squared_hinge_loss, greater_is_better=False,
    ...                      response_method="decision_function")
    >>> params = {"C": 1.0, "gamma": 0.2}
    >>> _, gradient = hypergradient(SVC(), params, scale(X), y, cv=3, scoring=metric)
    >>> bool(gradient["gamma"] < 0)  # a wider kernel is better
    True
    """

    link = "margin"
    own_names = ("C",)

    def __init__(
        self, estimator: Any, X: Any, y: Array, sample_weight: Array | None = None
    ) -> None:
        self.classes, index = encode_classes(y)
        if len(self.classes) > 2:
            raise NotDifferentiableError(
                "SVC has gradients for two classes only, got "
                f"{len(self.classes)}. Use LinearSVC or tune it by values."
            )
        super().__init__(estimator, X, index, sample_weight)
        self.y = y
        per_class = class_weights(estimator.class_weight, self.classes, y, None)
        self.weight = self.weight * per_class[index]
        self.target = signs(index)

    def _target(self, beta: Array, estimator: Any) -> Array:
        return self.target


def _dense(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value


register_inner_problem(SVC, SVCProblem)
register_inner_problem(SVR, SVRProblem)
