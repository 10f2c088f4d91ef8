# SPDX-License-Identifier: BSD-3-Clause
"""The one place that imports matplotlib, with an error that says how to get it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from accsmbo.inspection import shorten

__all__ = [
    "LINE_STYLES",
    "MANY_MARKS",
    "MARKERS",
    "axes_or_new",
    "ink",
    "label",
    "panels",
    "pyplot",
    "styles",
]

# Told apart without colour, in print and by those who do not see red and green.
LINE_STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MAX_COLUMNS = 3
# Above so many marks a vector image holds them as pixels.
MANY_MARKS = 500


def axes_or_new(ax: Any, caller: str, size: tuple[float, float] | None = None) -> Any:
    """Return ``ax``, or new axes where it is None.

    Parameters
    ----------
    ax : matplotlib axes or None
        What the user gave.
    caller : str
        Named in the error.
    size : (float, float) or None, default=None
        Width and height of a new figure in inches; None: matplotlib's own.

    Returns
    -------
    matplotlib axes
        Where to draw.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    plt = pyplot(caller)
    return plt.subplots(layout="constrained", figsize=size)[1] if ax is None else ax


def pyplot(caller: str) -> Any:
    """Return ``matplotlib.pyplot``.

    Parameters
    ----------
    caller : str
        Named in the error.

    Returns
    -------
    module
        Imported.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} requires matplotlib. You can install matplotlib with "
            '`pip install "accsmbo[plot]"`.'
        ) from error
    return plt


def panels(ax: Any, sizes: Sequence[int], caller: str) -> tuple[Any, list[Any]]:
    """Return axes for several panels inside one, as scikit-learn's displays do.

    Parameters
    ----------
    ax : matplotlib axes, sequence of them, or None
        The panels, or axes whose place they take; None: a new figure.
    sizes : sequence of int
        Panels of each group; those of a group stand in one row.
    caller : str
        Named in errors.

    Returns
    -------
    bounding : matplotlib axes
        The axes whose place they took; the only panel itself where there is one, the
        first where the panels were given.
    panels : list of matplotlib axes
        Where to draw.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If there is nothing to draw or another number of axes is given.
    """
    n = sum(sizes)
    if n == 0:
        raise ValueError("there must be at least one panel to draw, got none.")
    if isinstance(ax, (list, tuple, np.ndarray)):
        given = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(given) != n:
            raise ValueError(
                f"ax must be one or {n} axes for {n} panels, got {len(given)}. Give "
                f"plt.subplots(1, {n})[1]."
            )
        return axes_or_new(given[0], caller), given
    n_columns = min(n, MAX_COLUMNS + (n > MAX_COLUMNS and max(sizes) > 1))
    places = _places(sizes, n_columns)
    n_rows = places[-1][0] + 1
    bounding = axes_or_new(ax, caller, (3.4 * n_columns, 2.8 * n_rows))
    if n == 1:
        return bounding, [bounding]
    grid = bounding.get_subplotspec().subgridspec(n_rows, n_columns)
    bounding.set_axis_off()
    return bounding, [bounding.figure.add_subplot(grid[place]) for place in places]


def _places(sizes: Sequence[int], n_columns: int) -> list[tuple[int, int]]:
    """Return row and column of each panel, groups not broken over rows."""
    places: list[tuple[int, int]] = []
    row, column = 0, 0
    for size in sizes:
        if column + size > n_columns:
            row, column = row + 1, 0
        places += [(row, column + i) for i in range(size)]
        column += size
    return places


def label(text: str, width: int = 60) -> str:
    """Return text for matplotlib: printable, of bounded length, no mathematics in it.

    Parameters
    ----------
    text : str
        Any text.
    width : int, default=60
        Longest result, before dollar signs are escaped.

    Returns
    -------
    str
        One line.
    """
    return shorten(text, width).replace("$", r"\$")


def ink() -> Any:
    """Return the colour of text: black, or what the user's style takes for it."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def styles(i: int) -> dict[str, Any]:
    """Return line style and marker of the ``i``-th line."""
    return {
        "linestyle": LINE_STYLES[i % len(LINE_STYLES)],
        "marker": MARKERS[i % len(MARKERS)],
    }
