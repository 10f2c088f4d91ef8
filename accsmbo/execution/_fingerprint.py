# SPDX-License-Identifier: BSD-3-Clause
"""Fingerprint of data, estimators and settings: equal content, equal digest.

The digest depends on values alone: not on identities, addresses, the process, or the
order of a dict.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Set
from types import CodeType
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["estimator_fingerprint", "fingerprint"]

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# Attributes of these are enough to tell two of them apart.
FROZEN_DISTRIBUTION = ("dist", "args", "kwds")


def fingerprint(value: Any) -> str:
    """Return a digest of any value.

    Parameters
    ----------
    value : object
        Arrays, data frames, sparse matrices, containers, estimators, functions (by
        name and byte code), and other objects by their attributes.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    digest = hashlib.blake2b(digest_size=16)
    _Writer(digest.update).write(value)
    return digest.hexdigest()


def estimator_fingerprint(estimator: Any, searched: Iterable[str]) -> str:
    """Return a digest of an estimator's class and parameters, without searched ones.

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
    kept = {
        name: value
        for name, value in estimator.get_params(deep=True).items()
        if name not in searched and not name.startswith(below)
    }
    digest = hashlib.blake2b(digest_size=16)
    writer = _Writer(digest.update, nested_params=False)
    writer.write([type(estimator).__module__, type(estimator).__qualname__, kept])
    return digest.hexdigest()


class _Writer:
    """Feeds a canonical form of values to ``update``.

    With ``nested_params=False`` an estimator inside is its class alone: its parameters
    are told apart by their own names.
    """

    def __init__(
        self, update: Callable[[bytes], None], *, nested_params: bool = True
    ) -> None:
        self._update = update
        self._nested_params = nested_params
        self._open: list[int] = []

    def write(self, value: Any) -> None:
        """Feed one value."""
        if id(value) in self._open:
            self._text("cycle", str(self._open.index(id(value))))
            return
        self._open.append(id(value))
        self._write(value)
        self._open.pop()

    def _text(self, kind: str, text: str) -> None:
        self._update(f"{kind}:{len(text)}:{text};".encode())

    def _write(self, value: Any) -> None:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self._text(type(value).__name__, repr(value))
        elif isinstance(value, (np.ndarray, np.generic)):
            self._array(np.asarray(value))
        elif sparse.issparse(value):
            coo = sparse.coo_array(value)  # type: ignore[call-overload]
            self._items("sparse", [coo.shape, *coo.coords, coo.data])
        elif isinstance(value, Mapping):
            self._mapping(value)
        elif isinstance(value, Set):
            self._items("set", sorted(fingerprint(item) for item in value))
        elif isinstance(value, (list, tuple, range)):
            self._items(type(value).__name__, list(value))
        else:
            self._object(value)

    def _items(self, kind: str, items: list[Any]) -> None:
        self._text(kind, str(len(items)))
        for item in items:
            self.write(item)

    def _array(self, array: np.ndarray[Any, Any]) -> None:
        self._text("array", f"{array.dtype.str}{array.shape}")
        if array.dtype.hasobject:
            self._items("elements", array.ravel().tolist())
        else:
            self._update(np.ascontiguousarray(array).tobytes())

    def _mapping(self, mapping: Mapping[Any, Any]) -> None:
        pairs = sorted((fingerprint(key), key) for key in mapping)
        self._text("mapping", str(len(pairs)))
        for digest, key in pairs:
            self._text("key", digest)
            self.write(mapping[key])

    def _object(self, value: Any) -> None:
        if hasattr(value, "columns") and hasattr(value, "to_numpy"):
            names = [str(name) for name in value.columns]
            self._items("frame", [names, *(value[name] for name in value.columns)])
        elif hasattr(value, "to_numpy"):
            self._items("series", [value.to_numpy()])
        elif isinstance(value, type):
            self._text("class", f"{value.__module__}.{value.__qualname__}")
        elif hasattr(value, "get_params"):
            self._class_of(value)
            if self._nested_params:
                self.write(value.get_params(deep=False))
        elif hasattr(value, "__code__"):
            self._function(value)
        else:
            self._class_of(value)
            self._state(value)

    def _class_of(self, value: Any) -> None:
        self._text("of", f"{type(value).__module__}.{type(value).__qualname__}")

    def _function(self, function: Any) -> None:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        names = [function.__module__, function.__qualname__]
        content = [names, function.__code__, function.__defaults__, cells]
        self._items("function", content)

    def _state(self, value: Any) -> None:
        if all(hasattr(value, name) for name in FROZEN_DISTRIBUTION):
            self.write([value.dist.name, value.args, value.kwds])
        elif isinstance(value, np.random.RandomState):
            self.write(value.get_state(legacy=False))
        elif isinstance(value, np.random.Generator):
            self.write(value.bit_generator.state)
        elif isinstance(value, CodeType):
            self.write([value.co_code, value.co_names, value.co_consts])
        elif getattr(value, "__dict__", None):
            self.write(vars(value))
        else:
            self._text("repr", ADDRESS.sub("", repr(value)))
