# SPDX-License-Identifier: BSD-3-Clause
"""PriorDensity: a belief about good hyperparameters, written down by hand.

Notation
--------
x, u            value of a parameter and its coordinate
b_j(u_j)        belief in one coordinate, density with respect to [0, 1]
f               floor
p = (1 - f) prod_j b_j + f

b_j is tabulated: dF(x)/du from the distribution function at the edges of cells, linear
between their centres.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from accsmbo._validation import check_is, check_real, closest_names
from accsmbo.metalearning._density import Density
from accsmbo.space import Subspace

__all__ = ["PriorDensity"]

FloatArray = NDArray[np.float64]

N_CELLS = 256


class PriorDensity(Density):
    """A distribution for each parameter one has an opinion of.

    It counts however wrong it is: the acquisition function weighted by it still goes
    everywhere, and the weight fades.

    Parameters
    ----------
    distributions : dict
        Parameter name to a frozen scipy distribution over its values
        (``loguniform(1e-2, 1)``, ``norm(3, 1)``), or, for choices, to a dict of
        choice to weight. Parameters without an entry: no opinion.
    floor : float, default=0.1
        Share of the uniform density.

    Attributes
    ----------
    space_ : Space
        The space that it lives on.

    See Also
    --------
    EmpiricalDensity : Learned from earlier searches.

    Examples
    --------
    >>> from scipy.stats import lognorm
    >>> from accsmbo import Real
    >>> from accsmbo.metalearning import PriorDensity
    >>> prior = PriorDensity({"C": lognorm(s=1.0, scale=10.0)})
    >>> prior = prior.on({"C": Real(1e-3, 1e3, log=True)})
    >>> prior.pdf_params({"C": 10.0}) > 5 * prior.pdf_params({"C": 1e-3})
    True
    """

    def __init__(self, distributions: Mapping[str, Any], *, floor: float = 0.1) -> None:
        self.distributions = distributions
        self.floor = floor

    def on(self, space: Any) -> Self:
        """Return the belief on a space.

        Parameters
        ----------
        space : Space, dict or list of dict
            Where.

        Returns
        -------
        PriorDensity
            A new object.

        Raises
        ------
        ValueError
            If a name is unknown, the floor is not in (0, 1], or a distribution has no
            mass inside the space.
        """
        check_is(
            "distributions",
            self.distributions,
            Mapping,
            "a dict of distributions such as scipy.stats.norm(0, 1), by name",
        )
        floor = check_real("floor", self.floor)
        if not 0.0 < floor <= 1.0:
            raise ValueError(
                f"floor must lie in (0, 1], got {self.floor!r}. 0.1 is usual; without "
                "a floor some points could never be reached."
            )
        other = type(self)(self.distributions, floor=floor)
        known = other._settle(space).names
        for name in self.distributions:
            if name not in known:
                raise ValueError(
                    f"distributions has the unknown name {name!r}; the space has "
                    f"{list(known)}. {closest_names(name, known)}".rstrip()
                )
        other._marginals = [other._tables(s) for s in other.space_.subspaces]
        return other

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
            Density with respect to the unit cube.
        """
        points = self._checked(U, subspace)
        product = np.ones(len(points))
        for j, marginal in self._marginals[subspace].items():
            product *= marginal.value(points[:, j])
        return (1.0 - self.floor) * product + self.floor

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
        points = self._checked(U, subspace)
        marginals = self._marginals[subspace]
        values = {j: m.value(points[:, j]) for j, m in marginals.items()}
        result = np.zeros(points.shape)
        for j, marginal in marginals.items():
            rest = np.prod([v for i, v in values.items() if i != j], axis=0)
            result[:, j] = (1.0 - self.floor) * marginal.slope(points[:, j]) * rest
        return result

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
        where = self.space_.subspaces[subspace]
        seed = check_random_state(random_state).randint(2**31 - 1)
        rng = np.random.default_rng(seed)
        U = rng.random((n, where.n_dims))
        believed = rng.random(n) >= self.floor
        for j, marginal in self._marginals[subspace].items():
            U[believed, j] = marginal.draw(U[believed, j])
        return where.snap(U)

    def _unknown(self, subspace: int) -> NDArray[np.bool_]:
        believed = self._marginals[subspace]
        n_dims = self.space_.subspaces[subspace].n_dims
        return np.array([j not in believed for j in range(n_dims)], dtype=bool)

    def _tables(self, subspace: Subspace) -> dict[int, "_Marginal"]:
        return {
            j: _Marginal.of(name, subspace, j, self.distributions[name])
            for j, name in enumerate(subspace.names)
            if name in self.distributions
        }


@dataclass(frozen=True, eq=False)
class _Marginal:
    """A tabulated density on [0, 1]: linear between centres, or constant in cells."""

    centres: FloatArray
    density: FloatArray
    edges: FloatArray
    smooth: bool

    @classmethod
    def of(cls, name: str, subspace: Subspace, j: int, belief: Any) -> "_Marginal":
        """Return the table of one parameter."""
        dimension = subspace.dimensions[name]
        discrete = bool(subspace.levels[j])
        if discrete:
            centres = subspace.grid_coordinates(j)
            middle = (centres[1:] + centres[:-1]) / 2
            edges = np.concatenate([[0.0], middle, [1.0]])
        else:
            edges = np.linspace(0.0, 1.0, N_CELLS + 1)
            centres = (edges[1:] + edges[:-1]) / 2
        if isinstance(belief, Mapping):
            values = [dimension.from_unit(float(c)) for c in centres]
            mass = np.array([float(belief.get(value, 0.0)) for value in values])
        elif discrete:
            numbers = np.array([float(dimension.from_unit(c)) for c in centres])
            mass = np.diff(belief.cdf(np.append(numbers - 0.5, numbers[-1] + 0.5)))
        else:
            mass = np.diff(belief.cdf([dimension.from_unit(float(e)) for e in edges]))
        total = float(np.sum(mass))
        if not total > 0.0 or (mass < 0.0).any():
            raise ValueError(
                f"distributions[{name!r}] must have mass inside {dimension!r}, got "
                f"{belief!r}. Move it into the bounds, or leave the name out."
            )
        density = mass / total / np.diff(edges)
        return cls(centres, density, edges, not discrete)

    def value(self, u: FloatArray) -> FloatArray:
        """Return the density."""
        if self.smooth:
            return np.interp(u, self.centres, self.density)
        return np.asarray(self.density[self._cell(u)])

    def slope(self, u: FloatArray) -> FloatArray:
        """Return its derivative."""
        if not self.smooth:
            return np.zeros_like(u)
        slopes = np.diff(self.density) / np.diff(self.centres)
        i = np.searchsorted(self.centres, u, side="right") - 1
        inside = (i >= 0) & (i < len(slopes))
        return np.where(inside, slopes[np.clip(i, 0, len(slopes) - 1)], 0.0)

    def draw(self, quantiles: FloatArray) -> FloatArray:
        """Return coordinates by the inverse of the distribution function."""
        mass = self.density * np.diff(self.edges)
        return np.interp(quantiles, np.append(0.0, np.cumsum(mass)), self.edges)

    def _cell(self, u: FloatArray) -> NDArray[np.intp]:
        cells = np.searchsorted(self.edges, u, side="right") - 1
        return np.clip(cells, 0, len(self.centres) - 1)
