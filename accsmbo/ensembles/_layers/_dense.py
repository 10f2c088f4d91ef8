# SPDX-License-Identifier: BSD-3-Clause
"""Dense layers in four forms: plain, batch, self-tuning and hyper-batch.

Notation
--------
K, b, p, r, s  members, examples, positions (1 for a dense layer), inputs, outputs
t              taps of the kernel: 1, or l l for a convolution; n = t r
X              inputs (K, b, ...); (1, b, ...) if all members see the same
A              rows of inputs under the kernel, (K or 1, b p, n)
E              kernels side by side, [W o r_k | Delta o u_k], (K, n, c), c = s or 2 s
P              A E, the only large product of the forward pass, (K, b, p, c)
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
from accsmbo.ensembles._layers._rank_one import add_row_gradients, scale_rows


@dataclass
class LinearCache:
    """What the backward pass needs of the forward pass (see the notation)."""

    A: np.ndarray
    E: np.ndarray
    P: np.ndarray
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
        E = self._kernels(params)
        shape = (self.n_members, X.shape[1], positions, E.shape[-1])
        P = (A @ E).reshape(shape)
        scale = None if e is None else self._delta_scale(params, e)
        cache = LinearCache(A, E, P, e, scale, X.shape)
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
        shape = (*dZ.shape[:2], -1, self.n_outputs)
        dZ = dZ.reshape(shape)
        summed = dZ[:, :, 0] if dZ.shape[2] == 1 else dZ.sum(axis=2)
        dP = self._product_gradient(params, cache, dZ)
        dP = dP.reshape(self.n_members, -1, dP.shape[-1])
        moved = None if cache.e is None else self._moved(cache, dZ)
        if grads is not None:
            self._add_kernel_gradients(params, cache, dP, grads)
            self._add_column_gradients(cache, (dZ, summed, moved), grads)
        dX = self._inputs(dP @ cache.E.swapaxes(1, 2), cache) if needs_input else None
        if cache.e is None or moved is None:
            return dX, None
        de = np.empty_like(cache.e)
        v = self._factor(params, "v")
        np.multiply(moved, 1.0 if v is None else v[:, None], out=de[..., : shape[-1]])
        np.multiply(summed, params["delta"][:, None], out=de[..., shape[-1] :])
        return dX, de

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

    def _inputs(self, dA: np.ndarray, cache: LinearCache) -> np.ndarray:
        dA = dA.reshape(self.n_members, *cache.input_shape[1:])
        return dA.sum(axis=0, keepdims=True) if cache.input_shape[0] == 1 else dA

    def _output_shape(self, X: np.ndarray) -> tuple[int, ...]:
        return (self.n_outputs,)

    def _factor(self, values: Views, name: str) -> np.ndarray | None:
        """Return a factor by name, or None: u and v are r and s where tied."""
        tied = {"u": "r", "v": "s"} if self.tie_factors else {}
        return values.get(tied.get(name, name))

    def _kernels(self, params: Views) -> np.ndarray:
        """Return E; the factors of the outputs are applied to P."""
        W = params["W"]
        s = self.n_outputs
        width = 2 * s if self.tuned else s
        stacked = np.empty((self.n_members, *W.shape[:2], width), W.dtype)
        scale_rows(W, self._factor(params, "r"), out=stacked[..., :s])
        if self.tuned:
            scale_rows(params["Delta"], self._factor(params, "u"), out=stacked[..., s:])
        return stacked.reshape(self.n_members, -1, width)

    def _delta_scale(self, params: Views, e: np.ndarray) -> np.ndarray:
        """Return v_k o e(lambda), of shape (K, b, s)."""
        v = self._factor(params, "v")
        e = e[..., : self.n_outputs]
        return e if v is None else e * v[:, None]

    def _combine(self, params: Views, cache: LinearCache) -> np.ndarray:
        """Return the outputs Z, given the products P."""
        n = self.n_outputs
        s = self._factor(params, "s")
        Z = cache.P[..., :n]
        if s is not None:
            Z = Z * s[:, None, None]
        bias = params["b"][:, None]
        if cache.e is not None and cache.scale is not None:
            moved = cache.P[..., n:] * cache.scale[:, :, None]
            moved += Z
            Z = moved
            bias = bias + params["delta"][:, None] * cache.e[..., n:]
        Z += bias[:, :, None]
        return Z

    def _product_gradient(
        self, params: Views, cache: LinearCache, dZ: np.ndarray
    ) -> np.ndarray:
        """Return the gradient by P: [dZ o s_k, dZ o v_k o e]."""
        n = self.n_outputs
        s = self._factor(params, "s")
        if s is None and cache.scale is None:
            return dZ
        dP = np.empty(cache.P.shape, dZ.dtype)
        np.multiply(dZ, 1.0 if s is None else s[:, None, None], out=dP[..., :n])
        if cache.scale is not None:
            np.multiply(dZ, cache.scale[:, :, None], out=dP[..., n:])
        return dP

    def _moved(self, cache: LinearCache, dZ: np.ndarray) -> np.ndarray:
        """Return the gradient by v_k o e, summed over the positions, (K, b, s)."""
        P = cache.P[..., self.n_outputs :]
        if dZ.shape[2] == 1:
            return dZ[:, :, 0] * P[:, :, 0]
        return np.einsum("kbps,kbps->kbs", dZ, P)

    def _add_kernel_gradients(
        self, params: Views, cache: LinearCache, dP: np.ndarray, grads: Views
    ) -> None:
        n = self.n_outputs
        A = cache.A.swapaxes(1, 2)
        G = np.empty((A.shape[1], dP.shape[-1]), dP.dtype)
        by_taps = G.reshape(*params["W"].shape[:2], -1)
        for k in range(self.n_members):
            np.matmul(A[k if len(A) > 1 else 0], dP[k], out=G)
            self._add_member_gradients(params, grads, k, ("W", "r"), by_taps[..., :n])
            if self.tuned:
                names = ("Delta", "u")
                self._add_member_gradients(params, grads, k, names, by_taps[..., n:])

    def _add_member_gradients(
        self,
        params: Views,
        grads: Views,
        k: int,
        names: tuple[str, str],
        G_k: np.ndarray,
    ) -> None:
        kernel, row = names
        r, dr = self._factor(params, row), self._factor(grads, row)
        add_row_gradients(
            params[kernel],
            None if r is None else r[k],
            G_k,
            dW=grads[kernel],
            dr_k=None if dr is None else dr[k],
        )

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
            ds += np.einsum("kbps,kbps->ks", dZ, cache.P[..., :n])
        if cache.e is not None and moved is not None:
            grads["delta"] += np.einsum("kbs,kbs->ks", summed, cache.e[..., -n:])
            if dv is not None:
                dv += np.einsum("kbs,kbs->ks", moved, cache.e[..., :n])
