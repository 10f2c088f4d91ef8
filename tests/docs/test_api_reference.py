# SPDX-License-Identifier: BSD-3-Clause
"""docs/api.rst and the `__all__` of every public module list the same names."""

import re
from pathlib import Path

import pytest

from tests.test_docstrings import public_modules

API = Path(__file__).parents[2] / "docs" / "api.rst"
MODULES = {module.__name__: module for module in public_modules()}


def listed():
    """Names under each ``currentmodule`` of the page, in the order of the page."""
    names: dict[str, list[str]] = {}
    for section in API.read_text().split(".. currentmodule:: ")[1:]:
        module, _, text = section.partition("\n")
        (table,) = re.findall(
            r"\.\. autosummary::\n(?:   :.*\n)*\n((?:   .*\n)+)", text
        )
        names[module] = table.split()
    return names


LISTED = listed()


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_in_the_reference(name):
    names = set(MODULES[name].__all__) - {"__version__"}
    public = sorted(names, key=lambda public_name: (public_name.lower(), public_name))
    assert LISTED.get(name) == public, (
        f"docs/api.rst, section {name}: list exactly the names of __all__, sorted; "
        f"missing {set(public) - set(LISTED.get(name, []))}"
    )


def test_the_reference_has_no_module_that_does_not_exist():
    assert set(LISTED) == set(MODULES)
