# SPDX-License-Identifier: BSD-3-Clause
"""l1-penalised linear models: accelerated proximal steps and Newton on the support.

Minimises ``S(w) + sum(l1 |w|)``, ``S(w) = loss(X w) + sum(l2 w^2) / 2``. The proximal
steps find the support, the Newton steps the solution on it.
"""

from dataclasses import dataclass

import numpy as np

from accsmbo.hypergradients._design import Design
from accsmbo.hypergradients._hessian import Hessian
from accsmbo.hypergradients._inner_problem import Array, inner
from accsmbo.hypergradients._losses import InnerLoss
from accsmbo.hypergradients._newton import LinearState, line_search

__all__ = ["proximal_newton"]

PROXIMAL_STEPS = 10  # between two rounds of Newton steps
NEWTON_STEPS = 8


@dataclass
class _Composite:
    design: Design
    loss: InnerLoss
    l2: Array
    l1: Array

    def value(self, w: Array, f: Array) -> float:
        smooth = self.loss.value(f) + 0.5 * inner(self.l2 * w, w)
        return smooth + inner(self.l1, np.abs(w))

    def gradient(self, w: Array, f: Array) -> Array:
        return self.l2 * w + self.design.adjoint(self.loss.slope(f))

    def residual(self, w: Array, gradient: Array) -> Array:
        """Return the smallest subgradient; zero at the solution."""
        at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0)
        inside = gradient + self.l1 * np.sign(w)
        return np.asarray(np.where(w != 0, inside, at_zero))

    def lipschitz(self) -> float:
        """Return an upper estimate of the curvature of S by power iteration."""
        v = np.random.default_rng(0).standard_normal(self.l2.shape)
        v = v.astype(self.design.dtype)
        weight = self.loss.weight * self.loss.bend_bound
        norm = 0.0
        for _ in range(30):
            v /= np.linalg.norm(v)
            v = self.l2 * v + self.design.adjoint(weight * self.design.dot(v))
            norm = float(np.linalg.norm(v))
            if norm == 0:
                break
        return 1.1 * norm + np.finfo(float).tiny


def proximal_newton(
    design: Design,
    loss: InnerLoss,
    l2: Array,
    l1: Array,
    start: Array,
    *,
    tolerance: float,
    scale: float,
    max_iter: int = 200,
) -> LinearState:
    """Minimise ``loss(X w) + sum(l2 w^2) / 2 + sum(l1 |w|)``.

    Parameters are those of :func:`newton_cg`, with ``l1`` the strengths of the
    absolute values; the gradient returned is the smallest subgradient.

    Returns
    -------
    LinearState
        The last iterate, its Hessian restricted to the support.
    """
    problem = _Composite(design, loss, l2, l1)
    bound = problem.lipschitz()
    w, best = start, np.inf
    for n_iter in range(max_iter + 1):
        w, f = _newton_on_support(problem, w, design.dot(w), tolerance * scale)
        residual = problem.residual(w, problem.gradient(w, f))
        norm = float(np.linalg.norm(residual))
        if norm <= tolerance * scale or n_iter == max_iter:
            break
        value = problem.value(w, f)
        if n_iter > 20 and not value < best:
            break
        best = min(best, value)
        w = _proximal_steps(problem, w, bound)
    support = (w != 0) | (l1 == 0)
    hessian = Hessian(design, loss.curvature(f), l2, support)
    return LinearState(w, f, residual, hessian, n_iter, norm <= tolerance * scale)


def _proximal_steps(problem: _Composite, w: Array, bound: float) -> Array:
    """Accelerated proximal gradient (Beck and Teboulle 2009, FISTA)."""
    point, momentum = w, 1.0
    threshold = problem.l1 / bound
    for _ in range(PROXIMAL_STEPS):
        gradient = problem.gradient(point, problem.design.dot(point))
        z = point - gradient / bound
        new = (np.sign(z) * np.maximum(np.abs(z) - threshold, 0)).astype(w.dtype)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        point = new + w.dtype.type((momentum - 1) / following) * (new - w)
        w, momentum = new, following
    return w


def _newton_on_support(
    problem: _Composite, w: Array, f: Array, goal: float
) -> tuple[Array, Array]:
    """Newton steps among the non-zero coefficients; a sign change becomes a zero."""
    for _ in range(NEWTON_STEPS):
        sign = np.sign(w)
        support = (w != 0) | (problem.l1 == 0)
        gradient = problem.gradient(w, f) + problem.l1 * sign
        gradient = np.where(support, gradient, 0)
        norm = float(np.linalg.norm(gradient))
        if norm <= goal:
            break
        curvature = problem.loss.curvature(f)
        hessian = Hessian(problem.design, curvature, problem.l2, support)
        step, _ = hessian.solve(-gradient, rtol=min(0.1, 0.3 * goal / norm + 1e-3))
        new = _projected_search(problem, w, f, step, gradient)
        if new is None:
            break
        w, f = new
    return w, f


def _projected_search(
    problem: _Composite, w: Array, f: Array, step: Array, gradient: Array
) -> tuple[Array, Array] | None:
    sign, penalised = np.sign(w), problem.l1 > 0

    def point(t: float) -> Array:
        moved = w + w.dtype.type(t) * step
        return np.where(penalised & (np.sign(moved) != sign), 0, moved)

    def objective(t: float) -> float:
        moved = point(t)
        return problem.value(moved, problem.design.dot(moved))

    length = line_search(objective, inner(gradient, step), np.finfo(w.dtype).eps)
    if length == 0:
        return None
    moved = point(length)
    return moved, problem.design.dot(moved)
