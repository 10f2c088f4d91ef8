# SPDX-License-Identifier: BSD-3-Clause
"""WorkerTimelineDisplay: which worker ran what when."""

from typing import Any, Self

import numpy as np

from accsmbo.history import Trial
from accsmbo.inspection import as_readout
from accsmbo.plotting._matplotlib import MANY_MARKS, axes_or_new

__all__ = ["WorkerTimelineDisplay"]

BAR_HEIGHT = 0.8
# Opacity of the worst trial.
FAINTEST = 0.15
UNITS = (("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))


class WorkerTimelineDisplay:
    """One row for each worker, one bar for each fold that it ran.

    It is best made by :meth:`from_history`. Bars of a trial have one colour, the darker
    the better the trial; those of failed trials are hatched. Gaps are idle time.

    Parameters
    ----------
    bars : list of (Trial, float, Span)
        Each fold: its trial, the loss of the trial (NaN where it failed), and where
        and when it ran, in seconds since the epoch.

    Attributes
    ----------
    ax_ : matplotlib axes
        Where it was drawn.
    figure_ : matplotlib figure
        Its figure.
    bars_ : list of matplotlib patches
        One for each fold.

    See Also
    --------
    ConvergenceDisplay : The best loss against trials.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.plotting import WorkerTimelineDisplay
    >>> history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=5,
    ...                    random_state=0)
    >>> display = WorkerTimelineDisplay.from_history(history)
    >>> plt.show()
    """

    def __init__(self, bars: list[tuple[Trial, float, Any]]) -> None:
        self.bars = bars

    @classmethod
    def from_history(cls, history: Any, *, ax: Any = None) -> Self:
        """Make the display of a history.

        Parameters
        ----------
        history : History, fitted search, or path of a journal
            What was run.
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.

        Returns
        -------
        WorkerTimelineDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If ``history`` is none of these.
        ValueError
            If no trial says where it ran.
        """
        history = as_readout(history).history
        bars = [
            (trial, np.nan if e.failed else e.value, span)
            for trial, e in history
            for span in e.spans
        ]
        if not bars:
            raise ValueError(
                "history must say where its trials ran, got "
                f"{history!r}, in which no evaluation has spans. Use the history of "
                "minimize, or of a search that evaluates its candidates one by one "
                "(penalties of linear models are searched at once unless "
                "solver='evaluate')."
            )
        return cls(bars).plot(ax=ax)

    @property
    def busy(self) -> float:
        """Share of the time of all workers in which they ran a fold."""
        spans = [span for _, _, span in self.bars]
        wall = max(s.end for s in spans) - min(s.start for s in spans)
        n_workers = 1 + max(s.worker for s in spans)
        total = sum(s.end - s.start for s in spans)
        return total / (wall * n_workers) if wall > 0 else 1.0

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.

        Returns
        -------
        WorkerTimelineDisplay
            The display, with ``ax_``, ``figure_`` and ``bars_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_ = axes_or_new(ax, type(self).__name__)
        from matplotlib.colors import to_rgba

        self.figure_ = self.ax_.figure
        unit, seconds = self._unit()
        spans = [span for _, _, span in self.bars]
        losses = [loss for _, loss, _ in self.bars]
        start = min(span.start for span in spans)
        failed, many = np.isnan(losses), len(spans) > MANY_MARKS
        shades = FAINTEST + (1.0 - FAINTEST) * (1.0 - _ranks(losses))
        paper = self.ax_.get_facecolor()
        bars = self.ax_.barh(
            [span.worker for span in spans],
            [(span.end - span.start) / seconds for span in spans],
            left=[(span.start - start) / seconds for span in spans],
            height=BAR_HEIGHT,
            color=[
                "none" if bad else to_rgba("C0", alpha)
                for bad, alpha in zip(failed, shades, strict=True)
            ],
            edgecolor=["0.5" if bad else paper for bad in failed],
            hatch=["///" if bad else None for bad in failed],
            linewidth=0.0 if many else 0.5,
            rasterized=many,
        )
        self.bars_ = list(bars)
        workers = sorted({span.worker for _, _, span in self.bars})
        self.ax_.set(
            xlabel=unit,
            ylabel="worker",
            yticks=workers,
            title=f"busy {self.busy:.0%} of the time",
        )
        return self

    def _unit(self) -> tuple[str, float]:
        """Return the unit of time in which the whole run is easily read."""
        spans = [span for _, _, span in self.bars]
        wall = max(s.end for s in spans) - min(s.start for s in spans)
        return next(
            (name, length) for name, length in UNITS if wall > 3 * length or length == 1
        )


def _ranks(losses: list[float]) -> Any:
    """Return the place of each loss among the distinct ones, in [0, 1], best 0."""
    known, places = np.unique(losses, return_inverse=True)
    return places / max(len(known) - 1, 1)
