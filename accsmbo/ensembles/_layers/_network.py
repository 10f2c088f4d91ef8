# SPDX-License-Identifier: BSD-3-Clause
"""A network as a list of stages over one flat parameter vector.

Notation
--------
K, b   members, examples
theta  all parameters, flat
Z      logits, (K, b, n_classes)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accsmbo.ensembles._layers._parameters import ParameterLayout, Views
from accsmbo.ensembles._layers._stages import (
    BackwardStep,
    Gradients,
    Signals,
    Stage,
)


@dataclass
class Network:
    """Stages in order, with the layout of their parameters.

    Parameters
    ----------
    stages : sequence of Stage
        Steps from inputs to logits.
    n_members : int
        Number of members K.
    """

    stages: Sequence[Stage]
    n_members: int
    layout: ParameterLayout = field(init=False)

    def __post_init__(self) -> None:
        self.layout = ParameterLayout([s.parameter_shapes() for s in self.stages])

    def initialize(self, rng: np.random.Generator, dtype: Any) -> np.ndarray:
        """Return a flat vector of starting parameters."""
        theta = np.empty(self.layout.size, dtype)
        for stage, params in zip(self.stages, self.layout.views(theta), strict=True):
            stage.initialize(params, rng)
        return theta

    def forward(
        self, params: list[Views], X: np.ndarray, signals: Signals
    ) -> tuple[np.ndarray, list[Any]]:
        """Return the logits and the caches of the stages.

        Parameters
        ----------
        params : list of dict
            Views of the parameters, from `layout.views`.
        X : ndarray of shape (1 or K, b, ...)
            Inputs.
        signals : Signals
            Hyperparameters and dropout.

        Returns
        -------
        Z : ndarray of shape (K, b, n_classes)
            Logits.
        caches : list
            For `backward`.
        """
        caches = []
        for stage, own in zip(self.stages, params, strict=True):
            X, cache = stage.forward(own, X, signals)
            caches.append(cache)
        return X, caches

    def backward(
        self,
        params: list[Views],
        caches: list[Any],
        dZ: np.ndarray,
        signals: Signals,
        gradients: Gradients,
    ) -> None:
        """Add the gradients of loss and regulariser to `gradients`.

        Parameters
        ----------
        params : list of dict
            Views of the parameters.
        caches : list
            Result of `forward`.
        dZ : ndarray of shape (K, b, n_classes)
            Gradient by the logits.
        signals : Signals
            What `forward` was given.
        gradients : Gradients
            What is wanted; added to.
        """
        dY: Any = dZ
        for i in reversed(range(len(self.stages))):
            grads = None if gradients.theta is None else gradients.theta[i]
            step = BackwardStep(grads, gradients, needs_input=i > 0)
            dY = self.stages[i].backward(params[i], caches[i], dY, signals, step)
