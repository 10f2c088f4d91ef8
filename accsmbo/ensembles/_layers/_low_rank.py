# SPDX-License-Identifier: BSD-3-Clause
"""Self-tuning dense layer of low rank, equation (15) of appendix E.

Notation
--------
K, b, r, s, h  members, examples, inputs, outputs, rank
G, H           low-rank matrices, (r, h) and (s, h)
f              moving parts (e, b_k(lam)) of kernel and bias
P              X (W o r_k), (K, b, 1, s)
Y              X G, (K or 1, b, h), kept as the Q of `LinearCache`

    W_k(lam) = W o (r_k s_k^T) + (G o e(lam)^T) H^T
    b_k(lam) = b_k + delta_k o e'(lam)

The regulariser (12) needs |W_k|^2 + 2 e.q_k + e^T Q e, with q_kj = g_j^T W_k h_j and
Q = (G^T G) o (H^T H).
"""

import numpy as np

from accsmbo.ensembles._layers._dense import DenseLayer, LinearCache
from accsmbo.ensembles._layers._embedding import Pair
from accsmbo.ensembles._layers._initializers import FactorInitializer, glorot_uniform
from accsmbo.ensembles._layers._parameters import ParameterShape, Views
from accsmbo.ensembles._layers._penalty import (
    LayerPenalty,
    bias_penalty,
    kernel_penalty,
    visible_factors,
)


