# SPDX-License-Identifier: BSD-3-Clause
"""Every Python block of the guide runs, page by page, in the order of the page.

``.. testsetup::`` holds what a reader does not need to see. A block with the option
``:class: not-run`` shows code of other libraries.
"""

import re
import textwrap
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    str(path.relative_to(DOCS)): path
    for folder in (".", "user_guide", "extend")
    for path in sorted((DOCS / folder).glob("*.rst"))
    if path.name != "api.rst"
}
BLOCK = re.compile(
    r"^\.\. (?:code-block:: python|testsetup::)\n((?:   :.*\n)*)\n((?:(?:   .*)?\n)+)",
    re.MULTILINE,
)


def blocks(text):
    """Yield (line number, code) of what is to be run."""
    for match in BLOCK.finditer(text):
        options, code = match.groups()
        if "not-run" not in options:
            line = text.count("\n", 0, match.start(2))
            yield line, textwrap.dedent(code)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(blocks(PAGES[p].read_text()))]
)
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "guide"}
    for line, code in blocks(PAGES[page].read_text()):
        # Empty lines put the line of the page into a traceback.
        exec(compile("\n" * line + code, PAGES[page], "exec"), names)


def test_the_blocks_are_found():
    text = ".. code-block:: python\n\n   a = 1\n\n   b = 2\n\nText.\n"
    assert list(blocks(text)) == [(2, "a = 1\n\nb = 2\n\n")]
    assert not list(blocks(text.replace("python\n", "python\n   :class: not-run\n")))
