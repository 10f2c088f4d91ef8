# SPDX-License-Identifier: BSD-3-Clause
"""The training problem in a small basis, solved exactly, with its derivative by x.

c = argmin loss(c F) + c R(x) c / 2,      R(x) = sum_g exp(s_g x_g) M_g
G(x) = validation loss of c V
dG/dx_g = - a . s_g exp(s_g x_g) M_g c,   (F diag(bend) F^T + R) a = dG/dc
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from accsmbo.hypergradients._inner_problem import Array
from accsmbo.hypergradients._losses import Curvature, InnerLoss
from accsmbo.linear_model._log_penalty import bounded_exp
from accsmbo.linear_model._work import COUPLED, ELEMENTS, PASS, VECTOR, Work

__all__ = ["ReducedPoint", "ReducedProblem"]

MAX_STEPS = 30
TRUSTED = 0.1  # share of the value up to which its correction is believed
MANY_ROWS, BLOCK = 32, 4096
FACTOR = 0.6  # multiply-adds of a factorisation, for the cube of its size


@dataclass
class ReducedPoint:
    """The solution of a reduced problem at one x.

    Parameters
    ----------
    c : ndarray of shape (k,)
        Solution.
    outputs : ndarray
        Training outputs, flattened.
    value : float
        Validation loss, corrected for what is left of the gradient by c.
    correction : float
        What was taken off it for that, or added where it is too large to be
        believed.
    slope : ndarray of shape (d,)
        Its derivative by x.
    cotangent : ndarray
        Derivative of the validation loss by the validation outputs.
    hessian : ndarray of shape (k, k)
        Second derivative of the training objective by c.
    tangents : ndarray of shape (d, k)
        dc/dx.
    """

    c: Array
    outputs: Array
    value: float
    correction: float
    slope: Array
    cotangent: Array
    hessian: Array
    tangents: Array


@dataclass
class ReducedProblem:
    """A fold's training problem restricted to the span of a few rows.

    Parameters
    ----------
    loss : InnerLoss
        Training loss, float32 or float64.
    F : ndarray of shape (k, n)
        Training outputs of each row of the basis.
    V : ndarray of shape (k, m)
        Validation outputs of each row.
    penalties : sequence of ndarray of shape (k, k)
        M_g.
    signs : ndarray of shape (d,)
        s_g.
    outer : callable
        Maps validation outputs to the validation loss and its derivative.
    work : Work
        Charged with the solutions.
    """

    loss: InnerLoss
    F: Array
    V: Array
    penalties: Sequence[Array]
    signs: Array
    outer: Callable[[Array], tuple[float, Array]]
    work: Work = field(default_factory=Work)

    def with_dtype(self, dtype: Any, F: Array | None = None) -> "ReducedProblem":
        """Return the same problem in another precision; F if it is there already."""
        F = self.F.astype(dtype) if F is None else F
        loss, V = self.loss.with_dtype(dtype), self.V.astype(dtype)
        return replace(self, loss=loss, F=F, V=V)

    def thinned(self, n_rows: int) -> "ReducedProblem":
        """Return the problem on about ``n_rows`` evenly spaced training rows."""
        n = len(self.loss.y)
        every = n // n_rows
        if every < 2:
            return self
        loss = replace_rows(self.loss, slice(None, None, every), every)
        F = self.F.reshape(len(self.F), n, -1)[:, ::every]
        return replace(self, loss=loss, F=np.ascontiguousarray(F).reshape(len(F), -1))

    def solve(self, c: Array, x: Array, *, tolerance: float) -> ReducedPoint:
        """Minimise from c by Newton steps with halving.

        Parameters
        ----------
        c : ndarray of shape (k,)
            Start.
        x : ndarray of shape (d,)
            Logarithms of the hyperparameters.
        tolerance : float
            Stop where the Newton decrement is below this share of the objective.

        Returns
        -------
        ReducedPoint
            The last iterate with everything that follows from it.
        """
        factors = bounded_exp(self.signs * x)
        R = sum(t * M for t, M in zip(factors, self.penalties, strict=True))
        state = self._evaluate(c, R)
        if not np.isfinite(state[0]):  # a start too far out for an exponential
            state = self._evaluate(np.zeros_like(c), R)
        for n_steps in range(MAX_STEPS):
            hessian = self._hessian(state[3], R)
            step = -_solve(hessian, state[2])
            decrement = -float(state[2] @ step)
            enough = decrement <= tolerance * abs(state[0])
            if enough or n_steps == MAX_STEPS - 1:
                break
            new = self._halve(state, step, decrement, R)
            if new is None:
                break
            state = new
        return self._point(state, hessian, factors)

    def _evaluate(self, c: Array, R: Any) -> tuple[float, Array, Array, Curvature, Any]:
        """Return objective, c, gradient, curvature and outputs."""
        each = ELEMENTS * (COUPLED if self.loss.y.ndim == 2 else 1)
        self._charge(2 * VECTOR * self.F.size + each * self.F.shape[1], 25)
        f = c.astype(self.F.dtype, copy=False) @ self.F
        with np.errstate(over="ignore", invalid="ignore"):  # no step goes there
            evaluated = self.loss.evaluate(f.reshape(self.loss.y.shape))
        value, slope, curvature = evaluated
        if not np.isfinite(value):
            return np.inf, c, c, curvature, f
        Rc = R @ c
        gradient = self.F @ slope.ravel() + Rc
        return value + 0.5 * float(c @ Rc), c, gradient, curvature, f

    def _halve(self, state: Any, step: Array, decrement: float, R: Any) -> Any:
        value, c = state[0], state[1]
        noise = 10 * np.finfo(self.F.dtype).eps * abs(value)
        for k in range(25):
            new = self._evaluate(c + 0.5**k * step, R)
            if new[0] <= value - 1e-4 * 0.5**k * decrement + noise:
                return new
        return None

    def _hessian(self, curvature: Curvature, R: Any) -> Array:
        k, size = len(self.F), self.F.size
        products = k * size / (2 if k > MANY_ROWS else 1)  # A A^T takes half
        self._charge(products + 3 * PASS * size, 8 + size // BLOCK)
        self.work.charge(FACTOR * k**3, 4)
        if curvature.probabilities is None:
            gram = _gram(self.F, curvature.bend.ravel())
        else:
            self._charge(12 * PASS * size, 8 * k)
            shape = self.loss.y.shape
            bent = [curvature.product(row.reshape(shape)).ravel() for row in self.F]
            gram = self.F @ np.array(bent).T
        hessian: Array = gram.astype(np.float64, copy=False) + R
        diagonal = hessian.reshape(-1)[:: len(hessian) + 1]
        top = max(float(diagonal.max(initial=0.0)), 1e-30)
        diagonal += 4 * float(np.finfo(self.F.dtype).eps) * top
        return hessian

    def _point(self, state: Any, hessian: Array, factors: Array) -> ReducedPoint:
        _, c, gradient, _, f = state
        n_outputs = self.V.shape[1]
        self._charge(2 * VECTOR * self.V.size + ELEMENTS * n_outputs, 40)
        self.work.charge(FACTOR * len(c) ** 3, 4)
        v = c.astype(self.V.dtype, copy=False) @ self.V
        value, cotangent = self.outer(v)
        by_c = self.V @ cotangent.astype(self.V.dtype).ravel()
        moved = [
            -s * t * (M @ c)
            for s, t, M in zip(self.signs, factors, self.penalties, strict=True)
        ]
        solved = _solve(hessian, np.array([by_c, *moved]).T)
        correction = float(solved[:, 0] @ gradient)
        slope = np.array([float(by_c @ tangent) for tangent in solved.T[1:]])
        unknown = abs(correction) > TRUSTED * abs(value)  # expect the worst
        value += abs(correction) if unknown else -correction
        tangents = solved.T[1:]
        return ReducedPoint(
            c, f, value, correction, slope, cotangent, hessian, tangents
        )

    def _charge(self, multiply_adds: float, calls: float) -> None:
        self.work.charge(multiply_adds * self.F.dtype.itemsize / 8, calls)


def _gram(F: Array, weight: Array) -> Array:
    """Return ``F diag(weight) F^T``.

    Few long rows: BLAS is several times faster on blocks that stay in the cache.
    """
    k, n = F.shape
    if k > MANY_ROWS:
        A = F * np.sqrt(weight)
        return np.asarray(A @ A.T)
    gram = np.zeros((k, k), F.dtype)
    for start in range(0, n, BLOCK):
        part = slice(start, start + BLOCK)
        gram += (F[:, part] * weight[part]) @ F[:, part].T
    return gram


def replace_rows(loss: InnerLoss, rows: Any, factor: float) -> InnerLoss:
    """Return a loss on some of its rows, their weights times a factor."""
    result = loss.with_dtype(loss.y.dtype)
    result.y = loss.y[rows]
    result.weight = loss.weight[rows] * loss.y.dtype.type(factor)
    return result


def _solve(hessian: Array, rhs: Array) -> Array:
    # LAPACK itself: scipy's wrappers take longer than the work for k of about 10.
    factor, failed = lapack.dpotrf(hessian, lower=1)
    if failed:
        return np.asarray(linalg.lstsq(hessian, rhs, check_finite=False)[0])
    return np.asarray(lapack.dpotrs(factor, rhs, lower=1)[0])
