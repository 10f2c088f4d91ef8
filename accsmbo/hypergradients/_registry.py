# SPDX-License-Identifier: BSD-3-Clause
"""Which inner problem belongs to which estimator class; open to third parties."""

from typing import Any

from accsmbo.hypergradients._inner_problem import (
    InnerProblem,
    NotDifferentiableError,
)

__all__ = ["find_inner_problem", "known_hyperparameters", "register_inner_problem"]

_REGISTRY: dict[type, type[InnerProblem]] = {}


def register_inner_problem(
    estimator_class: type, problem_class: type[InnerProblem]
) -> None:
    """Announce that ``problem_class`` differentiates ``estimator_class``.

    Parameters
    ----------
    estimator_class : type
        Exact class of the estimator; subclasses are not covered, for they may
        change the objective.
    problem_class : type
        Subclass of :class:`InnerProblem`. A second registration of the same
        estimator class replaces the first.

    Raises
    ------
    TypeError
        If either argument is not a class of the kind required.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from accsmbo.hypergradients import RidgeProblem, register_inner_problem
    >>> class MyRidge(Ridge):
    ...     pass
    >>> register_inner_problem(MyRidge, RidgeProblem)
    """
    if not isinstance(estimator_class, type):
        raise TypeError(
            f"estimator_class must be a class, got {estimator_class!r}. "
            "Pass type(estimator)."
        )
    is_class = isinstance(problem_class, type)
    if not (is_class and issubclass(problem_class, InnerProblem)):
        raise TypeError(
            "problem_class must be a subclass of accsmbo.hypergradients."
            f"InnerProblem, got {problem_class!r}. Subclass InnerProblem."
        )
    _REGISTRY[estimator_class] = problem_class


def find_inner_problem(estimator: Any) -> type[InnerProblem]:
    """Return the inner problem registered for the class of ``estimator``.

    Parameters
    ----------
    estimator : estimator
        What is to be differentiated.

    Returns
    -------
    type
        A subclass of :class:`InnerProblem`.

    Raises
    ------
    NotDifferentiableError
        If none is registered.
    """
    try:
        return _REGISTRY[type(estimator)]
    except KeyError:
        raise NotDifferentiableError(
            f"{type(estimator).__name__} has no hyperparameter gradients: no inner "
            "problem is registered for it. Tune it by values, or announce one with "
            "accsmbo.hypergradients.register_inner_problem."
        ) from None


def known_hyperparameters(estimator: Any) -> tuple[str, ...]:
    """Return what an estimator with its settings can be differentiated with respect to.

    Parameters
    ----------
    estimator : estimator
        Model with its settings; not a pipeline.

    Returns
    -------
    tuple of str
        Parameter names.

    Raises
    ------
    NotDifferentiableError
        If no inner problem is registered, or a setting is not known to it.
    """
    problem_class = find_inner_problem(estimator)
    if problem_class.settings is not None:
        unknown = set(estimator.get_params(deep=False)) - problem_class.settings
        if unknown:
            raise NotDifferentiableError(
                f"{type(estimator).__name__} has settings that accsmbo does not know: "
                f"{', '.join(sorted(unknown))}. Tune it by values."
            )
    return problem_class.hyperparameters(estimator)
