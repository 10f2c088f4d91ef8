# SPDX-License-Identifier: BSD-3-Clause
"""The examples in the docstrings of public classes and functions run as they stand."""

import doctest
import warnings

import matplotlib as mpl
import pytest

from tests.test_docstrings import CLASSES, OBJECTS

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FOUND = {
    name: test
    for name, thing in OBJECTS.items()
    for test in doctest.DocTestFinder(recurse=False).find(thing, name)
    if test.examples
}


def test_every_class_has_an_example():
    assert CLASSES.keys() <= FOUND.keys()


@pytest.mark.parametrize("name", FOUND)
def test_the_example_runs(name, tmp_path, monkeypatch):
    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    with warnings.catch_warnings():
        # plt.show() of a backend without windows.
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        result = runner.run(FOUND[name], out=report.append)
    assert result.failed == 0, "".join(report)
