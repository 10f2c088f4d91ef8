# SPDX-License-Identifier: BSD-3-Clause
"""RandomSearch: independent points, none twice while others are left."""

import numpy as np
from numpy.typing import NDArray

from accsmbo.optimizers._base import Optimizer

__all__ = ["RandomSearch"]


class RandomSearch(Optimizer):
    """Uniform points of the unit cube: each parameter follows its distribution.

    Points are uniform in the unit cube of their subspace, whatever is told.

    Parameters
    ----------
    space : Space, dict or list of dict, default=None
        What to search.
    points_to_evaluate : list of dict, default=None
        Params to ask first.
    random_state : int, RandomState, Generator or None, default=None
        Seed.

    See Also
    --------
    GridSearch : All points of a grid.

    Examples
    --------
    >>> from accsmbo.optimizers import RandomSearch
    >>> RandomSearch({"kernel": ["rbf", "poly"]}, random_state=0).ask().params
    {'kernel': 'poly'}
    """

    adaptive = False

    def _next_point(
        self, index: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], None]:
        return rng.random(self.space_.subspaces[index].n_dims), None
