# SPDX-License-Identifier: BSD-3-Clause
"""Every public name is documented, and the documentation agrees with the code."""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
from enum import Enum

import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

import accsmbo
from tests._searches import SEARCHES, make_search, small_data

# Findings of numpydoc that are not followed, as in scikit-learn. Extended summary,
# examples and See Also are asked of every class; functions have them where they help.
IGNORED = {"RT02"}
WHERE_IT_HELPS = {"ES01", "EX01", "SA01"}


def public_modules():
    """Accsmbo and its public modules: neither private ones nor those of no public name.

    An empty ``__all__`` says that what a package holds is shared within accsmbo alone.
    """
    names = [
        module.name
        for module in pkgutil.walk_packages(accsmbo.__path__, "accsmbo.")
        if not any(part.startswith("_") for part in module.name.split("."))
    ]
    modules = [accsmbo, *map(importlib.import_module, sorted(names))]
    return [m for m in modules if getattr(m, "__all__", None) != []]


def public_objects():
    """Classes and functions of every ``__all__``, by full name, each once."""
    found = {}
    for module in public_modules():
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found.setdefault(f"{thing.__module__}.{thing.__qualname__}", thing)
    return found


def own_parts(cls):
    """Yield a class and its private bases of ours, which its page shows too."""
    for part in cls.__mro__:
        if part is cls or (part.__module__.startswith("accsmbo") and not public(part)):
            yield part


def public(cls):
    return any(cls is other for other in CLASSES.values())


def own_methods(cls):
    """Names of public methods and properties that are documented with a class of ours.

    What overrides a method of another public class is documented there.
    """
    elsewhere = [base for base in cls.__mro__[1:] if public(base)]
    members = {k: v for part in own_parts(cls) for k, v in vars(part).items()}
    for name, member in members.items():
        member = getattr(member, "__func__", member)
        if (
            not name.startswith("_")
            and not any(name in vars(base) for base in elsewhere)
            and (inspect.isfunction(member) or isinstance(member, property))
        ):
            yield name


def errors_of(name, ignored=IGNORED | WHERE_IT_HELPS):
    return [
        f"{name}: {code}: {text}"
        for code, text in validate(name)["errors"]
        if code not in ignored
    ]


OBJECTS = public_objects()
CLASSES = {name: thing for name, thing in OBJECTS.items() if inspect.isclass(thing)}
CONSTRUCTED = {
    name: cls for name, cls in CLASSES.items() if not issubclass(cls, Exception | Enum)
}


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.__name__)
def test_a_public_module_is_described_and_has_what_it_lists(module):
    assert module.__doc__, f"{module.__name__} has no docstring"
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert hasattr(module, name)


def documented(cls, *sections):
    """Names described in some sections of a docstring, in order."""
    entries = [entry.name for section in sections for entry in ClassDoc(cls)[section]]
    return [name for entry in entries for name in entry.split(", ")]


def has_own_constructor(thing):
    if not inspect.isclass(thing):
        return True
    has_one = any("__init__" in vars(part) for part in own_parts(thing))
    return has_one and not getattr(thing, "_is_protocol", False)


@pytest.mark.parametrize("name", OBJECTS)
def test_numpydoc_has_nothing_to_object(name):
    ignored = IGNORED if name in CLASSES else IGNORED | WHERE_IT_HELPS
    errors = errors_of(name, ignored)
    if not has_own_constructor(OBJECTS[name]):
        # An inherited constructor is described by the base class, if by any.
        errors = [error for error in errors if ": PR01: " not in error]
    if dataclasses.is_dataclass(OBJECTS[name]):
        # Fields are described once, as parameters or as attributes.
        fields = {field.name for field in dataclasses.fields(OBJECTS[name])}
        assert fields <= set(documented(OBJECTS[name], "Parameters", "Attributes"))
        errors = [error for error in errors if ": PR01: " not in error]
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize("name", CLASSES)
def test_methods_are_documented(name):
    errors = []
    for method in own_methods(CLASSES[name]):
        member = inspect.getattr_static(CLASSES[name], method)
        text = inspect.getdoc(getattr(member, "__func__", member)) or ""
        assert text, f"{name}.{method} has no docstring"
        # Prose is enough where it says all; sections must be complete.
        if "\n---" in text and "\nYields\n" not in text:
            errors += errors_of(f"{name}.{method}")
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize("name", CONSTRUCTED)
def test_parameters_are_those_of_the_constructor(name):
    cls = CONSTRUCTED[name]
    if dataclasses.is_dataclass(cls) or not has_own_constructor(cls):
        return
    actual = [p for p in inspect.signature(cls).parameters if "args" not in p]
    assert documented(cls, "Parameters") == actual


@pytest.mark.parametrize("name", CONSTRUCTED)
def test_defaults_in_the_text_are_those_of_the_signature(name):
    cls = CLASSES[name]
    parameters = inspect.signature(cls).parameters
    wrong = []
    for entry in ClassDoc(cls)["Parameters"]:
        written = re.search(r"default=(.+)$", entry.type)
        if not written or entry.name not in parameters:
            continue
        default = parameters[entry.name].default
        text = written.group(1).strip("\"'` ").removeprefix("np.")
        if text not in {str(default), repr(default)} and as_value(text) != default:
            wrong.append(f"{name}: {entry.name} is {default!r}, the text says {text}")
    assert not wrong, "\n".join(wrong)


def as_value(text):
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None


def fitted_attributes(estimator):
    public = [n for n in vars(estimator) if n.endswith("_") and not n.startswith("_")]
    return set(public)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.parametrize("refit", [True, False])
def test_fitted_attributes_of_searches_are_documented_and_exist(cls, refit):
    X, y = small_data()
    search = make_search(
        cls, LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, n_iter=2, refit=refit
    ).fit(X, y)
    attributes = set(documented(cls, "Attributes"))
    assert fitted_attributes(search) <= attributes
    if refit:
        # Known for data frames only, and kept only where asked.
        missing = {name for name in attributes if not hasattr(search, name)}
        assert missing <= {"feature_names_in_", "predictions_"}


@pytest.mark.parametrize("name", CONSTRUCTED)
def test_constructors_store_and_do_nothing_else(name):
    cls = CLASSES[name]
    parameters = inspect.signature(cls).parameters
    if not issubclass(cls, BaseEstimator) or any(
        p.default is inspect.Parameter.empty for p in parameters.values()
    ):
        return
    instance = cls()
    assert set(vars(instance)) == set(parameters)
    for key, parameter in parameters.items():
        assert getattr(instance, key) is parameter.default
