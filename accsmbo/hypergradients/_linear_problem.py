# SPDX-License-Identifier: BSD-3-Clause
"""Inner problem of every penalised linear model; families fill in loss and penalty.

``L(w) = sum_i s_i loss(y_i, x_i.w) + sum_j (l2_j w_j^2 / 2 + l1_j |w_j|)``;
the hyperparameters enter through ``l2`` and ``l1`` (and the loss's own).
"""

import warnings
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from accsmbo.hypergradients._active_set import active_set_newton
from accsmbo.hypergradients._design import Design, raw_outputs, raw_outputs_vjp
from accsmbo.hypergradients._hessian import DIRECT_SIZE, Hessian
from accsmbo.hypergradients._inner_problem import Array, InnerProblem, Solution, inner
from accsmbo.hypergradients._liblinear import liblinear_start
from accsmbo.hypergradients._losses import InnerLoss
from accsmbo.hypergradients._newton import LinearState, newton_cg

__all__ = ["LinearProblem", "Penalty"]

SUPPORT_TOLERANCE = 1e-5  # looser, the support is wrong and the error estimate blind
SMALL = 64  # coefficients up to which one adjoint is cheaper by a factorisation
MAX_PRODUCTS = 25  # of an adjoint that is looser than a solve's own
SINGLE_PRECISION_TOLERANCE = 3e-5  # float32 reaches about 2e-6 of the first gradient


@dataclass
class Penalty:
    """Strengths of a linear model's penalties and their derivatives.

    All that a family of linear models has to say about its hyperparameters: how they
    set the strengths, and how the strengths change with each. Whatever map it is,
    ``alpha``, ``1 / C`` or a share of both norms, the adjoint and the inner solver stay
    the same.

    Parameters
    ----------
    l2, l1 : float or ndarray broadcastable to the shape of w
        Strengths of ``w^2 / 2`` and of ``|w|``.
    d_l2, d_l1 : dict of str to float or ndarray
        Their derivatives by name of hyperparameter.

    See Also
    --------
    LinearProblem : Asks for it in its method ``penalty``.

    Notes
    -----
    The objective is ``sum_i s_i loss_i + sum_j (l2_j w_j^2 / 2 + l1_j |w_j|)``, hence
    ``df/dlam = -sum_j q_j (w_j dl2_j/dlam + sign(w_j) dl1_j/dlam)``.

    Examples
    --------
    A strength for the mean of the squares in place of their sum, as in ``Lasso``:

    >>> from accsmbo.hypergradients import Penalty, RidgeProblem
    >>> class MeanRidgeProblem(RidgeProblem):
    ...     def penalty(self, estimator):
    ...         n = self.X.shape[0]
    ...         return Penalty(n * estimator.alpha, d_l2={"alpha": n})
    """

    l2: Any
    l1: Any = 0.0
    d_l2: dict[str, Any] = field(default_factory=dict)
    d_l1: dict[str, Any] = field(default_factory=dict)


