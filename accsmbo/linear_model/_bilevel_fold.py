# SPDX-License-Identifier: BSD-3-Clause
"""One fold of the bilevel Newton method: its basis, its iterate, its linear systems.

grad = l2 w + X^T slope(X w),   H = X^T B X + diag(l2)
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from accsmbo.hypergradients._hessian import ALIKE
from accsmbo.hypergradients._inner_problem import Array, inner
from accsmbo.hypergradients._losses import Curvature, InnerLoss
from accsmbo.linear_model._basis import Basis
from accsmbo.linear_model._fold_products import FoldProducts
from accsmbo.linear_model._log_penalty import LogPenalty
from accsmbo.linear_model._reduced_problem import ReducedPoint, ReducedProblem
from accsmbo.linear_model._work import ELEMENTS, PASS

__all__ = ["BilevelFold", "LinearSystem", "solve_together"]

Outer = Callable[[Array], tuple[float, Array]]


class BilevelFold:
    """State of one fold.

    Parameters
    ----------
    index : int
        Number of the fold.
    products : FoldProducts
        X from both sides.
    loss : InnerLoss
        Training loss at the rows of the design.
    penalty : LogPenalty
        Strengths by x.
    outer : callable
        Maps validation outputs to the validation loss and its derivative.
    n_validation : int
        Number of validation rows.

    Attributes
    ----------
    scale : float
        Norm of the gradient at ``w = 0``.
    relative : float
        Norm of the gradient over ``scale``.
    means : ndarray or None
        Means of the columns, where there is a constant one.
    """

    def __init__(
        self,
        index: int,
        products: FoldProducts,
        loss: InnerLoss,
        penalty: LogPenalty,
        outer: Outer,
        n_validation: int,
    ) -> None:
        self.index, self.products, self.loss = index, products, loss
        self.penalty, self._outer = penalty, outer
        self.coefficients = penalty.bases[0].shape
        self.outputs = loss.y.shape
        shape = (
            int(np.prod(self.coefficients)),
            loss.y.size,
            n_validation * int(np.prod(self.outputs[1:])),
        )
        self.design = products.design(index)
        dtype = products.dtype
        self._validation_shape = (n_validation, *self.outputs[1:])
        self.basis = Basis(shape, penalty.bases, dtype, products.work)
        self.c = np.zeros(0)
        self.w = np.zeros(self.coefficients, dtype)
        self.f = np.zeros(self.outputs, dtype)
        self.point: ReducedPoint | None = None
        self.scale = 0.0
        self.means: Array | None = None
        self.gradient, self.curvature = self.w, Curvature(self.f, lambda u: u)

    def outer(self, flat: Array) -> tuple[float, Array]:
        """Return the validation loss of flattened outputs, and its derivative."""
        return self._outer(flat.reshape(self._validation_shape))

    def linearise(self) -> Array:
        """Set the curvature at w and return the slope by the outputs."""
        self.products.work.charge(ELEMENTS * self.f.size, 15)
        _, slope, self.curvature = self.loss.evaluate(self.f)
        return slope

    def set_gradient(self, data_part: Array, x: Array) -> None:
        """Set the gradient at w, and the strengths at x."""
        self.l2 = self.penalty.l2(x)
        self.gradient = self.l2 * self.w + data_part
        norm = float(np.linalg.norm(self.gradient))
        self.scale = self.scale or norm or 1.0
        self.relative = norm / self.scale

    def set_means(self, image: Array) -> None:
        """Take the means of the columns, weighted by the curvature: ``X^T bend``."""
        total = self.products.constant * self.curvature.bend.sum(axis=0)
        self.means = image[:-1] / np.where(total > 0, total, 1.0)

    def precondition(self, diagonal: Array, residual: Array) -> Array:
        """Return an approximate solution of ``H z = residual``.

        Columns are centred implicitly: the constant is nearly orthogonal to centred
        columns, and strongly coupled to plain ones that are not negative.
        """
        if self.means is None:
            return np.asarray(residual / diagonal)
        z = residual.copy()
        z[:-1] -= self.means * residual[-1:]
        z /= diagonal
        z[-1] -= (self.means * z[:-1]).sum(axis=0)
        return z

    def preconditioned_norm(self, residual: Array) -> float:
        """Return the norm of a residual in which CG shrinks it steadily."""
        z = self.precondition(self.diagonal(), residual)
        return math.sqrt(max(inner(residual, z), 0.0))

    def diagonal(self) -> Array:
        """Return the diagonal of H for the mean curvature, or its root.

        The root is better for columns alike; the constant keeps its own scale.
        """
        squares = self.design.column_squares()
        mean = np.multiply.outer(squares, self.curvature.bend.mean(axis=0)) + self.l2
        free = mean[:-1] if self.products.constant else mean
        middle = float(np.median(free)) if free.size else 1.0
        if free.size and float(free.max()) < ALIKE * middle:
            free[...] = np.sqrt(free * free.dtype.type(middle))
        floor = np.finfo(mean.dtype).eps * max(float(mean.max()), 1e-30)
        return np.asarray(np.maximum(mean, floor))

    def reduced(self) -> ReducedProblem:
        """Return the training problem in the basis."""
        basis = self.basis
        return ReducedProblem(
            self.loss,
            basis.F,
            basis.V,
            basis.penalties,
            self.penalty.signs,
            self.outer,
            self.products.work,
        )

    def add(self, direction: Array, image: Array) -> bool:
        """Add a direction to the basis; return whether it was new."""
        if self.basis.full:
            self.c = self.basis.merge(self.c)
        validation = self.products.validate(self.index, direction, image)
        new = self.basis.add(direction, image, validation)
        if new:
            self.c = np.append(self.c, 0.0)
        return new

    def add_constant(self) -> None:
        """Add the intercepts to the basis."""
        for column in np.ndindex(self.outputs[1:]):
            direction, image = np.zeros_like(self.w), np.zeros_like(self.f)
            direction[(-1, *column)] = 1.0
            image[(slice(None), *column)] = self.products.constant
            self.add(direction, image)

    def move(self, point: ReducedPoint) -> None:
        """Take the solution of the reduced problem."""
        self.point, self.c = point, point.c
        c = point.c.astype(self.w.dtype)
        self.w = (c @ self.basis.B).reshape(self.coefficients)
        self.f = point.outputs.reshape(self.outputs)

    def adjoint_start(self, rhs: Array) -> tuple[Array, Array]:
        """Return the solution of ``H q = rhs`` in the basis, and its image."""
        if self.point is None or not self.basis.k:
            return np.zeros_like(rhs), np.zeros_like(self.f)
        small = self.basis.B @ rhs.ravel()
        t = linalg.lstsq(self.point.hessian, small, check_finite=False)[0]
        t = t.astype(rhs.dtype)
        q, image = t @ self.basis.B, t @ self.basis.F
        return q.reshape(self.coefficients), image.reshape(self.outputs)

    def adjoint_slopes(self, q: Array, x: Array) -> Array:
        """Return ``dG/dx_g = - s_g q . (l2_g w)``."""
        factors = self.penalty.signs * self.penalty.factors(x)
        parts = [inner(q * base, self.w) for base in self.penalty.bases]
        return np.asarray(-factors * np.array(parts))


@dataclass
class LinearSystem:
    """One system ``H x = rhs`` under way, by preconditioned conjugate gradients.

    Norms are those of :meth:`BilevelFold.preconditioned_norm`.

    Parameters
    ----------
    fold : BilevelFold
        Gives H.
    residual : ndarray
        Right-hand side; what is left of it later.
    rtol : float
        Stop where the norm of the residual is below this share of the first one.
    max_iter : int
        Largest number of steps.
    kept : int, default=0
        Number of first directions to keep.
    enough : callable, default=None
        Replaces the rule of ``rtol``: maps the solution so far and the norm of the
        residual to whether to stop.
    """

    fold: BilevelFold
    residual: Array
    rtol: float
    max_iter: int
    kept: int = 0
    enough: Callable[[Array, float], bool] | None = None
    directions: list[tuple[Array, Array]] = field(default_factory=list)
    n_iter: int = 0

    def __post_init__(self) -> None:
        self._diagonal = self.fold.diagonal()
        self.x = np.zeros_like(self.residual)
        self.image = np.zeros_like(self.fold.f)
        z = self.fold.precondition(self._diagonal, self.residual)
        self.direction = z
        self._rho = np.vdot(self.residual, z)
        self._goal = self.rtol * self._norm()
        self.done = self._stops()

    def _norm(self) -> float:
        return math.sqrt(max(float(self._rho), 0.0))

    def _stops(self) -> bool:
        norm = self._norm()
        if norm == 0.0 or self.n_iter >= self.max_iter:
            return True
        return norm <= self._goal if self.enough is None else self.enough(self.x, norm)

    def advance(self, product: Array, image: Array) -> None:
        """Make one step, given ``H p`` and ``X p`` of the direction p."""
        curvature = np.vdot(self.direction, product)
        if not curvature > 0:
            self.done = True
            return
        step = self._rho / curvature
        if len(self.directions) < self.kept:
            self.directions.append((self.direction.copy(), image))
        self.x += step * self.direction
        self.image += step * image
        self.residual -= step * product
        z = self.fold.precondition(self._diagonal, self.residual)
        rho, before = np.vdot(self.residual, z), self._rho
        self.direction = z + (rho / before) * self.direction
        self._rho = rho
        self.n_iter += 1
        self.done = self._stops()


def solve_together(products: FoldProducts, systems: Sequence[LinearSystem]) -> None:
    """Run the systems of several folds in step, one pass through X for all.

    Parameters
    ----------
    products : FoldProducts
        X from both sides.
    systems : sequence of LinearSystem
        Changed in place.
    """
    while active := [system for system in systems if not system.done]:
        folds = [system.fold.index for system in active]
        images = products.forward(folds, [system.direction for system in active])
        bent = [
            system.fold.curvature.product(image)
            for system, image in zip(active, images, strict=True)
        ]
        back = products.adjoint(folds, bent)
        for system, image, part in zip(active, images, back, strict=True):
            touched = 6 * image.size + 20 * part.size
            products.work.charge(PASS / 2 * touched, 25)
            system.advance(system.fold.l2 * system.direction + part, image)
