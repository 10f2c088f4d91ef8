# SPDX-License-Identifier: BSD-3-Clause
"""What the code of a function reads, and which functions are known by their name."""

import dis
import functools
import sys
from pathlib import PurePath
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["globals_of", "is_at", "is_installed"]

# Known by name wherever they lie: an editable install is in no usual folder.
LIBRARIES = frozenset(
    ["accsmbo", "joblib", "numpy", "pandas", "polars", "scipy", "sklearn"]
)
GLOBAL_LOADS = frozenset(["LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"])


def is_at(value: Any, module: str | None, name: str) -> bool:
    """Whether a value is found under its name in its module."""
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value


def is_installed(value: Any) -> bool:
    """Whether a function or class is importable, and not of the user's own."""
    module, name = value.__module__, value.__qualname__
    return _is_package(module) and is_at(value, module, name)


@functools.lru_cache(maxsize=1024)
def _is_package(module: str | None) -> bool:
    root = (module or "").partition(".")[0]
    if root in ("__main__", "__mp_main__"):
        return False  # whatever file was started: `python -m` starts one of a package
    if root in sys.stdlib_module_names or root in LIBRARIES:
        return True
    file = getattr(sys.modules.get(module or ""), "__file__", None) or ""
    return bool({"site-packages", "dist-packages"} & set(PurePath(file).parts))


@functools.lru_cache(maxsize=1024)
def _names_read(code: CodeType) -> frozenset[str]:
    """Return the globals that a code and those in it read."""
    found = dis.get_instructions(code)
    names = {step.argval for step in found if step.opname in GLOBAL_LOADS}
    inner = [_names_read(c) for c in code.co_consts if isinstance(c, CodeType)]
    return frozenset(names).union(*inner)


def _attributes_named(code: CodeType) -> set[str]:
    inner = [_attributes_named(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*inner)


def globals_of(function: FunctionType) -> dict[str, Any]:
    """Return what a function of the user's own reads of modules."""
    if _is_package(function.__module__):
        return {}
    code, known = function.__code__, function.__globals__
    found = {name: known[name] for name in _names_read(code) if name in known}
    for name, value in list(found.items()):
        if isinstance(value, ModuleType) and not _is_package(value.__name__):
            inside = _attributes_named(code) & vars(value).keys()
            found |= {f"{name}.{inner}": vars(value)[inner] for inner in inside}
    return found
