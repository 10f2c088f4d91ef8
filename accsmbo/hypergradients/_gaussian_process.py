# SPDX-License-Identifier: BSD-3-Clause
"""Gaussian process regression with fixed kernels: alpha and the kernel's parameters.

A = K + alpha I    (n, n);   c = A^-1 (y - mean) / scale;   f = scale K(V, X) c + mean
"""

import numbers
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from accsmbo.hypergradients._inner_problem import (
    Array,
    InnerProblem,
    NotDifferentiableError,
    Solution,
    inner,
    words,
)
from accsmbo.hypergradients._registry import register_inner_problem

__all__ = ["GaussianProcessProblem"]


class GaussianProcessProblem(InnerProblem):
    """Inner problem of a Gaussian process regressor with ``optimizer=None``.

    ``fit`` with an optimizer of its own maximises the marginal likelihood, which says
    how well the prior explains the training rows. Here the kernel's parameters and the
    noise ``alpha`` are tuned by the score of the validation rows instead, as those of
    any other model are, and the two can be compared. Scalars of the kernel that are not
    "fixed" are differentiated; an array of length scales is not.

    Parameters
    ----------
    estimator : GaussianProcessRegressor
        Carries the settings.
    X : ndarray of shape (n_samples, n_features)
        Training rows.
    y : ndarray of shape (n_samples,)
        Training targets.
    sample_weight : None
        Gaussian processes take none.

    See Also
    --------
    KernelRidgeProblem : The same predictions, kernels given by name.
    accsmbo.surrogates.GaussianProcess : The model that a search uses of its losses.

    Notes
    -----
    The mean at rows V is ``K(V, X) c`` with ``A = K + alpha I`` and ``A c = y`` ([1]_,
    equation 2.25); ``normalize_y`` is undone. With q from ``A q = dG/dc``,
    ``dG/dlam = dG/dK(V, X) . dK(V, X)/dlam - q . (dA/dlam) c``. One Cholesky
    factorisation serves the fit and all derivatives.

    References
    ----------
    .. [1] C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine
       Learning, MIT Press, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from accsmbo.hypergradients import hypergradient
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GaussianProcessRegressor(RBF(), optimizer=None, normalize_y=True)
    >>> params = {"alpha": 0.01, "kernel__length_scale": 0.5}
    >>> score, gradient = hypergradient(model, params, X[:200], y[:200], cv=4)
    >>> {name: bool(slope > 0) for name, slope in gradient.items()}
    {'alpha': True, 'kernel__length_scale': True}
    """

    gradient_cost = 0.7
    settings = words(
        "alpha copy_X_train kernel n_restarts_optimizer n_targets normalize_y "
        "optimizer random_state"
    )

    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return alpha and ``kernel__<name>`` of each free scalar of the kernel."""
        if estimator.optimizer is not None:
            raise NotDifferentiableError(
                "GaussianProcessRegressor has gradients with optimizer=None only: "
                "otherwise fit chooses the kernel's parameters itself. Set "
                "optimizer=None."
            )
        names = () if estimator.kernel is None else _scalars(estimator.kernel)
        alpha = ("alpha",) if isinstance(estimator.alpha, numbers.Real) else ()
        return (*alpha, *(f"kernel__{name}" for name in names))

    def __init__(
        self, estimator: Any, X: Any, y: Array, sample_weight: Array | None = None
    ) -> None:
        if sample_weight is not None:
            raise ValueError(
                "GaussianProcessRegressor takes no sample_weight. Leave it out."
            )
        self.X, y = X, np.asarray(y, float)
        normalise = estimator.normalize_y
        self.mean = y.mean(axis=0) if normalise else np.zeros(y.shape[1:])
        scale = y.std(axis=0) if normalise else np.ones(y.shape[1:])
        self.scale = np.where(scale > 0, scale, 1.0)
        self.target = (y - self.mean) / self.scale

    def solve(
        self, estimator: Any, *, tolerance: float, start: Array | None = None
    ) -> Solution:
        """Solve the regularised system exactly."""
        kernel = estimator.kernel
        if kernel is None:  # scikit-learn's default, not optimised
            kernel = ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed")
        A = kernel(self.X)
        A[np.diag_indices(len(A))] += estimator.alpha
        factor = linalg.cho_factor(A, lower=True)
        c = linalg.cho_solve(factor, self.target)
        return Solution(
            c, np.zeros_like(c), {"kernel": clone(kernel), "factor": factor}
        )

    def solution_of(self, fitted: Any, *, tolerance: float) -> Solution:
        """Take the factor and the dual coefficients of a fitted estimator."""
        c = np.asarray(fitted.alpha_)
        state = {"kernel": clone(fitted.kernel_), "factor": (fitted.L_, True)}
        return Solution(c, np.zeros_like(c), state)

    def outputs(self, solution: Solution, X: Any) -> Array:
        """Return the posterior mean."""
        K = solution.state["kernel"](X, self.X)
        return np.asarray(self.scale * (K @ solution.w) + self.mean)

    def outputs_vjp(
        self, solution: Solution, X: Any, cotangent: Array
    ) -> tuple[Array, dict[str, float]]:
        """Return the derivative by c, and the direct ones by the kernel."""
        kernel, cotangent = solution.state["kernel"], cotangent * self.scale
        K = kernel(X, self.X)
        gradients = self._kernel_gradients(kernel, np.vstack([self.X, X]))
        n = len(self.X)
        solution.state["gradients"] = {k: d[:n, :n] for k, d in gradients.items()}
        direct = {
            k: inner(cotangent, d[n:, :n] @ solution.w) for k, d in gradients.items()
        }
        return K.T @ cotangent, direct

    def _kernel_gradients(self, kernel: Any, rows: Array) -> dict[str, Array]:
        """Return dK by each scalar; the kernel gives them by the logarithm."""
        _, gradient = kernel(rows, eval_gradient=True)
        values, wanted = kernel.get_params(), set(_scalars(kernel))
        result, position = {}, 0
        for parameter in kernel.hyperparameters:
            if parameter.name in wanted:
                derivative = gradient[:, :, position] / values[parameter.name]
                result[f"kernel__{parameter.name}"] = derivative
            position += 0 if parameter.fixed else parameter.n_elements
        return result

    def adjoint(
        self,
        solution: Solution,
        rhs: Array,
        *,
        tolerance: float,
        start: Array | None = None,
    ) -> Array:
        """Solve ``A q = rhs`` with the factor at hand."""
        return np.asarray(linalg.cho_solve(solution.state["factor"], rhs))

    def cross_product(self, solution: Solution, q: Array) -> dict[str, float]:
        """Return ``q . dA c``."""
        gradients = solution.state["gradients"]
        result = {name: inner(q, d @ solution.w) for name, d in gradients.items()}
        return {"alpha": inner(q, solution.w), **result}


def _scalars(kernel: Any) -> tuple[str, ...]:
    """Return the names of the kernel's free parameters that are single numbers."""
    return tuple(
        p.name for p in kernel.hyperparameters if not p.fixed and p.n_elements == 1
    )


register_inner_problem(GaussianProcessRegressor, GaussianProcessProblem)
