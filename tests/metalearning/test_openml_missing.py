# SPDX-License-Identifier: BSD-3-Clause
"""EmpiricalDensity.from_openml without the openml package."""

import sys

import pytest

from accsmbo import Real
from accsmbo.metalearning import EmpiricalDensity


def test_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "openml", None)
    with pytest.raises(ImportError, match=r'pip install "accsmbo\[openml\]"'):
        EmpiricalDensity.from_openml(8353, [3], {"C": Real(0.1, 1.0)})
