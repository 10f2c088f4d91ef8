# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the names of a search space are parameters of the estimator."""

from typing import Any

from sklearn.base import clone

from accsmbo._validation import closest_names
from accsmbo.space import Space

__all__ = ["check_names"]


def check_names(estimator: Any, space: Space) -> None:
    """Raise where the space names a parameter that the estimator does not have.

    Parameters of a step that is itself searched over are left to ``set_params``.

    Parameters
    ----------
    estimator : estimator
        What is tuned.
    space : Space
        What is searched.

    Raises
    ------
    ValueError
        Names the unknown parameter, the closest valid ones, and all of them.
    """
    valid = estimator.get_params(deep=True)
    for subspace in space.subspaces:
        for name, dimension in subspace.dimensions.items():
            if name in valid or _owner_is_searched(name, subspace.dimensions):
                continue
            try:
                # Estimators of third parties may take names that they do not list.
                clone(estimator).set_params(**{name: dimension.from_unit(0.5)})
            except (ValueError, AttributeError) as error:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {estimator}. "
                    f"{_empty_owner(name, valid) or closest_names(name, valid)} Valid "
                    f"parameters are: {sorted(valid)!r}. Rename it in the search space."
                ) from error


def _empty_owner(name: str, valid: Any) -> str:
    """Say where the name is one of a step that is None, "drop" or "passthrough"."""
    owner = name.rpartition("__")[0]
    if owner not in valid or hasattr(valid[owner], "set_params"):
        return ""
    return (
        f"{owner!r} is {valid[owner]!r}, which has no parameters: set an estimator "
        "there, or search over it too."
    )


def _owner_is_searched(name: str, searched: Any) -> bool:
    parts = name.split("__")
    return any("__".join(parts[:i]) in searched for i in range(1, len(parts)))
