# SPDX-License-Identifier: BSD-3-Clause
"""Charts of characters: what the surrogate believes, and when the workers ran."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from accsmbo.history import Span
from accsmbo.inspection import (
    Slice,
    Surface,
    format_number,
    format_value,
    shorten,
    slice_at,
)
from accsmbo.report._figures import important
from accsmbo.report._summary import Summary

__all__ = ["ASCII_LEVELS", "LEVELS", "slice_lines", "worker_lines"]

FloatArray = NDArray[np.float64]

LEVELS = "▁▂▃▄▅▆▇█"
ASCII_LEVELS = "_.-=+*%#"
MAX_COLUMNS = 40
N_WORKERS = 24


def slice_lines(summary: Summary, surface: Surface, width: int) -> list[str]:
    """Return the surrogate's mean along each of the most important parameters.

    Parameters
    ----------
    summary : Summary
        What the surface is of.
    surface : Surface
        A fitted surrogate; the other parameters are those of its best trial.
    width : int
        Characters in a line, at least 40.

    Returns
    -------
    list of str
        A line for each parameter, all on one scale, and one that says which.
    """
    centre = surface.U[surface.best]
    slices = [slice_at(surface, centre, j) for j in important(summary, surface)]
    names = [shorten(one.name, max(10, width // 4)) for one in slices]
    ends = [
        [format_value(one.dimension.from_unit(u), 9) for u in one.u[[0, -1]]]
        for one in slices
    ]
    left = max(map(len, names))
    margins = [max(len(pair[k]) for pair in ends) for k in (0, 1)]
    n_columns = min(MAX_COLUMNS, width - left - sum(margins) - 6)
    low = min(float(one.mean.min()) for one in slices)
    high = max(float(one.mean.max()) for one in slices)
    bars = [_line(one, low, high, n_columns) for one in slices]
    lines = [
        f"  {name:{left}}  {first:>{margins[0]}} {bar} {last}"
        for name, (first, last), bar in zip(names, ends, bars, strict=True)
    ]
    scale = (
        f"{LEVELS[0]} is {format_number(low)}, {LEVELS[-1]} is {format_number(high)}"
    )
    return [*lines, f"  {scale}"]


def _line(one: Slice, low: float, high: float, n_columns: int) -> str:
    n_columns = min(n_columns, len(one.u))
    picked = np.linspace(0, len(one.u) - 1, n_columns).round().astype(int)
    span = high - low if high > low else 1.0
    return _bars((one.mean[picked] - low) / span)


def _bars(shares: FloatArray) -> str:
    """Return a character for each number in [0, 1]."""
    places = np.clip(shares * (len(LEVELS) - 1), 0, len(LEVELS) - 1).round().astype(int)
    return "".join(LEVELS[place] for place in places)


def worker_lines(spans: Iterable[Span], width: int) -> list[str]:
    """Return how busy each worker was from the first fold to the last.

    Parameters
    ----------
    spans : iterable of Span
        Who ran what when, at least one.
    width : int
        Characters in a line.

    Returns
    -------
    list of str
        A line for each worker; blank where it waited.
    """
    spans = list(spans)
    who = np.array([span.worker for span in spans])
    starts = np.array([span.start for span in spans])
    lengths = np.array([span.end for span in spans]) - starts
    starts -= starts.min()
    wall = float((starts + lengths).max()) or 1.0
    workers = np.unique(who)
    edges = np.linspace(0.0, wall, min(MAX_COLUMNS, width - 16) + 1)
    lines = []
    for worker in workers[:N_WORKERS]:
        begins, own = starts[who == worker], lengths[who == worker]
        # What it had done by each edge.
        done = [np.clip(edge - begins, 0.0, own.clip(0.0)).sum() for edge in edges]
        shares = np.diff(done) / np.diff(edges)
        busy = min(1.0, float(own.sum() / wall))
        bars = zip(_bars(shares), shares, strict=True)
        chart = "".join(bar if share > 0 else " " for bar, share in bars)
        lines.append(f"  {worker:>4}  {busy:>4.0%}  {chart}".rstrip())
    hidden = len(workers) - len(lines)
    return lines + ([f"  ... and {hidden} more"] if hidden else [])
