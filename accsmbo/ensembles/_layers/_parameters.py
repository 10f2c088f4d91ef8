# SPDX-License-Identifier: BSD-3-Clause
"""All parameters of a network in one flat vector, with a named view per array."""

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
        return int(np.prod(self.shape))


class ParameterLayout:
    """Where each parameter of each stage lies in the flat vector.

    The rank-one factors come last, so that they form one slice.

    Parameters
    ----------
    shapes : sequence of mapping of str to ParameterShape
        The parameters of each stage, by name.
    """

    def __init__(self, shapes: Sequence[Mapping[str, ParameterShape]]) -> None:
        self._entries: list[tuple[int, str, ParameterShape]] = []
        for fast in (False, True):
            for stage, named in enumerate(shapes):
                for name, entry in named.items():
                    if entry.fast is fast:
                        self._entries.append((stage, name, entry))
        self.n_stages = len(shapes)
        self.size = sum(entry.size for _, _, entry in self._entries)
        self.n_slow = sum(entry.size for _, _, entry in self._entries if not entry.fast)

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
        start = 0
        for stage, name, entry in self._entries:
            stop = start + entry.size
            views[stage][name] = flat[start:stop].reshape(entry.shape)
            start = stop
        return views