class LowRankDenseLayer(DenseLayer):
    """Dense layer whose kernel moves with the hyperparameters in rank h, (15).

    Parameters
    ----------
    n_inputs, n_outputs : int
        Number of inputs r and outputs s.
    rank : int
        Rank h.
    n_members : int, default=1
        Number of members K.
    factors : FactorInitializer or None, default=None
        How the rank-one factors of W start; None for a layer without, K = 1.
    regularize_factors : bool, default=True
        Whether the regulariser sees W_k or the shared W.
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        *,
        rank: int,
        n_members: int = 1,
        factors: FactorInitializer | None = None,
        regularize_factors: bool = True,
    ) -> None:
        super().__init__(
            n_inputs,
            n_outputs,
            n_members=n_members,
            factors=factors,
            regularize_factors=regularize_factors,
        )
        self.rank = rank

    @property
    def embedding_widths(self) -> tuple[int, int]:
        """Lengths of e and e'."""
        return self.rank, self.n_outputs

    def parameter_shapes(self) -> dict[str, ParameterShape]:
        """Return the shape of each parameter by name."""
        return {
            **super().parameter_shapes(),
            "delta": ParameterShape((self.n_members, self.n_outputs)),
            "G": ParameterShape((self.n_inputs, self.rank)),
            "H": ParameterShape((self.n_outputs, self.rank)),
        }

    def initialize(self, params: Views, rng: np.random.Generator) -> None:
        """Fill the parameters: Glorot matrices, zero biases, factors as asked."""
        super().initialize(params, rng)
        for name in ("G", "H"):
            values = params[name]
            values[...] = glorot_uniform(rng, values.shape, *values.shape)

    def forward(
        self, params: Views, X: np.ndarray, f: Pair | None = None
    ) -> tuple[np.ndarray, LinearCache]:
        """Return the outputs of all members and the cache for `backward`.

        Parameters
        ----------
        params : dict of str to ndarray
            Parameters.
        X : ndarray of shape (K or 1, b, r)
            Inputs; a first axis of length 1 is shared by the members.
        f : pair of ndarray of shapes (K, b, h) and (K, b, s)
            Moving parts of kernel and bias.

        Returns
        -------
        Z : ndarray of shape (K, b, s)
            Outputs.
        cache : LinearCache
            Intermediate results.
        """
        if f is None:
            raise ValueError("f must be given: a low-rank layer is always tuned.")
        Z, cache = super().forward(params, X, f)
        Y = X @ params["G"]
        Z += (Y * f[0]) @ params["H"].T
        return Z, LinearCache(X, cache.P, Y, f)

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

        Parameters, returns and shapes are those of `DenseLayer.backward`.
        """
        if cache.f is None or cache.Q is None:
            raise ValueError("cache must come from the forward pass of this layer.")
        e, Y = cache.f[0], cache.Q
        dYe = dZ @ params["H"]
        dY = dYe * e
        base = LinearCache(cache.X, cache.P, None, cache.f)
        dX, _ = super().backward(params, base, dZ, grads=grads, needs_input=needs_input)
        if grads is not None:
            grads["G"] += (cache.X.swapaxes(1, 2) @ dY).sum(axis=0)
            grads["H"] += (dZ.swapaxes(1, 2) @ (Y * e)).sum(axis=0)
        if dX is not None:
            through = dY @ params["G"].T
            dX += through.sum(axis=0) if len(dX) == 1 else through
        return dX, (dYe * Y, dZ)

    def penalty(
        self,
        params: Views,
        strengths: tuple[np.ndarray, np.ndarray],
        *,
        f: Pair | None = None,
        df: Pair | None = None,
        grads: Views | None = None,
    ) -> LayerPenalty:
        """Return the regulariser (12); arguments as in `DenseLayer.penalty`."""
        if f is None:
            raise ValueError("f must be given: a low-rank layer is always tuned.")
        nu, nu_bias = strengths
        e, f_bias = f
        df_kernel, df_bias = df or (None, None)
        base = kernel_penalty(self, params, nu, grads=grads)
        bias = bias_penalty(params, nu_bias, f=f_bias, df=df_bias, grads=grads)
        q, Q = self._quadratic(params)
        slope = q[:, None] + e @ Q
        weights = (nu / nu.size)[..., None]
        if df_kernel is not None:
            df_kernel += 2.0 * slope * weights
        if grads is not None:
            weighted = e * weights
            second = (weighted.swapaxes(1, 2) @ e).sum(axis=0)
            self._add_quadratic(params, weighted.sum(axis=1), second, grads)
        moving = ((slope + q[:, None]) * e).sum(axis=-1) / nu.size
        value = base[0] + bias[0] + float((moving * nu).sum())
        return LayerPenalty(value, lambda: (moving + base[1](), bias[1]()))

    def _quadratic(self, params: Views) -> tuple[np.ndarray, np.ndarray]:
        """Return q_k, of shape (K, h), and Q, of shape (h, h)."""
        W, G, H = params["W"][0], params["G"], params["H"]
        r, s, _ = visible_factors(self, params)
        q = np.stack(
            [
                ((W.T @ (r_k[:, None] * G)) * (s_k[:, None] * H)).sum(axis=0)
                for r_k, s_k in zip(r, s, strict=True)
            ]
        )
        return q, (G.T @ G) * (H.T @ H)

    def _add_quadratic(
        self, params: Views, first: np.ndarray, second: np.ndarray, grads: Views
    ) -> None:
        """Add the gradients of 2 sum_k first_k.q_k + sum(second o Q)."""
        W, G, H = params["W"][0], params["G"], params["H"]
        grads["G"] += 2.0 * G @ (second * (H.T @ H))
        grads["H"] += 2.0 * H @ (second * (G.T @ G))
        r, s, _ = visible_factors(self, params)
        regularized = self.factors is not None and self.regularize_factors
        for k, (r_k, s_k) in enumerate(zip(r, s, strict=True)):
            weight = 2.0 * first[k]
            rows, columns = r_k[:, None] * G, s_k[:, None] * H
            WH, WG = (W @ columns) * weight, (W.T @ rows) * weight
            grads["W"][0] += (rows * weight) @ columns.T
            grads["G"] += r_k[:, None] * WH
            grads["H"] += s_k[:, None] * WG
            if regularized:
                grads["r"][k] += (G * WH).sum(axis=1)
                grads["s"][k] += (H * WG).sum(axis=1)
