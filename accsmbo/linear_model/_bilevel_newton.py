# SPDX-License-Identifier: BSD-3-Clause
"""Training and tuning at once: the bilevel Newton method.

1. Newton-CG directions of each fold's training problem go into a small basis.
2. In the basis, the training problem and its derivative by the log hyperparameters x
   are exact and almost free: x moves from the first step on, for all folds together.
3. Where the gradients are small, one adjoint solve for each fold,
   H q = dG/dw, makes the derivative exact; q goes into the basis too.
4. Dual test: |q . grad L| is the error of the validation loss because w is inexact.
   Once q is in the basis, what is left of it is the share of q that CG did not find.
5. The test passed, the range is scanned again; a lower valley that this scan and the
   first one show is searched too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from accsmbo.hypergradients._inner_problem import Array, inner
from accsmbo.linear_model._bilevel_fold import (
    BilevelFold,
    LinearSystem,
    solve_together,
)
from accsmbo.linear_model._fold_products import FoldProducts
from accsmbo.linear_model._penalty_search import (
    RADIUS,
    Box,
    Scan,
    minimise,
    scan_penalties,
)
from accsmbo.linear_model._reduced_problem import ReducedPoint, ReducedProblem
from accsmbo.linear_model._warm_fit import descend
from accsmbo.linear_model._work import WorkSpent

__all__ = ["BilevelNewton", "Objective", "Visit"]

FIRST_FORCING, FORCING = 0.05, 0.3  # the first Krylov space serves every x
FIRST_KEPT = 6  # directions of CG for it that go into the basis
FIRST_GRADIENT = 3e-3  # relative gradient at which the adjoint is solved first
ADJOINT_RTOL = 0.2  # of the right-hand side: the loosest adjoint
SETTLED = 4  # last CG steps over which q must have settled
CONTRACTION = 1 / 3  # of the error by a Newton step, near the end
SLOPE_SHARE = 0.2  # of the error allowed in the value, in a derivative
MAX_CG = 60
MAX_STEPS = 40
TIGHT_GRADIENT, TIGHT_STEPS = 1e-6, 15  # of the solutions without convergence
SAFETY = 2.0  # of the error: it is that of the value before the last step
SCAN_ROWS = 8000  # over all folds
ACCURACY = 1e-3  # share of the validation loss that the dual test lets through
NEAR = 0.5  # distance over which an adjoint is good, and of the move it allows
UNTRUSTED = 10.0  # times the accuracy: an adjoint at such an error is solved again
STALE = 30.0  # times the gradient at an adjoint over today's: it is solved again
EXTRAPOLATED = 3.0  # move over which tangents give a start


@dataclass
class Visit:
    """Hyperparameters that the method stood at, with their losses.

    Parameters
    ----------
    x : ndarray of shape (d,)
        Logarithms of the hyperparameters.
    losses : ndarray of shape (n_folds,)
        Validation losses as far as known then.
    slope : ndarray of shape (d,)
        Derivative of their mean by x.
    """

    x: Array
    losses: Array
    slope: Array


@dataclass
class Objective:
    """Mean validation loss over folds, in their bases; remembers the last points."""

    problems: Sequence[ReducedProblem]
    starts: list[Array]
    tolerance: float = 1e-6
    points: list[ReducedPoint] = field(default_factory=list)
    last: Visit | None = None

    def __call__(self, x: Array) -> tuple[float, Array]:
        starts = [point.c for point in self.points] or self.starts
        if self.last is not None and np.abs(x - self.last.x).max() <= EXTRAPOLATED:
            move = x - self.last.x
            starts = [p.c + move @ p.tangents for p in self.points]
        self.points = [
            problem.solve(start, x, tolerance=self.tolerance)
            for problem, start in zip(self.problems, starts, strict=True)
        ]
        losses = np.array([point.value for point in self.points])
        slopes = np.array([point.slope for point in self.points])
        self.last = Visit(x.copy(), losses, slopes.mean(axis=0))
        return float(losses.mean()), self.last.slope

    @property
    def visit(self) -> Visit:
        """The last evaluation."""
        assert self.last is not None  # for the type checker
        return self.last


class BilevelNewton:
    """Find the penalties that minimise the mean validation loss of some folds.

    Parameters
    ----------
    products : FoldProducts
        X from both sides.
    folds : sequence of BilevelFold
        At ``w = 0``.
    box : Box
        Range of the log hyperparameters.
    accuracy : float, default=1e-3
        Error of the validation loss allowed, as a share of it.
    max_steps : int, default=40
        Largest number of steps.

    Attributes
    ----------
    x : ndarray of shape (d,)
        Where the method is.
    visits : list of Visit
        Where it has been.
    error : float
        Estimate of the error of the mean validation loss at ``x``.
    scan : Scan or None
        Last look at the whole range.
    converged : bool
        Whether the dual test was passed, or a Newton step near the last adjoint changed
        the loss by less than three times `accuracy`.
    """

    def __init__(
        self,
        products: FoldProducts,
        folds: Sequence[BilevelFold],
        box: Box,
        accuracy: float = ACCURACY,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self.products, self.folds, self.box = products, list(folds), box
        self.accuracy, self.max_steps = accuracy, max_steps
        self.x = box.clip(np.zeros(len(box.low)))
        self.visits: list[Visit] = []
        self.error = np.inf
        self.scan: Scan | None = None
        self.converged = False
        self._gradient_tolerance = FIRST_GRADIENT
        self._settled: list[tuple[float, Array, float]] = []
        self._adjoint_at = np.full_like(self.x, np.inf), np.inf

    def run(self) -> "BilevelNewton":
        """Iterate until it has converged, or steps or work are used up."""
        try:
            self._iterate()
            if not self.converged and self.max_steps == MAX_STEPS:
                self._make_tight()
        except WorkSpent:
            if not self.visits:
                raise
            self.converged = False
            settled = [*self._settled, (self._value, self.x, self.error)]
            _, self.x, self.error = min(settled, key=lambda each: each[0])
            at = [v for v in self.visits if np.array_equal(v.x, self.x)]
            self.visits.append(at[-1])
        self.error *= SAFETY
        return self

    def _make_tight(self) -> None:
        """Solve the training problems where the method stands: its value is right."""
        x = self.x
        for fold in self.folds:
            descend(fold, x, TIGHT_GRADIENT, TIGHT_STEPS)
            fold.add(fold.w, fold.f)
        self._settle_at(x)
        self._set_gradients()
        before, self.error = self._value, self._adjoints()
        self._settle_at(x)
        self.error += abs(self._value - before)

    def _iterate(self) -> None:
        for step in range(self.max_steps):
            self._set_gradients()
            if step and self._adjoint_is_due():
                self._adjoint_step()
            else:
                self._newton_step(first=step == 0)
            if self.converged and not self._leaves_for_a_better_valley():
                break

    def _leaves_for_a_better_valley(self) -> bool:
        """Scan with all that was learnt; go where this scan and the first promise more.

        A scan with adjoints in the basis alone promises too much far away.
        """
        assert self.scan is not None  # for the type checker
        first, noise = self.scan, self.accuracy * self.scale
        self.scan = scan_penalties(self._objective(thin=True), self.box)
        valleys = [first.points[i] for i in first.minima(noise)]
        for i in self.scan.minima(noise):
            x = self.scan.points[i]
            promised = self.scan.values[i] < self._value - noise
            seen = any(np.abs(x - other).max() <= RADIUS for other in valleys)
            near = any(np.abs(x - v.x).max() <= RADIUS for v in self.visits)
            if promised and seen and not near:
                self._settled.append((self._value, self.x, self.error))
                self._settle_at(x)
                self.converged = False
                return True
        self._settled.append((self._value, self.x, self.error))
        _, best, self.error = min(self._settled, key=lambda settled: settled[0])
        if best is not self.x:
            self._settle_at(best)
        return False

    def _settle_at(self, x: Array) -> None:
        objective = self._objective(thin=False)
        objective(x)
        self._settle(x, objective)

    def _adjoint(self, outputs: Sequence[Array]) -> list[Array]:
        return self.products.adjoint(range(len(self.folds)), outputs)

    def _set_gradients(self) -> None:
        slopes = [fold.linearise() for fold in self.folds]
        parts = self._adjoint(slopes)
        for fold, part in zip(self.folds, parts, strict=True):
            fold.set_gradient(part, self.x)

    def _newton(self, folds: Sequence[BilevelFold], *, first: bool) -> bool:
        """Add a Newton direction to the basis of each fold; return whether one grew."""
        if first:
            self._begin()
        systems = [
            LinearSystem(
                fold,
                -fold.gradient,
                FIRST_FORCING if first else FORCING,
                MAX_CG,
                FIRST_KEPT if first else 0,
            )
            for fold in folds
        ]
        solve_together(self.products, systems)
        grew = False
        for system in systems:
            for direction, image in [*system.directions, (system.x, system.image)]:
                grew |= system.fold.add(direction, image)
        return grew

    def _begin(self) -> None:
        """Centre the columns; add the first gradients, exact for strong penalties."""
        if self.products.constant:
            sums = self._adjoint([fold.curvature.bend for fold in self.folds])
            for fold, image in zip(self.folds, sums, strict=True):
                fold.set_means(image)
                fold.add_constant()
        gradients = [fold.gradient for fold in self.folds]
        images = self.products.forward(range(len(gradients)), gradients)
        for fold, image in zip(self.folds, images, strict=True):
            fold.add(fold.gradient, image)

    def _objective(self, *, thin: bool) -> Objective:
        problems = [fold.reduced() for fold in self.folds]
        if thin:
            n_rows = SCAN_ROWS // len(problems)
            problems = [problem.thinned(n_rows) for problem in problems]
        starts = [np.zeros_like(f.c) if thin else f.c for f in self.folds]
        return Objective(problems, starts, 1e-5 if thin else 1e-6)

    def _move(self, radius: float, *, scan: bool = False) -> None:
        """Go to the minimum of the reduced problem."""
        near, start = self.box.around(self.x, radius), self.x
        if scan:
            self.scan = scan_penalties(self._objective(thin=True), self.box)
            start = near.clip(self.scan.points[self.scan.best])
        objective = self._objective(thin=False)
        self._settle(minimise(objective, start, near), objective)

    def _settle(self, x: Array, objective: Objective) -> None:
        self.x = x
        for fold, point in zip(self.folds, objective.points, strict=True):
            fold.move(point)
        self.visits.append(objective.visit)

    @property
    def coefficients(self) -> list[Array]:
        """Return the coefficients of each fold at ``x``."""
        return [fold.w for fold in self.folds]

    @property
    def scale(self) -> float:
        """Return the mean validation loss that accuracies are a share of."""
        return max(abs(self._value), np.finfo(float).tiny)

    @property
    def _value(self) -> float:
        return float(self.visits[-1].losses.mean()) if self.visits else np.nan

    def _adjoint_is_due(self) -> bool:
        """Return whether w is good enough, and the last adjoint far, old or none."""
        relative = max(fold.relative for fold in self.folds)
        if relative > self._gradient_tolerance:
            return False
        return not self._adjoint_is_near() or relative < self._adjoint_at[1] / STALE

    def _adjoint_is_near(self) -> bool:
        return self._distance(self._adjoint_at[0]) <= NEAR

    def _distance(self, x: Array) -> float:
        return float(np.abs(self.x - x).max())

    def _newton_step(self, *, first: bool) -> None:
        before, x = self._value, self.x
        if not self._newton(self.folds, first=first):
            self._gradient_tolerance = np.inf  # the basis has nothing left to learn
        self._move(RADIUS, scan=first)
        self.error = abs(self._value - before)
        self.converged = (
            self._adjoint_is_near()
            and self._distance(x) <= NEAR
            and CONTRACTION * self.error <= self.accuracy * self.scale
        )

    def _adjoint_step(self) -> None:
        """Solve the adjoints, move, and make the dual test."""
        x, relative = self.x, max(fold.relative for fold in self.folds)
        self.error = self._adjoints()
        self._move(NEAR)
        share = self.error / (self.accuracy * self.scale)
        self.converged = share <= 1 and self._distance(x) < NEAR
        if share <= UNTRUSTED:
            self._adjoint_at = x, relative
        else:
            self._gradient_tolerance = relative * max(0.1, UNTRUSTED / 2 / share)

    def rescored(self) -> list[Visit]:
        """Return the visits as the last basis sees them."""
        objective, seen = self._objective(thin=False), []
        for visit in reversed(self.visits):
            objective(visit.x)
            seen.append(objective.visit)
        return seen[::-1]

    def _adjoints(self) -> float:
        """Add the adjoint of each fold; return the mean of ``|q . grad|``."""
        cotangents = [self._cotangent(fold) for fold in self.folds]
        sides = self.products.validation_adjoints(cotangents)
        starts = [f.adjoint_start(b) for f, b in zip(self.folds, sides, strict=True)]
        bent = [
            f.curvature.product(image)
            for f, (_, image) in zip(self.folds, starts, strict=True)
        ]
        back = self._adjoint(bent)
        systems = []
        allowed = 0.5 * self.accuracy * self.scale
        for fold, b, (q, _), part in zip(self.folds, sides, starts, back, strict=True):
            norm = fold.preconditioned_norm(b) or 1.0
            enough = _dual_rule(fold, self.x, q, norm, allowed)
            residual = b - (fold.l2 * q + part)
            systems.append(LinearSystem(fold, residual, 0.0, MAX_CG, enough=enough))
        solve_together(self.products, systems)
        errors = []
        for system, (start, _) in zip(systems, starts, strict=True):
            fold, q = system.fold, start + system.x
            errors.append(abs(inner(q, fold.gradient)))
            if system.n_iter:
                fold.add(system.x, system.image)
        return float(np.mean(errors))

    def _cotangent(self, fold: BilevelFold) -> Array:
        assert fold.point is not None  # for the type checker
        return fold.point.cotangent


def _dual_rule(
    fold: BilevelFold, x: Array, start: Array, norm: float, allowed: float
) -> Callable[[Array, float], bool]:
    """Return the rule that ends an adjoint solve: what q is for has settled.

    These are the error ``q . grad`` and the derivatives by x, over some CG steps.
    """
    seen: list[Array] = []

    def enough(solution: Array, residual: float) -> bool:
        q = start + solution
        slopes = SLOPE_SHARE * fold.adjoint_slopes(q, x)
        seen.append(np.append(slopes, inner(q, fold.gradient)))
        if residual > ADJOINT_RTOL * norm or len(seen) < SETTLED:
            return False
        return bool(np.ptp(seen[-SETTLED:], axis=0).max() <= allowed)

    return enough
