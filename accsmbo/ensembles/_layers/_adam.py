# SPDX-License-Identifier: BSD-3-Clause
"""Adam on a flat vector, in place and in blocks that stay in the cache."""

from dataclasses import dataclass

import numpy as np

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # the defaults of Kingma and Ba (2015)
BLOCK = 32768  # entries: six float32 arrays of this length fit the second-level cache


@dataclass
class AdamState:
    """Discounted sums of the gradient and of its square, and the number of steps."""

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
    # With the sums of g and g^2 in place of the means, and what that takes from the
    # rate and from epsilon, two passes over the vector are saved.
    unbiased = (1.0 - BETA_2**state.step) / (1.0 - BETA_2)
    shrink = (1.0 - BETA_1) / (1.0 - BETA_1**state.step) * unbiased**0.5
    epsilon = EPSILON * unbiased**0.5
    work = np.empty(min(BLOCK, len(values)), values.dtype)
    for part, rate in learning_rates:
        start, stop, _ = part.indices(len(values))
        for low in range(start, stop, BLOCK):
            block = slice(low, min(low + BLOCK, stop))
            m, v, g = state.first[block], state.second[block], gradient[block]
            free = work[: len(g)]
            m *= BETA_1
            m += g
            np.multiply(g, g, out=free)
            v *= BETA_2
            v += free
            np.sqrt(v, out=free)
            free += epsilon
            np.divide(m, free, out=free)
            free *= rate * shrink
            values[block] -= free
