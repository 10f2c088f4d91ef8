# SPDX-License-Identifier: BSD-3-Clause
"""Pytest plugin: run scikit-learn's own tests with one of its searches swapped."""

import ast
import importlib
import inspect
import json
import re
from pathlib import Path

import numpy as np
import sklearn.model_selection

MORE_THAN_ANY_GRID = 1_000_000


def pytest_addoption(parser):
    group = parser.getgroup("swap")
    group.addoption("--swap-name", help="the name to swap in sklearn.model_selection")
    group.addoption("--swap-class", help="module:Class to put in its place")
    group.addoption("--swap-outcomes", help="file for the outcome of each test (JSON)")


def pytest_configure(config):
    """Swap before collection: the test modules import the name when they load."""
    module, _, name = config.getoption("swap_class").partition(":")
    replacement = getattr(importlib.import_module(module), name)
    original = config.getoption("swap_name")
    if original == "GridSearchCV" and _takes_distributions(replacement):
        replacement = as_grid_search(replacement)
    setattr(sklearn.model_selection, original, replacement)
    config.pluginmanager.register(_Outcomes(config), "swap-outcomes")


def _takes_distributions(cls):
    return "param_distributions" in inspect.signature(cls).parameters


def as_grid_search(cls):
    """Give a search over distributions the signature of ``GridSearchCV``.

    It is evaluated on the whole grid, because `n_iter` exceeds the grid's size.
    """

    class GridSearchCV(cls):
        def __init__(
            self,
            estimator,
            param_grid,
            *,
            scoring=None,
            n_jobs=None,
            refit=True,
            cv=None,
            verbose=0,
            pre_dispatch="2*n_jobs",
            error_score=np.nan,
            return_train_score=False,
        ):
            super().__init__(
                estimator,
                param_grid,
                n_iter=MORE_THAN_ANY_GRID,
                scoring=scoring,
                n_jobs=n_jobs,
                refit=refit,
                cv=cv,
                verbose=verbose,
                pre_dispatch=pre_dispatch,
                error_score=error_score,
                return_train_score=return_train_score,
            )

        @property
        def param_distributions(self):
            return self.param_grid

        @param_distributions.setter
        def param_distributions(self, value):
            self.param_grid = value

    # A pickle finds the class by its name in this module.
    GridSearchCV.__qualname__ = "GridSearchCV"
    globals()["GridSearchCV"] = GridSearchCV
    return GridSearchCV


def pytest_collection_modifyitems(config, items):
    """Keep the tests that touch the name, in words or through what they call."""
    name = config.getoption("swap_name")
    touching = {module: _touching(module, name) for module in {i.module for i in items}}
    kept = [item for item in items if item.originalname in touching[item.module]]
    config.hook.pytest_deselected(items=[i for i in items if i not in kept])
    items[:] = kept


def _touching(module, name):
    """Names of the module's definitions that mention `name` or use one that does."""
    source = inspect.getsource(module)
    definitions = {
        key: node for node in ast.parse(source).body for key in _defined_by(node)
    }
    word = re.compile(rf"(?<![A-Za-z]){name}")
    used = {
        key: {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        for key, node in definitions.items()
    }
    lines = source.splitlines()
    touching = {
        key
        for key, node in definitions.items()
        if word.search("\n".join(lines[_first_line(node) - 1 : node.end_lineno]))
    }
    while True:
        more = {key for key, names in used.items() if names & touching} - touching
        if not more:
            return touching
        touching |= more


def _defined_by(node):
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _first_line(node):
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


class _Outcomes:
    """Writes {test: outcome}; tests are named after the swapped name, not the class."""

    def __init__(self, config):
        self.path = config.getoption("swap_outcomes")
        self.name = config.getoption("swap_name")
        self.cls = config.getoption("swap_class").partition(":")[2]
        self.outcomes = {}

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            test = report.nodeid.partition("::")[2].replace(self.cls, self.name)
            self.outcomes[test] = report.outcome

    def pytest_sessionfinish(self):
        if self.path:
            Path(self.path).write_text(json.dumps(self.outcomes, indent=1))
