# SPDX-License-Identifier: BSD-3-Clause
"""Embeddings of the hyperparameters: linear, or with one tanh layer.

Notation
--------
K, b, m  members, examples, hyperparameters
z        hyperparameters, logarithms scaled to [-1, 1], (K, b, m)
T        features, (K, b, h): z (linear), or [tanh([z, 1] A), 1]
C        last matrix, (h, q), its columns in two parts: of the kernel and of the bias
e        embeddings T C of a part
d        scales of the members in each part, (K, q_part)
f        scaled embeddings of each part, (K, b, q_part): f_k = e_k o d_k = T_k (C o d_k)

The last rows of A and C are the biases of the hidden layer and of the embedding. The
scales multiply C, which is smaller than e. In each part, with F_k = T_k^T df_k,

    dC = sum_k F_k o d_k,  dd_k = colsum(C o F_k),  dT_k = sum_parts df_k (C o d_k)^T
"""

import numpy as np

from accsmbo.ensembles._layers._initializers import glorot_uniform
from accsmbo.ensembles._layers._parameters import ParameterShape, Views

Pair = tuple[np.ndarray, np.ndarray]


class Embedding:
    """Embedding of the hyperparameters of one layer.

    Parameters
    ----------
    n_hyperparameters : int
        Number m of hyperparameters.
    widths : tuple of int
        Lengths of the two parts of the embedding.
    units : int, default=64
        Hidden units with tanh; 0 for a linear embedding without bias, as in (3).
    """

    def __init__(
        self, n_hyperparameters: int, widths: tuple[int, int], *, units: int = 64
    ) -> None:
        self.n_hyperparameters = n_hyperparameters
        self.widths = widths
        self.units = units

    def parameter_shapes(self) -> dict[str, ParameterShape]:
        """Return the shape of each parameter by name."""
        m, q, units = self.n_hyperparameters, sum(self.widths), self.units
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

    def features(self, params: Views, z: np.ndarray) -> np.ndarray:
        """Return the features T, of shape (K, b, h).

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        z : ndarray of shape (K, b, m)
            Scaled hyperparameters.

        Returns
        -------
        ndarray of shape (K, b, h)
            Features.
        """
        if self.units == 0:
            return z
        T = np.ones((*z.shape[:2], self.units + 1), z.dtype)
        np.tanh(_with_one(z) @ params["A"], out=T[..., :-1])
        return T

    def features_backward(
        self,
        params: Views,
        z: np.ndarray,
        T: np.ndarray,
        dT: np.ndarray,
        *,
        grads: Views | None = None,
        needs_input: bool = True,
    ) -> np.ndarray | None:
        """Propagate a gradient back through `features`.

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        z : ndarray of shape (K, b, m)
            Scaled hyperparameters.
        T : ndarray of shape (K, b, h)
            Features.
        dT : ndarray of shape (K, b, m or units)
            Gradient by the features without the constant.
        grads : dict of str to ndarray or None
            Gradients that are added to; None skips them.
        needs_input : bool, default=True
            Whether the gradient by the hyperparameters is wanted.

        Returns
        -------
        ndarray of shape (K, b, m) or None
            Gradient by the scaled hyperparameters.
        """
        if self.units == 0:
            return dT if needs_input else None
        tanh = T[..., :-1]
        hidden = tanh * tanh
        np.subtract(1.0, hidden, out=hidden)
        hidden *= dT
        if grads is not None:
            rows = hidden.reshape(-1, self.units)
            grads["A"] += _with_one(z).reshape(len(rows), -1).T @ rows
        return hidden @ params["A"][:-1].T if needs_input else None

    def scaled(self, params: Views, T: np.ndarray, d: Pair) -> Pair:
        """Return the scaled embeddings f.

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        T : ndarray of shape (K, b, h)
            Features.
        d : pair of ndarray of shape (K, q_part)
            Scales.

        Returns
        -------
        pair of ndarray of shape (K, b, q_part)
            Scaled embeddings.
        """
        n = self.widths[0]
        kernel = np.empty((*T.shape[:2], n), T.dtype)
        bias = np.empty((*T.shape[:2], self.widths[1]), T.dtype)
        for k, d_k in enumerate(np.concatenate(d, axis=1)):
            E = params["C"] * d_k
            np.matmul(T[k], E[:, :n], out=kernel[k])
            np.matmul(T[k], E[:, n:], out=bias[k])
        return kernel, bias

    def scaled_backward(
        self,
        params: Views,
        T: np.ndarray,
        d: Pair,
        df: Pair,
        *,
        grads: Views | None = None,
    ) -> tuple[np.ndarray, Pair]:
        """Propagate a gradient back through `scaled`.

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        T : ndarray of shape (K, b, h)
            Features.
        d : pair of ndarray of shape (K, q_part)
            Scales.
        df : pair of ndarray of shape (K, b, q_part)
            Gradient by the scaled embeddings.
        grads : dict of str to ndarray or None
            Gradients that are added to; None skips them.

        Returns
        -------
        dT : ndarray of shape (K, b, m or units)
            Gradient by the features without the constant.
        dd : pair of ndarray of shape (K, q_part)
            Gradient by the scales; zero where `grads` is None.
        """
        C, n = params["C"], self.widths[0]
        moving = C[: self.units or len(C)]
        dT = np.empty((*T.shape[:2], len(moving)), T.dtype)
        dd = np.zeros((len(T), sum(self.widths)), T.dtype)
        F = np.empty_like(C)
        for k, d_k in enumerate(np.concatenate(d, axis=1)):
            E = moving * d_k
            np.matmul(df[0][k], E[:, :n].T, out=dT[k])
            dT[k] += df[1][k] @ E[:, n:].T
            if grads is not None:
                np.matmul(T[k].T, df[0][k], out=F[:, :n])
                np.matmul(T[k].T, df[1][k], out=F[:, n:])
                np.einsum("hq,hq->q", C, F, out=dd[k])
                F *= d_k
                grads["C"] += F
        return dT, (dd[:, :n], dd[:, n:])


def _with_one(z: np.ndarray) -> np.ndarray:
    """Return [z, 1]."""
    return np.concatenate([z, np.ones_like(z[..., :1])], axis=-1)
