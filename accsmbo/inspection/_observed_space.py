# SPDX-License-Identifier: BSD-3-Clause
"""The space of a history, inferred from its trials where it is not known.

A journal describes a distribution without a dimension of its own by its text; then the
pairs of coordinate and value of the trials say where in the cube which value lies.
"""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from accsmbo.history import History, Trial
from accsmbo.inspection._labels import format_value
from accsmbo.space import Categorical, Dimension, Space

__all__ = ["Observed", "space_of"]

MAX_CHOICES = 1000


class Observed(Dimension):
    """A numeric dimension of which some pairs of coordinate and value are known.

    Parameters
    ----------
    coordinates : sequence of float
        Coordinates in the unit cube.
    values : sequence of float
        Values there, monotone in the coordinates; between them they are interpolated.
    """

    def __init__(self, coordinates: Sequence[float], values: Sequence[float]) -> None:
        pairs = dict(sorted(zip(coordinates, values, strict=True)))
        self._u = np.array(list(pairs), dtype=float)
        self._values = np.array(list(pairs.values()), dtype=float)

    def from_unit(self, u: float) -> float:
        """Return the interpolated value at ``u``."""
        return float(np.interp(u, self._u, self._values))

    def to_unit(self, value: Any) -> float:
        """Return the interpolated coordinate of ``value``."""
        return float(np.interp(value, self._values, self._u))

    def __repr__(self) -> str:
        return f"Observed({self._u.tolist()}, {self._values.tolist()})"


def space_of(history: History) -> Space:
    """Return the space of a history.

    Parameters
    ----------
    history : History
        With a space, or with trials to infer it from.

    Returns
    -------
    Space
        The known one, or one whose dimensions hold the values seen.

    Raises
    ------
    ValueError
        If it is not known and the trials do not tell.
    """
    if isinstance(history.space, Space):
        return history.space
    n_subspaces = 1 + max((t.subspace for t in history.trials), default=-1)
    by_index = [
        [t for t in history.trials if t.subspace == i] for i in range(n_subspaces)
    ]
    if not by_index:
        raise ValueError(
            "history must have a space or trials, got neither. Run a trial first."
        )
    dimensions = [_dimensions(trials) if trials else {} for trials in by_index]
    return Space(dimensions, allow_empty=True)


def _dimensions(trials: Sequence[Trial]) -> dict[str, Dimension]:
    names = sorted(trials[0].params)
    n_dims = len(trials[0].unit)
    seen = {name: [trial.params[name] for trial in trials] for name in names}
    varied = [n for n in names if len({format_value(v, 999) for v in seen[n]}) > 1]
    modelled = names if len(names) == n_dims else varied
    if len(modelled) != n_dims:
        raise ValueError(
            f"the journal describes the space by its text only, and {len(trials)} "
            f"trials do not tell which {n_dims} of {names} are searched. Run more "
            "trials, or load it with JournalStorage(path).load(space)."
        )
    units = np.array([trial.unit for trial in trials])
    dimensions: dict[str, Dimension] = {n: Categorical([seen[n][0]]) for n in names}
    for j, name in enumerate(modelled):
        dimensions[name] = _dimension(units[:, j].tolist(), seen[name])
    return dimensions


def _dimension(coordinates: list[float], values: list[Any]) -> Dimension:
    if all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in values):
        return Observed(coordinates, values)
    # Choice number r of k has the coordinate (r + 1/2) / k.
    u = np.array(coordinates)
    for k in range(2, MAX_CHOICES):
        ranks = u * k - 0.5
        if np.allclose(ranks, ranks.round(), rtol=0.0, atol=1e-6):
            break
    choices: list[Any] = [f"(not seen: {r})" for r in range(k)]
    for rank, value in zip(ranks.round().astype(int), values, strict=True):
        choices[rank] = value
    return Categorical(choices)
