# SPDX-License-Identifier: BSD-3-Clause
"""HOAG: descent along approximate hypergradients, with inexact inner solves.

Notation
--------
x, f, g     (d,), float, (d,)   last accepted point of the cube, its loss and gradient
B           (d, d)              BFGS curvature of the latest steps and gradients
radius      float               longest step allowed, in the maximum norm
tau         float               relative accuracy asked of the next inner solve
gain        float               decrease that the quadratic model promises
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo._validation import check_integer, check_tolerance
from accsmbo.exceptions import Converged
from accsmbo.optimizers._base import Observations, Optimizer
from accsmbo.space import Subspace

__all__ = ["HOAG"]

FloatArray = NDArray[np.float64]

FIRST_RADIUS, LARGEST_RADIUS, SMALLEST_RADIUS = 0.1, 0.4, 1e-4
GROW, SHRINK = 1.6, 0.35
LONGEST_PAIR = 0.5  # farther apart, two gradients say nothing about curvature
HUGE = 1e6  # a gradient that would change the loss so many times over is refused
RESTART_TOLERANCE = 3e-3  # a second descent starts with coefficients at hand
FREE_RESTARTS = 3  # for starts where the gradient vanishes at once


@dataclass
class _Descent:
    """Where the descent in one subspace stands."""

    tau: float
    x: FloatArray | None = None
    f: float = np.inf
    g: FloatArray = field(default_factory=lambda: np.zeros(0))
    pairs: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)
    radius: float = FIRST_RADIUS
    n_seen: int = 0
    n_restarts: int = 0
    n_vanished: int = 0


class HOAG(Optimizer):
    """Hyperparameter optimization with approximate gradients (Pedregosa 2016).

    A projected descent in the unit cube. The inner problem of trial k is solved to the
    relative accuracy ``tau_k = max(3 tolerance, initial_tolerance 0.3^k)``, k counting
    accepted steps. A step is accepted if the loss does not rise by more than half of
    that share of it; otherwise the region is shrunk and the step tried again. The
    paper's adaptive step length is replaced by BFGS curvature within a region of
    adaptive radius (in one dimension: the secant rule).

    It needs gradients. Coordinates without one (categories, integers, parameters of
    earlier pipeline steps) stay where the run starts.

    Parameters
    ----------
    space : Space, dict or list of dict, default=None
        What to search.
    n_restarts : int, default=0
        Further descents after the first has converged, each from the point that is
        farthest from all evaluated ones.
    tolerance : float, default=1e-4
        It has converged where the decrease still promised is below this share of the
        loss; three times it is the last accuracy asked of the inner solves.
    initial_tolerance : float, default=1e-2
        First accuracy asked of the inner solves.
    points_to_evaluate : list of dict, default=None
        Params to ask first; the descent starts from the best of them. None means the
        centre of the cube.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the restarts.

    Attributes
    ----------
    converged_ : bool
        Whether the last descent converged; :meth:`ask` then raises
        :class:`~accsmbo.exceptions.Converged`, which ends a run.

    See Also
    --------
    SMBO : Global, needs no gradients.

    References
    ----------
    .. [1] F. Pedregosa, "Hyperparameter optimization with approximate gradient",
       ICML 2016, algorithm 1.

    Examples
    --------
    >>> from accsmbo import Real
    >>> from accsmbo.exceptions import Converged
    >>> from accsmbo.optimizers import HOAG
    >>> optimizer = HOAG({"x": Real(-1.0, 2.0)})
    >>> try:
    ...     while True:
    ...         trial = optimizer.ask()
    ...         x = trial.params["x"]
    ...         optimizer.tell(trial, x**2 + 1, {"x": 2 * x})
    ... except Converged:
    ...     round(optimizer.history.best_value, 3)
    1.0
    """

    sequential = True

    def __init__(
        self,
        space: Any = None,
        *,
        n_restarts: int = 0,
        tolerance: float = 1e-4,
        initial_tolerance: float = 1e-2,
        points_to_evaluate: list[dict[str, Any]] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            space, points_to_evaluate=points_to_evaluate, random_state=random_state
        )
        self.n_restarts = n_restarts
        self.tolerance = tolerance
        self.initial_tolerance = initial_tolerance

    def _start(self) -> None:
        if hasattr(self, "history_"):
            return
        check_integer("n_restarts", self.n_restarts, minimum=0)
        check_tolerance("tolerance", self.tolerance)
        check_tolerance("initial_tolerance", self.initial_tolerance)
        super()._start()

    def _propose(
        self, observations: Observations, rng: np.random.Generator
    ) -> FloatArray:
        descent = self._descent(observations.subspace)
        for i in range(descent.n_seen, len(observations.y)):
            self._digest(descent, observations, i)
        descent.n_seen = len(observations.y)
        proposal = None
        if not observations.n_asked:
            proposal = np.full(observations.subspace.n_dims, 0.5)
        elif len(observations.pending) or descent.x is None:
            return _farthest(observations, rng)
        else:
            proposal = self._next_step(descent)
        if proposal is None:
            proposal = self._restart(descent, observations, rng)
        return proposal

    def _tolerance(self, observations: Observations) -> float | None:
        return self._descent(observations.subspace).tau

    def _descent(self, subspace: Subspace) -> _Descent:
        if not hasattr(self, "_descents"):
            self._descents: dict[Subspace, _Descent] = {}
            self.converged_ = False
        if subspace not in self._descents:
            self._descents[subspace] = _Descent(self.initial_tolerance)
        return self._descents[subspace]

    def _digest(self, descent: _Descent, observations: Observations, i: int) -> None:
        """Accept or refuse the point of one finished trial."""
        u, f, g = observations.U[i], observations.y[i], observations.gradient[i]
        if not observations.failed[i]:
            _check_gradient(g)
        if not _is_sound(f, g, failed=bool(observations.failed[i])):
            _shrink(descent, u)
            return
        if descent.x is not None:
            step, change = u - descent.x, np.nan_to_num(g) - np.nan_to_num(descent.g)
            if np.abs(step).max() <= LONGEST_PAIR:
                descent.pairs.append((step, change))
        slack = 0.5 * descent.tau * abs(f)
        if descent.x is not None and f > descent.f + slack:
            _shrink(descent, u)
            return
        descent.x, descent.f, descent.g = u, f, g
        descent.radius = min(descent.radius * GROW, LARGEST_RADIUS)
        descent.tau = max(0.3 * descent.tau, 3 * self.tolerance)

    def _next_step(self, descent: _Descent) -> FloatArray | None:
        """Return the next point, or None where the descent has converged."""
        x, g = descent.x, np.nan_to_num(descent.g)
        assert x is not None  # for the type checker
        blocked = ((x <= 0) & (g > 0)) | ((x >= 1) & (g < 0)) | (g == 0)
        if blocked.all():
            return None
        B = _curvature(descent.pairs, g, descent.radius)
        free = np.flatnonzero(~blocked)
        step = np.zeros_like(x)
        step[free] = -np.linalg.solve(B[np.ix_(free, free)], g[free])
        step *= min(1.0, descent.radius / np.abs(step).max())
        point = np.clip(x + step, 0, 1)
        step = point - x
        gain = -(g @ step + 0.5 * step @ B @ step)
        if gain > self.tolerance * abs(descent.f) and descent.radius > SMALLEST_RADIUS:
            return np.asarray(point)
        if descent.tau > 3 * self.tolerance and np.abs(step).max() > SMALLEST_RADIUS:
            descent.tau = 3 * self.tolerance  # look once more, accurately
            return np.asarray(point)
        return None

    def _restart(
        self,
        descent: _Descent,
        observations: Observations,
        rng: np.random.Generator,
    ) -> FloatArray:
        at_once = not descent.pairs and descent.n_vanished < FREE_RESTARTS
        if not at_once and descent.n_restarts >= self.n_restarts:
            self.converged_ = True
            raise Converged(
                f"HOAG has converged after {len(observations.y)} trials: less than "
                f"{self.tolerance:g} of the loss is left to gain around the best point."
            )
        n_vanished = descent.n_vanished + at_once
        n_restarts = descent.n_restarts + (not at_once)
        self._descents[observations.subspace] = _Descent(
            tau=max(3 * self.tolerance, min(RESTART_TOLERANCE, self.initial_tolerance)),
            n_seen=len(observations.y),
            n_restarts=n_restarts,
            n_vanished=n_vanished,
        )
        return _farthest(observations, rng)


def _check_gradient(g: FloatArray) -> None:
    if np.isnan(g).all():
        raise ValueError(
            "HOAG needs gradients, but a trial was told without any. Use an estimator "
            "and a metric that accsmbo.hypergradients can differentiate, or another "
            "optimizer such as SMBO."
        )


def _is_sound(f: float, g: FloatArray, *, failed: bool) -> bool:
    """Return whether the point may be stepped to; warn of a broken gradient."""
    if failed:
        return False
    if np.isinf(g).any() or np.nanmax(np.abs(g)) > HUGE * max(abs(f), 1.0):
        warnings.warn(
            f"A trial came with a gradient of size {np.nanmax(np.abs(g)):.1e}; it was "
            "refused, the last good point kept and the step shrunk.",
            UserWarning,
            stacklevel=5,
        )
        return False
    return True


def _shrink(descent: _Descent, u: FloatArray) -> None:
    """Allow less than the way to a point that was refused."""
    length = 0.0 if descent.x is None else float(np.abs(u - descent.x).max())
    if length > 0:
        descent.radius = min(descent.radius, SHRINK * length)


def _curvature(
    pairs: list[tuple[FloatArray, FloatArray]], g: FloatArray, radius: float
) -> FloatArray:
    """Return the BFGS matrix of the latest pairs, the last one applied last.

    Nocedal and Wright, Numerical Optimization, equation (6.19).
    """
    d = len(g)
    latest = pairs[-(2 * d + 3) :]
    used = [(s, y) for s, y in latest if _is_convex(s, y)]
    if not used or not _is_convex(*latest[-1]):  # then a step as long as allowed
        return np.asarray(np.linalg.norm(g) / radius * np.eye(d))
    s, y = used[-1]
    B = (y @ y) / (s @ y) * np.eye(d)
    for s, y in used:
        Bs = B @ s
        B = B - np.outer(Bs, Bs) / (s @ Bs) + np.outer(y, y) / (s @ y)
    return np.asarray(B)


def _is_convex(s: FloatArray, y: FloatArray) -> bool:
    return bool(s @ y > 1e-3 * np.linalg.norm(s) * np.linalg.norm(y) > 0)


def _farthest(observations: Observations, rng: np.random.Generator) -> FloatArray:
    """Return a random point far from all others and, half as much, from the faces."""
    candidates = rng.random((512, observations.subspace.n_dims))
    known = np.vstack([observations.U, observations.pending])
    gaps = np.abs(candidates[:, None] - known[None]).max(axis=2).min(axis=1)
    faces = np.minimum(candidates, 1 - candidates).min(axis=1)
    return np.asarray(candidates[np.argmax(np.minimum(gaps, 2 * faces))])
