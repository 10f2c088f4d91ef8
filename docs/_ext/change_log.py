# SPDX-License-Identifier: BSD-3-Clause
"""The change log, from Markdown to reStructuredText."""

import re

UNDERLINES = {1: "=", 2: "=", 3: "-"}


def change_log_page(markdown: str) -> str:
    """Turn headings, code and links; lists and paragraphs are the same in both."""
    lines = []
    for line in markdown.replace("# Change log", "# What's new", 1).splitlines():
        heading = re.match(r"(#+) (.*)", line)
        if heading:
            title = literals(heading[2])
            rule = UNDERLINES[len(heading[1])] * len(title)
            lines += [rule, title, rule] if len(heading[1]) == 1 else [title, rule]
        else:
            lines.append(literals(line))
    return ".. _whats_new:\n\n" + "\n".join(lines) + "\n"


def literals(text: str) -> str:
    """Double the quotes of code; Markdown's links become reStructuredText's."""
    text = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)
    return re.sub(r"\[([^]]+)\]\(([^)]+)\)", r"`\1 <\2>`__", text)
