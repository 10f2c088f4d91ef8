# SPDX-License-Identifier: BSD-3-Clause
"""Embeddings e(lambda) of the hyperparameters: linear, or with one tanh layer.

Notation
--------
K, b, m, q  members, examples, hyperparameters, length of the embedding
z           hyperparameters, logarithms scaled to [-1, 1], (K, b, m)
T           tanh(z A + a), (K b, units)

    e = z C (linear)        e = T C + c (one hidden layer)
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
            "A": ParameterShape((m, units)),
            "a": ParameterShape((units,)),
            "C": ParameterShape((units, q)),
            "c": ParameterShape((q,)),
        }

    def initialize(self, params: Views, rng: np.random.Generator) -> None:
        """Fill the parameters: Glorot matrices, zero biases."""
        for name in ("A", "a", "C", "c"):
            if name in params:
                values = params[name]
                if values.ndim == 1:
                    values[...] = 0.0
                else:
                    values[...] = glorot_uniform(rng, values.shape, *values.shape)

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
        T = rows @ params["A"]
        T += params["a"]
        np.tanh(T, out=T)
        e = T @ params["C"]
        e += params["c"]
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
        dT = de @ params["C"].T
        dT *= 1.0 - T * T
        if grads is not None:
            grads["c"] += de.sum(axis=0)
            grads["A"] += rows.T @ dT
            grads["a"] += dT.sum(axis=0)
        return (dT @ params["A"].T).reshape(*shape, -1) if needs_input else None
