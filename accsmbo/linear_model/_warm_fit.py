# SPDX-License-Identifier: BSD-3-Clause
"""Fit a linear model on all rows, from coefficients that are nearly right.

Newton-CG with the centred preconditioner of the folds: in single precision as far as
that reaches, then in double.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from accsmbo.hypergradients._inner_problem import Array, inner
from accsmbo.hypergradients._newton import line_search
from accsmbo.linear_model._bilevel_fold import BilevelFold, LinearSystem, solve_together
from accsmbo.linear_model._fold_products import FoldProducts, SeparateFolds
from accsmbo.linear_model._log_penalty import LogPenalty

__all__ = ["descend", "warm_fit"]

SINGLE_TOLERANCE = 1e-6  # relative gradient up to which single precision is used
MAX_STEPS, MAX_CG = 50, 200
LOOSEST_FORCING = 0.2


def warm_fit(
    problem: Any,
    estimator: Any,
    name: str,
    start: Array,
    tolerance: float,
    products: FoldProducts | None = None,
) -> tuple[Array, int]:
    """Minimise a training objective; warn where ten times the tolerance is not reached.

    Parameters
    ----------
    problem : LinearProblem
        All rows, with a quadratic penalty.
    estimator : estimator
        Carries the value of the penalty.
    name : str
        Name of the penalty.
    start : ndarray of the shape of the coefficients
        Where to begin.
    tolerance : float
        Norm of the gradient at the end, as a share of that at zero.
    products : FoldProducts, default=None
        Products with all rows, where there are some already; used at their precision.

    Returns
    -------
    w : ndarray
        Coefficients in double precision.
    n_steps : int
        Newton steps made.
    """
    x, n_steps, w = np.log([float(getattr(estimator, name))]), 0, start
    phases: list[tuple[Any, float]] = [(np.float64, tolerance)]
    if hasattr(problem.X, "indptr"):
        phases.insert(0, (np.float32, max(SINGLE_TOLERANCE, tolerance)))
    for dtype, goal in phases:
        if products is None or products.dtype != dtype:
            parts = [(problem.X, problem.X[:0])]
            products = SeparateFolds(parts, problem.constant, dtype)
        loss = problem.loss.configured(estimator).with_dtype(dtype)
        penalty = LogPenalty(problem, estimator, (name,), products.design(0))
        fold = BilevelFold(0, products, loss, penalty, lambda f: (0.0, f), 0)
        n_steps += _from_start(fold, x, w, goal)
        w = products.design(0).expand(fold.w).astype(np.float64)
        if fold.relative <= tolerance:
            break
    if fold.relative > max(10 * tolerance, 1e-6):
        warnings.warn(
            f"The final fit stopped at a relative gradient of {fold.relative:.1e}; "
            f"{tolerance:.1e} was asked for. Scale the features or raise tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return w, n_steps


def _from_start(fold: BilevelFold, x: Array, start: Array, goal: float) -> int:
    products = fold.products
    fold.set_gradient(products.adjoint([0], [fold.linearise()])[0], x)
    if products.constant:
        fold.set_means(products.adjoint([0], [fold.curvature.bend])[0])
    fold.w = products.design(0).reduce(start)
    fold.f = products.forward([0], [fold.w])[0]
    return descend(fold, x, goal)


def descend(
    fold: BilevelFold, x: Array, goal: float, max_steps: int = MAX_STEPS
) -> int:
    """Minimise a fold's training objective from where it is.

    Parameters
    ----------
    fold : BilevelFold
        Its w and f are changed.
    x : ndarray of shape (d,)
        Log hyperparameters.
    goal : float
        Norm of the gradient at the end, as a share of that at zero.
    max_steps : int, default=50
        Largest number of Newton steps.

    Returns
    -------
    int
        Newton steps made.
    """
    products, k, first = fold.products, fold.index, 0.0
    for n_steps in range(max_steps):
        fold.set_gradient(products.adjoint([k], [fold.linearise()])[0], x)
        if fold.relative <= goal:
            return n_steps
        norm = fold.preconditioned_norm(fold.gradient)
        first = first or norm
        forcing = min(LOOSEST_FORCING, (norm / first) ** 0.75)
        forcing = max(forcing, 0.1 * goal / fold.relative)
        system = LinearSystem(fold, -fold.gradient, forcing, MAX_CG)
        solve_together(products, [system])
        length = _length(fold, system)
        if length == 0:
            return n_steps
        fold.w = fold.w + fold.w.dtype.type(length) * system.x
        fold.f = fold.f + fold.f.dtype.type(length) * system.image
    return max_steps


def _length(fold: BilevelFold, system: LinearSystem) -> float:
    p, image = system.x, system.image
    linear, square = inner(fold.l2 * fold.w, p), inner(fold.l2 * p, p)

    def objective(t: float) -> float:
        value = fold.loss.value(fold.f + fold.f.dtype.type(t) * image)
        return value + t * linear + 0.5 * t * t * square

    return line_search(objective, inner(fold.gradient, p), np.finfo(p.dtype).eps)
