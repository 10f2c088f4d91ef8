# SPDX-License-Identifier: BSD-3-Clause
"""Small tables: every penalty answered by a few factorisations.

With the identity for a basis, the reduced problem is the training problem itself. A
handful of exact solutions with their tangents dw/dx span a basis in which the whole
range is scanned; exact solutions then settle the best valley of the scan.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from accsmbo.hypergradients._inner_problem import Array
from accsmbo.linear_model._bilevel_newton import Objective, Visit
from accsmbo.linear_model._penalty_search import Box, Scan, minimise, scan_penalties
from accsmbo.linear_model._reduced_problem import ReducedProblem

__all__ = ["DirectPath"]

EXACT_STEP = 4.0  # between the exact solutions of the first look
LOOSE, SCANNING, TIGHT = 1e-4, 1e-6, 1e-8  # Newton decrements over the objective
MAX_LOOKS = 4
DECEIVED = 3e-3  # share by which an exact value may be worse than promised


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
        All exact evaluations, in order.
    error : float
        0: evaluations are exact.
    scan : Scan
        The whole range, as the basis of exact solutions sees it.
    converged : bool
        True.
    """

    def __init__(self, problems: Sequence[ReducedProblem], box: Box) -> None:
        self.problems, self.box = problems, box
        self.visits: list[Visit] = []
        self.error, self.converged = 0.0, True
        self.x, self.scan = box.strongest, Scan(*[np.zeros((0, 1))] * 3)
        self._solutions: list[list[Array]] = [[] for _ in problems]
        zeros = [np.zeros(len(problem.F)) for problem in problems]
        self._exact = Objective(problems, zeros)

    def run(self) -> "DirectPath":
        """Look over the range, then settle the best valley; look again if deceived."""
        self._exact.tolerance = LOOSE
        scan_penalties(self._evaluate, self.box, EXACT_STEP)
        self._exact.tolerance = TIGHT
        for _ in range(MAX_LOOKS):
            promised = self._look()
            self.x = minimise(self._evaluate, self.x, self.box)
            value = float(self.visits[-1].losses.mean())
            if value <= promised + DECEIVED * abs(promised):
                break
        return self

    def _look(self) -> float:
        """Scan in the basis of the solutions so far; return the value promised."""
        reduced = [
            _restricted(problem, found)
            for problem, found in zip(self.problems, self._solutions, strict=True)
        ]
        cheap = Objective(reduced, [np.zeros(len(p.F)) for p in reduced], SCANNING)
        self.scan = scan_penalties(cheap, self.box)
        self.x = minimise(cheap, self.scan.points[self.scan.best], self.box)
        return cheap(self.x)[0]

    def rescored(self) -> list[Visit]:
        """Return the visits, which are exact."""
        return self.visits

    @property
    def coefficients(self) -> list[Array]:
        """Return the coefficients of each fold at ``x``."""
        return [point.c for point in self._exact.points]

    def _evaluate(self, x: Array) -> tuple[float, Array]:
        result = self._exact(x)
        points = self._exact.points
        for found, point in zip(self._solutions, points, strict=True):
            found += [point.c, *point.tangents]
        self.visits.append(self._exact.visit())
        return result


def _restricted(problem: ReducedProblem, solutions: list[Array]) -> ReducedProblem:
    """Return a problem on the span of some solutions."""
    columns = np.column_stack(solutions)
    norms = np.linalg.norm(columns, axis=0)
    left, singular, _ = np.linalg.svd(
        columns / np.where(norms > 0, norms, 1.0), full_matrices=False
    )
    T = left[:, singular > 1e-10 * singular[0]]
    return replace(
        problem,
        F=T.T @ problem.F,
        V=T.T @ problem.V,
        penalties=[T.T @ M @ T for M in problem.penalties],
    )
