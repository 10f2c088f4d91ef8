# SPDX-License-Identifier: BSD-3-Clause
"""Embeddings e(lambda) of the hyperparameters: linear, or with one tanh layer.

Notation
--------
K, b, m, q  members, examples, hyperparameters, length of the embedding
z           hyperparameters, logarithms scaled to [-1, 1], (K, b, m)
T           [tanh([z, 1] A), 1], (K b, units + 1)

    e = z C (linear)        e = T C (one hidden layer)

The last rows of A and C are the biases of the hidden layer and of the embedding.
"""

import numpy as np

from accsmbo.ensembles._layers._initializers import glorot_uniform
from accsmbo.ensembles._layers._parameters import ParameterShape, Views


class Embedding:
    """Embedding of the hyperparameters of one layer.

    Parameters
    ----------
    n_hyperparameters : int
        Number m of hyperparameters.
    n_embedded : int
        Length q of the embedding.
    units : int, default=64
        Hidden units with tanh; 0 for a linear embedding without bias, as in (3).
    """

    def __init__(
        self, n_hyperparameters: int, n_embedded: int, *, units: int = 64
    ) -> None:
        self.n_hyperparameters = n_hyperparameters
        self.n_embedded = n_embedded
        self.units = units

    def parameter_shapes(self) -> dict[str, ParameterShape]:
        """Return the shape of each parameter by name."""
        m, q, units = self.n_hyperparameters, self.n_embedded, self.units
        if units == 0:
            return {"C": ParameterShape((m, q))}
        return {
            "A": ParameterShape((m + 1, units)),
            "C": ParameterShape((units + 1, q)),
        }

    def initialize(self, params: Views, rng: np.random.Generator) -> None:
        """Fill the parameters: Glorot matrices, zero biases."""
        for name in ("A", "C"):
            if name in params:
                values = params[name]
                weights = values if self.units == 0 else values[:-1]
                weights[...] = glorot_uniform(rng, weights.shape, *weights.shape)
                values[len(weights) :] = 0.0

    def forward(
        self, params: Views, z: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Return the embeddings and the cache for `backward`.

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        z : ndarray of shape (K, b, m)
            Scaled hyperparameters.

        Returns
        -------
        e : ndarray of shape (K, b, q)
            Embeddings.
        cache : tuple of ndarray
            Intermediate results.
        """
        rows = z.reshape(-1, z.shape[-1])
        if self.units == 0:
            return (rows @ params["C"]).reshape(*z.shape[:2], -1), (rows, rows)
        T = np.empty((len(rows), self.units + 1), rows.dtype)
        hidden = T[:, :-1]
        np.matmul(rows, params["A"][:-1], out=hidden)
        hidden += params["A"][-1]
        np.tanh(hidden, out=hidden)
        T[:, -1] = 1.0
        e = T @ params["C"]
        return e.reshape(*z.shape[:2], -1), (rows, T)

    def backward(
        self,
        params: Views,
        cache: tuple[np.ndarray, np.ndarray],
        de: np.ndarray,
        *,
        grads: Views | None = None,
        needs_input: bool = True,
    ) -> np.ndarray | None:
        """Propagate a gradient back; add the parameters' gradients to `grads`.

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        cache : tuple of ndarray
            Result of `forward`.
        de : ndarray of shape (K, b, q)
            Gradient by the embeddings.
        grads : dict of str to ndarray or None
            Gradients that are added to; None skips them.
        needs_input : bool, default=True
            Whether the gradient by the hyperparameters is wanted.

        Returns
        -------
        ndarray of shape (K, b, m) or None
            Gradient by the scaled hyperparameters.
        """
        rows, T = cache
        shape = de.shape[:2]
        de = de.reshape(-1, de.shape[-1])
        if grads is not None:
            grads["C"] += T.T @ de
        if self.units == 0:
            return (de @ params["C"].T).reshape(*shape, -1) if needs_input else None
        dT = de @ params["C"][:-1].T
        dT *= 1.0 - T[:, :-1] ** 2
        if grads is not None:
            grads["A"][:-1] += rows.T @ dT
            grads["A"][-1] += dT.sum(axis=0)
        if not needs_input:
            return None
        return (dT @ params["A"][:-1].T).reshape(*shape, -1)
