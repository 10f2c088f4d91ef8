# SPDX-License-Identifier: BSD-3-Clause
"""l1-penalised linear models: Newton steps on a growing active set.

Minimises ``S(w) + sum(l1 |w|)``, ``S(w) = loss(X w) + sum(l2 w^2) / 2``.

sign    like w      sign that each active coefficient must keep; 0 = inactive
face    like w      coefficients free to move: the active and the unpenalised ones

On a face the objective is smooth and a Newton step finds its minimum; a coefficient
that would change its sign stops at zero and leaves. Then the inactive coefficients
whose subgradient condition is violated most enter (feature-sign search, Lee et al.
2007, with working sets that double, as in Massias et al. 2018, Celer).
"""

from dataclasses import dataclass

import numpy as np

from accsmbo.hypergradients._design import Design
from accsmbo.hypergradients._hessian import Hessian
from accsmbo.hypergradients._inner_problem import Array, inner
from accsmbo.hypergradients._losses import InnerLoss
from accsmbo.hypergradients._newton import LinearState, line_search

__all__ = ["active_set_newton"]

FIRST_SET = 10  # coefficients that enter at once when there are none
FACE_TOLERANCE = 0.05  # of the last residual: a face that will change needs no more
RIDGE = 1e-10  # of the largest curvature
NEWTON_STEPS = 50  # on one face; each also drops at least one coefficient or descends


@dataclass
class _Composite:
    design: Design
    loss: InnerLoss
    l2: Array
    l1: Array

    def value(self, w: Array, f: Array) -> float:
        smooth = self.loss.value(f) + 0.5 * inner(self.l2 * w, w)
        return smooth + inner(self.l1, np.abs(w))

    def gradient(self, f: Array, w: Array) -> Array:
        return self.l2 * w + self.design.adjoint(self.loss.slope(f))

    def residual(self, w: Array, gradient: Array) -> Array:
        """Return the smallest subgradient; zero at the solution."""
        at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0)
        inside = gradient + self.l1 * np.sign(w)
        return np.asarray(np.where(w != 0, inside, at_zero))


def active_set_newton(
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
    w, f, sign = start, design.dot(start), np.sign(start)
    best, n_enter, norm = np.inf, 0, scale
    for n_iter in range(max_iter + 1):
        goal = max(0.5 * tolerance * scale, FACE_TOLERANCE * norm)
        w, f = _minimise_on_face(problem, w, f, sign, goal)
        gradient = problem.gradient(f, w)
        residual = problem.residual(w, gradient)
        norm = float(np.linalg.norm(residual))
        if norm <= tolerance * scale or n_iter == max_iter:
            break
        value, size = problem.value(w, f), int(np.count_nonzero(w))
        if value < best:
            best, n_enter = value, max(size, FIRST_SET)
        elif n_enter == 1:
            break  # not even a single coefficient helps: the floor of the precision
        else:
            n_enter = 1  # too many at once got in each other's way
        sign = _enter(problem, w, gradient, n_enter)
    support = (w != 0) | (l1 == 0)
    hessian = Hessian(design, loss.curvature(f), l2, support)
    return LinearState(w, f, residual, hessian, n_iter, norm <= tolerance * scale)


def _enter(problem: _Composite, w: Array, gradient: Array, n_enter: int) -> Array:
    """Return the signs after the worst violations among the zeros have entered."""
    sign = np.sign(w)
    violation = np.where(w == 0, np.abs(gradient) - problem.l1, 0).ravel()
    violation[(problem.l1 == 0).ravel()] = 0
    n_enter = min(n_enter, violation.size)
    worst = np.argpartition(-violation, n_enter - 1)[:n_enter]
    worst = worst[violation[worst] > 0]
    sign.ravel()[worst] = -np.sign(gradient.ravel()[worst])
    return sign


def _minimise_on_face(
    problem: _Composite, w: Array, f: Array, sign: Array, goal: float
) -> tuple[Array, Array]:
    """Newton steps among the face's coefficients, until it is solved or empty."""
    sign = sign.copy()
    for _ in range(NEWTON_STEPS):
        face = (sign != 0) | (problem.l1 == 0)
        gradient = np.where(face, problem.gradient(f, w) + problem.l1 * sign, 0)
        norm = float(np.linalg.norm(gradient))
        if norm <= goal:
            break
        curvature = problem.loss.curvature(f)
        # Where the face is singular the objective is linear along its null space:
        # this lets the step go there, as far as the first sign change.
        ridge = RIDGE * float(problem.design.squared_adjoint(curvature.bend).max())
        l2 = problem.l2 + problem.l2.dtype.type(ridge)
        hessian = Hessian(problem.design, curvature, l2, face)
        step, _ = hessian.solve(-gradient, rtol=min(0.1, 0.3 * goal / norm + 1e-3))
        backwards = (w == 0) & (sign * step < 0)
        if backwards.any():
            sign[backwards] = 0
            continue
        new = _projected_step(problem, w, f, sign, step, gradient)
        if new is None:
            break
        w, f = new
        sign = np.sign(w)
    return w, f


def _projected_step(
    problem: _Composite, w: Array, f: Array, sign: Array, step: Array, gradient: Array
) -> tuple[Array, Array] | None:
    """Step with sign changes cut to zero; if that fails, to the first of them."""
    penalised = problem.l1 > 0
    crossing = penalised & (w * step < 0) & (np.abs(step) > np.abs(w))
    first = float(np.min(-w[crossing] / step[crossing])) if crossing.any() else 0.5

    def point(t: float) -> Array:
        moved = w + w.dtype.type(t) * step
        gone = penalised & (moved * sign <= 0)
        if t == first:
            gone |= crossing & (np.abs(moved) <= 1e-12 * np.abs(step))
        return np.where(gone, 0, moved)

    def objective(t: float) -> float:
        moved = point(t)
        return problem.value(moved, problem.design.dot(moved))

    eps = np.finfo(w.dtype).eps
    length = line_search(objective, inner(gradient, step), eps, first)
    if length == 0:
        return None
    moved = point(length)
    return moved, problem.design.dot(moved)
