# SPDX-License-Identifier: BSD-3-Clause
"""Fit, predict and predict with gradients of the surrogates."""

import numpy as np

from accsmbo.surrogates import (
    DerivativeGaussianProcess,
    GaussianProcess,
    MultiKernelGaussianProcess,
    RandomForestSurrogate,
)

MODELS = {
    "GaussianProcess": GaussianProcess,
    "RandomForestSurrogate": RandomForestSurrogate,
}
GRADIENT_MODELS = {
    "DerivativeGaussianProcess": DerivativeGaussianProcess,
    "MultiKernelGaussianProcess": MultiKernelGaussianProcess,
}


def data(n, d=5):
    """Return points, losses and gradients of a smooth function."""
    U = np.random.default_rng(0).random((n, d))
    weights = np.arange(1.0, d + 1)
    y = ((U - 0.37) ** 2 @ weights) + 0.3 * np.cos(9 * U).sum(axis=1)
    G = 2 * (U - 0.37) * weights - 2.7 * np.sin(9 * U)
    return U, y, G


class Values:
    """Surrogates of values."""

    params = (sorted(MODELS), (40, 200))
    param_names = ("model", "n")

    def setup(self, model, n):
        self.U, self.y, _ = data(n)
        self.V = data(200)[0]
        self.fitted = MODELS[model]().fit(self.U, self.y)

    def time_fit(self, model, n):
        MODELS[model]().fit(self.U, self.y)

    def time_predict(self, model, n):
        self.fitted.predict(self.V)

    def time_predict_gradient(self, model, n):
        self.fitted.predict_gradient(self.V)

    def peakmem_fit(self, model, n):
        MODELS[model]().fit(self.U, self.y)


class Gradients:
    """Surrogates of values and gradients."""

    params = (sorted(GRADIENT_MODELS), (10, 40))
    param_names = ("model", "n")

    def setup(self, model, n):
        self.U, self.y, self.G = data(n)
        self.V = data(200)[0]
        self.fitted = self.fit(model)

    def fit(self, model):
        return GRADIENT_MODELS[model]().fit(self.U, self.y, gradient=self.G)

    def time_fit(self, model, n):
        self.fit(model)

    def time_predict(self, model, n):
        self.fitted.predict(self.V)

    def peakmem_fit(self, model, n):
        self.fit(model)
