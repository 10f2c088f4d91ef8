# SPDX-License-Identifier: BSD-3-Clause
"""WorkerTimelineDisplay: which worker ran what when."""

from typing import Any, Self

import numpy as np

from accsmbo.history import History, Trial
from accsmbo.plotting._matplotlib import axes_or_new

__all__ = ["WorkerTimelineDisplay"]

BAR_HEIGHT = 0.8


class WorkerTimelineDisplay:
    """One row for each worker, one bar for each fold that it ran.

    It is best made by :meth:`from_history`. Bars of a trial have one colour, by the
    trial's loss; those of failed trials are hatched. Gaps are idle time.

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
    ConvergenceDisplay : The best loss against trials or time.

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
    def from_history(cls, history: History, *, ax: Any = None) -> Self:
        """Make the display of a history.

        Parameters
        ----------
        history : History
            Of a search or of :func:`~accsmbo.minimize`, or loaded from a journal.
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.

        Returns
        -------
        WorkerTimelineDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If no trial says where it ran.
        """
        bars = [
            (trial, np.nan if e.value is None else e.value, span)
            for trial, e in history
            for span in e.spans
        ]
        if not bars:
            raise ValueError(
                "history must say where its trials ran, got "
                f"{history!r}, in which no evaluation has spans. Use the history of a "
                "search or of minimize."
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
        from matplotlib import colormaps

        self.figure_ = self.ax_.figure
        start = min(span.start for _, _, span in self.bars)
        colours = colormaps["viridis_r"](_ranks([loss for _, loss, _ in self.bars]))
        self.bars_ = [
            self.ax_.barh(
                span.worker,
                span.end - span.start,
                left=span.start - start,
                height=BAR_HEIGHT,
                color=colour,
                edgecolor="white",
                linewidth=0.5,
                hatch="///" if np.isnan(loss) else None,
            )[0]
            for (_, loss, span), colour in zip(self.bars, colours, strict=True)
        ]
        workers = sorted({span.worker for _, _, span in self.bars})
        self.ax_.set(
            xlabel="seconds",
            ylabel="worker",
            yticks=workers,
            title=f"busy {self.busy:.0%} of the time",
        )
        return self


def _ranks(losses: list[float]) -> Any:
    """Return the place of each loss among the distinct ones, in [0, 1], best 0."""
    known, places = np.unique(losses, return_inverse=True)
    return places / max(len(known) - 1, 1)
