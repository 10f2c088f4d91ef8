# SPDX-License-Identifier: BSD-3-Clause
"""Writer: a canonical form of any value, fed to a hash."""

import copyreg
import functools
import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping, Set
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np
from scipy import sparse, special
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from accsmbo._digest._code import globals_of, is_at, is_installed

__all__ = ["Writer"]

ATOMS = frozenset([type(None), bool, int, float, complex, str, bytes])
CHUNK = 1 << 20  # bytes of an array that is not contiguous, copied at a time
# What `clone` keeps of an estimator besides its parameters.
CLONED = ("_metadata_request", "_sklearn_output_config")
# Of a class: no behaviour, or a cache, or in no fixed order.
NOT_OF_A_CLASS = frozenset(
    (
        *("__abstractmethods__", "__dict__", "__doc__", "__firstlineno__"),
        *("__annotate__", "__annotate_func__", "__annotations__"),
        *("__annotations_cache__", "__module__", "__qualname__"),
        *("__static_attributes__", "__weakref__", "_abc_impl"),
    )
)


class Writer:
    """Feeds a canonical form of a value to a hash.

    Functions, classes and objects with a state are written once and numbered, so that
    any graph of them takes linear time; all else is written as often as it comes.
    """

    def __init__(self, parent: "Writer | None" = None) -> None:
        # SHA-256 is the fastest that is safe where the processor helps, as most do.
        self._hash = hashlib.sha256()
        self._update = self._hash.update
        self.opaque: list[Any] = parent.opaque if parent else []
        self._seen: dict[int, tuple[int, Any]] = dict(parent._seen) if parent else {}
        self._open: list[int] = list(parent._open) if parent else []
        self._whole: bool = parent._whole if parent else False

    def digest(self, value: Any) -> str:
        """Return the digest of one value, which is all that is written."""
        self.write(value)
        return self._hash.hexdigest()[:32]

    def write(self, value: Any) -> None:
        """Feed one value."""
        kind = type(value)
        if kind in ATOMS:
            text = hex(value) if kind is int else repr(value)
            self._text(kind.__name__, text)
            return
        for base in kind.__mro__:
            handler = HANDLERS.get(base)
            if handler is not None and (base is kind or base not in EXACT):
                handler(self, value)
                return
        if _is_frame(value):
            self._frame(value)
        elif not self._is_estimator(value):
            self._instance(value)

    def _text(self, kind: str, text: str) -> None:
        framed = f"{kind}:{len(text)}:{text};"
        self._update(framed.encode("utf-8", "surrogatepass"))

    def _apart(self, value: Any) -> str:
        """Return the digest of what has no place in an order."""
        return Writer(self).digest(value)

    def _enter(self, value: Any, content: Callable[[], None]) -> None:
        """Write a content that may hold the value itself."""
        if id(value) in self._open:
            self._text("cycle", str(self._open.index(id(value))))
            return
        self._open.append(id(value))
        content()
        self._open.pop()

    def _is_new(self, value: Any) -> bool:
        """Give a value its number; write the number if it had one."""
        if id(value) in self._seen:
            self._text("seen", str(self._seen[id(value)][0]))
            return False
        self._seen[id(value)] = len(self._seen), value
        return True

    def _all(self, kind: str, *items: Any) -> None:
        """Write items, estimators among them with all they have learnt."""
        whole, self._whole = self._whole, True
        self._items(kind, items)
        self._whole = whole

    def _items(self, kind: str, items: Iterable[Any]) -> None:
        items = list(items)
        if set(map(type, items)) <= ATOMS:
            try:
                self._text(f"{kind} of atoms", repr(items))
                return
            except ValueError:  # an int of more digits than Python writes
                pass
        self._text(kind, str(len(items)))
        for item in items:
            self.write(item)

    def _sequence(self, value: Any) -> None:
        self._enter(value, lambda: self._items(type(value).__name__, value))

    def _mapping(self, value: Mapping[Any, Any]) -> None:
        if set(map(type, value)) <= {str}:
            pairs = sorted(value.items(), key=lambda pair: pair[0])
        else:
            named = ((self._apart(key), item) for key, item in value.items())
            pairs = sorted(named, key=lambda pair: pair[0])
        self._enter(value, lambda: self._pairs(pairs))

    def _pairs(self, pairs: list[tuple[str, Any]]) -> None:
        self._items("names", [name for name, _ in pairs])
        self._items("values", [item for _, item in pairs])

    def _set(self, value: Set[Any]) -> None:
        self._class_of(value)
        self._items("set", sorted(self._apart(item) for item in value))
        self._items("state", [getattr(value, "__dict__", None)])

    def _scalar(self, value: np.generic) -> None:
        self._text("scalar", "")
        self._array(np.asarray(value))

    def _array(self, array: np.ndarray[Any, Any]) -> None:
        if isinstance(array, np.ma.MaskedArray):
            self._items("masked", [np.ma.getdata(array), np.ma.getmaskarray(array)])
            return
        if type(array) not in (np.ndarray, np.memmap):
            self._class_of(array)
            self._items("state", [getattr(array, "__dict__", None)])
        plain = array.view(np.ndarray)
        self._text("array", f"{plain.dtype!r}{plain.shape}")
        if plain.dtype.names is not None:
            for name in plain.dtype.names:  # padding between fields is no content
                self._array(plain[name])
        elif plain.dtype.hasobject or plain.dtype.kind == "T":
            self._enter(array, lambda: self._items("elements", plain.ravel().tolist()))
        elif plain.dtype.char in "gG":  # nor is padding within a long double
            self._items("texts", map(repr, plain.ravel()))
        elif plain.size and plain.itemsize:
            self._bytes(plain)

    def _bytes(self, array: np.ndarray[Any, Any]) -> None:
        if array.flags.c_contiguous:
            self._update(array.reshape(-1).view(np.uint8).data)
            return
        step = max(1, CHUNK * len(array) // array.nbytes)
        for start in range(0, len(array), step):
            part = np.ascontiguousarray(array[start : start + step])
            self._update(part.reshape(-1).view(np.uint8).data)

    def _sparse(self, value: Any) -> None:
        flat = value if value.ndim == 2 else value.reshape(1, -1)
        rows = sparse.csr_array(flat)
        if not rows.has_canonical_format or (rows.data == 0).any():
            rows = rows.copy()
            rows.sum_duplicates()
            rows.eliminate_zeros()
        places = [p.astype(np.int64, copy=False) for p in (rows.indptr, rows.indices)]
        self._items("sparse", [value.shape, *places, rows.data])

    def _frame(self, value: Any) -> None:
        self._class_of(value)
        if type(value).__module__.startswith("polars"):
            columns = value.get_columns() if hasattr(value, "columns") else [value]
            for column in columns:
                plain = column.dtype.is_numeric() and not column.null_count()
                content = column.to_numpy() if plain else column.to_list()
                self._items("column", [column.name, repr(column.dtype), content])
        elif hasattr(value, "columns"):
            self._items("axes", [value.columns, value.index])
            kinds = list(value.dtypes)
            if len(set(kinds)) == 1 and isinstance(kinds[0], np.dtype):
                self._array(value.to_numpy())
            else:
                for place in range(len(kinds)):
                    self._column(value.iloc[:, place])
        elif hasattr(value, "index"):
            self._items("series", [value.name, value.index])
            self._column(value)
        else:
            self._items("index", list(value.names))
            self._column(value)

    def _column(self, value: Any) -> None:
        dtype = value.dtype
        self._text("dtype", repr(dtype))
        if isinstance(dtype, np.dtype):
            self._array(value.to_numpy())
        elif hasattr(dtype, "categories"):
            codes = value.codes if hasattr(value, "codes") else value.cat.codes
            ordered = bool(dtype.ordered)
            self._items("categories", [dtype.categories, ordered, np.asarray(codes)])
        elif hasattr(dtype, "tz"):  # times of UTC, without an object for each
            self._array(np.asarray(value, dtype=f"M8[{dtype.unit}]"))
        elif getattr(getattr(dtype, "numpy_dtype", None), "kind", "O") in "biuf":
            self._array(value.isna().to_numpy())
            self._array(value.to_numpy(dtype=dtype.numpy_dtype, na_value=0))
        else:
            self._array(value.to_numpy(dtype=object))

    def _is_estimator(self, value: Any) -> bool:
        """Write an estimator; False if it is none."""
        if not callable(getattr(type(value), "get_params", None)):
            return False
        try:
            params = dict(value.get_params(deep=False))
        except Exception:
            return False
        state = getattr(value, "__dict__", {})
        params |= {name: state[name] for name in CLONED if name in state}
        self._class_of(value)
        if self._whole or not _is_cloned(type(value)):
            self._enter(value, lambda: self._all("fitted", params | state))
        else:
            self._enter(value, lambda: self._mapping(params))
        return True

    def _class_of(self, value: Any) -> None:
        self._class(type(value))

    def _class(self, value: type) -> None:
        if is_installed(value):
            self._text("class", f"{value.__module__}.{value.__qualname__}")
        elif self._is_new(value):
            own = {k: v for k, v in vars(value).items() if k not in NOT_OF_A_CLASS}
            self._all("own class", value.__qualname__, value.__bases__, own)

    def _function(self, value: FunctionType) -> None:
        if is_installed(value):
            self._text("function", f"{value.__module__}.{value.__qualname__}")
        elif self._is_new(value):
            defaults = value.__defaults__, value.__kwdefaults__
            cells = value.__closure__ or ()
            self._all(
                "own function",
                *(value.__code__, defaults, cells, vars(value), globals_of(value)),
            )

    def _code(self, value: CodeType) -> None:
        n_arguments = value.co_argcount + value.co_kwonlyargcount
        arguments = (
            value.co_varnames[:n_arguments],
            value.co_argcount,
            value.co_posonlyargcount,
            value.co_flags,
        )
        names = value.co_names, value.co_freevars, value.co_cellvars
        tables = value.co_code, value.co_exceptiontable
        self._items("code", [arguments, names, tables, value.co_consts])

    def _cell(self, value: CellType) -> None:
        try:
            content = [value.cell_contents]
        except ValueError:
            content = []
        self._items("cell", content)

    def _instance(self, value: Any) -> None:
        reduced = None if type(value) is object else _reduced(value)
        module = getattr(value, "__module__", None)
        if isinstance(reduced, str) and is_at(value, module, reduced):
            self._text("name", f"{module}.{reduced}")
        elif isinstance(reduced, tuple):
            call, arguments, state, items, pairs = (*reduced, *[None] * 3)[:5]
            if state is items is pairs is None:
                # A value, such as a date: the same one twice is two equal ones.
                self._enter(value, lambda: self._items("value", [call, arguments]))
            elif self._is_new(value):
                parts = [list(part or ()) for part in (items, pairs)]
                self._all("object", call, arguments, state, *parts)
        else:
            self._class_of(value)
            self.opaque.append(value)

    def _ufunc(self, value: np.ufunc) -> None:
        name = value.__name__
        if value in (getattr(np, name, None), getattr(special, name, None)):
            self._text("ufunc", name)
        else:
            self._class_of(value)
            self.opaque.append(value)

    def _random_state(self, value: np.random.RandomState) -> None:
        if value is check_random_state(None):
            self._text("random state", "global")
        else:
            self._items("random state", [value.get_state(legacy=False)])

    def _bit_generator(self, value: np.random.BitGenerator) -> None:
        # The seed sequence, if it has one, makes children.
        self._items("bits", [value.state, getattr(value, "seed_seq", None)])


def _reduced(value: Any) -> Any:
    """Return what pickle would write, None if nothing."""
    try:
        special_case = copyreg.dispatch_table.get(type(value))
        return special_case(value) if special_case else value.__reduce_ex__(4)
    except Exception:
        return None


def _is_frame(value: Any) -> bool:
    pandas, polars = (sys.modules.get(name) for name in ("pandas", "polars"))
    kinds: tuple[type, ...] = ()
    if pandas is not None:
        kinds += pandas.DataFrame, pandas.Series, pandas.Index
    if polars is not None:
        kinds += polars.DataFrame, polars.Series
    return isinstance(value, kinds)


def _is_cloned(kind: type) -> bool:
    """Whether `clone` makes an unfitted estimator of one."""
    own = getattr(kind, "__sklearn_clone__", None)
    return own is None or own is BaseEstimator.__sklearn_clone__


# By the first class in the order of resolution.
HANDLERS: dict[type, Callable[[Writer, Any], None]] = {
    list: Writer._sequence,
    tuple: Writer._sequence,
    range: lambda writer, value: writer._text("range", repr(value)),
    dict: Writer._mapping,
    MappingProxyType: Writer._mapping,
    set: Writer._set,
    frozenset: Writer._set,
    np.generic: Writer._scalar,
    np.ndarray: Writer._array,
    np.dtype: lambda writer, value: writer._text("dtype", repr(value)),
    sparse.sparray: Writer._sparse,
    sparse.spmatrix: Writer._sparse,
    type: Writer._class,
    FunctionType: Writer._function,
    MethodType: lambda w, m: w._all("method", m.__func__, m.__self__),
    BuiltinFunctionType: Writer._instance,
    functools._lru_cache_wrapper: lambda w, f: w._all("cached", f.__wrapped__),
    ModuleType: lambda writer, value: writer._text("module", value.__name__),
    CodeType: Writer._code,
    CellType: Writer._cell,
    property: lambda w, p: w._items("property", [p.fget, p.fset, p.fdel]),
    staticmethod: lambda w, m: w._items("static", [m.__func__]),
    classmethod: lambda w, m: w._items("of class", [m.__func__]),
    np.ufunc: Writer._ufunc,
    np.random.RandomState: Writer._random_state,
    np.random.Generator: lambda w, g: w._items("generator", [g.bit_generator]),
    np.random.BitGenerator: Writer._bit_generator,
    np.random.SeedSequence: lambda w, s: w._items("seeds", [s.state]),
}
# A class below one of these may have more to it: it is an object as others are.
EXACT = frozenset([list, tuple, dict])
