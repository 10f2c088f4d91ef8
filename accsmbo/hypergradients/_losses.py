# SPDX-License-Identifier: BSD-3-Clause
"""Inner losses: weighted sums over samples, with first and second derivatives.

f       (n,), (n, k) raw outputs
y       like f       target: +-1 for margins, one-hot for softmax, else the value
s       (n,), (n, k) sample weights (they include class weights)
slope   like f       d loss / d f
bend    like f       diagonal of d2 loss / d f2 (the whole of it, softmax aside)
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, softmax

from accsmbo.hypergradients._inner_problem import Array

__all__ = [
    "Curvature",
    "EpsilonSquaredLoss",
    "InnerLoss",
    "LogisticLoss",
    "SoftmaxLoss",
    "SquaredHingeLoss",
    "SquaredLoss",
    "TweedieLoss",
]


@dataclass
class Curvature:
    """Second derivative of a loss by the raw outputs.

    Parameters
    ----------
    bend : ndarray of the shape of f
        Its diagonal.
    product : callable
        Maps a direction in output space to the second derivative times it.
    probabilities : ndarray of shape (n_samples, n_classes), default=None
        Of the softmax loss, whose classes are coupled; None where the second
        derivative is diagonal.
    """

    bend: Array
    product: Callable[[Array], Array]
    probabilities: Array | None = None
    weight: Array | None = None


class InnerLoss:
    """Weighted sum of a loss over samples; subclasses hold the formulas.

    Parameters
    ----------
    y : ndarray of the shape of f
        Encoded targets.
    weight : ndarray of shape (n_samples,) or of the shape of f
        Sample weights.
    """

    def __init__(self, y: Array, weight: Array) -> None:
        self.y = y
        self.weight = weight[:, None] if weight.ndim < y.ndim else weight

    def with_dtype(self, dtype: Any) -> "InnerLoss":
        """Return the same loss with arrays of another precision."""
        result = copy(self)
        result.y = self.y.astype(dtype, copy=False)
        result.weight = self.weight.astype(dtype, copy=False)
        return result

    def configured(self, estimator: Any) -> "InnerLoss":
        """Return the loss with its own hyperparameters set, self if it has none."""
        return self

    def value(self, f: Array) -> float:
        """Return the weighted sum of the losses (accumulated in float64)."""
        return float(np.sum(self.weight * self._value(f), dtype=np.float64))

    def slope(self, f: Array) -> Array:
        """Return the derivative by f."""
        return np.asarray(self.weight * self._slope(f))

    def curvature(self, f: Array) -> Curvature:
        """Return the second derivative by f."""
        bend = np.asarray(self.weight * self._bend(f))
        return Curvature(bend, lambda u: bend * u)

    def evaluate(self, f: Array) -> tuple[float, Array, Curvature]:
        """Return value, slope and curvature at once."""
        return self.value(f), self.slope(f), self.curvature(f)

    def slope_derivatives(self, f: Array) -> dict[str, Array]:
        """Return the derivative of the slope by the loss's own hyperparameters."""
        return {}

    def _value(self, f: Array) -> Array:
        raise NotImplementedError

    def _slope(self, f: Array) -> Array:
        raise NotImplementedError

    def _bend(self, f: Array) -> Array:
        raise NotImplementedError


class SquaredLoss(InnerLoss):
    """``(y - f)^2 / 2``."""

    def _value(self, f: Array) -> Array:
        return np.asarray(0.5 * (f - self.y) ** 2)

    def _slope(self, f: Array) -> Array:
        return f - self.y

    def _bend(self, f: Array) -> Array:
        return np.ones_like(f)


class LogisticLoss(InnerLoss):
    """``log(1 + exp(-y f))``, y = +-1."""

    def _value(self, f: Array) -> Array:
        z = self.y * f
        return np.asarray(np.log1p(np.exp(-np.abs(z))) - np.minimum(z, 0))

    def _slope(self, f: Array) -> Array:
        return np.asarray(-self.y * expit(-self.y * f))

    def _bend(self, f: Array) -> Array:
        p = expit(f)
        return np.asarray(p * (1 - p))

    def evaluate(self, f: Array) -> tuple[float, Array, Curvature]:
        """Return value, slope and curvature from one exponential a sample."""
        z = self.y * f
        e = np.exp(-np.abs(z))
        likelier = 1 / (1 + e)
        p = np.where(z > 0, e * likelier, likelier)  # probability of the other label
        each = np.log1p(e) if f.dtype == np.float64 else np.log(1 + e)
        each -= np.minimum(z, 0)
        bend = np.asarray(self.weight * (p * (1 - p)))
        value = np.sum(self.weight * each, dtype=np.float64)
        slope = np.asarray(-self.weight * self.y * p)
        return float(value), slope, Curvature(bend, lambda u: bend * u)


