# SPDX-License-Identifier: BSD-3-Clause
"""EmpiricalDensity: where hyperparameters that won before lie (the paper's EPDF).

Notation
--------
U       (m, d)  points of the unit cube of a subspace
kde             weighted kernel density, see `_kernel_density`
f               floor, max(0.1, 3 / (n_tasks + 3))
p = (1 - f) kde + f                                     one more task, less floor
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from accsmbo._validation import check_integer, check_real
from accsmbo.exceptions import DensityWarning
from accsmbo.metalearning._coordinates import coordinates
from accsmbo.metalearning._density_readers import DensityReaders
from accsmbo.metalearning._kernel_density import KernelDensity
from accsmbo.metalearning._source_task import SourceTask, good_points, without
from accsmbo.space import Space, Subspace

__all__ = ["EmpiricalDensity"]

FloatArray = NDArray[np.float64]

# A leave-one-task-out log score up to this many nats over uniform is no information.
LEAST_GAIN = 0.1
SMALLEST_FLOOR = 0.1


class EmpiricalDensity(DensityReaders):
    """Density of good hyperparameters, learned from earlier searches.

    A Gaussian kernel density on the unit cube of a space, the kernels cut at its faces
    and renormalised, with a uniform floor that shrinks as source tasks are added; tasks
    weigh the same unless they have a ``weight``. Unordered choices have smoothed
    frequencies, and numbers a density for each combination of choices.

    Parameters
    ----------
    top : int, default=3
        How many of a task's best configurations enter; of one with fewer than 50
        evaluations the best alone.
    floor : float, default=None
        Share of the uniform density; None means max(0.1, 3 / (n_tasks + 3)).
    joint : bool, default=True
        Whether the numbers are modelled together; otherwise one by one.

    Attributes
    ----------
    space_ : Space
        The space that it lives on.
    n_tasks_ : int
        Source tasks with a point in the space.
    n_good_tasks_ : int
        Those of them with at least 50 evaluations.
    floor_ : float
        Share of the uniform density.
    score_ : float
        Mean log density, in nats over the uniform one, of each task's best under the
        density of all other tasks; NaN for fewer than two tasks.
    source_ : str
        Where the points come from.
    dropped_ : list of str
        Tasks left out because their scores hardly vary or are often equal.

    See Also
    --------
    PriorDensity : A belief, by hand.
    MetaAcquisition : What it is for.

    References
    ----------
    .. [1] Using Gradient Based Multikernel Gaussian Process and Meta-Acquisition
       Function to Accelerate SMBO, ICTAI 2019, section 4.2.

    Examples
    --------
    >>> from accsmbo import Real
    >>> from accsmbo.metalearning import EmpiricalDensity
    >>> space = {"C": Real(1e-3, 1e3, log=True)}
    >>> won = [{"C": 0.5}, {"C": 1.0}, {"C": 2.0}, {"C": 1.5}]
    >>> density = EmpiricalDensity().fit(won, space=space)
    >>> density.pdf_params({"C": 1.0}) > 3 * density.pdf_params({"C": 500.0})
    True
    """

    def __init__(
        self, *, top: int = 3, floor: float | None = None, joint: bool = True
    ) -> None:
        self.top = top
        self.floor = floor
        self.joint = joint

    def fit(
        self,
        points: Sequence[Mapping[str, Any]] | ArrayLike,
        space: Any,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Learn from points, each of a task of its own.

        Parameters
        ----------
        points : sequence of dict, or array-like of shape (n, d)
            Params that won, or points of the unit cube of the only subspace.
        space : Space, dict or list of dict
            Where they lie.
        weights : array-like of shape (n,), default=None
            How much each counts; None: all the same.

        Returns
        -------
        self : EmpiricalDensity
            The fitted object itself.

        Raises
        ------
        ValueError
            If there are no points, or not as many weights, or a weight is negative.
        """
        where = Space(space)
        rows: list[Any] = list(points)  # type: ignore[arg-type]
        if rows and not isinstance(rows[0], Mapping):
            rows = [where.subspaces[0].to_params(u) for u in np.asarray(points)]
        w = np.ones(len(rows)) if weights is None else np.asarray(weights, float)
        if w.shape != (len(rows),) or (w < 0).any() or not w.any():
            raise ValueError(
                f"weights must be {len(rows)} numbers >= 0, one for each point, not "
                f"all 0, got {weights!r}. Leave them out to weigh all points the same."
            )
        tasks = [
            SourceTask(f"point {i}", [dict(row)], weight=float(v), n_evaluations=1)
            for i, (row, v) in enumerate(zip(rows, w, strict=True))
        ]
        return self.fit_tasks(tasks, where, source="points given")

    def fit_tasks(
        self,
        tasks: Iterable[SourceTask],
        space: Any,
        *,
        exclude: Iterable[str] = (),
        source: str = "source tasks given",
    ) -> Self:
        """Learn from earlier searches.

        Parameters
        ----------
        tasks : iterable of SourceTask
            Earlier searches.
        space : Space, dict or list of dict
            Where the density is to live.
        exclude : iterable of str, default=()
            Data sets to leave out, with their kin.
        source : str, default="source tasks given"
            Kept in ``source_``.

        Returns
        -------
        self : EmpiricalDensity
            The fitted object itself.

        Raises
        ------
        ValueError
            If no tasks are left.
        """
        tasks = without(tasks, exclude)
        if not tasks:
            raise ValueError(
                "tasks must hold at least one source task, got none (after leaving out "
                f"{sorted(exclude)}). Give more data, or no density."
            )
        check_integer("top", self.top, minimum=1)
        space = self._settle(space)
        self._tasks = tasks
        self.dropped_ = [t.name for t in tasks if not t.informative]
        used = [t for t in tasks if t.informative]
        located = [_locate(task, space, self.top) for task in used]
        inside = [(t, p) for t, p in zip(used, located, strict=True) if p]
        self.source_ = source
        self.n_tasks_ = len(inside)
        self.n_good_tasks_ = sum(task.well_sampled for task, _ in inside)
        self.floor_ = self._floor(self.n_tasks_)
        self._kdes = [self._kde(inside, index) for index in range(len(space.subspaces))]
        self.score_ = self._leave_one_out(inside)
        return self

    def on(self, space: Any) -> "EmpiricalDensity":
        """Return the same knowledge on another space.

        Parameters
        ----------
        space : Space, dict or list of dict
            Where; parameters are matched by name.

        Returns
        -------
        EmpiricalDensity
            Itself where the space is the same.
        """
        self._checked(np.empty((0, self.space_.subspaces[0].n_dims)), 0)
        if Space(space) == self.space_:
            return self
        other = EmpiricalDensity(top=self.top, floor=self.floor, joint=self.joint)
        return other.fit_tasks(self._tasks, space, source=self.source_)

    def pdf(self, U: ArrayLike, subspace: int = 0) -> FloatArray:
        """Return p at points of a subspace.

        Parameters
        ----------
        U : array-like of shape (m, d)
            Points of the unit cube.
        subspace : int, default=0
            Index into ``space_.subspaces``.

        Returns
        -------
        ndarray of shape (m,)
            Density with respect to the unit cube; its mean over the cube is 1.
        """
        points, kde = self._checked(U, subspace), self._kdes[subspace]
        if kde is None:
            return np.ones(len(points))
        return (1.0 - self.floor_) * kde.pdf(points) + self.floor_

    def gradient(self, U: ArrayLike, subspace: int = 0) -> FloatArray:
        """Return dp/dU.

        Parameters
        ----------
        U : array-like of shape (m, d)
            Points of the unit cube.
        subspace : int, default=0
            Index into ``space_.subspaces``.

        Returns
        -------
        ndarray of shape (m, d)
            0 along unordered choices.
        """
        points, kde = self._checked(U, subspace), self._kdes[subspace]
        if kde is None:
            return np.zeros(points.shape)
        return (1.0 - self.floor_) * kde.gradient(points)

    def sample(
        self, n: int, *, subspace: int = 0, random_state: Any = None
    ) -> FloatArray:
        """Return points drawn from p.

        Parameters
        ----------
        n : int
            How many.
        subspace : int, default=0
            Index into ``space_.subspaces``.
        random_state : int, RandomState or None, default=None
            Seed.

        Returns
        -------
        ndarray of shape (n, d)
            Canonical points.
        """
        where, kde = self.space_.subspaces[subspace], self._kdes[subspace]
        seed = check_random_state(random_state).randint(2**31 - 1)
        rng = np.random.default_rng(seed)
        U = rng.random((n, where.n_dims))
        if kde is not None:
            drawn = kde.sample(n, rng)
            U = np.where(rng.random((n, 1)) < self.floor_, U, drawn)
        return where.snap(U)

    def warn_if_uninformative(self) -> None:
        """Warn where the tasks do not predict each other."""
        if self.score_ <= LEAST_GAIN:
            warnings.warn(
                f"the density says little: it gives the best of a left-out source task "
                f"{self.score_:.2f} nats more than the uniform density, over "
                f"{self.n_tasks_} tasks; {LEAST_GAIN} is the least that helps. Lower "
                "rate, or leave the density out.",
                DensityWarning,
                stacklevel=5,
            )

    def _floor(self, n_tasks: int) -> float:
        if self.floor is None:
            return max(SMALLEST_FLOOR, 3.0 / (n_tasks + 3.0))
        floor = check_real("floor", self.floor)
        if not 0.0 < floor <= 1.0:
            raise ValueError(
                f"floor must lie in (0, 1], got {self.floor!r}. 0.1 is usual; without "
                "a floor some points could never be reached."
            )
        return floor

    def _kde(self, inside: list[Any], index: int) -> KernelDensity | None:
        """Return the kernel density of one subspace; a task's points share a weight."""
        points, weights = [], []
        for task, located in inside:
            here = [u for subspace, u in located if subspace == index]
            points += here
            weights += [task.weight / len(located)] * len(here)
        where: Subspace = self.space_.subspaces[index]
        if not points or not any(weights) or where.n_dims == 0:
            return None
        levels = np.where(where.categorical, where.levels, 0)
        w = np.array(weights, dtype=float)
        return KernelDensity.fit(np.array(points), w, levels, joint=self.joint)

    def _leave_one_out(self, inside: list[Any]) -> float:
        """Return the mean log density of each task's best under all other tasks."""
        if len(inside) < 2:
            return float("nan")
        floor, gains = self._floor(len(inside) - 1), []
        for left_out, (_, located) in enumerate(inside):
            index, u = located[0]
            rest = [pair for i, pair in enumerate(inside) if i != left_out]
            kde = self._kde(rest, index)
            known = ~np.isnan(u)
            point = np.where(known, u, 0.5)[None, :]
            density = 1.0 if kde is None else float(kde.pdf(point)[0])
            gains.append(np.log((1.0 - floor) * density + floor))
        return float(np.mean(gains))

    def _own_points(self, subspace: int) -> FloatArray:
        kde = self._kdes[subspace]
        if kde is None:
            return super()._own_points(subspace)
        P = kde.P[~np.isnan(kde.P[:, ~self._unknown(subspace)]).any(axis=1)]
        return np.where(np.isnan(P), 0.5, P)

    def _unknown(self, subspace: int) -> NDArray[np.bool_]:
        kde = self._kdes[subspace]
        if kde is None:
            return np.ones(self.space_.subspaces[subspace].n_dims, dtype=bool)
        return np.asarray(np.isnan(kde.P).all(axis=0))


def _locate(task: SourceTask, space: Space, top: int) -> list[tuple[int, FloatArray]]:
    """Return the subspace and point of each of a task's best that is in the space."""
    located = []
    for params in good_points(task, top):
        for index, subspace in enumerate(space.subspaces):
            u = coordinates(params, subspace)
            if u is not None and not np.isnan(u).all():
                located.append((index, u))
                break
    return located
