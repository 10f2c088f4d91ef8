# SPDX-License-Identifier: BSD-3-Clause
"""Starting values of kernels and of rank-one factors (appendix C.2)."""

from dataclasses import dataclass

import numpy as np


def glorot_uniform(
    rng: np.random.Generator, shape: tuple[int, ...], fan_in: int, fan_out: int
) -> np.ndarray:
    """Draw uniformly from +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    bound = np.sqrt(6.0 / (fan_in + fan_out))
    return rng.uniform(-bound, bound, size=shape)


@dataclass(frozen=True)
class RandomSigns:
    """Independent random signs.

    Parameters
    ----------
    probability : float, default=0.75
        Probability of +1.
    """

    probability: float = 0.75

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draw an array of the given shape."""
        return np.where(rng.random(shape) < self.probability, 1.0, -1.0)


@dataclass(frozen=True)
class GaussianAroundOne:
    """Independent Gaussian entries with mean one.

    Parameters
    ----------
    deviation : float, default=0.5
        Standard deviation.
    """

    deviation: float = 0.5

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draw an array of the given shape."""
        return rng.normal(1.0, self.deviation, shape)


FactorInitializer = RandomSigns | GaussianAroundOne