class LinearProblem(InnerProblem):
    """Penalised linear model on the training part of one fold.

    A family says what its loss and penalty are (``make_loss``, ``penalty``) and
    what its constant column holds (``constant``, 0 for none, and
    ``penalised_constant``); this class solves and differentiates.

    Parameters
    ----------
    estimator : estimator
        Carries the settings.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training rows.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Training targets.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of the training rows.

    See Also
    --------
    Penalty : What ``penalty`` returns.
    InnerProblem : Base of all problems, also of those that are not linear.
    accsmbo.testing.check_inner_problem : Check a subclass.

    Notes
    -----
    A truncated Newton method solves it: dense Hessians of up to a few hundred
    coefficients are factorised, others seen through products with X only, in float32
    where X is sparse and the tolerance loose. With an l1 penalty the steps are taken on
    an active set.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Lasso
    >>> from accsmbo.hypergradients import LinearProblem, find_inner_problem
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Lasso(alpha=0.1, tol=1e-8)
    >>> problem = find_inner_problem(model)(model, X, y)
    >>> solution = problem.solve(model, tolerance=1e-10)
    >>> coef = problem.fitted_attributes(solution)["coef_"]
    >>> isinstance(problem, LinearProblem), np.allclose(coef, model.fit(X, y).coef_)
    (True, True)
    """

    penalised_constant: bool = False
    gradient_cost = 0.45

    def __init__(
        self, estimator: Any, X: Any, y: Array, sample_weight: Array | None = None
    ) -> None:
        weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        self.X = X
        self.constant = self.make_constant(estimator)
        self.loss = self.make_loss(estimator, np.asarray(y), np.asarray(weight, float))
        outputs = self.loss.y.shape[1:]
        self.shape = (X.shape[1] + bool(self.constant), *outputs)
        self._systems: dict[Any, tuple[Design, InnerLoss, float]] = {}

    @classmethod
    def is_quadratic(cls, estimator: Any) -> bool:
        """Return whether there is no l1 penalty."""
        return True

    def make_constant(self, estimator: Any) -> float:
        """Return the value of the constant column, 0 for none."""
        return 1.0 if estimator.fit_intercept else 0.0

    @abstractmethod
    def make_loss(self, estimator: Any, y: Array, weight: Array) -> InnerLoss:
        """Return the loss of the encoded targets."""

    @abstractmethod
    def penalty(self, estimator: Any) -> Penalty:
        """Return the penalty at the hyperparameters of ``estimator``."""

    def solve(
        self, estimator: Any, *, tolerance: float, start: Array | None = None
    ) -> Solution:
        """Minimise by Newton steps, on an active set where there is an l1 penalty."""
        penalty = self.penalty(estimator)
        if np.any(penalty.l1):
            tolerance = min(tolerance, SUPPORT_TOLERANCE)
        design, loss, scale = self._system(tolerance, estimator)
        l2, l1 = (self._per_coefficient(v, design) for v in (penalty.l2, penalty.l1))
        w = design.reduce(self._start(estimator, penalty, start, tolerance))
        options: dict[str, Any] = {"tolerance": tolerance, "scale": scale}
        if np.any(l1):
            linear = active_set_newton(design, loss, l2, l1, w, **options)
        else:
            linear = newton_cg(design, loss, l2, w, **options)
        _warn_unless_converged(linear, scale, tolerance)
        state = {"linear": linear, "penalty": penalty, "design": design, "loss": loss}
        return Solution(design.expand(linear.w), linear.gradient, state)

    def solution_of(self, fitted: Any, *, tolerance: float) -> Solution:
        """Return the estimator's own coefficients, as inexact as its solver left them.

        What is missing to the minimum is corrected by the adjoint, to second order.
        """
        penalty = self.penalty(fitted)
        design, loss, _ = self._system(0.0, fitted)
        l2, l1 = (self._per_coefficient(v, design) for v in (penalty.l2, penalty.l1))
        w = design.reduce(self._coefficients(fitted))
        f = design.dot(w)
        gradient = l2 * w + design.adjoint(loss.slope(f)) + l1 * np.sign(w)
        support = (w != 0) | (l1 == 0)
        gradient = np.where(support, gradient, 0.0)
        mask = support if np.any(l1) else None
        hessian = Hessian(design, loss.curvature(f), l2, mask, max_iter=MAX_PRODUCTS)
        hessian.direct &= int(np.count_nonzero(support)) <= SMALL
        linear = LinearState(w, f, gradient, hessian)
        state = {"linear": linear, "penalty": penalty, "design": design, "loss": loss}
        return Solution(design.expand(w), gradient, state)

    def _coefficients(self, fitted: Any) -> Array:
        """Return w from ``coef_`` and ``intercept_``."""
        w = np.zeros(self.shape)
        rows = len(w) - bool(self.constant)
        w[:rows] = np.asarray(fitted.coef_, float).T.reshape(rows, *self.shape[1:])
        if self.constant:
            intercept = np.asarray(fitted.intercept_, float) / self.constant
            w[rows] = intercept.reshape(self.shape[1:])
        return w

    def _start(
        self, estimator: Any, penalty: Penalty, start: Array | None, tolerance: float
    ) -> Array:
        """Return the first w: the one given, liblinear's solution, or zeros."""
        given = start is not None and start.shape == self.shape
        if given and start is not None and np.isfinite(start).all():
            return start
        if self.solver != "liblinear":
            return np.zeros(self.shape)
        return liblinear_start(
            self.X,
            self.loss.configured(estimator),
            0.0 if np.ndim(penalty.l2) or np.any(penalty.l1) else float(penalty.l2),
            constant=self.constant,
            penalised_constant=self.penalised_constant,
            tolerance=tolerance,
        )

    def _system(
        self, tolerance: float, estimator: Any
    ) -> tuple[Design, InnerLoss, float]:
        """Return X, the loss and the norm of the first gradient, in one precision."""
        large = sparse.issparse(self.X) and int(np.prod(self.shape)) > DIRECT_SIZE
        single = large and tolerance >= SINGLE_PRECISION_TOLERANCE
        dtype = np.float32 if single else np.float64
        if dtype not in self._systems:
            design = Design(self.X, self.constant, dtype)
            self._systems[dtype] = (design, self.loss.with_dtype(dtype), np.nan)
        design, loss, scale = self._systems[dtype]
        configured = loss.configured(estimator)
        if np.isnan(scale) or configured is not loss:
            slope = configured.slope(np.zeros(loss.y.shape, dtype))
            scale = float(np.linalg.norm(design.adjoint(slope)))
            self._systems[dtype] = (design, loss, scale)
        return design, configured, max(scale, np.finfo(float).tiny)

    def _per_coefficient(self, strength: Any, design: Design) -> Array:
        """Return a strength for each kept coefficient, the constant's set right."""
        full = np.empty(self.shape)
        rows = len(full) - bool(self.constant)
        values = np.asarray(strength, float)
        full[:rows] = values
        if self.constant:
            full[rows:] = values if self.penalised_constant else 0.0
        return design.reduce(full)

    def outputs(self, solution: Solution, X: Any) -> Array:
        """Return ``[X, c] w``."""
        return raw_outputs(solution.w, X, self.constant)

    def outputs_vjp(
        self, solution: Solution, X: Any, cotangent: Array
    ) -> tuple[Array, dict[str, float]]:
        """Return ``[X, c]^T cotangent``; no hyperparameter enters the outputs."""
        cotangent = cotangent.astype(solution.w.dtype, copy=False)
        full = raw_outputs_vjp(X, cotangent, self.constant)
        return solution.state["design"].reduce(full), {}

    def adjoint(
        self,
        solution: Solution,
        rhs: Array,
        *,
        tolerance: float,
        start: Array | None = None,
    ) -> Array:
        """Solve ``H q = rhs`` on the support: one factorisation or one CG solve."""
        linear: LinearState = solution.state["linear"]
        if start is not None and start.shape != rhs.shape:
            start = None
        return linear.hessian.solve(rhs, rtol=tolerance, start=start)[0]

    def cross_product(self, solution: Solution, q: Array) -> dict[str, float]:
        """Return ``q . (w o dl2 + sign(w) o dl1)`` and the loss's own terms."""
        linear: LinearState = solution.state["linear"]
        penalty, design = solution.state["penalty"], solution.state["design"]
        result: dict[str, float] = {}
        for derivatives, direction in (
            (penalty.d_l2, linear.w),
            (penalty.d_l1, np.sign(linear.w)),
        ):
            for name, derivative in derivatives.items():
                strength = self._per_coefficient(derivative, design)
                result[name] = result.get(name, 0.0) + inner(q * strength, direction)
        own = solution.state["loss"].slope_derivatives(linear.f)
        for name, slope in own.items():
            result[name] = result.get(name, 0.0) + inner(design.dot(q), slope)
        return result

    def fitted_attributes(self, solution: Solution) -> dict[str, Any] | None:
        """Return ``coef_`` and ``intercept_`` in scikit-learn's shapes."""
        return self.linear_attributes(solution)

    def linear_attributes(self, solution: Solution) -> dict[str, Any]:
        """Return what all linear regressors have when fitted."""
        w = np.asarray(solution.w, np.float64)
        rows = len(w) - bool(self.constant)
        coef, outputs = w[:rows].T, w.shape[1:]
        intercept: Any = np.zeros(outputs) if outputs else 0.0
        if self.constant:
            intercept = self.constant * w[rows]
        return {
            "coef_": np.ascontiguousarray(coef),
            "intercept_": intercept,
            "n_features_in_": rows,
            "n_iter_": solution.state["linear"].n_iter,
        }


def _warn_unless_converged(linear: LinearState, scale: float, tolerance: float) -> None:
    reached = float(np.linalg.norm(linear.gradient)) / scale if scale else 0.0
    if linear.converged or reached <= max(10 * tolerance, 1e-6):
        return
    warnings.warn(
        f"The inner solver stopped at a relative gradient of {reached:.1e} after "
        f"{linear.n_iter} steps; {tolerance:.1e} was asked for. Scale the features "
        "or raise the regularisation.",
        ConvergenceWarning,
        stacklevel=3,
    )
