# SPDX-License-Identifier: BSD-3-Clause
"""Figures of a report: displays as inline SVG that takes the colours of the page."""

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from accsmbo.history import History
from accsmbo.inspection import (
    ALTERNATIVE,
    Importances,
    Slice,
    Surface,
    contour_at,
    is_complete,
    slice_at,
)
from accsmbo.plotting import (
    STD,
    ConvergenceDisplay,
    ParallelCoordinatesDisplay,
    ParameterImportanceDisplay,
    SurrogateDisplay,
    WorkerTimelineDisplay,
    draw_contour,
    ink,
    label,
    pyplot,
    slice_limits,
)
from accsmbo.report._html import Markup, printable
from accsmbo.report._style import INK, PAPER
from accsmbo.report._summary import Summary

__all__ = [
    "N_BARS",
    "N_DRAWN",
    "contour_figures",
    "convergence_figure",
    "importance_figure",
    "important",
    "parallel_figure",
    "slice_figures",
    "timeline_figure",
]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
N_SLICES = 9
N_IMPORTANT = 12
# At most so many trials are drawn: more hide each other and make the page heavy.
N_DRAWN = 300
# At most so many folds are drawn, the last: a bar of more is thinner than a pixel.
N_BARS = 1000
RC = {
    "axes.edgecolor": INK,
    "axes.facecolor": PAPER,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "figure.facecolor": "none",
    "font.size": 9.0,
    "hatch.linewidth": 0.6,
    "legend.framealpha": 0.6,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "accsmbo",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.8,
    "axes.prop_cycle": "cycler('color', ['3b82c4', 'd9822b', '3f9d5a', 'b45ab4'])",
}


def convergence_figure(summary: Summary, name: str) -> Markup:
    """Return the best value so far, with the value of each trial."""

    def draw(ax: Any) -> None:
        readout = summary.readout
        display = ConvergenceDisplay.from_history(
            readout.history,
            ax=ax,
            negate=readout.is_score,
            value_name=readout.value_name,
        )
        rows = drawn(readout.history.values)
        values = readout.sign * readout.history.values[rows]
        complete, failed = is_complete(readout.history)[rows], np.isnan(values)
        for kind, marker in ((complete, "o"), (~complete, "d")):
            ax.scatter(
                rows[kind] + 1,
                values[kind],
                s=12,
                marker=marker,
                facecolors="none",
                edgecolors=ink(),
                alpha=0.6,
                linewidths=0.7,
            )
        ax.scatter(
            rows[failed] + 1,
            np.full(failed.sum(), 0.03),
            s=16,
            marker="x",
            color=ink(),
            transform=ax.get_xaxis_transform(),
            linewidths=0.9,
        )
        _hide_outliers(display.ax_, values[~failed], readout.is_score)

    return _svg(draw, (5.2, 3.2), name, "Best value against the number of trials")


def importance_figure(found: Importances, value_name: str, name: str) -> Markup:
    """Return the importance of the parameters."""
    display = ParameterImportanceDisplay(
        found, n_largest=N_IMPORTANT, value_name=value_name
    )
    height = 1.1 + 0.32 * min(N_IMPORTANT, len(found.names))
    return _svg(display.plot, (5.2, height), name, "Importance of the parameters")


def slice_figures(summary: Summary, surface: Surface, name: str) -> list[Markup]:
    """Return a slice along each of the most important parameters, on one scale."""
    surface = _thinned(surface)
    centre = surface.U[surface.best]
    slices = [slice_at(surface, centre, j) for j in important(summary, surface)]
    limits = slice_limits(slices)
    return [
        _slice_figure(summary, one, limits, f"{name}-{i}")
        for i, one in enumerate(slices)
    ]


def contour_figures(summary: Summary, surface: Surface, name: str) -> list[Markup]:
    """Return mean and uncertainty over the two most important parameters."""
    pair = important(summary, surface)[:2]
    if len(pair) < 2:
        return []
    surface = _thinned(surface)
    both = contour_at(surface, surface.U[surface.best], *pair)
    over = " and ".join(both.names)
    mean = f"mean {label(summary.readout.value_name.replace('_', ' '), 24)}"
    return [
        _svg(
            partial(draw_contour, both=both, values=values, title=title),
            (4.2, 3.2),
            f"{name}-{i}",
            f"{title} over {over}",
        )
        for i, (title, values) in enumerate([(mean, both.mean), (STD, both.std)])
    ]


