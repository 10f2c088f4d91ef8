# SPDX-License-Identifier: BSD-3-Clause
"""Which space belongs to which class, by qualified name; open to third parties."""

from collections.abc import Callable, Mapping
from typing import Any

from accsmbo.space import Space

__all__ = ["FoundSpace", "SpaceSource", "find_space", "register_default_space"]

# Parameter name -> Dimension, distribution or choices.
FoundSpace = Mapping[str, Any]
SpaceSource = FoundSpace | Callable[[dict[str, Any]], FoundSpace]

# (top-level package, class name) -> space.
_REGISTRY: dict[tuple[str, str], SpaceSource] = {}


def register_default_space(qualified_name: str, space: SpaceSource) -> None:
    """Announce the default search space of a class of estimators.

    Parameters
    ----------
    qualified_name : str
        ``"package.module.ClassName"``. Only the package and the class name count, for
        modules inside a package move. Subclasses are covered, as far as they have the
        parameters, unless they are registered themselves. A second registration
        replaces the first.
    space : dict or callable
        What :class:`~accsmbo.Space` accepts as one dict, or a function that returns it,
        given ``estimator.get_params(deep=False)``. Empty: there is nothing to tune.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind.
    ValueError
        If ``qualified_name`` has no package.

    Examples
    --------
    >>> from accsmbo import Real
    >>> from accsmbo.default_spaces import register_default_space
    >>> register_default_space(
    ...     "shop.models.DemandRegressor", {"decay": Real(1e-3, 1.0, log=True)}
    ... )
    """
    if not isinstance(qualified_name, str):
        raise TypeError(
            "qualified_name must be a string 'package.module.ClassName', got "
            f"{qualified_name!r} (of type {type(qualified_name).__name__}). Write "
            "f'{cls.__module__}.{cls.__name__}'."
        )
    if not all(qualified_name.split(".")) or "." not in qualified_name:
        raise ValueError(
            "qualified_name must be 'package.module.ClassName', got "
            f"{qualified_name!r}. Put the name of the package in front."
        )
    if not callable(space):
        _check_mapping(qualified_name, space)
        if space:
            Space(dict(space))
    _REGISTRY[_key(qualified_name)] = space


def find_space(estimator: Any) -> dict[str, Any]:
    """Return the space of the estimator's own parameters, nested ones left out.

    Parameters
    ----------
    estimator : estimator
        Any object with ``get_params``.

    Returns
    -------
    dict
        Parameter name -> dimension or choices; empty where the class is unknown.

    Raises
    ------
    TypeError
        If a registered function does not return a dict.
    """
    for cls in type(estimator).__mro__:
        name = f"{cls.__module__}.{cls.__name__}"
        source = _REGISTRY.get(_key(name))
        if source is None:
            continue
        params = estimator.get_params(deep=False)
        space = source(params) if callable(source) else source
        _check_mapping(name, space)
        if cls is type(estimator):
            return dict(space)
        return {key: value for key, value in space.items() if key in params}
    return {}


def _key(qualified_name: str) -> tuple[str, str]:
    parts = qualified_name.split(".")
    return parts[0], parts[-1]


def _check_mapping(name: str, space: Any) -> None:
    if not isinstance(space, Mapping):
        raise TypeError(
            f"the default space of {name} must be a dict (parameter name -> dimension "
            f"or list of choices) or a function that returns one, got {space!r} (of "
            f"type {type(space).__name__}). Write it as {{'name': choices}}."
        )
