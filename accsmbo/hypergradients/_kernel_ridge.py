# SPDX-License-Identifier: BSD-3-Clause
"""Kernel ridge regression: alpha, gamma and coef0, in closed form.

A = S^(1/2) K S^(1/2) + alpha I     (n, n)   S = diag(sample weights)
c = A^-1 S^(1/2) y                  (n,), (n, k)
f = K(V, X) S^(1/2) c
"""

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.kernel_ridge import KernelRidge

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

__all__ = ["KernelRidgeProblem"]


class KernelRidgeProblem(InnerProblem):
    """Inner problem of :class:`sklearn.kernel_ridge.KernelRidge`.

    The coefficients have a closed form, so the score and its derivatives by ``alpha``,
    ``gamma`` and ``coef0`` are exact whatever tolerance is asked for: one Cholesky
    factorisation of an n x n matrix serves the fit and the adjoint. Kernels given as a
    callable, and ``gamma=None``, leave ``alpha`` alone to be differentiated by, and
    ``coef0`` where the kernel has it.

    Parameters
    ----------
    estimator : KernelRidge
        Carries the settings.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training rows.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Training targets.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of the training rows.

    See Also
    --------
    SVRProblem : Sparse in the training rows.
    GaussianProcessProblem : The same predictions, kernels as objects.

    Notes
    -----
    With ``A = S^(1/2) K S^(1/2) + alpha I``, S the sample weights, ``A c = S^(1/2) y``
    and the adjoint ``A q = dG/dc``: ``df/dalpha = -q.c``, and by a kernel parameter
    ``dG/dK(V, X) . dK(V, X)/dlam S^(1/2) c - q . S^(1/2) dK/dlam S^(1/2) c``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> from accsmbo.hypergradients import hypergradient
    >>> X, y = load_diabetes(return_X_y=True)
    >>> params = {"alpha": 0.1, "gamma": 1.0}
    >>> score, gradient = hypergradient(
    ...     KernelRidge(kernel="rbf"), params, X, y, cv=5, log_scale=params)
    >>> max(gradient, key=gradient.get)  # what to raise for a better R2
    'gamma'
    """

    gradient_cost = 0.8
    settings = words("alpha coef0 degree gamma kernel kernel_params")

    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return alpha and the kernel's numeric parameters."""
        if np.ndim(estimator.alpha):
            raise NotDifferentiableError(
                "KernelRidge has gradients for one alpha for all targets, got "
                f"{estimator.alpha!r}. Give a number."
            )
        return ("alpha", *kernel_hyperparameters(estimator))

    def __init__(
        self, estimator: Any, X: Any, y: Array, sample_weight: Array | None = None
    ) -> None:
        weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        self.X, self.root = X, np.sqrt(weight)
        self.target = _rows(self.root, np.asarray(y, float))

    def solve(
        self, estimator: Any, *, tolerance: float, start: Array | None = None
    ) -> Solution:
        """Solve the regularised system exactly."""
        K, derivatives = self._kernel(estimator, self.X)
        A = self.root[:, None] * K * self.root
        A[np.diag_indices(len(A))] += float(estimator.alpha)
        factor = _factor(A)
        c = factor(self.target)
        state = {"factor": factor, "derivatives": derivatives, "estimator": estimator}
        return Solution(c, np.zeros_like(c), state)

    def _kernel(self, estimator: Any, rows: Any) -> tuple[Array, dict[str, Array]]:
        return kernel_and_derivatives(estimator, rows, self.X, estimator.gamma)

    def outputs(self, solution: Solution, X: Any) -> Array:
        """Return ``K(V, X) S^(1/2) c``."""
        K, derivatives = self._kernel(solution.state["estimator"], X)
        solution.state["validation"] = (K, derivatives)
        return np.asarray(K @ _rows(self.root, solution.w))

    def outputs_vjp(
        self, solution: Solution, X: Any, cotangent: Array
    ) -> tuple[Array, dict[str, float]]:
        """Return ``S^(1/2) K(X, V) cotangent`` and the kernel's own derivatives."""
        K, derivatives = solution.state["validation"]
        dual = _rows(self.root, solution.w)
        direct = {n: inner(cotangent, dK @ dual) for n, dK in derivatives.items()}
        return _rows(self.root, K.T @ cotangent), direct

    def adjoint(
        self,
        solution: Solution,
        rhs: Array,
        *,
        tolerance: float,
        start: Array | None = None,
    ) -> Array:
        """Solve ``A q = rhs`` with the factor at hand."""
        return np.asarray(solution.state["factor"](rhs))

    def cross_product(self, solution: Solution, q: Array) -> dict[str, float]:
        """Return ``q . c`` for alpha, ``q . S^(1/2) dK S^(1/2) c`` for the kernel."""
        left, right = _rows(self.root, q), _rows(self.root, solution.w)
        result = {
            name: inner(left, dK @ right)
            for name, dK in solution.state["derivatives"].items()
        }
        return {"alpha": inner(q, solution.w), **result}

    def fitted_attributes(self, solution: Solution) -> dict[str, Any]:
        """Return the dual coefficients."""
        return {
            "dual_coef_": _rows(self.root, solution.w),
            "X_fit_": self.X,
            "n_features_in_": self.X.shape[1],
        }


def _rows(scale: Array, value: Array) -> Array:
    return scale * value if value.ndim == 1 else scale[:, None] * value


def _factor(A: Array) -> Any:
    """Return a solver; least squares where A is not positive definite."""
    try:
        cholesky = linalg.cho_factor(A, lower=True)
    except linalg.LinAlgError:
        inverse = linalg.pinvh(A)
        return lambda b: inverse @ b
    return lambda b: linalg.cho_solve(cholesky, b)


register_inner_problem(KernelRidge, KernelRidgeProblem)
