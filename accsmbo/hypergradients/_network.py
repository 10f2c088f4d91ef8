# SPDX-License-Identifier: BSD-3-Clause
"""Passes over a fully connected network, with the R-operator.

a_0 = X, z_l = a_l W_l + b_l, a_(l+1) = activation(z_l); the last z are the outputs.
R{.} is the derivative along a direction v of all weights (Pearlmutter 1994, Fast exact
multiplication by the Hessian).
"""

from typing import Any

import numpy as np
from scipy.special import expit

from accsmbo.hypergradients._inner_problem import Array

__all__ = ["Network"]

_ACTIVATIONS: dict[str, Any] = {
    "identity": lambda z: z,
    "logistic": expit,
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0),
}
# First and second derivative of the activation by z, from its value a
_DERIVATIVES: dict[str, Any] = {
    "identity": lambda a: (np.ones_like(a), np.zeros_like(a)),
    "logistic": lambda a: (a * (1 - a), a * (1 - a) * (1 - 2 * a)),
    "tanh": lambda a: (1 - a**2, -2 * a * (1 - a**2)),
    "relu": lambda a: ((a > 0) * 1.0, np.zeros_like(a)),
}


class Network:
    """Forward, backward and tangent passes over the layers of a fitted network.

    Parameters
    ----------
    fitted : MLPClassifier or MLPRegressor
        Fitted; its weights are used, not copied.
    """

    def __init__(self, fitted: Any) -> None:
        self.weights, self.biases = fitted.coefs_, fitted.intercepts_
        self.activation = fitted.activation

    def pack(self, weights: list[Array], biases: list[Array]) -> Array:
        """Return all weights, then all biases, as one vector."""
        return np.concatenate([a.ravel() for a in (*weights, *biases)])

    def unpack(self, v: Array) -> tuple[list[Array], list[Array]]:
        """Return the weights and biases that a vector holds."""
        result, position = [], 0
        for array in (*self.weights, *self.biases):
            result.append(v[position : position + array.size].reshape(array.shape))
            position += array.size
        return result[: len(self.weights)], result[len(self.weights) :]

    def penalised(self, v: Array) -> Array:
        """Return v with the biases' entries set to zero."""
        size = sum(W.size for W in self.weights)
        return np.where(np.arange(len(v)) < size, v, 0.0)

    def forward(self, X: Any) -> list[Array]:
        """Return a_0, ..., a_(L-1) and the outputs."""
        layers = [X]
        for depth, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            z = layers[-1] @ W + b
            last = depth == len(self.weights) - 1
            layers.append(z if last else _ACTIVATIONS[self.activation](z))
        return layers

    def tangents(self, forward: list[Array], v: Array) -> list[Array]:
        """Return R{a_1}, ..., R{outputs} along v."""
        V, c = self.unpack(v)
        result: list[Array] = []
        for depth, W in enumerate(self.weights):
            Rz = forward[depth] @ V[depth] + c[depth]
            if depth:
                Rz = Rz + result[-1] @ W
            if depth < len(self.weights) - 1:
                Rz = Rz * self._first(forward[depth + 1])
            result.append(Rz)
        return result

    def _first(self, a: Array) -> Array:
        """Return the derivative of the activation in terms of its value."""
        return np.asarray(_DERIVATIVES[self.activation](a)[0])

    def _second(self, a: Array) -> Array:
        """Return its second derivative in terms of its value."""
        return np.asarray(_DERIVATIVES[self.activation](a)[1])

    def backward(
        self,
        forward: list[Array],
        delta: Array,
        slope: Array | None = None,
        tangents: list[Array] | None = None,
        v: Array | None = None,
    ) -> Array:
        """Return ``J^T delta``; with the last three, R{back-propagation} along v.

        ``delta`` is then R{slope}, and ``slope`` the derivative of the loss by the
        outputs, propagated beside it.
        """
        dW, db = [], []
        V = None if v is None else self.unpack(v)[0]
        for depth in range(len(self.weights) - 1, -1, -1):
            a, W = forward[depth], self.weights[depth]
            gradient = a.T @ delta
            if slope is not None and depth and tangents is not None:
                gradient = gradient + tangents[depth - 1].T @ slope
            dW.append(np.asarray(gradient))
            db.append(delta.sum(axis=0))
            if not depth:
                break
            first = self._first(a)
            back = delta @ W.T
            if slope is not None and tangents is not None and V is not None:
                through = slope @ W.T
                Rz = np.divide(
                    tangents[depth - 1], first, out=np.zeros_like(a), where=first != 0
                )
                delta = (back + slope @ V[depth].T) * first
                delta = delta + through * self._second(a) * Rz
                slope = through * first
            else:
                delta = back * first
        return self.pack(dW[::-1], db[::-1])
