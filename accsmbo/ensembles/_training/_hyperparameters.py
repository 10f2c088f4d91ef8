# SPDX-License-Identifier: BSD-3-Clause
"""Which hyperparameter a network uses where: fixed, or a column of lambda.

Notation
--------
K, b, m  members, examples, tuned hyperparameters
lam      their values, (K, b, m)
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Tuned:
    """A column of lambda."""

    column: int


Source = float | Tuned


@dataclass(frozen=True)
class Values:
    """Hyperparameters of one batch, each of shape (K, b) or None where absent."""

    strengths: list[tuple[np.ndarray, np.ndarray]]
    rates: np.ndarray | None
    smoothing: np.ndarray | None


@dataclass
class Hyperparameters:
    """The hyperparameters of a network with their names and bounds.

    Attributes
    ----------
    names : list of str
        Names of the tuned ones, in the order of the columns of lambda.
    bounds : list of (float, float)
        Their bounds.
    strengths : list of (Source, Source)
        L2 strengths of kernel and bias of each linear layer.
    dropout : Source
        Dropout rate before the last layer.
    label_smoothing : Source
        Weight of the uniform distribution in the targets.
    """

    names: list[str] = field(default_factory=list)
    bounds: list[tuple[float, float]] = field(default_factory=list)
    strengths: list[tuple[Source, Source]] = field(default_factory=list)
    dropout: Source = 0.0
    label_smoothing: Source = 0.0

    def tune(self, name: str, bounds: tuple[float, float]) -> Tuned:
        """Add a tuned hyperparameter and return its source."""
        self.names.append(name)
        self.bounds.append(bounds)
        return Tuned(len(self.names) - 1)

    def values(
        self, lam: np.ndarray | None, shape: tuple[int, int], scale: float, dtype: Any
    ) -> Values:
        """Return the hyperparameters of one batch.

        Parameters
        ----------
        lam : ndarray of shape (K, b, m) or None
            Values of the tuned ones.
        shape : tuple of int
            (K, b).
        scale : float
            Factor of the L2 strengths: one over the number of training examples.
        dtype : numpy dtype
            Type of the results.

        Returns
        -------
        Values
            One value for each member and example.
        """

        def resolve(source: Source, factor: float = 1.0) -> np.ndarray | None:
            if isinstance(source, Tuned):
                if lam is None:
                    raise ValueError("lam must be given: hyperparameters are tuned.")
                return (lam[..., source.column] * factor).astype(dtype)
            return np.full(shape, source * factor, dtype) if source else None

        def strength(source: Source) -> np.ndarray:
            values = resolve(source, scale)
            return np.zeros(shape, dtype) if values is None else values

        strengths = [(strength(w), strength(b)) for w, b in self.strengths]
        return Values(strengths, resolve(self.dropout), resolve(self.label_smoothing))

    @property
    def penalized(self) -> bool:
        """Whether any L2 strength can differ from zero."""
        return any(source != 0.0 for pair in self.strengths for source in pair)


def tuned_strengths(
    hyperparameters: Hyperparameters,
    n_layers: int,
    bounds: tuple[float, float],
    *,
    layerwise: bool,
) -> list[tuple[Source, Source]]:
    """Add the L2 strengths of tuning setting (i) or (ii) of appendix C.1.

    Parameters
    ----------
    hyperparameters : Hyperparameters
        Where the new hyperparameters are added.
    n_layers : int
        Number of linear layers.
    bounds : tuple of float
        Bounds of each strength.
    layerwise : bool
        False for (i), one strength for all kernels and one for all biases; True for
        (ii), both for each layer.

    Returns
    -------
    list of (Source, Source)
        Strengths of kernel and bias of each layer.
    """
    if not layerwise:
        kernel = hyperparameters.tune("l2_kernel", bounds)
        bias = hyperparameters.tune("l2_bias", bounds)
        return [(kernel, bias)] * n_layers
    return [
        (
            hyperparameters.tune(f"l2_kernel_{i}", bounds),
            hyperparameters.tune(f"l2_bias_{i}", bounds),
        )
        for i in range(n_layers)
    ]
