# SPDX-License-Identifier: BSD-3-Clause
"""Slices and contours: a surface evaluated along one or two of its coordinates."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accsmbo.inspection._surface import Surface
from accsmbo.space import Dimension

__all__ = ["Contour", "Slice", "contour_at", "slice_at"]

FloatArray = NDArray[np.float64]

# Points along a line, and along each side of a pair.
N_LINE = 121
N_SIDE = 41


@dataclass(frozen=True, eq=False)
class Slice:
    """A surface along one parameter.

    Attributes
    ----------
    name : str
        Name of the parameter.
    dimension : Dimension
        Its dimension.
    u, mean, std : ndarray of shape (m,)
        Coordinates, and the surrogate's mean and standard deviation there.
    points, values : ndarray of shape (n,)
        Coordinates and values of the finished trials, NaN where they failed.
    best : int
        Row of the best trial.
    """

    name: str
    dimension: Dimension
    u: FloatArray
    mean: FloatArray
    std: FloatArray
    points: FloatArray
    values: FloatArray
    best: int


@dataclass(frozen=True, eq=False)
class Contour:
    """A surface over two parameters.

    Attributes
    ----------
    names : (str, str)
        Names of the parameters.
    dimensions : (Dimension, Dimension)
        Their dimensions.
    u : (ndarray of shape (a,), ndarray of shape (b,))
        Coordinates of the grid.
    mean, std : ndarray of shape (a, b)
        The surrogate's mean and standard deviation on the grid.
    points : ndarray of shape (n, 2)
        Coordinates of the finished trials.
    values : ndarray of shape (n,)
        Their values, NaN where they failed.
    best : int
        Row of the best trial.
    """

    names: tuple[str, str]
    dimensions: tuple[Dimension, Dimension]
    u: tuple[FloatArray, FloatArray]
    mean: FloatArray
    std: FloatArray
    points: FloatArray
    values: FloatArray
    best: int


def slice_at(surface: Surface, centre: FloatArray, j: int) -> Slice:
    """Return a surface along one coordinate.

    Parameters
    ----------
    surface : Surface
        The fitted surrogate.
    centre : ndarray of shape (n_dims,)
        The other coordinates.
    j : int
        Which coordinate varies.
    """
    dimension = _dimension(surface, j)
    u = _grid(dimension, N_LINE)
    V = np.tile(centre, (len(u), 1))
    V[:, j] = u
    mean, std = surface.predict(V)
    name = surface.subspace.names[j]
    points = surface.U[:, j]
    return Slice(name, dimension, u, mean, std, points, surface.values, surface.best)


def contour_at(surface: Surface, centre: FloatArray, i: int, j: int) -> Contour:
    """Return a surface over two coordinates.

    Parameters
    ----------
    surface : Surface
        The fitted surrogate.
    centre : ndarray of shape (n_dims,)
        The other coordinates.
    i, j : int
        Which coordinates vary.
    """
    dimensions = (_dimension(surface, i), _dimension(surface, j))
    u, v = (_grid(dimension, N_SIDE) for dimension in dimensions)
    V = np.tile(centre, (len(u) * len(v), 1))
    V[:, i], V[:, j] = np.repeat(u, len(v)), np.tile(v, len(u))
    mean, std = (moment.reshape(len(u), len(v)) for moment in surface.predict(V))
    names = surface.subspace.names
    return Contour(
        names=(names[i], names[j]),
        dimensions=dimensions,
        u=(u, v),
        mean=mean,
        std=std,
        points=surface.U[:, [i, j]],
        values=surface.values,
        best=surface.best,
    )


def _dimension(surface: Surface, j: int) -> Dimension:
    return surface.subspace.dimensions[surface.subspace.names[j]]


def _grid(dimension: Dimension, n: int) -> FloatArray:
    """Return all coordinates of a discrete dimension, or n even ones."""
    if 0 < dimension.n_levels <= n or dimension.categorical:
        return dimension.coordinates()
    return np.linspace(0.0, 1.0, n)
