# SPDX-License-Identifier: BSD-3-Clause
"""Adam on a flat vector, in place and in blocks that stay in the cache."""

from dataclasses import dataclass

import numpy as np

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # the defaults of Kingma and Ba (2015)
BLOCK = 32768  # entries: six float32 arrays of this length fit the second-level cache


@dataclass
class AdamState:
    """First and second moments of the gradient and the number of steps taken."""

    first: np.ndarray
    second: np.ndarray
    step: int = 0

    @classmethod
    def zeros(cls, size: int, dtype: np.dtype) -> "AdamState":
        """Return the state before the first step."""
        return cls(np.zeros(size, dtype), np.zeros(size, dtype))


def adam_update(
    values: np.ndarray,
    gradient: np.ndarray,
    state: AdamState,
    *,
    learning_rates: list[tuple[slice, float]],
) -> None:
    """Take one step of Adam (Kingma and Ba, 2015, Algorithm 1), changing `values`.

    Parameters
    ----------
    values, gradient : ndarray of shape (n,)
        Parameters and the gradient of the loss.
    state : AdamState
        Moments, changed as well.
    learning_rates : list of (slice, float)
        Learning rate of each part of the vector.
    """
    state.step += 1
    correction = (1.0 - BETA_2**state.step) ** 0.5 / (1.0 - BETA_1**state.step)
    epsilon = EPSILON * (1.0 - BETA_2**state.step) ** 0.5
    work = np.empty(min(BLOCK, len(values)), values.dtype)
    for part, rate in learning_rates:
        start, stop, _ = part.indices(len(values))
        for low in range(start, stop, BLOCK):
            block = slice(low, min(low + BLOCK, stop))
            m, v, g = state.first[block], state.second[block], gradient[block]
            free = work[: len(g)]
            m *= BETA_1
            np.multiply(g, 1.0 - BETA_1, out=free)
            m += free
            v *= BETA_2
            np.multiply(g, g, out=free)
            free *= 1.0 - BETA_2
            v += free
            np.sqrt(v, out=free)
            free += epsilon
            np.divide(m, free, out=free)
            free *= rate * correction
            values[block] -= free
