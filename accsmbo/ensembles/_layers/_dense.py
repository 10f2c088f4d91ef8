# SPDX-License-Identifier: BSD-3-Clause
"""Dense layers in four forms: plain, batch, self-tuning and hyper-batch.

Notation
--------
K, b, p, r, s  members, examples, positions (1 for a dense layer), inputs, outputs
t              taps of the kernel: 1, or l l for a convolution; n = t r
X              inputs (K, b, ...); (1, b, ...) if all members see the same
A              rows of inputs under the kernel, (K or 1, b p, n)
P, Q           A (W o r_k) and A (Delta o u_k), the large products, (K, b, p, s)
Z              outputs, (K, b, p, s)
e              embeddings [e | e'] of kernel and bias, (K, b, 2 s)

    W_k(lam) = W o (r_k s_k^T) + [Delta o (u_k v_k^T)] o e(lam)^T            (7), (10)
    b_k(lam) = b_k + delta_k o e'(lam)                                       (7), (11)

Without factors it is (3), without Delta (2), without both a plain layer.
"""

from dataclasses import dataclass

import numpy as np

from accsmbo.ensembles._layers._initializers import FactorInitializer, glorot_uniform
from accsmbo.ensembles._layers._parameters import ParameterShape, Views
from accsmbo.ensembles._layers._penalty import LayerPenalty, layer_penalty
from accsmbo.ensembles._layers._rank_one import add_row_gradients


@dataclass
class LinearCache:
    """What the backward pass needs of the forward pass (see the notation).

    `scale` is v_k o e(lambda), of shape (K, b, s); it, Q and e are None for a layer
    without hyperparameters.
    """

    A: np.ndarray
    P: np.ndarray
    Q: np.ndarray | None
    e: np.ndarray | None
    scale: np.ndarray | None
    input_shape: tuple[int, ...]


