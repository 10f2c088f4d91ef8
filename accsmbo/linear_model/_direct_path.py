# SPDX-License-Identifier: BSD-3-Clause
"""Small tables: every penalty answered by a few factorisations.

With the identity for a basis, the reduced problem is the training problem itself.
Values and derivatives on a coarse grid, in single precision, make a spline of the whole
range; tight solutions in double precision then settle its lowest valley.
"""

from collections.abc import Sequence

import numpy as np

from accsmbo.hypergradients._inner_problem import Array
from accsmbo.linear_model._bilevel_newton import ACCURACY, Objective, Visit
from accsmbo.linear_model._penalty_search import Box, Scan, minimise, scan_penalties
from accsmbo.linear_model._reduced_problem import ReducedProblem
from accsmbo.linear_model._work import WorkSpent

__all__ = ["DirectPath"]

COARSE_STEP = 2.7  # between the solutions of the first look
FINE = 8  # points of the spline in each of its intervals
# Newton decrements over the objective: in the first look, good to about 1e-3, and later
LOOSE, TIGHT, EXACT = 3e-3, 1e-8, 1e-14
NOTHING = 1e-6  # share of the largest loss at which a loss is as good as none
BROKEN = 0.01  # share by which a value that the first look promised is missed
ROUNDING = 1e-8  # share of a loss that double precision may be off by


class DirectPath:
    """Find the penalties of few coefficients.

    Parameters
    ----------
    problems : sequence of ReducedProblem
        One for each fold, in the basis of all coefficients.
    box : Box
        Range of the log hyperparameters.

    Attributes
    ----------
    x : ndarray of shape (d,)
        Where the minimum is.
    visits : list of Visit
        All evaluations, in order; those of the first look are loose.
    error : float
        What the last evaluation, a tight one, leaves open, and rounding; infinite
        where the work was spent before.
    scan : Scan
        The whole range, as a spline of the first look.
    converged : bool
        Whether the work allowed was enough, and the last evaluation is tight.
    """

    def __init__(self, problems: Sequence[ReducedProblem], box: Box) -> None:
        self.box = box
        self.visits: list[Visit] = []
        self.error, self.converged = np.inf, False
        self._starts: list[list[Array]] = []
        self.x, self.scan = box.strongest, Scan(*[np.zeros((0, 1))] * 3)
        zeros = [np.zeros(len(problem.F)) for problem in problems]
        self._loose = Objective(_in_single_precision(problems), zeros, LOOSE)
        self._tight = Objective(problems, zeros, TIGHT)

    def run(self) -> "DirectPath":
        """Look over the range, then settle the best valley while there is work left."""
        coarse = scan_penalties(self._look, self.box, COARSE_STEP)
        try:
            self._settle(coarse)
            self._finish()
        except WorkSpent:
            best = min(self.visits, key=lambda visit: float(visit.losses.mean()))
            self.visits.append(best)
            self.x = best.x
        return self

    def _settle(self, coarse: Scan) -> None:
        self.scan, curvatures = coarse.refined(FINE)
        best = self.scan.best
        self._tight.starts = self._starts[best // FINE]
        start = self.scan.points[best]
        self.x = minimise(self._evaluate, start, self.box, curvatures[best])
        first, value = self.x, self._value
        promised = coarse.values.min()
        if value > promised:
            if value > promised + BROKEN * abs(promised):
                coarse = scan_penalties(self._evaluate, self.box, COARSE_STEP)
            start = coarse.points[coarse.best]
            self.x = minimise(self._evaluate, start, self.box)
            if self._value > value:
                self.x = first
                self._evaluate(first)

    def _finish(self) -> None:
        """Make the last evaluation exact, and see what is left."""
        self._tight.tolerance = EXACT
        self._evaluate(self.x)
        self._tight.tolerance = TIGHT
        scale = abs(self._value)
        left = np.mean([abs(point.correction) for point in self._tight.points])
        self.error = float(left) + ROUNDING * scale
        seen = float(np.abs(self.scan.values).max())
        self.converged = self.error <= ACCURACY * max(scale, NOTHING * seen)

    @property
    def _value(self) -> float:
        return float(self.visits[-1].losses.mean())

    def rescored(self) -> list[Visit]:
        """Return the visits, those of the first look made tight.

        Training ended early can look better than the minimum, most of all where the
        curve is flat: a row that is not the minimum would be taken for the best.
        """
        seen, n_loose = [], len(self._starts)
        for visit in reversed(self.visits[:n_loose]):
            self._tight(visit.x)
            seen.append(self._tight.visit)
        return seen[::-1] + self.visits[n_loose:]

    @property
    def coefficients(self) -> list[Array]:
        """Return the coefficients of each fold at ``x``."""
        return [point.c for point in self._tight.points or self._loose.points]

    def _look(self, x: Array) -> tuple[float, Array]:
        result = self._loose(x)
        self.visits.append(self._loose.visit)
        self._starts.append([point.c for point in self._loose.points])
        return result

    def _evaluate(self, x: Array) -> tuple[float, Array]:
        result = self._tight(x)
        self.visits.append(self._tight.visit)
        return result


def _in_single_precision(problems: Sequence[ReducedProblem]) -> list[ReducedProblem]:
    """Return the problems in float32; those that share F go on sharing it."""
    single: dict[int, Array] = {}
    for problem in problems:
        if id(problem.F) not in single:
            single[id(problem.F)] = problem.F.astype(np.float32)
    return [
        problem.with_dtype(np.float32, single[id(problem.F)]) for problem in problems
    ]
