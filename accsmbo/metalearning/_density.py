# SPDX-License-Identifier: BSD-3-Clause
"""What every density of good points offers, whatever it was made of.

Notation
--------
U       (m, d)  points of the unit cube of a subspace
p       (m,)    density with respect to the unit cube: 1 is no opinion
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import qmc
from sklearn.base import BaseEstimator

from accsmbo.space import Space

__all__ = ["Density"]

FloatArray = NDArray[np.float64]

# Candidates for the mode, beside the points that the density was made of.
N_CANDIDATES = 2048


class Density(BaseEstimator):
    """Base of the densities; a subclass implements `on`, `pdf`, `gradient`, `sample`.

    What is believed of good hyperparameters before a search begins, learned or written
    down. A density is taken with respect to the unit cube of a space, on the scales of
    its parameters: 1 is no opinion, 5 makes a point five times as likely to be good.
    The acquisition function is weighted by it and climbs along ``gradient``, its
    ``mode`` may be the first point of a search, and ``on`` carries it over to another
    space by the names of the parameters.

    Attributes
    ----------
    space_ : Space
        The space that it lives on.

    See Also
    --------
    EmpiricalDensity : Learned from earlier searches.
    PriorDensity : A belief, by hand.
    MetaAcquisition : What it is for.

    Examples
    --------
    >>> from scipy.stats import lognorm
    >>> from accsmbo import Real
    >>> from accsmbo.metalearning import Density, PriorDensity
    >>> belief = PriorDensity({"C": lognorm(s=1.0, scale=10.0)})
    >>> density = belief.on({"C": Real(1e-3, 1e3, log=True)})
    >>> isinstance(density, Density), round(density.peak())
    (True, 5)
    >>> params = density.space_.subspaces[0].to_params(density.mode())
    >>> round(params["C"])
    10
    """

    def on(self, space: Any) -> Self:
        """Return the same knowledge on another space."""
        raise NotImplementedError

    def pdf(self, U: ArrayLike, subspace: int = 0) -> FloatArray:
        """Return p at points of a subspace."""
        raise NotImplementedError

    def gradient(self, U: ArrayLike, subspace: int = 0) -> FloatArray:
        """Return dp/dU, 0 along unordered choices."""
        raise NotImplementedError

    def sample(
        self, n: int, *, subspace: int = 0, random_state: Any = None
    ) -> FloatArray:
        """Return n canonical points drawn from p."""
        raise NotImplementedError

    def logpdf(self, U: ArrayLike, subspace: int = 0) -> FloatArray:
        """Return log p.

        Parameters
        ----------
        U : array-like of shape (m, d)
            Points of the unit cube.
        subspace : int, default=0
            Index into ``space_.subspaces``.

        Returns
        -------
        ndarray of shape (m,)
            Its logarithm; 0 is no opinion.
        """
        return np.asarray(np.log(self.pdf(U, subspace)))

    def pdf_params(self, params: Mapping[str, Any]) -> float:
        """Return p at some params.

        Parameters
        ----------
        params : mapping of str to object
            A value for each parameter of one subspace.

        Returns
        -------
        float
            Density with respect to the unit cube.
        """
        index, u = self.space_.locate(params)
        return float(self.pdf(u[None, :], index)[0])

    def mode(self, subspace: int = 0) -> FloatArray:
        """Return the point of largest density among many candidates.

        Coordinates that the density says nothing about are those of the centre of the
        space: the middle of a number, the first of several choices.

        Parameters
        ----------
        subspace : int, default=0
            Index into ``space_.subspaces``.

        Returns
        -------
        ndarray of shape (d,)
            A canonical point.
        """
        return self._mode_and_peak(subspace)[0]

    def peak(self, subspace: int = 0) -> float:
        """Return the largest density, that of the mode.

        Parameters
        ----------
        subspace : int, default=0
            Index into ``space_.subspaces``.

        Returns
        -------
        float
            Density with respect to the unit cube.
        """
        return self._mode_and_peak(subspace)[1]

    def _mode_and_peak(self, subspace: int) -> tuple[FloatArray, float]:
        if subspace not in self._modes:
            where = self.space_.subspaces[subspace]
            sobol = qmc.Sobol(max(where.n_dims, 1), scramble=True, seed=0)
            C = sobol.random(N_CANDIDATES)[:, : where.n_dims]
            C = np.vstack([C, self._own_points(subspace)])
            unknown = self._unknown(subspace)
            centre = np.where(where.categorical, 0.5 / np.maximum(where.levels, 1), 0.5)
            C[:, unknown] = centre[unknown]
            C = where.snap(C)
            p = self.pdf(C, subspace)
            best = int(np.argmax(p))
            self._modes[subspace] = (C[best], float(p[best]))
        return self._modes[subspace]

    def _own_points(self, subspace: int) -> FloatArray:
        """Return further candidates for the mode."""
        return np.empty((0, self.space_.subspaces[subspace].n_dims))

    def _unknown(self, subspace: int) -> NDArray[np.bool_]:
        """Return which coordinates the density says nothing about, (d,)."""
        return np.zeros(self.space_.subspaces[subspace].n_dims, dtype=bool)

    def _settle(self, space: Any) -> Space:
        """Set the space and forget the modes of an earlier one."""
        self.space_ = Space(space)
        self._modes: dict[int, tuple[FloatArray, float]] = {}
        return self.space_

    def _checked(self, U: ArrayLike, subspace: int) -> FloatArray:
        if not hasattr(self, "space_"):
            raise ValueError(
                f"{type(self).__name__} has no points yet. Call fit, or one of the "
                "from_... methods."
            )
        points = np.asarray(U, dtype=np.float64)
        d = self.space_.subspaces[subspace].n_dims
        if points.ndim != 2 or points.shape[1] != d:
            raise ValueError(
                f"U must have shape (n_points, {d}), got {points.shape}. Use U[None, :]"
                " for a single point."
            )
        return points
