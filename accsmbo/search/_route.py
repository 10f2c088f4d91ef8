# SPDX-License-Identifier: BSD-3-Clause
"""Which solver a search takes, decided in one place and told with its reason.

The answer depends on estimator, settings, pipeline, space, metric, data and budget, and
on nothing else. Each shortcut lists what it handles; all else is evaluated plainly.
"""

import numpy as np
from sklearn.base import clone, is_classifier

from accsmbo._sklearn_private import MultimetricScorer
from accsmbo.history import Route
from accsmbo.hypergradients import (
    LinearProblem,
    NotDifferentiableError,
    differentiable_names,
    find_inner_problem,
)
from accsmbo.hypergradients._fold import last_step
from accsmbo.search._cost import n_affordable
from accsmbo.space import Real

__all__ = ["choose_route", "only_weight", "optimised_scorer", "penalty_bounds"]

MAX_PENALTIES = 5
LEAST_GRADIENTS = 2  # fewer say too little


def choose_route(search, objective, space, n_trials):
    """Return how the candidates of a search are found and scored.

    Parameters
    ----------
    search : BaseOptimizerSearchCV
        With a ``solver``.
    objective : CrossValidationObjective
        What is evaluated.
    space : Space
        Where.
    n_trials : int
        Number of candidates.

    Returns
    -------
    Route
        Solver and reason.

    Raises
    ------
    ValueError
        If the solver that was asked for does not fit; the message says why.
    """
    if search.solver == "estimator":
        return Route("estimator", "solver='estimator'")
    without_joint = _reason(_check_joint, search, objective, space)
    without_gradients = _reason(_check_gradients, objective, space)
    asked = {"joint": without_joint, "gradients": without_gradients}
    if search.solver in asked:
        if asked[search.solver] is not None:
            raise ValueError(
                f"solver={search.solver!r} does not fit: {asked[search.solver]} Use "
                "solver='auto'."
            )
        return Route(search.solver, f"solver={search.solver!r}")
    if without_joint is None:
        return Route("joint", "penalties of a linear model, a metric with a gradient")
    if without_gradients is not None:
        return Route("estimator", without_gradients)
    n_gradients = n_affordable(objective, n_trials)
    if n_gradients < LEAST_GRADIENTS and not search._needs_gradients:
        return Route("estimator", "gradients would cost more than they save")
    return Route("gradients", f"not joint: {without_joint}")


def penalty_bounds(space):
    """Return the ranges of a space of positive continuous parameters by name."""
    dimensions = space.subspaces[0].dimensions
    return {name: (d.low, d.high) for name, d in dimensions.items()}


def optimised_scorer(objective):
    """Return the scorer whose score is optimised, among several."""
    if not isinstance(objective.scorer, MultimetricScorer):
        return objective.scorer
    scorers = objective.scorer._scorers
    return scorers.get(objective.metric, next(iter(scorers.values())))


def only_weight(params, understood):
    """Return the sample weights among routed parameters, as an array, or None.

    Raises
    ------
    NotDifferentiableError
        If there is any other parameter.
    """
    params = {k: v for k, v in (params or {}).items() if v is not None}
    if set(params) - {understood}:
        raise NotDifferentiableError(
            f"Fit and score parameters must be {understood}, got {sorted(params)}."
        )
    weight = params.get(understood)
    return None if weight is None else np.asarray(weight, dtype=float)


def _reason(check, *args):
    """Return why a check refuses, None where it does not."""
    try:
        check(*args)
    except Exception as error:  # whatever is odd is evaluated plainly
        return str(error) or type(error).__name__
    return None


def _check_gradients(objective, space):
    """Raise unless a continuous parameter and the metric can be differentiated."""
    names = [
        name
        for subspace in space.subspaces
        for name, levels in zip(subspace.names, subspace.levels, strict=True)
        if levels == 0
    ]
    _check_data(objective)
    scorer = optimised_scorer(objective)
    if not differentiable_names(_at_centre(objective, space), names, scorer):
        raise NotDifferentiableError("No parameter of the space has a gradient.")


def _check_joint(search, objective, space):
    """Raise unless the space holds all penalties of a linear model and nothing else."""
    if search.optimizer is not None or search.selection is not None:
        raise NotDifferentiableError("An optimizer or a selection was given.")
    if callable(search.refit):
        raise NotDifferentiableError("refit is a callable that selects candidates.")
    _check_data(objective)
    names = _positive_ranges(space)
    probe = _at_centre(objective, space)
    known = differentiable_names(probe, names, optimised_scorer(objective))
    final = last_step(probe)[2]
    problem_class = find_inner_problem(final)
    quadratic = issubclass(problem_class, LinearProblem) and problem_class.is_quadratic(
        final
    )
    if set(known) != set(names) or not quadratic:
        raise NotDifferentiableError(
            f"{type(final).__name__} with this space is more than a linear model and "
            "its quadratic penalties."
        )
    many = is_classifier(final) and len(np.unique(np.asarray(objective.y))) > 2
    if search.solver == "auto" and (many or np.ndim(objective.y) > 1):
        raise NotDifferentiableError(
            "With several classes or targets it costs more than it saves."
        )


def _check_data(objective):
    if objective.y is None:
        raise NotDifferentiableError("There is no target.")
    _, prefix, _ = last_step(objective.estimator)
    only_weight(objective.fit_params, prefix + "sample_weight")
    only_weight(objective.score_params, "sample_weight")


def _at_centre(objective, space):
    """Return the estimator with the parameters of the centre of the space."""
    subspace = space.subspaces[0]
    params = subspace.to_params(np.full(subspace.n_dims, 0.5))
    return clone(objective.estimator).set_params(**clone(params, safe=False))


def _positive_ranges(space):
    """Return the names of a space of a few positive continuous parameters."""
    dimensions = space.subspaces[0].dimensions
    positive = all(
        isinstance(d, Real) and 0 < d.low < d.high for d in dimensions.values()
    )
    few = 1 <= len(dimensions) <= MAX_PENALTIES
    if len(space.subspaces) != 1 or not positive or not few:
        raise NotDifferentiableError(
            "The space is not one of a few positive continuous parameters."
        )
    return tuple(dimensions)
