# SPDX-License-Identifier: BSD-3-Clause
"""Minimise a cheap validation loss by a few log hyperparameters.

One hyperparameter: safeguarded secant on the derivative. Several: L-BFGS-B. A scan
along the line from the strongest to the weakest penalties says where to start.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize
from scipy.interpolate import CubicHermiteSpline

from accsmbo.hypergradients._inner_problem import Array

__all__ = ["Box", "Scan", "minimise", "scan_penalties"]

_lbfgsb: Any = optimize.minimize  # typed loosely: its stubs fix the shape of x
Objective = Callable[[Array], tuple[float, Array]]

RADIUS = 2.5  # of a move; the basis knows little farther away
STEP = 0.02  # a move shorter than this changes nothing that could be measured
GAIN = 1e-5  # neither does one that promises less than this share of the value
PROBE = 0.25  # the first move at least: a curve can be flatter than was guessed
SCAN_STEP = 1.0  # between neighbours of a scan
MAX_EVALUATIONS = 12


@dataclass(frozen=True)
class Box:
    """Range of the log hyperparameters.

    Parameters
    ----------
    low, high : ndarray of shape (d,)
        Ends.
    signs : ndarray of shape (d,)
        +1 where larger means a stronger penalty, -1 where weaker.
    """

    low: Array
    high: Array
    signs: Array

    @property
    def strongest(self) -> Array:
        """Return the corner of the strongest penalties."""
        return np.where(self.signs > 0, self.high, self.low)

    @property
    def weakest(self) -> Array:
        """Return the opposite corner."""
        return np.where(self.signs > 0, self.low, self.high)

    def clip(self, x: Array) -> Array:
        """Return the nearest point of the box."""
        return np.clip(x, self.low, self.high)

    def around(self, x: Array, radius: float) -> "Box":
        """Return the part within reach of one move."""
        low, high = np.maximum(x - radius, self.low), np.minimum(x + radius, self.high)
        return Box(low, high, self.signs)


@dataclass(frozen=True)
class Scan:
    """Values on the line from the strongest to the weakest penalties.

    Parameters
    ----------
    points : ndarray of shape (n_points, d)
        Log hyperparameters.
    values : ndarray of shape (n_points,)
        Mean validation losses.
    slopes : ndarray of shape (n_points,)
        Derivatives along the line, for a step of its whole length.
    """

    points: Array
    values: Array
    slopes: Array

    @property
    def best(self) -> int:
        """Return the index of the smallest value."""
        return int(np.argmin(self.values))

    def refined(self, n: int) -> tuple["Scan", Array]:
        """Interpolate values and slopes by cubics.

        Parameters
        ----------
        n : int
            Points for each interval.

        Returns
        -------
        scan : Scan
            With n times as many points.
        curvatures : ndarray of shape (n_points,)
            Second derivatives by the distance along the line.
        """
        t = np.linspace(0, 1, len(self.values))
        fine = np.linspace(0, 1, n * (len(t) - 1) + 1)
        spline = CubicHermiteSpline(t, self.values, self.slopes)
        line = self.points[-1] - self.points[0]
        points = self.points[0] + fine[:, None] * line
        curvatures = spline(fine, 2) / max(float(line @ line), 1e-30)
        return Scan(points, spline(fine), spline(fine, 1)), curvatures

    def minima(self, scale: float) -> list[int]:
        """Return the indices of local minima, the smallest value first.

        Parameters
        ----------
        scale : float
            Valleys shallower than this do not count.

        Returns
        -------
        list of int
            Indices into ``points``.
        """
        values = self.values
        found: list[int] = []
        for i in np.argsort(values, kind="stable"):
            if all(self._ridge(i, j) > values[i] + scale for j in found):
                found.append(int(i))
        return found

    def _ridge(self, i: int, j: int) -> float:
        return float(self.values[min(i, j) : max(i, j) + 1].max())


def scan_penalties(objective: Objective, box: Box, step: float = SCAN_STEP) -> Scan:
    """Evaluate along the line from the strongest to the weakest penalties.

    Parameters
    ----------
    objective : callable
        Returns value and slope.
    box : Box
        Range.
    step : float, default=1.0
        Largest distance of neighbours in any hyperparameter.

    Returns
    -------
    Scan
        At least three points, both ends among them.
    """
    line = box.weakest - box.strongest
    n_points = max(3, int(np.ceil(float(np.abs(line).max(initial=0.0)) / step)) + 1)
    points = box.strongest + np.linspace(0, 1, n_points)[:, None] * line
    found = [objective(x) for x in points]
    values = np.array([value for value, _ in found])
    return Scan(points, values, np.array([float(s @ line) for _, s in found]))


def minimise(
    objective: Objective, x: Array, box: Box, curvature: float | None = None
) -> Array:
    """Return the local minimum that descent from x reaches.

    Parameters
    ----------
    objective : callable
        Returns value and slope.
    x : ndarray of shape (d,)
        Start, inside the box.
    box : Box
        Range of the move.
    curvature : float, default=None
        Second derivative at x, where there is one hyperparameter and it is known.

    Returns
    -------
    ndarray of shape (d,)
        The last point evaluated.
    """
    if len(x) == 1:
        return _secant(objective, x, box, curvature)
    return _quasi_newton(objective, x, box)


def _secant(objective: Objective, x: Array, box: Box, curvature: float | None) -> Array:
    low, high = float(box.low[0]), float(box.high[0])
    left, right = low, high
    previous: tuple[float, float] | None = None
    for n_more in reversed(range(MAX_EVALUATIONS)):
        here = float(x[0])
        value, slopes = objective(x)
        slope = float(slopes[0])
        left, right = (left, here) if slope > 0 else (here, right)
        known = curvature if previous is None else _secant_slope(here, slope, previous)
        if known is None:
            step = _first_step(slope, abs(value))
        else:
            step = _step(slope, known, RADIUS)
        new = float(np.clip(here + step, low, high))
        if low < left and right < high and not left < new < right:
            new = 0.5 * (left + right)
        previous = (here, slope)
        gain = abs(slope * (new - here))
        if not n_more or abs(new - here) < STEP or gain < GAIN * abs(value):
            break
        x = np.array([new])
    return x


def _first_step(slope: float, value: float) -> float:
    """Return a step on a curve of unknown bend, long enough to learn it."""
    step = _step(slope, value / 12, 1.0)
    return float(np.copysign(max(abs(step), PROBE), step))


def _secant_slope(x: float, slope: float, previous: tuple[float, float]) -> float:
    """Return the mean curvature between two points."""
    return (slope - previous[1]) / (x - previous[0])


def _step(slope: float, curvature: float, limit: float) -> float:
    """Return a Newton step of bounded length, downhill where the curve bends down."""
    if abs(slope) >= limit * curvature:
        return float(-np.sign(slope) * limit)
    return -slope / curvature


def _quasi_newton(objective: Objective, x: Array, box: Box) -> Array:
    seen: list[tuple[float, Array]] = []

    def recorded(point: Array) -> tuple[float, Array]:
        value, slope = objective(point)
        seen.append((value, point.copy()))
        return value, slope

    options: dict[str, Any] = {"maxfun": 3 * MAX_EVALUATIONS, "ftol": GAIN / 100}
    _lbfgsb(
        recorded,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(box.low, box.high, strict=True)),
        options=options,
    )
    best = min(range(len(seen)), key=lambda i: seen[i][0])
    objective(seen[best][1])
    return seen[best][1]