class SquaredHingeLoss(InnerLoss):
    """``max(0, 1 - y f)^2``, y = +-1 (columns: one class against the rest)."""

    def _value(self, f: Array) -> Array:
        return np.asarray(np.maximum(1 - self.y * f, 0) ** 2)

    def _slope(self, f: Array) -> Array:
        return np.asarray(-2 * self.y * np.maximum(1 - self.y * f, 0))

    def _bend(self, f: Array) -> Array:
        return np.asarray(2.0 * (self.y * f < 1)).astype(f.dtype)


class EpsilonSquaredLoss(InnerLoss):
    """``max(0, |y - f| - epsilon)^2``."""

    epsilon: float = 0.0

    def configured(self, estimator: Any) -> InnerLoss:
        """Return the loss with the half-width of its insensitive tube set."""
        result = copy(self)
        result.epsilon = float(estimator.epsilon)
        return result

    def _excess(self, f: Array) -> Array:
        return np.asarray(np.maximum(np.abs(f - self.y) - self.epsilon, 0))

    def _value(self, f: Array) -> Array:
        return np.asarray(self._excess(f) ** 2)

    def _slope(self, f: Array) -> Array:
        return np.asarray(2 * np.sign(f - self.y) * self._excess(f))

    def _bend(self, f: Array) -> Array:
        return np.asarray(2.0 * (np.abs(f - self.y) > self.epsilon)).astype(f.dtype)

    def slope_derivatives(self, f: Array) -> dict[str, Array]:
        """Return d slope / d epsilon."""
        return {"epsilon": -self.weight * np.sign(f - self.y) * self._bend(f)}


class TweedieLoss(InnerLoss):
    """Half the Tweedie deviance with a log link, without the terms free of f.

    Power 1 is Poisson, 2 is gamma, 0 the squared error of ``exp(f)``.
    """

    def __init__(self, y: Array, weight: Array, power: float) -> None:
        super().__init__(y, weight)
        self.power = power

    def _terms(self, f: Array) -> tuple[Array, Array]:
        a, b = 2 - self.power, 1 - self.power
        return np.exp(a * f), self.y * np.exp(b * f)

    def _value(self, f: Array) -> Array:
        a, b = 2 - self.power, 1 - self.power
        with np.errstate(over="ignore", invalid="ignore"):
            first, second = self._terms(f)
            total = (first / a if a else f) - (second / b if b else self.y * f)
        return np.asarray(np.where(np.isnan(total), np.inf, total))

    def _slope(self, f: Array) -> Array:
        first, second = self._terms(f)
        return np.asarray(first - second)

    def _bend(self, f: Array) -> Array:
        first, second = self._terms(f)
        return np.asarray((2 - self.power) * first - (1 - self.power) * second)


class SoftmaxLoss(InnerLoss):
    """Multinomial log loss; y is one-hot (n, k)."""

    def value(self, f: Array) -> float:
        """Return the weighted sum of the losses."""
        each = logsumexp(f, axis=1) - np.einsum("ij,ij->i", self.y, f)
        return float(np.sum(self.weight[:, 0] * each, dtype=np.float64))

    def _slope(self, f: Array) -> Array:
        return np.asarray(softmax(f, axis=1) - self.y)

    def curvature(self, f: Array) -> Curvature:
        """Return ``s (diag(P) - P P^T)`` per sample."""
        probabilities = softmax(f, axis=1)
        weight = self.weight

        def product(u: Array) -> Array:
            mean = np.einsum("ij,ij->i", probabilities, u)[:, None]
            return np.asarray(weight * probabilities * (u - mean))

        bend = weight * probabilities * (1 - probabilities)
        return Curvature(bend, product, probabilities, weight[:, 0])
