# SPDX-License-Identifier: BSD-3-Clause
"""The page of a report: sections of text, tables and figures, nothing from outside."""

import time
from collections.abc import Iterator, Sequence

from accsmbo.history import Trial
from accsmbo.inspection import Surface, format_number, format_value, shorten
from accsmbo.report._figures import (
    N_BARS,
    N_DRAWN,
    contour_figures,
    convergence_figure,
    importance_figure,
    parallel_figure,
    slice_figures,
    timeline_figure,
)
from accsmbo.report._html import Markup, element
from accsmbo.report._style import STYLE
from accsmbo.report._summary import N_NUMBERS, Failures, Summary, say_status

__all__ = ["alternative", "duration", "numbers_of", "page"]

# Neither scripts nor anything from the network, whatever a journal holds.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
Section = tuple[str, str, Sequence[str]]


def page(summary: Summary, title: str, *, refresh: float | None = None) -> str:
    """Return the report as one HTML page.

    Parameters
    ----------
    summary : Summary
        What to say.
    title : str
        Heading.
    refresh : float or None, default=None
        Seconds after which a browser reloads the page; None: never.

    Returns
    -------
    str
        The whole page.
    """
    sections = list(_sections(summary))
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(STYLE)),
    ]
    if refresh is not None:
        head.append(element("meta", http_equiv="refresh", content=f"{refresh:g}"))
    links = [element("a", name, href=f"#{key}") for key, name, _ in sections]
    heading = [element("h1", title), *_status(summary)]
    body = element(
        "body",
        element("header", *heading, _facts(summary), _nav(links)),
        element("main", *(_section(*section) for section in sections)),
        _footer(refresh),
    )
    document = element("html", element("head", *head), body, lang="en")
    return f"<!DOCTYPE html>\n{document}\n"


def duration(seconds: float) -> str:
    """Return a span of time as people say it.

    Parameters
    ----------
    seconds : float
        How long.

    Returns
    -------
    str
        For example ``3.2 s``, ``4 min 10 s`` or ``2 h 5 min``.
    """
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def numbers_of(trials: Sequence[Trial]) -> str:
    """Return the numbers of some trials, the first few of many.

    Parameters
    ----------
    trials : sequence of Trial
        The trials.

    Returns
    -------
    str
        For example ``trials 3, 5, 8``.
    """
    shown = ", ".join(str(trial.number) for trial in trials[:N_NUMBERS])
    more = f", ... ({len(trials)} in all)" if len(trials) > N_NUMBERS else ""
    return f"trial{'s' if len(trials) > 1 else ''} {shown}{more}"


def _nav(links: Sequence[Markup]) -> Markup:
    return element("nav", *links, aria_label="Sections")


def _section(key: str, name: str, content: Sequence[str]) -> Markup:
    return element("section", element("h2", name), *content, id=key)


def _footer(refresh: float | None) -> Markup:
    from accsmbo import __version__

    written = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    text = f"Written {written} by accsmbo {__version__}."
    if refresh is not None:
        text += f" The journal is watched; the page reloads every {refresh:g} s."
    return element("footer", element("p", text))


def _status(summary: Summary) -> list[Markup]:
    if summary.status is None:
        return []
    kind = f"status {summary.status.state}"
    text = shorten(say_status(summary.status), 500)
    return [element("p", text, class_=kind)]


def _facts(summary: Summary) -> Markup:
    what = summary.readout.value_name.replace("_", " ")
    facts = [("Trials", summary.n_of), ("Failed", str(summary.n_failed))]
    if summary.n_partial:
        facts.append(("Partly evaluated", str(summary.n_partial)))
    if summary.best:
        facts.append((f"Best {what}", format_number(summary.best[0].value, 5)))
    route = summary.readout.history.route
    if route is not None:
        facts.append(("Solver", f"{route.solver} ({route.reason})"))
    if summary.seconds is not None:
        facts.append(("Time", duration(summary.seconds)))
    if summary.n_workers:
        facts.append(("Workers", str(summary.n_workers)))
    pairs = [
        element("div", element("dt", term), element("dd", value))
        for term, value in facts
    ]
    return element("dl", *pairs)


def _sections(summary: Summary) -> Iterator[Section]:
    if not len(summary.readout.history):
        yield "best", "Best candidates", [_quiet("No trial has finished yet.")]
        return
    yield "best", "Best candidates", _best(summary)
    yield "convergence", "Convergence", _convergence(summary)
    yield "importance", "Which parameters matter", _importance(summary)
    if summary.surfaces:
        yield "slices", "What the surrogate believes", list(_slices(summary))
    parallel = parallel_figure(summary, "parallel")
    if parallel is not None:
        note = "A line is a trial, thick for the best five, dashed where it failed."
        svg, n_axes = parallel
        width = f"min-width: {max(46, 6 * n_axes)}rem"
        figure = element("figure", svg, class_="long", style=width)
        yield (
            "trials",
            "All trials",
            [_quiet(note + _share(summary)), _scroll(figure)],
        )
    timeline = timeline_figure(summary, "timeline")
    if timeline is not None:
        note = "A bar is a fold, the stronger the better its trial; hatched: it failed."
        if summary.n_spans > N_BARS:
            note += f" The last {N_BARS} of {summary.n_spans} folds are drawn."
        yield (
            "timeline",
            "Workers",
            [_quiet(note), _grid([timeline], wide=True)],
        )
    yield "failures", "Failures", _failures(summary)


