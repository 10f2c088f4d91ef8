# SPDX-License-Identifier: BSD-3-Clause
"""HTML elements; every text and attribute is escaped unless it is Markup already.

What cannot be printed is escaped, too: an escape sequence would act on a terminal in
which the page is read, and a mark that turns the direction of writing on the page.
"""

from html import escape

__all__ = ["Markup", "element", "printable"]

VOID = ("meta", "br", "hr", "wbr")


class Markup(str):
    """Text that is HTML and not to be escaped."""

    __slots__ = ()


def element(tag: str, /, *children: str, **attributes: str) -> Markup:
    """Return an HTML element.

    Parameters
    ----------
    tag : str
        Its name.
    *children : str
        Its content: text, escaped here, or Markup.
    **attributes : str
        Attributes; ``class_`` is ``class`` and other underscores are hyphens.

    Returns
    -------
    Markup
        The element.
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(printable(value))}"'
        for key, value in attributes.items()
    )
    if tag in VOID:
        return Markup(f"<{tag}{pairs}>")
    inner = "".join(
        c if isinstance(c, Markup) else escape(printable(c)) for c in children
    )
    return Markup(f"<{tag}{pairs}>{inner}</{tag}>")


def printable(text: str) -> str:
    """Return text with what cannot be printed, but for ends of lines, as escapes."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode()
        for c in text
    )
