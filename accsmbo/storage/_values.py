# SPDX-License-Identifier: BSD-3-Clause
"""Python values <-> JSON, types kept; reading builds data only and runs no code.

What JSON lacks is tagged by a dict with one key that begins with ``$``: floats that are
not finite, tuples, dicts whose keys are not all plain strings, numeric arrays, and
objects of any other kind, of which only the text remains.
"""

import base64
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["NotData", "Opaque", "decode", "encode", "encode_or_describe"]

# Kinds of array elements that are plain numbers.
NUMERIC_KINDS = "biufc"


class NotData(TypeError):
    """Raised for a value that is not made of JSON kinds, tuples and numeric arrays."""


@dataclass(frozen=True)
class Opaque:
    """Stands for an object of which a journal keeps only the text.

    Reading a journal runs no code, so that one from elsewhere can do no harm: functions
    and estimators among the choices of a space are kept as text. They come back as this
    where a journal is loaded on its own, and as themselves where the space is given.

    Attributes
    ----------
    text : str
        Its repr.
    position : int or None
        Its place in the list of choices, where it is a choice.

    See Also
    --------
    JournalStorage : Its ``load`` takes the space.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.preprocessing import MinMaxScaler, StandardScaler
    >>> from accsmbo import JournalStorage, minimize
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.jsonl"
    >>> space = {"scaler": [StandardScaler(), MinMaxScaler()]}
    >>> _ = minimize(lambda p: len(repr(p)), space, n_trials=2, storage=path)
    >>> JournalStorage(path).load().best_params
    {'scaler': <stored as text: MinMaxScaler()>}
    >>> JournalStorage(path).load(space).best_params["scaler"] is space["scaler"][1]
    True
    """

    text: str
    position: int | None = None

    def __repr__(self) -> str:
        return f"<stored as text: {self.text}>"


def encode(value: Any) -> Any:
    """Return ``value`` in JSON kinds.

    Parameters
    ----------
    value : object
        None, bool, int, float, str, lists, tuples and dicts of them, numeric arrays;
        NumPy scalars count as the plain ones.

    Returns
    -------
    object
        What ``json.dumps`` takes with ``allow_nan=False``.

    Raises
    ------
    NotData
        If ``value`` holds anything else.
    """
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is list:
        return [encode(item) for item in value]
    if kind is tuple:
        return {"$tuple": [encode(item) for item in value]}
    if kind is dict:
        return _encode_dict(value)
    if kind is np.ndarray and value.dtype.kind in NUMERIC_KINDS:
        text = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
        return {"$array": [value.dtype.str, list(value.shape), text]}
    raise NotData(f"{value!r} (of type {kind.__name__}) is not plain data.")


def _encode_dict(value: dict[Any, Any]) -> dict[str, Any]:
    if all(type(key) is str and not key.startswith("$") for key in value):
        return {key: encode(item) for key, item in value.items()}
    return {"$dict": [[encode(key), encode(item)] for key, item in value.items()]}


def encode_or_describe(value: Any) -> Any:
    """Return ``value`` in JSON kinds; objects of other kinds become their text.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    object
        What ``json.dumps`` takes.
    """
    if isinstance(value, Opaque):
        return {"$text": value.text}
    try:
        return encode(value)
    except NotData:
        if type(value) is dict and all(type(key) is str for key in value):
            return {key: encode_or_describe(item) for key, item in value.items()}
        return {"$text": repr(value)}


def decode(value: Any) -> Any:
    """Return what :func:`encode` was given.

    Parameters
    ----------
    value : object
        What ``json.loads`` returned.

    Returns
    -------
    object
        Plain data; :class:`Opaque` where only a text was kept.

    Raises
    ------
    ValueError
        If a tag is unknown or its content is malformed.
    """
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next(iter(value), "")
    if not tag.startswith("$"):
        return {key: decode(item) for key, item in value.items()}
    if tag not in DECODERS:
        raise ValueError(f"the tag {tag!r} is unknown to this version of accsmbo.")
    return DECODERS[tag](value[tag])


def _array(content: list[Any]) -> np.ndarray[Any, Any]:
    dtype = np.dtype(content[0])
    if dtype.kind not in NUMERIC_KINDS:
        raise ValueError(f"arrays of {dtype} are not plain data.")
    flat = np.frombuffer(base64.b64decode(content[2]), dtype=dtype)
    return flat.reshape(content[1]).copy()


def _opaque(content: Any) -> Opaque:
    if not isinstance(content, str):
        raise TypeError(f"$text must hold a text, got {content!r}")
    return Opaque(content)


DECODERS: dict[str, Callable[[Any], Any]] = {
    "$float": float,
    "$tuple": lambda content: tuple(decode(item) for item in content),
    "$dict": lambda content: {decode(key): decode(item) for key, item in content},
    "$array": _array,
    "$text": _opaque,
}
