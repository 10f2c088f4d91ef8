# SPDX-License-Identifier: BSD-3-Clause
"""An optimizer in one page: Gaussian steps around the best point so far."""

import numpy as np

from accsmbo.optimizers import Optimizer


class LocalSearch(Optimizer):
    """Random points first, then steps around the best.

    Parameters
    ----------
    space, points_to_evaluate, random_state
        As in :class:`~accsmbo.optimizers.Optimizer`.
    n_random : int, default=5
        Random points at the start.
    width : float, default=0.1
        Standard deviation of a step, as a share of each dimension.
    """

    def __init__(
        self,
        space=None,
        *,
        points_to_evaluate=None,
        random_state=None,
        n_random=5,
        width=0.1,
    ):
        super().__init__(
            space, points_to_evaluate=points_to_evaluate, random_state=random_state
        )
        self.n_random = n_random
        self.width = width

    def _propose(self, observations, rng):
        d = observations.subspace.n_dims
        finished = ~observations.failed
        if observations.n_asked < self.n_random or not finished.any():
            return rng.random(d)
        best = observations.U[finished][np.argmin(observations.y[finished])]
        step = best + self.width * rng.standard_normal(d)
        # Unordered choices have no neighbours: now and then any of them.
        drawn = rng.random(d) < np.where(observations.subspace.categorical, 0.2, 0.0)
        return np.where(drawn, rng.random(d), np.clip(step, 0.0, 1.0))
