# SPDX-License-Identifier: BSD-3-Clause
"""All parameters of a network in one flat vector, with a named view per array."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Views = dict[str, np.ndarray]


@dataclass(frozen=True)
class ParameterShape:
    """Shape of one parameter array.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    fast : bool, default=False
        True for rank-one factors, which may have their own learning rate.
    """

    shape: tuple[int, ...]
    fast: bool = False

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)


class ParameterLayout:
    """Where each parameter of each stage lies in the flat vector.

    The rank-one factors come last, so that they form one slice.

    Parameters
    ----------
    shapes : sequence of mapping of str to ParameterShape
        The parameters of each stage, by name.
    """

    def __init__(self, shapes: Sequence[Mapping[str, ParameterShape]]) -> None:
        entries = [
            (stage, name, entry)
            for stage, named in enumerate(shapes)
            for name, entry in named.items()
        ]
        entries.sort(key=lambda item: item[2].fast)
        self._places: list[tuple[int, str, slice, tuple[int, ...]]] = []
        start = 0
        for stage, name, entry in entries:
            place = slice(start, start + entry.size)
            self._places.append((stage, name, place, entry.shape))
            start = place.stop
        self.n_stages = len(shapes)
        self.size = start
        self.n_slow = sum(entry.size for _, _, entry in entries if not entry.fast)

    def views(self, flat: np.ndarray) -> list[Views]:
        """Return the named arrays of each stage as views into a flat vector.

        Parameters
        ----------
        flat : ndarray of shape (size,)
            Parameters, gradients or anything else laid out like them.

        Returns
        -------
        list of dict of str to ndarray
            One dict for each stage.
        """
        views: list[Views] = [{} for _ in range(self.n_stages)]
        for stage, name, place, shape in self._places:
            views[stage][name] = flat[place].reshape(shape)
        return views
