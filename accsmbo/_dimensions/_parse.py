# SPDX-License-Identifier: BSD-3-Clause
"""What users write for a parameter -> a dimension."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from accsmbo._dimensions._base import Dimension
from accsmbo._dimensions._categorical import Categorical, are_numbers
from accsmbo._dimensions._numeric import Integer, Real
from accsmbo._dimensions._quantile import Quantile

__all__ = ["parse_dimension"]

# Values drawn from an object that has only rvs; they become choices.
N_SAMPLES = 1000


def parse_dimension(name: str, value: Any) -> Dimension:
    """Return the dimension that a user's value for a parameter means.

    Parameters
    ----------
    name : str
        Name of the parameter, for messages.
    value : object
        A dimension, a distribution, or a sequence of choices.

    Returns
    -------
    Dimension
        What to search.

    Raises
    ------
    TypeError
        If ``value`` is none of these, for example a single value or a string, or a
        distribution without its arguments.
    ValueError
        If a sequence is empty, an array is not one-dimensional, or the arguments of a
        distribution leave it no support.
    """
    if isinstance(value, Dimension):
        return value
    if hasattr(value, "cdf") and hasattr(value, "ppf"):
        _check_distribution(name, value)
        return _from_distribution(value)
    if hasattr(value, "rvs"):
        rng = np.random.RandomState(0)
        return _choices([value.rvs(random_state=rng) for _ in range(N_SAMPLES)])
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise ValueError(
                f"Parameter array for {name!r} should be one-dimensional, got: "
                f"{value!r} with shape {value.shape}. Flatten it, or list the arrays "
                "to choose from."
            )
        value = value.tolist()
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise TypeError(
            f"Parameter grid for parameter {name!r} needs to be a list or a numpy "
            f"array, but got {value!r} (of type {type(value).__name__}) instead. "
            "Single values need to be wrapped in a list with one element. Write "
            f"[{value!r}], or give a distribution or dimension."
        )
    if len(value) == 0:
        raise ValueError(
            f"Parameter grid for parameter {name!r} need to be a non-empty sequence, "
            f"got: {value!r}. List the values to try, or leave the parameter out."
        )
    return _choices(value)


def _choices(values: Sequence[Any]) -> Categorical:
    plain = Categorical(values)
    return Categorical(values, ordered=True) if are_numbers(plain.choices) else plain


def _check_distribution(name: str, value: Any) -> None:
    if hasattr(value, "freeze"):
        raise TypeError(
            f"Parameter {name!r} needs a frozen distribution, got {value.name} "
            f"without its arguments. Write {value.name}(...) with them."
        )
    if np.isnan(value.ppf([0.25, 0.75])).any():
        dist = getattr(value, "dist", value)
        given = (getattr(value, "args", ()), getattr(value, "kwds", {}))
        raise ValueError(
            f"Parameter {name!r} needs a distribution with a support, got "
            f"{getattr(dist, 'name', dist)} with arguments {given[0]} {given[1]}: its "
            "quantiles are not numbers. Check its arguments."
        )


def _from_distribution(frozen: Any) -> Dimension:
    name = getattr(getattr(frozen, "dist", None), "name", None)
    if name in {"uniform", "randint", "loguniform", "reciprocal"}:
        low, high = (end.item() for end in np.asarray(frozen.support()))
        if name == "randint":
            return Integer(int(low), int(high))
        if name == "uniform":
            return Real(low, high)
        # A shifted log-uniform is not log-uniform on its support.
        if math.isclose(frozen.ppf(0.5), math.sqrt(low) * math.sqrt(high)):
            return Real(low, high, log=True)
    return Quantile(frozen)
