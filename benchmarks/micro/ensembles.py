# SPDX-License-Identifier: BSD-3-Clause
"""Greedy selection, and the layers of the neural ensembles."""

import numpy as np

from accsmbo.ensembles import greedy_selection
from accsmbo.ensembles._layers._dense import DenseLayer
from accsmbo.ensembles._layers._initializers import GaussianAroundOne

FACTORS = GaussianAroundOne(0.5)
FORMS = {
    "batch": {"n_members": 3, "factors": FACTORS},
    "hyper-batch": {"n_members": 3, "factors": FACTORS, "tuned": True},
    "plain": {},
}


class GreedySelection:
    """200 candidates on 5,000 samples of 5 classes."""

    params = ("nll", "brier", "accuracy")
    param_names = ("score",)

    def setup(self, score):
        rng = np.random.default_rng(0)
        self.y = rng.integers(5, size=5000)
        logits = rng.standard_normal((200, 5000, 5)).astype(np.float32)
        logits[:, np.arange(5000), self.y] += 1.0
        odds = np.exp(logits)
        self.predictions = odds / odds.sum(axis=-1, keepdims=True)

    def time_select(self, score):
        greedy_selection(self.predictions, self.y, n_members=20, score=score)

    def peakmem_select(self, score):
        greedy_selection(self.predictions, self.y, n_members=20, score=score)


class Layer:
    """A dense layer, 200 to 200, on batches of 256 in float32."""

    params = sorted(FORMS)
    param_names = ("form",)

    def setup(self, form):
        rng = np.random.default_rng(0)
        self.layer = DenseLayer(200, 200, **FORMS[form])
        members = self.layer.n_members

        def draw(*shape):
            return rng.standard_normal(shape).astype(np.float32)

        shapes = self.layer.parameter_shapes()
        self.weights = {name: draw(*entry.shape) for name, entry in shapes.items()}
        self.grads = {name: np.zeros_like(v) for name, v in self.weights.items()}
        self.X = draw(members, 256, 200)
        self.f = None
        if self.layer.tuned:
            self.f = tuple(draw(members, 256, n) for n in self.layer.embedding_widths)
        Z, self.cache = self.layer.forward(self.weights, self.X, self.f)
        self.dZ = np.ones_like(Z)

    def time_forward(self, form):
        self.layer.forward(self.weights, self.X, self.f)

    def time_backward(self, form):
        self.layer.backward(self.weights, self.cache, self.dZ.copy(), grads=self.grads)

    def peakmem_backward(self, form):
        self.time_backward(form)