def _best(summary: Summary) -> list[Markup]:
    if not summary.best:
        return [_quiet("No trial has been evaluated in full and succeeded.")]
    names = list(dict.fromkeys(k for c in summary.best for k in c.trial.params))
    what = summary.readout.value_name.replace("_", " ")
    spread = any(candidate.spread is not None for candidate in summary.best)
    heads = ["", "trial", what, *(["± folds"] if spread else [])]
    rows = [
        element(
            "tr",
            *(element("th", h, scope="col", class_="number") for h in heads),
            *(element("th", *_breakable(name), scope="col") for name in names),
        )
    ]
    for rank, candidate in enumerate(summary.best, 1):
        numbers = [str(rank), str(candidate.trial.number)]
        numbers.append(format_number(candidate.value, 5))
        if spread:
            known = candidate.spread is not None
            numbers.append(format_number(candidate.spread or 0.0, 2) if known else "")
        values = [
            format_value(candidate.trial.params[name], 120)
            if name in candidate.trial.params
            else "-"
            for name in names
        ]
        rows.append(
            element(
                "tr",
                *(element("td", number, class_="number") for number in numbers),
                *(element("td", value) for value in values),
            )
        )
    better = "greater" if summary.readout.is_score else "smaller"
    note = f"The value is the {what}; {better} is better."
    if spread:
        note += " ± is the standard deviation over the folds."
    return [_quiet(note), _scroll(element("table", *rows))]


def _breakable(name: str) -> Iterator[str]:
    """Yield a name that a narrow column may break where scikit-learn joins names."""
    *steps, last = name.split("__")
    for step in steps:
        yield f"{step}__"
        yield element("wbr")
    yield last


def _convergence(summary: Summary) -> list[Markup]:
    note = "The line is the best value so far, circles are trials"
    note += ", crosses failed ones" if summary.n_failed else ""
    note += ", diamonds partly evaluated ones." if summary.n_partial else "."
    figure = convergence_figure(summary, "convergence")
    return [_quiet(note + _share(summary)), _grid([figure], wide=True)]


def _importance(summary: Summary) -> list[Markup]:
    if summary.importances is None:
        return [_quiet(f"There is no surrogate yet: {summary.why_no_surrogate}")]
    what = summary.readout.value_name.replace("_", " ")
    std = format_number(summary.importances.std, 2)
    note = (
        f"Shares of the variance of the surrogate's mean over the whole space ({what} "
        f"varies by {std}, a standard deviation). Lines are two standard errors of the "
        "estimate."
    )
    return [
        _quiet(note),
        _grid(
            [
                importance_figure(
                    summary.importances, summary.readout.value_name, "importance"
                )
            ],
            wide=True,
        ),
    ]


def _slices(summary: Summary) -> Iterator[Markup]:
    several = len(summary.surfaces) > 1
    resource = summary.surfaces[0].resource
    if resource is not None:
        yield _quiet(
            f"Trials with the resource {format_number(resource)} are modelled."
        )
    yield _quiet(
        "Mean and two standard deviations; the other parameters are those of the best "
        "trial (star). Circles are all trials, crosses failed ones."
    )
    for surface in summary.surfaces:
        if several:
            yield element("h3", alternative(surface))
        yield _grid(slice_figures(summary, surface, f"slice-{surface.index}"))
        contours = contour_figures(summary, surface, f"contour-{surface.index}")
        if contours:
            yield _grid(contours, wide=True)


def alternative(surface: Surface) -> str:
    """Return which alternative of the search space a surface is of."""
    constants = ", ".join(
        f"{name} = {format_value(dimension.from_unit(0.5))}"
        for name, dimension in surface.subspace.dimensions.items()
        if dimension.n_levels == 1
    )
    return f"Alternative {surface.index}" + (f": {constants}" if constants else "")


def _failures(summary: Summary) -> list[Markup]:
    if not summary.failures:
        return [_quiet("None.")]
    return [_failure(group) for group in summary.failures]


def _failure(group: Failures) -> Markup:
    first = group.trials[0]
    params = ", ".join(
        f"{shorten(name, 80)} = {format_value(value, 120)}"
        for name, value in first.params.items()
    )
    return element(
        "details",
        element(
            "summary",
            element("span", f"{len(group.trials)} x", class_="count"),
            f" {shorten(group.reason, 400)}",
        ),
        element("p", f"In {numbers_of(group.trials)}. First with {params}."),
        element("pre", _printable(group.error)),
    )


def _printable(text: str) -> str:
    """Return lines of text without characters that a browser would act on."""
    return "\n".join(shorten_line(line) for line in text.splitlines())


def shorten_line(line: str) -> str:
    """Return a line with its indent, what cannot be printed written as an escape."""
    indent = len(line) - len(line.lstrip(" "))
    return " " * min(indent, 40) + shorten(line, 2000)


def _share(summary: Summary) -> str:
    """Return a sentence that says how many trials are drawn, where not all are."""
    n = len(summary.readout.history)
    return f" {N_DRAWN} of the {n} trials are drawn." if n > N_DRAWN else ""


def _quiet(text: str) -> Markup:
    return element("p", text, class_="quiet")


def _scroll(content: Markup) -> Markup:
    return element("div", content, class_="scroll", tabindex="0")


def _grid(figures: Sequence[Markup], *, wide: bool = False) -> Markup:
    return element(
        "div",
        *(element("figure", figure) for figure in figures),
        class_="grid wide" if wide else "grid",
    )
