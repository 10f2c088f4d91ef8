# SPDX-License-Identifier: BSD-3-Clause
"""Digest, key of a cache, digest of an estimator that is tuned."""

from collections.abc import Iterable
from typing import Any

from sklearn.base import clone

from accsmbo._digest._writer import Writer

__all__ = ["cache_key", "digest", "estimator_digest"]


def digest(value: Any) -> str:
    """Return a digest of a value that is the same in every process.

    Parameters
    ----------
    value : object
        Anything. What has no readable content (a lock, an open file) counts by its
        class.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return Writer().digest(value)


def cache_key(value: Any) -> tuple[Any, ...]:
    """Return a key of a value for a cache in this process.

    Unlike a digest it takes no object without readable content for another one: it
    holds these, and compares them by identity.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    tuple
        Hashable; equal for equal content.
    """
    writer = Writer()
    text = writer.digest(value)
    return text, *(_Identity(unknown) for unknown in writer.opaque)


def estimator_digest(estimator: Any, searched: Iterable[str]) -> str:
    """Return a digest of an estimator without the parameters that are searched.

    Parameters
    ----------
    estimator : estimator
        What is tuned.
    searched : iterable of str
        Names of parameters in the search space, left out with what is below them.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    searched = tuple(searched)
    below = tuple(f"{name}__" for name in searched)
    left_out = [name for name in searched if not name.startswith(below)]
    try:
        return digest(clone(estimator).set_params(**dict.fromkeys(left_out)))
    except Exception:
        # A `set_params` that checks values: what the estimator holds now counts.
        return digest(estimator)


class _Identity:
    """An object that is kept, and equals itself alone."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)
