# SPDX-License-Identifier: BSD-3-Clause
"""Dense layers in four forms: plain, batch, self-tuning and hyper-batch.

Notation
--------
K, b, p, r, s  members, examples, positions (1 for a dense layer), inputs, outputs
t              taps of the kernel: 1, or l l for a convolution; n = t r
X              inputs (K, b, ...); (1, b, ...) if all members see the same
A              rows of inputs of one member under the kernel, (b p, n)
P, Q           A (W o r_k) and A (Delta o u_k), the large products, (K, b, p, s)
Z              outputs, (K, b, p, s)
d              scales (v, delta) of the embeddings (e, e'), each (K, s)
f              moving parts (v_k o e, b_k(lam)), each (K, b, s)

    W_k(lam) = W o (r_k s_k^T) + [Delta o (u_k v_k^T)] o e(lam)^T            (7), (10)
    b_k(lam) = b_k + delta_k o e'(lam)                                       (7), (11)

so that an output is P o s_k + Q o (v_k o e) + b_k(lam), where the last two come from
the embedding. Without factors it is (3), without Delta (2), without both a plain layer.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from accsmbo.ensembles._layers._embedding import Pair
from accsmbo.ensembles._layers._initializers import FactorInitializer, glorot_uniform
from accsmbo.ensembles._layers._parameters import ParameterShape, Views
from accsmbo.ensembles._layers._penalty import LayerPenalty, layer_penalty
from accsmbo.ensembles._layers._rank_one import add_row_gradients


@dataclass
class LinearCache:
    """What the backward pass needs of the forward pass (see the notation).

    Q is None for a layer without Delta, f for one without hyperparameters.
    """

    X: np.ndarray
    P: np.ndarray
    Q: np.ndarray | None
    f: Pair | None


@dataclass
class Block:
    """Some examples of one member, and their rows A."""

    member: int
    examples: slice
    A: np.ndarray

    @property
    def place(self) -> tuple[int, slice]:
        """Index of the block in arrays of shape (K, b, ...)."""
        return self.member, self.examples


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
    def embedding_widths(self) -> tuple[int, int]:
        """Lengths of e and e'."""
        return self.n_outputs, self.n_outputs

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

    def scales(self, params: Views, *, by_regularizer: bool = False) -> Pair:
        """Return the scales d of the embeddings, of shapes (K, s).

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        by_regularizer : bool, default=False
            Return the scales as the regulariser sees them: v is ones where it sees no
            factors.
        """
        v, delta = self._factor(params, "v"), params["delta"]
        if v is None or (by_regularizer and not self.regularize_factors):
            v = np.ones((self.n_members, self.embedding_widths[0]), delta.dtype)
        return v, delta

    def add_scale_gradients(
        self, grads: Views, dd: Pair, *, by_regularizer: bool = False
    ) -> None:
        """Add the gradients of v and delta, given that by `scales`.

        Parameters
        ----------
        grads : dict of str to ndarray
            Gradients that are added to.
        dd : pair of ndarray of shape (K, s)
            Gradient by the scales.
        by_regularizer : bool, default=False
            As in `scales`.
        """
        dv = self._factor(grads, "v")
        if dv is not None and (self.regularize_factors or not by_regularizer):
            dv += dd[0]
        grads["delta"] += dd[1]

    def forward(
        self, params: Views, X: np.ndarray, f: Pair | None = None
    ) -> tuple[np.ndarray, LinearCache]:
        """Return the outputs of all members and the cache for `backward`.

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        X : ndarray of shape (K or 1, b, ...)
            Inputs; a first axis of length 1 is shared by the members.
        f : pair of ndarray of shape (K, b or 1, s) or None
            Moving parts of kernel and bias; None if there are no hyperparameters. A
            middle axis of length 1 is shared by the examples (a prediction).

        Returns
        -------
        Z : ndarray of shape (K, b, ...)
            Outputs.
        cache : LinearCache
            Intermediate results.
        """
        outputs = self._output_shape(X)
        positions = math.prod(outputs[:-1])
        shape = (self.n_members, X.shape[1], positions, self.n_outputs)
        Z, P = np.empty(shape, X.dtype), np.empty(shape, X.dtype)
        Q = np.empty(shape, X.dtype) if self.tuned else None
        s = self._factor(params, "s")
        rows = (*shape[:2], self.n_outputs)
        bias = np.broadcast_to(params["b"][:, None] if f is None else f[1], rows)
        moving = np.broadcast_to(f[0], rows) if f is not None and self.tuned else None
        for block in self._blocks(X):
            k, place = block.member, block.place
            self._multiply(params, "W", "r", block, out=P[place])
            np.multiply(P[place], 1.0 if s is None else s[k], out=Z[place])
            Z[place] += bias[place][:, None]
            if Q is not None and moving is not None:
                self._multiply(params, "Delta", "u", block, out=Q[place])
                Z[place] += Q[place] * moving[place][:, None]
        return Z.reshape(*shape[:2], *outputs), LinearCache(X, P, Q, f)

    def backward(
        self,
        params: Views,
        cache: LinearCache,
        dZ: np.ndarray,
        *,
        grads: Views | None = None,
        needs_input: bool = True,
    ) -> tuple[np.ndarray | None, Pair | None]:
        """Propagate a gradient back; add the parameters' gradients to `grads`.

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        cache : LinearCache
            Result of `forward`; its Q is overwritten.
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
        df : pair of ndarray of shape (K, b, s) or None
            Gradient by the moving parts; may share memory with `dZ`.
        """
        dZ = dZ.reshape(cache.P.shape)
        dX = np.empty_like(cache.X) if needs_input else None
        Q = cache.Q
        for block in self._blocks(cache.X):
            dP, dQ = self._product_gradients(params, cache, dZ, block)
            # All that reads dZ comes first, while it is in the cache.
            if Q is not None:
                Q[block.place] *= dZ[block.place]
            if grads is not None:
                self._add_column_gradients(cache, dZ, block, grads)
                self._add_kernel_gradients(params, grads, "W", "r", block, dP)
                if dQ is not None:
                    self._add_kernel_gradients(params, grads, "Delta", "u", block, dQ)
            if dX is not None:
                self._put_input_gradient(params, dP, dQ, block, dX)
        return dX, None if Q is None else (_over_positions(Q), _over_positions(dZ))

    def penalty(
        self,
        params: Views,
        strengths: tuple[np.ndarray, np.ndarray],
        *,
        f: Pair | None = None,
        df: Pair | None = None,
        grads: Views | None = None,
    ) -> LayerPenalty:
        """Return the regulariser (12) of kernel and bias; add its gradients.

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        strengths : tuple of two ndarray of shape (K, b)
            L2 strengths of the kernel and of the bias, per member and example.
        f : pair of ndarray of shape (K, b, s) or None
            Moving parts, with `scales(params, by_regularizer=True)`.
        df : pair of ndarray of shape (K, b, s) or None
            Gradients by `f` that are added to.
        grads : dict of str to ndarray or None
            Gradients that are added to.

        Returns
        -------
        LayerPenalty
            Value and derivatives by the strengths.
        """
        return layer_penalty(self, params, strengths, f=f, df=df, grads=grads)

    def _blocks(self, X: np.ndarray) -> Iterator[Block]:
        """Cut the work into blocks of one member each."""
        for k in range(self.n_members):
            yield Block(k, slice(None), X[k % len(X)])

    def _inputs(self, dA: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Return the gradient by inputs of the given shape from that by A."""
        return dA.reshape(shape)

    def _output_shape(self, X: np.ndarray) -> tuple[int, ...]:
        """Return the shape of one example's output, with the channels last."""
        return (self.n_outputs,)

    def _factor(self, values: Views, name: str) -> np.ndarray | None:
        """Return a factor by name, or None: u and v are r and s where tied."""
        tied = {"u": "r", "v": "s"} if self.tie_factors else {}
        return values.get(tied.get(name, name))

    def _kernel(self, params: Views, kernel: str, row: str, k: int) -> np.ndarray:
        """Return W o r_k or Delta o u_k as a matrix (n, s)."""
        W, r = params[kernel], self._factor(params, row)
        scaled = W if r is None else W * r[k][:, None]
        return scaled.reshape(-1, self.n_outputs)

    def _multiply(
        self, params: Views, kernel: str, row: str, block: Block, *, out: np.ndarray
    ) -> None:
        """Write P or Q of one block, of shape (b, p, s)."""
        matrix = self._kernel(params, kernel, row, block.member)
        np.matmul(block.A, matrix, out=out.reshape(-1, self.n_outputs))

    def _product_gradients(
        self, params: Views, cache: LinearCache, dZ: np.ndarray, block: Block
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the gradients of one block by P and Q, each of shape (b p, s)."""
        s, dZ = self._factor(params, "s"), dZ[block.place]
        dP = dZ if s is None else dZ * s[block.member]
        dP = dP.reshape(-1, self.n_outputs)
        if cache.Q is None or cache.f is None:
            return dP, None
        scale = cache.f[0][block.place][:, None]
        return dP, (dZ * scale).reshape(dP.shape)

    def _add_kernel_gradients(
        self,
        params: Views,
        grads: Views,
        kernel: str,
        row: str,
        block: Block,
        by_product: np.ndarray,
    ) -> None:
        """Add the gradients of a kernel and its row factors from one block."""
        W, k = params[kernel], block.member
        r, dr = self._factor(params, row), self._factor(grads, row)
        pair = (None, None) if r is None or dr is None else (r[k], dr[k])
        G = (block.A.T @ by_product).reshape(W.shape)
        add_row_gradients(W, pair[0], G, dW=grads[kernel], dr_k=pair[1])

    def _add_column_gradients(
        self, cache: LinearCache, dZ: np.ndarray, block: Block, grads: Views
    ) -> None:
        """Add the gradients of s and, if b does not move, of b from one block."""
        rows = dZ[block.place].reshape(-1, self.n_outputs)
        if cache.f is None:
            grads["b"][block.member] += rows.sum(axis=0)
        ds = self._factor(grads, "s")
        if ds is not None:
            P = cache.P[block.place].reshape(rows.shape)
            ds[block.member] += np.einsum("is,is->s", rows, P)

    def _put_input_gradient(
        self,
        params: Views,
        dP: np.ndarray,
        dQ: np.ndarray | None,
        block: Block,
        dX: np.ndarray,
    ) -> None:
        """Put dP (W o r_k)^T + dQ (Delta o u_k)^T, by A, into the gradient by X."""
        k = block.member
        dA = dP @ self._kernel(params, "W", "r", k).T
        if dQ is not None:
            dA += dQ @ self._kernel(params, "Delta", "u", k).T
        target = dX[k % len(dX), block.examples]
        inputs = self._inputs(dA, target.shape)
        if k < len(dX):
            target[...] = inputs
        else:
            target += inputs


def _over_positions(values: np.ndarray) -> np.ndarray:
    """Return the sums over the positions of (K, b, p, s) values."""
    return values[:, :, 0] if values.shape[2] == 1 else values.sum(axis=2)
