# SPDX-License-Identifier: BSD-3-Clause
"""Finite spaces: enumerate them, or sample them as scikit-learn does."""

import logging

from sklearn.model_selection import ParameterSampler
from sklearn.utils import check_random_state

from accsmbo._validation import root_seed
from accsmbo.optimizers import GridSearch, Optimizer, RandomSearch
from accsmbo.space import Space

__all__ = ["plan"]

logger = logging.getLogger("accsmbo")

# A space of so few points is used up by the initial design: nothing is left to model.
N_UNMODELLED = 4
# Above so many points sampling without replacement is not worth its cost.
N_SAMPLED = 1_000_000


def plan(optimizer: Optimizer, n_trials: int, name: str) -> tuple[Optimizer, int]:
    """Return what to run for an optimizer and a budget.

    A finite space that fits into the budget is evaluated whole, in the order of
    ``ParameterGrid``. Otherwise random search over a finite space, and any search over
    one of at most four points, asks the points that scikit-learn's
    ``RandomizedSearchCV`` draws with the same seed.

    Parameters
    ----------
    optimizer : Optimizer
        An optimizer that has not started; its ``space`` is a :class:`Space`.
    n_trials : int
        Budget.
    name : str
        Name of the budget, for the message that the space holds fewer points.

    Returns
    -------
    optimizer : Optimizer
        Not started.
    n_trials : int
        At most the number of points of the space.
    """
    space: Space = optimizer.space
    if space.grid_size <= n_trials:
        if space.grid_size < n_trials:
            logger.warning(
                "The search space holds %d candidates, fewer than %s=%d; all are "
                "evaluated.",
                space.grid_size,
                name,
                n_trials,
            )
        grid = GridSearch(
            space,
            points_to_evaluate=optimizer.points_to_evaluate,
            random_state=optimizer.random_state,
        )
        return grid, int(space.grid_size)
    random = isinstance(optimizer, RandomSearch) and space.size <= N_SAMPLED
    if random or space.size <= N_UNMODELLED:
        _sample(optimizer, n_trials)
    return optimizer, int(min(n_trials, space.size))


def _sample(optimizer: Optimizer, n_trials: int) -> None:
    lists = [
        {name: dimension.values() for name, dimension in subspace.dimensions.items()}
        for subspace in optimizer.space.subspaces
    ]
    seed = root_seed(optimizer.random_state)
    drawn = ParameterSampler(lists, n_trials, random_state=check_random_state(seed))
    given = list(optimizer.points_to_evaluate or [])
    optimizer.set_params(points_to_evaluate=[*given, *drawn], random_state=seed)
