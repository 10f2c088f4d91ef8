# SPDX-License-Identifier: BSD-3-Clause
"""The stages of a network: linear layers with embeddings, ReLU, pooling, dropout.

Notation
--------
K, b, m  members, examples, hyperparameters
z        scaled log hyperparameters, (K, b, m)
T        features of the embedding, (K, b, h), see `_embedding`
f        moving parts (v_k o e, b_k(lam)) of kernel and bias, see `_dense`
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from accsmbo.ensembles._layers._activations import (
    flatten,
    flatten_backward,
    max_pool,
    max_pool_backward,
    relu,
    relu_backward,
)
from accsmbo.ensembles._layers._dense import DenseLayer
from accsmbo.ensembles._layers._dropout import dropout, dropout_backward
from accsmbo.ensembles._layers._embedding import Embedding, Pair
from accsmbo.ensembles._layers._parameters import ParameterShape, Views


@dataclass
class Signals:
    """What a pass through the network needs beside inputs and parameters.

    Attributes
    ----------
    z : ndarray of shape (K, b, m) or None
        Scaled log hyperparameters, for networks with embeddings.
    rates : ndarray of shape (K, b) or None
        Dropout rates; None switches dropout off.
    rng : numpy.random.Generator or None
        Source of the dropout masks.
    strengths : list of (ndarray, ndarray) or None
        L2 strengths (K, b) of kernel and bias of each linear layer; None leaves the
        regulariser out.
    """

    z: np.ndarray | None = None
    rates: np.ndarray | None = None
    rng: np.random.Generator | None = None
    strengths: list[tuple[np.ndarray, np.ndarray]] | None = None


@dataclass
class Gradients:
    """Where a backward pass adds its results.

    Attributes
    ----------
    theta : list of dict or None
        Gradients of the parameters of each stage; None skips them (a tuning step).
    z : ndarray of shape (K, b, m) or None
        Gradient by the scaled hyperparameters; None skips it (a training step).
    penalty : float
        Value of the regulariser.
    """

    theta: list[Views] | None = None
    z: np.ndarray | None = None
    penalty: float = 0.0


class Stage(Protocol):
    """One step of a network."""

    def parameter_shapes(self) -> dict[str, ParameterShape]:
        """Return the shape of each parameter by name."""
        ...

    def initialize(self, params: Views, rng: np.random.Generator) -> None:
        """Fill the parameters."""
        ...

    def forward(self, params: Views, X: np.ndarray, signals: Signals) -> Any:
        """Return the outputs and a cache."""
        ...

    def backward(
        self,
        params: Views,
        cache: Any,
        dY: np.ndarray,
        signals: Signals,
        step: "BackwardStep",
    ) -> np.ndarray | None:
        """Return the gradient by the inputs."""
        ...


@dataclass
class BackwardStep:
    """The part of `Gradients` that concerns one stage."""

    grads: Views | None
    totals: Gradients
    needs_input: bool


@dataclass
class LinearStage:
    """A linear layer with the embedding of its hyperparameters.

    Parameters
    ----------
    layer : DenseLayer
        Dense, convolutional or low-rank layer.
    embedding : Embedding or None
        Embedding; None for a layer without hyperparameters.
    index : int
        Number of this layer among the linear ones.
    """

    layer: DenseLayer
    embedding: Embedding | None
    index: int

    def parameter_shapes(self) -> dict[str, ParameterShape]:
        """Return the shapes of layer and embedding together."""
        shapes = self.layer.parameter_shapes()
        return shapes | (self.embedding.parameter_shapes() if self.embedding else {})

    def initialize(self, params: Views, rng: np.random.Generator) -> None:
        """Fill the parameters of layer and embedding."""
        self.layer.initialize(params, rng)
        if self.embedding is not None:
            self.embedding.initialize(params, rng)

    def forward(
        self, params: Views, X: np.ndarray, signals: Signals
    ) -> tuple[np.ndarray, Any]:
        """Return the outputs and the caches of layer and embedding."""
        T = f = None
        if self.embedding is not None and signals.z is not None:
            T = self.embedding.features(params, signals.z)
            f = self._moving(self.embedding, params, T)
        Z, cache = self.layer.forward(params, X, f)
        return Z, (cache, T)

    def backward(
        self,
        params: Views,
        cache: Any,
        dY: np.ndarray,
        signals: Signals,
        step: BackwardStep,
    ) -> np.ndarray | None:
        """Propagate back through layer, regulariser and embedding."""
        (layer_cache, T), z = cache, signals.z
        dX, df = self.layer.backward(
            params, layer_cache, dY, grads=step.grads, needs_input=step.needs_input
        )
        if self.embedding is None or df is None or z is None:
            self._add_penalty(params, signals, step)
            return dX
        if self.layer.regularize_factors:
            self._add_penalty(params, signals, step, f=layer_cache.f, df=df)
        dT = self._moving_backward(self.embedding, params, T, df, step)
        if not self.layer.regularize_factors and signals.strengths is not None:
            # The regulariser sees the embedding with other scales than the layer.
            f = self._moving(self.embedding, params, T, by_regularizer=True)
            df = np.zeros_like(f[0]), np.zeros_like(f[1])
            self._add_penalty(params, signals, step, f=f, df=df)
            dT += self._moving_backward(
                self.embedding, params, T, df, step, by_regularizer=True
            )
        dz = self.embedding.features_backward(
            params,
            z,
            T,
            dT,
            grads=step.grads,
            needs_input=step.totals.z is not None,
        )
        if dz is not None:
            step.totals.z += dz
        return dX

    def _add_penalty(
        self,
        params: Views,
        signals: Signals,
        step: BackwardStep,
        *,
        f: Pair | None = None,
        df: Pair | None = None,
    ) -> None:
        """Add the regulariser and its gradients, if there is one."""
        if signals.strengths is not None:
            strengths = signals.strengths[self.index]
            penalty = self.layer.penalty(
                params, strengths, f=f, df=df, grads=step.grads
            )
            step.totals.penalty += penalty.value

    def _moving(
        self,
        embedding: Embedding,
        params: Views,
        T: np.ndarray,
        *,
        by_regularizer: bool = False,
    ) -> Pair:
        """Return the moving parts of the layer: v_k o e and b_k + delta_k o e'."""
        d = self.layer.scales(params, by_regularizer=by_regularizer)
        kernel, bias = embedding.scaled(params, T, d)
        bias += params["b"][:, None]
        return kernel, bias

    def _moving_backward(
        self,
        embedding: Embedding,
        params: Views,
        T: np.ndarray,
        df: Pair,
        step: BackwardStep,
        *,
        by_regularizer: bool = False,
    ) -> np.ndarray:
        """Return the gradient by the features; add those of C, b and the scales."""
        d = self.layer.scales(params, by_regularizer=by_regularizer)
        dT, dd = embedding.scaled_backward(params, T, d, df, grads=step.grads)
        if step.grads is not None:
            step.grads["b"] += df[1].sum(axis=1)
            self.layer.add_scale_gradients(
                step.grads, dd, by_regularizer=by_regularizer
            )
        return dT


