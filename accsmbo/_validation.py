# SPDX-License-Identifier: BSD-3-Clause
"""Argument checks shared by the whole package; every message names the remedy."""

import difflib
import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

__all__ = [
    "check_integer",
    "check_is",
    "check_real",
    "check_tolerance",
    "closest_names",
    "plain",
    "root_seed",
    "shown",
]


# Characters of a value that a message shows.
LONGEST = 500


def shown(value: Any) -> str:
    """Return how a message shows a value, even one that cannot show itself.

    Parameters
    ----------
    value : object
        What the user gave.

    Returns
    -------
    str
        Its ``repr``, cut to a few lines.
    """
    try:
        text = repr(value)
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def check_is(
    name: str, value: Any, kinds: type | tuple[type, ...], remedy: str
) -> None:
    """Raise where ``value`` is of none of the kinds.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        What the user gave.
    kinds : type or tuple of type
        What it may be an instance of; a class itself never passes.
    remedy : str
        What to give, for the message.

    Raises
    ------
    TypeError
        If it is of another kind.
    """
    if isinstance(value, kinds) and not isinstance(value, type):
        return
    raise TypeError(
        f"{name} must be {remedy}, got {shown(value)} "
        f"(of type {type(value).__name__}). Give {remedy}."
    )


def check_integer(name: str, value: Any, *, minimum: int | None = None) -> int:
    """Return ``value`` as a plain int, or raise.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        What the user gave.
    minimum : int or None, default=None
        Smallest value allowed; None: any.

    Returns
    -------
    int
        The value.

    Raises
    ------
    TypeError
        If ``value`` is not an integer.
    ValueError
        If ``value`` is below ``minimum``.
    """
    at_least = "" if minimum is None else f" >= {minimum}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(
            f"{name} must be an integer{at_least}, got {shown(value)} "
            f"(of type {type(value).__name__}). Give a whole number."
        )
    if minimum is not None and value < minimum:
        raise ValueError(
            f"{name} must be an integer{at_least}, got {value!r}. "
            f"Give a number of at least {minimum}."
        )
    return int(value)


def check_real(name: str, value: Any) -> float:
    """Return ``value`` as a plain finite float, or raise.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        What the user gave.

    Returns
    -------
    float
        The value.

    Raises
    ------
    TypeError
        If ``value`` is not a real number.
    ValueError
        If ``value`` is not finite.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(
            f"{name} must be a real number, got {shown(value)} "
            f"(of type {type(value).__name__}). Give an int or a float."
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(
            f"{name} must be finite, got {shown(value)}. Give a finite number."
        )
    return number


def check_tolerance(name: str, value: Any) -> float:
    """Return a relative accuracy as a plain float, or raise.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        What the user gave.

    Returns
    -------
    float
        The value.

    Raises
    ------
    TypeError
        If ``value`` is not a real number.
    ValueError
        If it does not lie in [0, 1).
    """
    number = check_real(name, value)
    if not 0.0 <= number < 1.0:
        raise ValueError(
            f"{name} must lie in [0, 1), got {shown(value)}. Give a share of the loss, "
            "for example 1e-3."
        )
    return number


def closest_names(name: str, valid: Iterable[str], n: int = 3) -> str:
    """Return a sentence that names the valid names closest to ``name``.

    Parameters
    ----------
    name : str
        The unknown name.
    valid : iterable of str
        The names that exist.
    n : int, default=3
        How many to offer.

    Returns
    -------
    str
        ``"Did you mean 'C'?"``, or an empty string where nothing is close.
    """
    valid = list(valid)
    matches = difflib.get_close_matches(name, valid, n=n, cutoff=0.5)
    if not matches:
        tails = {v.rsplit("__", 1)[-1]: v for v in valid}
        matches = [
            tails[tail]
            for tail in difflib.get_close_matches(
                name.rsplit("__", 1)[-1], list(tails), n=n, cutoff=0.5
            )
        ]
    if not matches:
        return ""
    return "Did you mean " + " or ".join(repr(m) for m in matches) + "?"


def plain(value: Any) -> Any:
    """Return NumPy scalars as plain Python objects, anything else untouched.

    Parameters
    ----------
    value : object
        A parameter value.

    Returns
    -------
    object
        ``value.item()`` for NumPy scalars, else ``value`` itself.
    """
    return value.item() if isinstance(value, np.generic) else value


def root_seed(random_state: Any) -> int:
    """Return one integer that stands for ``random_state``.

    Parameters
    ----------
    random_state : None, int, RandomState or Generator
        An int stands for itself; the others are drawn from, once.

    Returns
    -------
    int
        Non-negative seed for :class:`numpy.random.SeedSequence`.

    Raises
    ------
    ValueError
        If ``random_state`` is a negative int or none of the types above.
    """
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    try:
        source = check_random_state(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be None, an int from 0 on, a RandomState or a "
            f"Generator, got {shown(random_state)}. Give an int to repeat a run."
        ) from None
    return int(source.randint(2**31 - 1))
