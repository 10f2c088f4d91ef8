# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of the hyperparameters of the members (appendix B.3).

Notation
--------
K, n, m  members, samples, hyperparameters
low, high  given bounds of the hyperparameters, 0 < low < high, (m,)
xi       parameters of the distributions, (K, m, 2)
lam      hyperparameters; all samples and gradients are in log lam

A sample is a differentiable function of xi and of noise that does not depend on xi
(the reparametrisation trick); `backward` is the adjoint of that function.
"""

from abc import ABC, abstractmethod

import numpy as np

MIN_LOG_WIDTH = 1e-2  # narrowest log range: keeps log(log(b / a)) of the entropy finite


class HyperparameterDistribution(ABC):
    """Independent distributions, one for each member and hyperparameter.

    Parameters
    ----------
    low, high : array-like of shape (m,)
        Bounds; no sample and no mean lies outside.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray) -> None:
        self.low = np.asarray(low, dtype=np.float64)
        self.high = np.asarray(high, dtype=np.float64)

    @abstractmethod
    def initial(self, n_members: int) -> np.ndarray:
        """Return the xi to start with, of shape (n_members, m, 2)."""

    @abstractmethod
    def sample(
        self, xi: np.ndarray, n_samples: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log lam, of shape (K, n_samples, m), and the noise behind it."""

    @abstractmethod
    def log_values(self, xi: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return log lam, of shape (K, n, m), for given noise."""

    @abstractmethod
    def backward(
        self, xi: np.ndarray, noise: np.ndarray, gradient: np.ndarray
    ) -> np.ndarray:
        """Return the gradient by xi, given that by log lam."""

    @abstractmethod
    def entropy(self, xi: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the entropy of all members together and its gradient by xi."""

    @abstractmethod
    def mean(self, xi: np.ndarray) -> np.ndarray:
        """Return the lam used to predict, of shape (K, m)."""

    @abstractmethod
    def clip(self, xi: np.ndarray) -> None:
        """Bring xi back into the given bounds, in place."""

    @abstractmethod
    def ranges(self, xi: np.ndarray) -> np.ndarray:
        """Return lower and upper ends of the bulk of each lam, of shape (K, m, 2)."""


class LogUniform(HyperparameterDistribution):
    """Log-uniform distributions with learned bounds; xi holds (log a, log b)."""

    def initial(self, n_members: int) -> np.ndarray:
        """Return the full given ranges."""
        bounds = np.log(np.stack([self.low, self.high], axis=-1))
        return np.repeat(bounds[None], n_members, axis=0)

    def sample(
        self, xi: np.ndarray, n_samples: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log lam = log a + noise log(b / a) with uniform noise."""
        noise = rng.random((len(xi), n_samples, xi.shape[1]))
        return self.log_values(xi, noise), noise

    def log_values(self, xi: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return log lam for given noise in [0, 1)."""
        a, b = xi[:, None, :, 0], xi[:, None, :, 1]
        return a + noise * (b - a)

    def backward(
        self, xi: np.ndarray, noise: np.ndarray, gradient: np.ndarray
    ) -> np.ndarray:
        """Return the gradient by (log a, log b)."""
        by_b = (gradient * noise).sum(axis=1)
        return np.stack([gradient.sum(axis=1) - by_b, by_b], axis=-1)

    def entropy(self, xi: np.ndarray) -> tuple[float, np.ndarray]:
        """Return sum(0.5 (log a + log b) + log log(b / a)) and its gradient."""
        inverse = 1.0 / (xi[..., 1] - xi[..., 0])
        value = 0.5 * xi.sum() - np.log(inverse).sum()
        return float(value), np.stack([0.5 - inverse, 0.5 + inverse], axis=-1)

    def mean(self, xi: np.ndarray) -> np.ndarray:
        """Return (b - a) / (log b - log a)."""
        a, b = xi[..., 0], xi[..., 1]
        return (np.exp(b) - np.exp(a)) / (b - a)

    def clip(self, xi: np.ndarray) -> None:
        """Clip to the given bounds and keep a least width about the middle."""
        low, high = np.log(self.low), np.log(self.high)
        least = np.minimum(MIN_LOG_WIDTH, high - low) / 2.0
        middle = np.clip(xi.mean(axis=-1), low + least, high - least)
        xi[..., 0] = np.clip(xi[..., 0], low, middle - least)
        xi[..., 1] = np.clip(xi[..., 1], middle + least, high)

    def ranges(self, xi: np.ndarray) -> np.ndarray:
        """Return the bounds a and b."""
        return np.exp(xi)


class SigmoidNormal(HyperparameterDistribution):
    """The earlier form (13): lam = phi(mu + sigma eps), eps standard normal.

    phi(t) = (high - low) sigmoid(t) + low; xi holds (mu, log sigma). The entropy is
    that of the Gaussian under phi, and the mean used to predict is phi(mu).
    """

    def initial(self, n_members: int) -> np.ndarray:
        """Return mu at the geometric middle of the range and sigma = 1."""
        middle = np.sqrt(self.low * self.high)
        mu = np.log((middle - self.low) / (self.high - middle))
        xi = np.zeros((n_members, len(mu), 2))
        xi[..., 0] = mu
        return xi

    def sample(
        self, xi: np.ndarray, n_samples: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log phi(mu + sigma noise) with standard normal noise."""
        noise = rng.standard_normal((len(xi), n_samples, xi.shape[1]))
        return self.log_values(xi, noise), noise

    def log_values(self, xi: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return log lam for given noise."""
        return np.log(self._phi(xi[:, None, :, 0] + noise * np.exp(xi[:, None, :, 1])))

    def backward(
        self, xi: np.ndarray, noise: np.ndarray, gradient: np.ndarray
    ) -> np.ndarray:
        """Return the gradient by (mu, log sigma)."""
        sigma = np.exp(xi[:, None, :, 1])
        lam = self._phi(xi[:, None, :, 0] + noise * sigma)
        slope = (lam - self.low) * (self.high - lam) / (self.high - self.low) / lam
        by_mu = gradient * slope
        return np.stack(
            [by_mu.sum(axis=1), (by_mu * noise * sigma).sum(axis=1)], axis=-1
        )

    def entropy(self, xi: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the entropy of the Gaussians, sum(log sigma + log(2 pi e) / 2)."""
        value = xi[..., 1].sum() + 0.5 * np.log(2.0 * np.pi * np.e) * xi[..., 1].size
        gradient = np.zeros_like(xi)
        gradient[..., 1] = 1.0
        return float(value), gradient

    def mean(self, xi: np.ndarray) -> np.ndarray:
        """Return phi(mu)."""
        return self._phi(xi[..., 0])

    def clip(self, xi: np.ndarray) -> None:
        """Keep mu and log sigma where the sigmoid is not flat to rounding."""
        np.clip(xi[..., 0], -15.0, 15.0, out=xi[..., 0])
        np.clip(xi[..., 1], -7.0, 2.0, out=xi[..., 1])

    def ranges(self, xi: np.ndarray) -> np.ndarray:
        """Return phi(mu - 2 sigma) and phi(mu + 2 sigma)."""
        mu, width = xi[..., 0], 2.0 * np.exp(xi[..., 1])
        return np.stack([self._phi(mu - width), self._phi(mu + width)], axis=-1)

    def _phi(self, t: np.ndarray) -> np.ndarray:
        return (self.high - self.low) / (1.0 + np.exp(-t)) + self.low
