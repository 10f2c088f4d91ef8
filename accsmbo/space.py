# SPDX-License-Identifier: BSD-3-Clause
"""Search spaces: what a user writes -> subspaces of the unit cube, and back."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accsmbo._dimensions import Categorical, Dimension, Integer, Real, parse_dimension
from accsmbo._validation import closest_names

__all__ = ["Categorical", "Dimension", "Integer", "Real", "Space", "Subspace"]

FloatArray = NDArray[np.float64]


class Subspace:
    """A product of dimensions: one dict of a search space.

    It takes params to a point of the unit cube, where the surrogate lives, and back.
    Constant dimensions stay out of the unit cube. Dimensions are sorted by name, so
    that the order of the dict does not matter.

    Parameters
    ----------
    dimensions : mapping of str to Dimension
        Dimension by parameter name.

    Attributes
    ----------
    dimensions : dict of str to Dimension
        All dimensions, sorted by name, constants included.
    names : tuple of str
        Names of the modelled dimensions, the columns of the unit cube.
    n_dims : int
        Length of ``names``.
    categorical : ndarray of bool of shape (n_dims,)
        True for unordered choices.
    levels : ndarray of int of shape (n_dims,)
        Number of distinct values; 0 for continuous dimensions.
    size : int or float
        Number of distinct points, infinity where a dimension is continuous.
    grid_size : int or float
        Length of :meth:`grid`: above ``size`` where choices are listed twice.

    See Also
    --------
    Space : Makes one of each of its dicts.
    Dimension : What it is a product of.

    Examples
    --------
    >>> from accsmbo import Real, Space
    >>> C = Real(1e-3, 1e3, log=True)
    >>> space = Space([{"kernel": ["linear"], "C": C},
    ...                {"kernel": ["rbf"], "C": C, "gamma": Real(1e-4, 10, log=True)}])
    >>> linear, rbf = space.subspaces
    >>> linear.names, rbf.names
    (('C',), ('C', 'gamma'))
    >>> linear.to_params([0.5])
    {'C': 1.0, 'kernel': 'linear'}
    """

    def __init__(self, dimensions: Mapping[str, Dimension]) -> None:
        self.dimensions = dict(sorted(dimensions.items()))
        self.names = tuple(n for n, d in self.dimensions.items() if d.n_levels != 1)
        self.n_dims = len(self.names)
        modelled = [self.dimensions[name] for name in self.names]
        self.categorical = np.array([d.categorical for d in modelled], dtype=bool)
        self.levels = np.array([d.n_levels for d in modelled], dtype=np.int64)
        self.size: float = (
            math.inf
            if (self.levels == 0).any()
            else math.prod(int(k) for k in self.levels)
        )

    @property
    def grid_size(self) -> float:
        """Length of :meth:`grid`, infinity where a dimension is continuous."""
        if math.isinf(self.size):
            return math.inf
        return math.prod(d.grid_size for d in self.dimensions.values())

    def snap(self, U: ArrayLike) -> FloatArray:
        """Return canonical points.

        Two points that decode to the same params have the same canonical point.

        Parameters
        ----------
        U : array-like of shape (n_dims,) or (n_points, n_dims)
            Points; coordinates outside [0, 1] are clipped.

        Returns
        -------
        ndarray of the same shape
            Canonical points.
        """
        U = np.array(U, dtype=float)
        for j, name in enumerate(self.names):
            U[..., j] = self.dimensions[name].snap(U[..., j])
        return U

    def to_params(self, u: ArrayLike) -> dict[str, Any]:
        """Return the params at a point.

        Parameters
        ----------
        u : array-like of shape (n_dims,)
            A point of the unit cube.

        Returns
        -------
        dict
            Values by name, constants included.
        """
        coordinates = dict(zip(self.names, np.asarray(u, dtype=float), strict=True))
        return {
            name: dimension.from_unit(float(coordinates.get(name, 0.5)))
            for name, dimension in self.dimensions.items()
        }

    def to_unit(self, params: Mapping[str, Any]) -> FloatArray:
        """Return the canonical point of some params.

        Parameters
        ----------
        params : mapping of str to object
            A value for each dimension.

        Returns
        -------
        ndarray of shape (n_dims,)
            The point.

        Raises
        ------
        ValueError
            If a name is missing or unknown, or a value is not in its dimension.
        """
        self._check_names(params)
        point = {}
        for name, dimension in self.dimensions.items():
            try:
                point[name] = dimension.to_unit(params[name])
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"params[{name!r}] must be a value of {dimension!r}, got "
                    f"{params[name]!r}. Change the value or the space."
                ) from error
        return self.modelled(list(point.values()))

    def modelled(self, coordinates: Sequence[float]) -> FloatArray:
        """Return the point that some coordinates of all dimensions are in the cube.

        Parameters
        ----------
        coordinates : sequence of float of length len(dimensions)
            One for each dimension, constants included.

        Returns
        -------
        ndarray of shape (n_dims,)
            Those of the modelled dimensions.
        """
        by_name = zip(self.dimensions.values(), coordinates, strict=True)
        return np.array([u for d, u in by_name if d.n_levels != 1], dtype=float)

    def _check_names(self, params: Mapping[str, Any]) -> None:
        for name in params:
            if name not in self.dimensions:
                raise ValueError(
                    f"params has the unknown name {name!r}; the space has "
                    f"{list(self.dimensions)}. {closest_names(name, self.dimensions)} "
                    "Rename it or leave it out."
                )
        missing = [name for name in self.dimensions if name not in params]
        if missing:
            raise ValueError(
                f"params must hold a value for every name of the space, got none for "
                f"{missing}. Add them."
            )

    def grid_coordinates(self, j: int) -> FloatArray:
        """Return the sorted canonical coordinates of the discrete dimension ``j``.

        Parameters
        ----------
        j : int
            Index into ``names``.

        Returns
        -------
        ndarray of shape (levels[j],)
            The centres of the cells.
        """
        return self.dimensions[self.names[j]].coordinates()

    def derivative(self, name: str, value: Any) -> float:
        """Return d value / d u of a continuous dimension at ``value``.

        Parameters
        ----------
        name : str
            Name of the dimension.
        value : float
            Parameter value.

        Returns
        -------
        float
            In the parameter's units per unit of the cube.
        """
        return self.dimensions[name].derivative(value)

    def grid(self) -> Iterator[dict[str, Any]]:
        """Iterate over all params of a finite subspace, in ``ParameterGrid`` order.

        Yields
        ------
        dict
            Params; names sorted, the last one varies fastest.
        """
        values = [dimension.values() for dimension in self.dimensions.values()]
        for combination in itertools.product(*values):
            yield dict(zip(self.dimensions, combination, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subspace) and self.dimensions == other.dimensions

    def __hash__(self) -> int:
        return hash(tuple(self.dimensions))

    def __repr__(self) -> str:
        return f"Subspace({self.dimensions!r})"


class Space:
    """A search space: one dict of dimensions, or alternatives of them.

    Optimizers see a space as subspaces, one for each dict, each of them a unit cube.

    Parameters
    ----------
    spec : dict, list of dict, or Space
        Parameter name -> what to search. Accepted are :class:`Real`, :class:`Integer`,
        :class:`Categorical`; frozen scipy distributions (``loguniform``, ``uniform``
        and ``randint`` become dimensions, others are searched through ``ppf`` and
        ``cdf``); objects with only ``rvs``, of which 1000 values are drawn as choices;
        lists, tuples, ranges, one-dimensional arrays and pandas Series, which are
        choices, never a range (all-number choices are ordered for the model). A list
        of dicts holds alternatives; each is given the same share of the trials.
    allow_empty : bool, default=False
        Accept dicts that name no parameter: one point, the defaults.

    Attributes
    ----------
    subspaces : tuple of Subspace
        One for each dict.
    size : int or float
        Number of distinct points, infinity where one is continuous.
    grid_size : int or float
        Length of :meth:`grid`: above ``size`` where choices are listed twice.

    Raises
    ------
    TypeError
        If ``spec`` or one of its values is of a kind that cannot be searched.
    ValueError
        If the space or a list of choices is empty.

    See Also
    --------
    Real : A real interval.
    Integer : A range of integers.
    Categorical : Choices.

    Examples
    --------
    >>> from accsmbo import Integer, Space
    >>> from scipy.stats import uniform
    >>> space = Space({"alpha": uniform(0, 2), "depth": Integer(1, 3)})
    >>> space.subspaces[0].to_params([0.5, 0.0])
    {'alpha': 1.0, 'depth': 1}
    """

    def __init__(self, spec: Any, *, allow_empty: bool = False) -> None:
        self.subspaces: tuple[Subspace, ...] = (
            spec.subspaces
            if isinstance(spec, Space)
            else tuple(_parse_subspace(d) for d in _alternatives(spec))
        )
        empty_is_fine = isinstance(spec, Space) or (allow_empty and self.subspaces)
        if not self.names and not empty_is_fine:
            raise ValueError(
                f"the search space must name at least one parameter, got {spec!r}. "
                "Add one, for example {'C': Real(1e-3, 1e3, log=True)}."
            )

    @property
    def size(self) -> float:
        """Number of distinct points, infinity where a dimension is continuous."""
        return sum(subspace.size for subspace in self.subspaces)

    @property
    def grid_size(self) -> float:
        """Length of :meth:`grid`, infinity where a dimension is continuous."""
        return sum(subspace.grid_size for subspace in self.subspaces)

    @property
    def names(self) -> tuple[str, ...]:
        """All parameter names, constants included, in order of first appearance."""
        return tuple(dict.fromkeys(n for s in self.subspaces for n in s.dimensions))

    def locate(self, params: Mapping[str, Any]) -> tuple[int, FloatArray]:
        """Return the subspace that holds some params, and their point in it.

        Parameters
        ----------
        params : mapping of str to object
            A value for each dimension of one subspace.

        Returns
        -------
        index : int
            Index into ``subspaces``.
        u : ndarray of shape (n_dims,)
            Canonical point.

        Raises
        ------
        ValueError
            If no subspace holds them; the message is that of the first one.
        """
        first_error: ValueError | None = None
        for index, subspace in enumerate(self.subspaces):
            try:
                return index, subspace.to_unit(params)
            except ValueError as error:
                first_error = first_error or error
        raise first_error or ValueError("the space is empty")

    def grid(self) -> Iterator[dict[str, Any]]:
        """Iterate over all params of a finite space, in ``ParameterGrid`` order.

        Yields
        ------
        dict
            Params, one dict of the space after another.
        """
        return itertools.chain.from_iterable(s.grid() for s in self.subspaces)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.subspaces == other.subspaces

    def __hash__(self) -> int:
        return hash(self.subspaces)

    def __repr__(self) -> str:
        spaces = [subspace.dimensions for subspace in self.subspaces]
        return f"Space({spaces[0] if len(spaces) == 1 else spaces!r})"


def _alternatives(spec: Any) -> Sequence[Mapping[str, Any]]:
    alternatives = [spec] if isinstance(spec, Mapping) else spec
    if not isinstance(alternatives, (list, tuple)) or not all(
        isinstance(d, Mapping) for d in alternatives
    ):
        raise TypeError(
            "the search space must be a dict or a list of dicts (parameter name -> "
            f"distribution or list of choices), got {spec!r} (of type "
            f"{type(spec).__name__}). Write it as {{'name': choices}}."
        )
    return alternatives


def _parse_subspace(spec: Mapping[str, Any]) -> Subspace:
    for name in spec:
        if not isinstance(name, str):
            raise TypeError(
                f"parameter names must be strings, got {name!r} (of type "
                f"{type(name).__name__}). Use the names of estimator.get_params()."
            )
    return Subspace({name: parse_dimension(name, v) for name, v in spec.items()})
