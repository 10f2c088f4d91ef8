# SPDX-License-Identifier: BSD-3-Clause
"""describe: a search told in lines of plain text, as wide as the terminal."""

import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo.inspection import format_number, format_value, is_complete, shorten
from accsmbo.report._charts import ASCII_LEVELS, LEVELS, slice_lines, worker_lines
from accsmbo.report._page import alternative, duration, numbers_of
from accsmbo.report._summary import (
    Summary,
    read_study,
    say_status,
    summarize,
    title_of,
)

__all__ = ["describe"]

FloatArray = NDArray[np.float64]

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
CHART_ROWS = 8
MAX_CHART = 72
N_PARAMETERS = 12


def describe(
    history: Any,
    *,
    width: int = 80,
    styled: bool = False,
    unicode: bool = True,
    title: str | None = None,
) -> str:
    """Return a report of a search as text.

    It has the best candidates, the convergence, the importance of the parameters, what
    the surrogate believes of them, how busy the workers were, the failures, and for a
    journal whether the search is running or why it ended. What cannot be printed is
    written as an escape, so that nothing in a journal reaches a terminal as a command.

    Parameters
    ----------
    history : History, fitted search, or path of a journal
        What to report.
    width : int, default=80
        Characters in a line, at least 40.
    styled : bool, default=False
        Print headings bold, for a terminal.
    unicode : bool, default=True
        Use characters beyond ASCII.
    title : str, default=None
        First line; None: the name of the journal.

    Returns
    -------
    str
        Lines of at most ``width`` characters.

    Raises
    ------
    TypeError
        If ``history`` is none of these.
    OSError
        If the file cannot be read.
    ValueError
        If the journal is none, of a newer format or damaged.

    Examples
    --------
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.report import describe
    >>> history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=8)
    >>> describe(history).startswith("History: 8 trials")
    True
    """
    width = max(40, width)
    summary = summarize(*read_study(history))
    name = title_of(history, title)
    lines: list[str] = []
    for heading, content in _sections(summary, name, width):
        lines += [""] if lines else []
        lines.append(f"{BOLD}{heading}{PLAIN}" if styled else heading)
        lines += content
    text = "\n".join(lines) + "\n"
    return text if unicode else _ascii(text)


def _ascii(text: str) -> str:
    plain = text.translate(str.maketrans(LEVELS, ASCII_LEVELS))
    plain = plain.replace("…", "~").replace("±", "+-")
    return plain.encode("ascii", "backslashreplace").decode()


def _heading(summary: Summary, name: str, width: int) -> tuple[str, list[str]]:
    facts = [f"{summary.n_of} trial{'s' if summary.n_of != '1' else ''}"]
    if summary.n_failed:
        facts.append(f"{summary.n_failed} failed")
    if summary.n_partial:
        facts.append(f"{summary.n_partial} partly evaluated")
    if summary.seconds is not None:
        facts.append(duration(summary.seconds))
    if summary.n_workers > 1:
        facts.append(f"{summary.n_workers} workers")
    heading, *more = _wrap(f"{shorten(name, 200)}: {', '.join(facts)}", width)
    if summary.status is not None:
        status = shorten(say_status(summary.status), 500)
        more += _wrap(status, width, "  ", "  ")
    return heading, more


def _sections(
    summary: Summary, name: str, width: int
) -> Iterator[tuple[str, list[str]]]:
    yield _heading(summary, name, width)
    if not len(summary.readout.history):
        return
    what = summary.readout.value_name.replace("_", " ")
    better = "greater" if summary.readout.is_score else "smaller"
    yield f"Best {shorten(what, 30)} ({better} is better)", _best(summary, width)
    if summary.best:
        yield "Convergence", _convergence(summary, width)
    yield "Importance", _importance(summary, width)
    if summary.surfaces:
        yield "What the surrogate believes", list(_slices(summary, width))
    spans = [span for e in summary.readout.history.evaluations for span in e.spans]
    if spans:
        yield "Workers", worker_lines(spans, width)
    if summary.failures:
        yield "Failures", _failures(summary, width)


def _wrap(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest) or [
        first
    ]