class _Parameterless:
    def parameter_shapes(self) -> dict[str, ParameterShape]:
        return {}

    def initialize(self, params: Views, rng: np.random.Generator) -> None:
        """Do nothing: there are no parameters."""


class ReLUStage(_Parameterless):
    """max(X, 0)."""

    def forward(self, params, X, signals):
        """Return the outputs and a cache."""
        return relu(X)

    def backward(self, params, cache, dY, signals, step):
        """Return the gradient by the inputs."""
        return relu_backward(cache, dY)


class MaxPoolStage(_Parameterless):
    """Maxima of 2 x 2 blocks."""

    def forward(self, params, X, signals):
        """Return the outputs and a cache."""
        return max_pool(X)

    def backward(self, params, cache, dY, signals, step):
        """Return the gradient by the inputs."""
        return max_pool_backward(cache, dY)


class FlattenStage(_Parameterless):
    """One row per member and example."""

    def forward(self, params, X, signals):
        """Return the outputs and a cache."""
        return flatten(X)

    def backward(self, params, cache, dY, signals, step):
        """Return the gradient by the inputs."""
        return flatten_backward(cache, dY)


class DropoutStage(_Parameterless):
    """Dropout at the rates of the signals; the identity where there are none."""

    def forward(self, params, X, signals):
        """Return the outputs and a cache."""
        if signals.rates is None:
            return X, None
        return dropout(X, signals.rates, signals.rng)

    def backward(self, params, cache, dY, signals, step):
        """Return the gradient by the inputs."""
        return dY if cache is None else dropout_backward(cache, dY)
