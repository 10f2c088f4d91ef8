# SPDX-License-Identifier: BSD-3-Clause
"""GridSearch: every point of a grid, in the order of scikit-learn's ParameterGrid."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo._validation import check_integer
from accsmbo.exceptions import SpaceExhausted
from accsmbo.history import Trial
from accsmbo.optimizers._base import Optimizer
from accsmbo.space import Dimension

__all__ = ["GridSearch"]


class GridSearch(Optimizer):
    """All combinations: names sorted, the last varies fastest, one dict after another.

    What is told does not matter; when the grid is used up, asking ends the run.

    Parameters
    ----------
    space : Space, dict or list of dict, default=None
        What to search. Choices keep the user's order; one listed twice is asked twice,
        as in ``ParameterGrid``.
    resolution : int, default=10
        Number of evenly spaced points (in the logarithm of log dimensions) of each
        continuous dimension, ends included.
    points_to_evaluate : list of dict, default=None
        Params to ask first; they are not asked again.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the trials' own seeds; the grid does not depend on it.

    See Also
    --------
    RandomSearch : Independent points.

    Examples
    --------
    >>> from accsmbo.optimizers import GridSearch
    >>> grid = GridSearch({"C": [1, 10], "kernel": ["rbf", "poly"]})
    >>> [grid.ask().params for _ in range(2)]
    [{'C': 1, 'kernel': 'rbf'}, {'C': 1, 'kernel': 'poly'}]
    """

    adaptive = False

    def __init__(
        self,
        space: Any = None,
        *,
        resolution: int = 10,
        points_to_evaluate: list[dict[str, Any]] | None = None,
        random_state: Any = None,
    ) -> None:
        self.resolution = resolution
        super().__init__(
            space, points_to_evaluate=points_to_evaluate, random_state=random_state
        )

    def _start(self) -> None:
        if hasattr(self, "history_"):
            return
        check_integer("resolution", self.resolution, minimum=1)
        super()._start()
        self._axes = [
            [self._axis(dimension) for dimension in subspace.dimensions.values()]
            for subspace in self.space_.subspaces
        ]
        self._skip = {(index, u.tobytes()) for index, u in self._given}
        self._next = 0

    def n_points(self) -> int:
        """Return the number of points of the grid.

        Returns
        -------
        int
            Product of the axes' lengths, summed over the subspaces.
        """
        self._start()
        return sum(_n_combinations(axes) for axes in self._axes)

    def restore(self, trial: Trial) -> None:
        """Take over a trial of an earlier run; its point is not asked again."""
        super().restore(trial)
        self._skip.add((trial.subspace, trial.unit.tobytes()))

    def _next_given_point(self) -> tuple[int, NDArray[np.float64]]:
        given = super()._next_given_point()
        while given is None:
            index, u = self._point(self._next)
            self._next += 1
            if (index, u.tobytes()) not in self._skip:
                given = index, u
        return given

    def _point(self, position: int) -> tuple[int, NDArray[np.float64]]:
        for index, axes in enumerate(self._axes):
            n = _n_combinations(axes)
            if position < n:
                places = np.unravel_index(position, [len(axis) for axis in axes])
                point = [axis[k] for axis, k in zip(axes, places, strict=True)]
                return index, self.space_.subspaces[index].modelled(point)
            position -= n
        raise SpaceExhausted(f"all {self._next} points of the grid have been asked.")

    def _axis(self, dimension: Dimension) -> list[float]:
        if dimension.n_levels == 0:
            ends = [0.5] if self.resolution == 1 else np.linspace(0, 1, self.resolution)
            return [float(u) for u in dimension.snap(ends)]
        return [dimension.to_unit(value) for value in dimension.values()]


def _n_combinations(axes: list[list[float]]) -> int:
    return math.prod(len(axis) for axis in axes)