class DenseLayer:
    """Dense layer, equations (2), (3) and (7).

    Parameters
    ----------
    n_inputs, n_outputs : int
        Number of inputs r and outputs s.
    n_members : int, default=1
        Number of members K.
    factors : FactorInitializer or None, default=None
        How the rank-one factors start; None for a layer without factors, which needs
        `n_members=1`.
    tuned : bool, default=False
        Whether the weights depend on hyperparameters.
    tie_factors : bool, default=False
        Use r and s also as u and v (appendix D.1).
    regularize_factors : bool, default=True
        Whether the regulariser sees W_k or, as in appendix D.1, the shared W.
    """

    taps = 1

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        *,
        n_members: int = 1,
        factors: FactorInitializer | None = None,
        tuned: bool = False,
        tie_factors: bool = False,
        regularize_factors: bool = True,
    ) -> None:
        if factors is None and n_members != 1:
            raise ValueError(
                "factors=None needs n_members=1: without rank-one factors all members "
                f"have the same kernel. Got n_members={n_members}; give factors."
            )
        self.n_inputs = n_inputs
        self.n_outputs = n_outputs
        self.n_members = n_members
        self.factors = factors
        self.tuned = tuned
        self.tie_factors = tie_factors
        self.regularize_factors = regularize_factors

    @property
    def n_embedded(self) -> int:
        """Length of the embedding of one example: e and e'."""
        return 2 * self.n_outputs

    def parameter_shapes(self) -> dict[str, ParameterShape]:
        """Return the shape of each parameter by name."""
        kernel = ParameterShape((self.taps, self.n_inputs, self.n_outputs))
        rows = ParameterShape((self.n_members, self.n_inputs), fast=True)
        columns = ParameterShape((self.n_members, self.n_outputs), fast=True)
        bias = ParameterShape((self.n_members, self.n_outputs))
        shapes = {"W": kernel, "b": bias}
        if self.tuned:
            shapes |= {"Delta": kernel, "delta": bias}
        if self.factors is not None:
            shapes |= {"r": rows, "s": columns}
            if self.tuned and not self.tie_factors:
                shapes |= {"u": rows, "v": columns}
        return shapes

    def initialize(self, params: Views, rng: np.random.Generator) -> None:
        """Fill the parameters: Glorot kernels, zero biases, factors as asked.

        Parameters
        ----------
        params : dict of str to ndarray
            Arrays to fill.
        rng : numpy.random.Generator
            Source of the draws.
        """
        for name, values in params.items():
            if name in ("W", "Delta"):
                fan_in, fan_out = self.taps * self.n_inputs, self.taps * self.n_outputs
                values[...] = glorot_uniform(rng, values.shape, fan_in, fan_out)
            elif name in ("b", "delta"):
                values[...] = 0.0
            elif name in ("r", "s", "u", "v") and self.factors is not None:
                values[...] = self.factors.draw(rng, values.shape)

    def forward(
        self, params: Views, X: np.ndarray, e: np.ndarray | None = None
    ) -> tuple[np.ndarray, LinearCache]:
        """Return the outputs of all members and the cache for `backward`.

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        X : ndarray of shape (K or 1, b, ...)
            Inputs; a first axis of length 1 is shared by the members.
        e : ndarray of shape (K, b, 2 s) or None
            Embeddings of kernel and bias, for a tuned layer.

        Returns
        -------
        Z : ndarray of shape (K, b, ...)
            Outputs.
        cache : LinearCache
            Intermediate results.
        """
        A, positions = self._rows(X)
        shape = (self.n_members, X.shape[1], positions, self.n_outputs)
        P = self._products(params, A, "W", "r").reshape(shape)
        Q = scale = None
        if e is not None:
            Q = self._products(params, A, "Delta", "u").reshape(shape)
            scale = self._delta_scale(params, e)
        cache = LinearCache(A, P, Q, e, scale, X.shape)
        Z = self._combine(params, cache)
        return Z.reshape(*shape[:2], *self._output_shape(X)), cache

    def backward(
        self,
        params: Views,
        cache: LinearCache,
        dZ: np.ndarray,
        *,
        grads: Views | None = None,
        needs_input: bool = True,
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Propagate a gradient back; add the parameters' gradients to `grads`.

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        cache : LinearCache
            Result of `forward`.
        dZ : ndarray of shape (K, b, ...)
            Gradient by the outputs.
        grads : dict of str to ndarray or None
            Gradients that are added to; None skips them (a tuning step).
        needs_input : bool, default=True
            Whether the gradient by the inputs is wanted.

        Returns
        -------
        dX : ndarray of shape (K or 1, b, ...) or None
            Gradient by the inputs.
        de : ndarray of shape (K, b, 2 s) or None
            Gradient by the embeddings.
        """
        dZ = dZ.reshape(*dZ.shape[:2], -1, self.n_outputs)
        summed = dZ[:, :, 0] if dZ.shape[2] == 1 else dZ.sum(axis=2)
        dP, dQ = self._product_gradients(params, cache, dZ)
        moved = self._moved(cache, dZ)
        if grads is not None:
            self._add_kernel_gradients(params, cache, dP, grads, "W", "r")
            if dQ is not None:
                self._add_kernel_gradients(params, cache, dQ, grads, "Delta", "u")
            self._add_column_gradients(cache, (dZ, summed, moved), grads)
        dX = None
        if needs_input:
            dX = self._input_gradient(params, cache, dP, dQ)
        return dX, self._embedding_gradient(params, cache, summed, moved)

    def penalty(
        self,
        params: Views,
        strengths: tuple[np.ndarray, np.ndarray],
        *,
        e: np.ndarray | None = None,
        grads: Views | None = None,
    ) -> LayerPenalty:
        """Return the regulariser (12) of kernel and bias; add its gradients.

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        strengths : tuple of two ndarray of shape (K, b)
            L2 strengths of the kernel and of the bias, per member and example.
        e : ndarray of shape (K, b, 2 s) or None
            Embeddings of kernel and bias, for a tuned layer.
        grads : dict of str to ndarray or None
            Gradients that are added to.

        Returns
        -------
        LayerPenalty
            Value and derivatives by embeddings and strengths.
        """
        return layer_penalty(self, params, strengths, e=e, grads=grads)

    def _rows(self, X: np.ndarray) -> tuple[np.ndarray, int]:
        return X, 1

    def _inputs(self, dA: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Return one member's gradient by its inputs, given that by its rows A."""
        return dA.reshape(shape[1:])

    def _output_shape(self, X: np.ndarray) -> tuple[int, ...]:
        return (self.n_outputs,)

    def _factor(self, values: Views, name: str) -> np.ndarray | None:
        """Return a factor by name, or None: u and v are r and s where tied."""
        tied = {"u": "r", "v": "s"} if self.tie_factors else {}
        return values.get(tied.get(name, name))

    def _products(
        self, params: Views, A: np.ndarray, kernel: str, row: str
    ) -> np.ndarray:
        """Return A (W o r_k) for all members, of shape (K, b p, s)."""
        W = params[kernel]
        r = self._factor(params, row)
        flat = (-1, self.n_outputs)
        if r is None:
            return A @ W.reshape(flat)
        products = np.empty((len(r), A.shape[1], self.n_outputs), A.dtype)
        scaled = np.empty_like(W)
        for k, r_k in enumerate(r):
            np.multiply(W, r_k[:, None], out=scaled)
            rows = A[k if len(A) > 1 else 0]
            np.matmul(rows, scaled.reshape(flat), out=products[k])
        return products

    def _delta_scale(self, params: Views, e: np.ndarray) -> np.ndarray:
        """Return v_k o e(lambda), of shape (K, b, s)."""
        v = self._factor(params, "v")
        e = e[..., : self.n_outputs]
        return e if v is None else e * v[:, None]

    def _combine(self, params: Views, cache: LinearCache) -> np.ndarray:
        """Return the outputs Z = P o s_k + Q o v_k o e + b_k + delta_k o e'."""
        s = self._factor(params, "s")
        Z = cache.P if s is None else cache.P * s[:, None, None]
        bias = params["b"][:, None]
        if cache.e is not None and cache.Q is not None and cache.scale is not None:
            moved = cache.Q * cache.scale[:, :, None]
            moved += Z
            Z = moved
            bias = bias + params["delta"][:, None] * cache.e[..., -self.n_outputs :]
        Z += bias[:, :, None]
        return Z

    def _product_gradients(
        self, params: Views, cache: LinearCache, dZ: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the gradients by P and Q, as rows: (K, b p, s)."""
        rows = (self.n_members, -1, self.n_outputs)
        s = self._factor(params, "s")
        dP = dZ if s is None else dZ * s[:, None, None]
        if cache.scale is None:
            return dP.reshape(rows), None
        return dP.reshape(rows), (dZ * cache.scale[:, :, None]).reshape(rows)

    def _moved(self, cache: LinearCache, dZ: np.ndarray) -> np.ndarray | None:
        """Return the gradient by v_k o e, summed over the positions, (K, b, s)."""
        if cache.Q is None:
            return None
        if dZ.shape[2] == 1:
            return dZ[:, :, 0] * cache.Q[:, :, 0]
        return np.einsum("kbps,kbps->kbs", dZ, cache.Q)

    def _embedding_gradient(
        self,
        params: Views,
        cache: LinearCache,
        summed: np.ndarray,
        moved: np.ndarray | None,
    ) -> np.ndarray | None:
        if cache.e is None or moved is None:
            return None
        de = np.empty_like(cache.e)
        n = self.n_outputs
        v = self._factor(params, "v")
        np.multiply(moved, 1.0 if v is None else v[:, None], out=de[..., :n])
        np.multiply(summed, params["delta"][:, None], out=de[..., n:])
        return de

    def _add_kernel_gradients(
        self,
        params: Views,
        cache: LinearCache,
        dP: np.ndarray,
        grads: Views,
        kernel: str,
        row: str,
    ) -> None:
        """Add the gradients of one kernel and its row factors, member by member."""
        W, dW = params[kernel], grads[kernel]
        r, dr = self._factor(params, row), self._factor(grads, row)
        A = cache.A.swapaxes(1, 2)
        G = np.empty((A.shape[1], self.n_outputs), dP.dtype)
        for k, dP_k in enumerate(dP):
            np.matmul(A[k if len(A) > 1 else 0], dP_k, out=G)
            pair = (None, None) if r is None or dr is None else (r[k], dr[k])
            add_row_gradients(W, pair[0], G.reshape(W.shape), dW=dW, dr_k=pair[1])

    def _input_gradient(
        self,
        params: Views,
        cache: LinearCache,
        dP: np.ndarray,
        dQ: np.ndarray | None,
    ) -> np.ndarray:
        """Return the gradient by the inputs, [dP, dQ] [W o r_k, Delta o u_k]^T."""
        members = []
        for k, dP_k in enumerate(dP):
            kernel, rows = self._member_kernel(params, "W", "r", k), dP_k
            if dQ is not None:
                moved = self._member_kernel(params, "Delta", "u", k)
                kernel = np.concatenate([kernel, moved], axis=1)
                rows = np.concatenate([dP_k, dQ[k]], axis=1)
            members.append(self._inputs(rows @ kernel.T, cache.input_shape))
        dX = np.stack(members)
        return dX.sum(axis=0, keepdims=True) if cache.input_shape[0] == 1 else dX

    def _member_kernel(
        self, params: Views, kernel: str, row: str, k: int
    ) -> np.ndarray:
        """Return W o r_k as a matrix (n, s)."""
        W, r = params[kernel], self._factor(params, row)
        scaled = W if r is None else W * r[k][:, None]
        return scaled.reshape(-1, self.n_outputs)

    def _add_column_gradients(
        self,
        cache: LinearCache,
        parts: tuple[np.ndarray, np.ndarray, np.ndarray | None],
        grads: Views,
    ) -> None:
        """Add the gradients of biases and of the factors of the outputs."""
        dZ, summed, moved = parts
        n = self.n_outputs
        grads["b"] += summed.sum(axis=1)
        ds, dv = self._factor(grads, "s"), self._factor(grads, "v")
        if ds is not None:
            ds += np.einsum("kbps,kbps->ks", dZ, cache.P)
        if cache.e is not None and moved is not None:
            grads["delta"] += np.einsum("kbs,kbs->ks", summed, cache.e[..., -n:])
            if dv is not None:
                dv += np.einsum("kbs,kbs->ks", moved, cache.e[..., :n])
