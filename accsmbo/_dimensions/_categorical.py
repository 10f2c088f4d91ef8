# SPDX-License-Identifier: BSD-3-Clause
"""Categorical: a choice among listed objects of any kind."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accsmbo._digest import cache_key
from accsmbo._dimensions._base import Dimension, FloatArray
from accsmbo._validation import plain

__all__ = ["Categorical", "are_numbers"]


class Categorical(Dimension):
    """A choice among listed objects of any kind.

    Values are told apart by kind and content, and come back as the user's own objects.

    Parameters
    ----------
    choices : sequence
        The objects; they reach the estimator as they are (NumPy scalars as plain
        Python ones). Repeated ones are one choice; only a grid lists them twice.
    ordered : bool, default=False
        Whether the model may use the order: numbers by value, others as listed.

    Raises
    ------
    TypeError
        If ``choices`` is a string or not a sequence.
    ValueError
        If ``choices`` is empty.

    See Also
    --------
    Integer : A range of integers.
    Real : A real interval.

    Examples
    --------
    >>> from accsmbo import Categorical
    >>> Categorical(["gini", "entropy"]).from_unit(0.75)
    'entropy'
    """

    def __init__(self, choices: Sequence[Any], ordered: bool = False) -> None:
        if isinstance(choices, (str, bytes)) or not hasattr(choices, "__iter__"):
            raise TypeError(
                f"choices must be a sequence of objects, got {choices!r} (of type "
                f"{type(choices).__name__}). Wrap it in a list: [{choices!r}]."
            )
        self._listed = [plain(choice) for choice in choices]
        distinct: dict[Any, Any] = {}
        for choice in self._listed:
            distinct.setdefault(cache_key(choice), choice)
        self.choices: tuple[Any, ...] = tuple(distinct.values())
        self._places = {key: place for place, key in enumerate(distinct)}
        self.ordered = bool(ordered)
        if not self.choices:
            raise ValueError(
                "choices must hold at least one object, got an empty sequence. "
                "List the values to try."
            )
        self.n_levels = len(self.choices)
        self.categorical = not self.ordered
        order = list(range(self.n_levels))
        if self.ordered and are_numbers(self.choices):
            order.sort(key=lambda i: self.choices[i])
        self._order = order
        self._rank = {choice: rank for rank, choice in enumerate(order)}

    def _cell(self, u: ArrayLike) -> NDArray[np.int64]:
        k = self.n_levels
        cells = np.floor(np.asarray(u, dtype=float) * k)
        return np.asarray(np.clip(cells, 0, k - 1), dtype=np.int64)

    def from_unit(self, u: float) -> Any:
        """Return the choice whose cell holds ``u``."""
        return self.choices[self._order[int(self._cell(u))]]

    def to_unit(self, value: Any) -> float:
        """Return the canonical coordinate of ``value``; ValueError if not a choice."""
        value = plain(value)
        places = (i for i, choice in enumerate(self.choices) if choice is value)
        place = next(places, None)  # its content may have changed
        if place is None:
            place = self._places.get(cache_key(value))
        if place is None:
            raise ValueError(f"{value!r} is not one of {self!r}.")
        return (self._rank[place] + 0.5) / self.n_levels

    def snap(self, u: ArrayLike) -> FloatArray:
        """Return canonical coordinates, shape as ``u``."""
        return (self._cell(u) + 0.5) / self.n_levels

    def values(self) -> list[Any]:
        """Return the choices as listed, repeated ones included."""
        return list(self._listed)

    @property
    def grid_size(self) -> int:
        """Number of choices listed, repeated ones included."""
        return len(self._listed)

    def coordinates(self) -> FloatArray:
        """Return the sorted canonical coordinates."""
        return (np.arange(self.n_levels) + 0.5) / self.n_levels

    def __repr__(self) -> str:
        ordered = ", ordered=True" if self.ordered else ""
        return f"Categorical({list(self.choices)!r}{ordered})"


def are_numbers(choices: Sequence[Any]) -> bool:
    """Tell whether all choices are real numbers (bool is not) and none is NaN."""
    return all(
        not isinstance(c, bool) and isinstance(c, numbers.Real) and c == c
        for c in choices
    )
