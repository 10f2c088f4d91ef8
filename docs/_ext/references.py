# SPDX-License-Identifier: BSD-3-Clause
"""Cross references: second names of public objects, and docstrings we inherit.

An object has one page, under the folder that it lives in; `accsmbo.SMBO` leads to that
of `accsmbo.optimizers.SMBO`. Docstrings inherited from scikit-learn refer to its own
pages, which a build without network cannot find: their text stays, the link goes.
"""

import functools
import importlib
import inspect
import pkgutil
import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

import accsmbo

# What we refer to and have no inventory of.
FOREIGN = re.compile(
    r"(array_like|callable|concurrent|dask|joblib|liblinear|loky|matplotlib|numpy|np"
    r"|optional|pandas|scipy|sklearn|typing)\b"
)
REF = re.compile(r":(?:ref|doc):`([^`<]*?)\s*(?:<[^`]*>)?`")
TERM = re.compile(r":term:`([^`]*)`")
# In a type, `(n_features_in_,)` is an attribute and not a link.
TRAILING = re.compile(r"(?<=\w)_(?=[,) ])")


@functools.cache
def second_names() -> dict[str, str]:
    """Names at the top of the package, with those their pages have."""
    names = {}
    for info in pkgutil.iter_modules(accsmbo.__path__, "accsmbo."):
        if info.name.startswith("accsmbo._"):
            continue
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", []):
            if getattr(accsmbo, name, None) is getattr(module, name):
                names[f"accsmbo.{name}"] = f"{info.name}.{name}"
    return names


def resolve(app: Sphinx, env: Any, node: Any, content: Any) -> Any:
    """Find the page of a second name; leave out links to other projects."""
    target = node.get("reftarget", "").lstrip("~.")
    if node.get("refdomain") != "py":
        return None
    if FOREIGN.match(target) or target.startswith("_"):
        return content
    objects = env.get_domain("py").objects
    first = second_names().get(target, "")
    found = [
        name
        for name, entry in objects.items()
        if not entry.aliased and (name == first or ends_with(name, target))
    ]
    if len(found) != 1:
        # In a table of the reference, "a method of this class" has no class around it.
        return content if node.get("reftype") == "meth" else None
    entry = objects[found[0]]
    docname = node.get("refdoc", env.docname)
    return make_refnode(
        app.builder, docname, entry.docname, entry.node_id, content, found[0]
    )


def ends_with(name: str, target: str) -> bool:
    """Whether a bare name is that of a class or function in some folder of ours."""
    return "." not in target and name.endswith(f".{target}")


def clean(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Take scikit-learn's references out of what we inherit from it."""
    thing = inspect.unwrap(getattr(thing, "fget", None) or thing)
    inherited = str(getattr(thing, "__module__", "")).startswith("sklearn")
    for i, line in enumerate(lines):
        line = TERM.sub(r"``\1``", line)
        if inherited:
            line = REF.sub(r"\1", line)
        name, colon, type_of = line.partition(" : ")
        lines[i] = name + colon + TRAILING.sub(r"\_", type_of)


def skip(
    app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any
) -> Any:
    """Leave out fields that the class describes, and requests for metadata."""
    if re.fullmatch(r"set_\w+_request", name) or name in {"count", "index"}:
        return True
    if type(thing).__name__ in {"_tuplegetter", "member_descriptor"}:
        return True
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the three hooks."""
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", clean)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
