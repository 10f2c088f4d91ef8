# SPDX-License-Identifier: BSD-3-Clause
"""The one place that imports matplotlib, with an error that says how to get it."""

from typing import Any

__all__ = ["axes_or_new"]


def axes_or_new(ax: Any, caller: str) -> Any:
    """Return ``ax``, or new axes where it is None.

    Parameters
    ----------
    ax : matplotlib axes or None
        What the user gave.
    caller : str
        Named in the error.

    Returns
    -------
    matplotlib axes
        Where to draw.

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
    if ax is not None:
        return ax
    return plt.subplots(layout="constrained")[1]