def parallel_figure(summary: Summary, name: str) -> tuple[Markup, int] | None:
    """Return all trials through the most important parameters, and how many."""
    whole = summary.readout.history
    history = History(whole.space)
    history.metric = whole.metric
    for row in drawn(whole.values):
        history.append(*whole[row])
    names = _ranked(summary)[:N_IMPORTANT] or None
    draw = partial(_draw_parallel, history, names)
    n = N_IMPORTANT if names is None else len(names)
    try:
        return _svg(draw, (max(8.4, 1.2 * (n + 1)), 3.8), name, "All trials"), n
    except ValueError:
        return None


def _draw_parallel(history: History, names: Sequence[str] | None, ax: Any) -> None:
    ParallelCoordinatesDisplay.from_history(history, names, ax=ax)


def _ranked(summary: Summary) -> list[str]:
    """Return the parameters, the most important first; none without a surrogate."""
    found = summary.importances
    return [name for name in found.names if name != ALTERNATIVE] if found else []


def drawn(losses: FloatArray) -> IndexArray:
    """Return which trials are drawn: all, or of many the best and an even choice.

    Parameters
    ----------
    losses : ndarray of shape (n,)
        Losses, NaN where a trial failed.

    Returns
    -------
    ndarray of int of shape (min(n, N_DRAWN),)
        Their rows, ascending.
    """
    n = len(losses)
    if n <= N_DRAWN:
        return np.arange(n)
    order = np.argsort(losses, kind="stable")
    best, rest = order[: N_DRAWN // 3], np.sort(order[N_DRAWN // 3 :])
    even = np.linspace(0, len(rest) - 1, N_DRAWN - len(best)).round().astype(int)
    return np.sort(np.concatenate([best, rest[even]]))


def _thinned(surface: Surface) -> Surface:
    rows = drawn(surface.sign * surface.values)
    return replace(surface, U=surface.U[rows], values=surface.values[rows])


def timeline_figure(summary: Summary, name: str) -> Markup | None:
    """Return who ran what when, None where it is not known."""
    if not summary.n_workers:
        return None

    bars = [
        (trial, np.nan if e.value is None or e.failed else e.value, span)
        for trial, e in summary.readout.history
        for span in e.spans
    ]
    bars = sorted(bars, key=lambda bar: bar[2].end)[-N_BARS:]

    def draw(ax: Any) -> None:
        WorkerTimelineDisplay(bars).plot(ax)

    height = 1.2 + 0.25 * min(24, summary.n_workers)
    return _svg(draw, (5.2, max(2.0, height)), name, "Timeline of the workers")


def important(summary: Summary, surface: Surface) -> list[int]:
    """Return coordinates of a surface, the most important parameter first."""
    names = surface.subspace.names
    ranked = _ranked(summary)
    return [names.index(name) for name in ranked if name in names][:N_SLICES]


def _slice_figure(
    summary: Summary, one: Slice, limits: tuple[float | None, float | None], name: str
) -> Markup:
    def draw(ax: Any) -> None:
        SurrogateDisplay([one], value_name=summary.readout.value_name).plot(ax)
        ax.set_ylim(*limits)

    return _svg(draw, (3.3, 2.5), name, f"Slice along {one.name}")


def _hide_outliers(ax: Any, values: Any, is_score: bool) -> None:
    """Leave values far on the bad side out of the picture: they flatten the rest."""
    if len(values) < 4:
        return
    low, high = np.percentile(values, [25, 75])
    fence = 3.0 * (high - low)
    if is_score and values.min() < low - fence < low:
        ax.set_ylim(bottom=low - fence)
    elif not is_score and values.max() > high + fence > high:
        ax.set_ylim(top=high + fence)


def _svg(
    draw: Callable[[Any], object], size: tuple[float, float], name: str, title: str
) -> Markup:
    """Draw on new axes and return the figure as an SVG element."""
    style = pyplot("write_report").style
    from matplotlib.figure import Figure

    with style.context(["default", RC]), warnings.catch_warnings():
        # A glyph that the font lacks is drawn by the browser's.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return _page_svg(file.getvalue(), name, title)


def _page_svg(text: str, name: str, title: str) -> Markup:
    """Return an SVG with ids of its own, the page's colours, a title and no size."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)
    for node in root.iter():
        for key, value in list(node.attrib.items()):
            node.set(key, _attribute(key, value, name))
    for key in ("width", "height"):
        root.attrib.pop(key)
    root.set("role", "img")
    described = ElementTree.Element(f"{{{SVG}}}title")
    described.text = printable(title)
    root.insert(0, described)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _attribute(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == f"{{{XLINK}}}href" and value.startswith("#"):
        return f"#{name}-{value[1:]}"
    value = value.replace("url(#", f"url(#{name}-")
    return value.replace(INK, "currentColor").replace(PAPER, "var(--paper)")