def _best(summary: Summary, width: int) -> list[str]:
    if not summary.best:
        return ["  none: no trial has been evaluated in full and succeeded"]
    values = [format_number(candidate.value, 5) for candidate in summary.best]
    spreads = [
        "" if c.spread is None else f" ± {format_number(c.spread, 2)}"
        for c in summary.best
    ]
    left = max(len(value) for value in values)
    middle = max(len(spread) for spread in spreads)
    lines = []
    for candidate, value, spread in zip(summary.best, values, spreads, strict=True):
        params = ", ".join(
            f"{shorten(name, 50)}={format_value(choice)}"
            for name, choice in candidate.trial.params.items()
        )
        head = f"  {value:>{left}}{spread:<{middle}}  "
        text = f"trial {candidate.trial.number}: {params}"
        lines += _wrap(text, width, head, " " * min(len(head), width // 3))
    return lines


def _convergence(summary: Summary, width: int) -> list[str]:
    readout = summary.readout
    losses = np.where(is_complete(readout.history), readout.history.values, np.nan)
    curve = np.fmin.accumulate(losses)
    low, high = float(np.nanmin(curve)), float(np.nanmax(curve))
    top, bottom = (-low, -high) if readout.is_score else (high, low)
    labels = [format_number(top, 5), format_number(bottom, 5)]
    margin = max(len(label) for label in labels)
    n_columns = min(MAX_CHART, width - margin - 5, len(curve))
    edges = np.linspace(0, len(curve) - 1, n_columns).round().astype(int)
    # 0 is the bottom row; a flat curve stands on it.
    heights = (curve[edges] - low) / (high - low) if high > low else 0.0 * curve[edges]
    if readout.is_score and high > low:
        heights = 1.0 - heights
    rows = np.where(np.isnan(heights), -1, np.round(heights * (CHART_ROWS - 1)))
    lines = []
    for row in range(CHART_ROWS - 1, -1, -1) if high > low else [0]:
        label = labels[0] if row == CHART_ROWS - 1 else labels[1] if row == 0 else ""
        dots = "".join("█" if r == row else " " for r in rows)
        lines.append(f"  {label:>{margin}} |{dots}".rstrip())
    first, last = "trial 1", str(len(curve))
    gap = n_columns - len(first) - len(last)
    foot = first + " " * gap + last if gap > 0 else f"trials 1 to {last}"
    return [*lines, f"  {'':>{margin}}  {foot}"]


def _importance(summary: Summary, width: int) -> list[str]:
    found = summary.importances
    if found is None:
        return _wrap(f"no surrogate yet: {summary.why_no_surrogate}", width, "  ", "  ")
    names = [shorten(name, max(16, width // 3)) for name in found.names[:N_PARAMETERS]]
    left = max(len(name) for name in names)
    space = max(5, min(40, width - left - 18))
    lines = [f"  {'':{left}}  alone  total"]
    for i, name in enumerate(names):
        bar = "█" * round(space * min(1.0, float(found.total[i])))
        first, total = f"{found.first_order[i]:.0%}", f"{found.total[i]:.0%}"
        lines.append(f"  {name:{left}}  {first:>5}  {total:>5}  {bar}".rstrip())
    hidden = len(found.names) - len(names)
    return lines + ([f"  ... and {hidden} more"] if hidden else [])


def _slices(summary: Summary, width: int) -> Iterator[str]:
    what = shorten(summary.readout.value_name.replace("_", " "), 30)
    text = f"mean of the {what} along a parameter, the others as in the best trial"
    yield from _wrap(text, width, "  ", "  ")
    for surface in summary.surfaces:
        if len(summary.surfaces) > 1:
            yield from _wrap(shorten(alternative(surface), 300), width, "  ", "    ")
        yield from slice_lines(summary, surface, width)


def _failures(summary: Summary, width: int) -> list[str]:
    lines = []
    for group in summary.failures:
        text = f"{len(group.trials)} x {shorten(group.reason, 300)}"
        lines += _wrap(f"{text} ({numbers_of(group.trials)})", width, "  ", "      ")
    return lines
