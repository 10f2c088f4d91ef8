# SPDX-License-Identifier: BSD-3-Clause
"""ParallelCoordinatesDisplay: one line a trial, through all its parameters."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from accsmbo.history import History
from accsmbo.inspection import (
    as_readout,
    format_number,
    is_complete,
    space_of,
    tick_labels,
)
from accsmbo.plotting._matplotlib import MANY_MARKS, axes_or_new, ink, label
from accsmbo.space import Categorical, Dimension, Integer, Real

__all__ = ["ParallelCoordinatesDisplay"]

FloatArray = NDArray[np.float64]

# Where a line passes the axis of a parameter that the trial does not have.
ABSENT = -0.12
# Above so many characters on one side of its axis a name is turned.
TURN = 14
# Opacity of the worst trial.
FAINTEST = 0.2


class ParallelCoordinatesDisplay:
    """One vertical axis a parameter, one line a trial, the value on the last axis.

    It is best made by :meth:`from_history`. The best trials are thick, the others
    fainter the worse they are; failed ones are dashed and end before the last axis. A
    trial passes below the axis of a parameter that it does not have.

    Parameters
    ----------
    names : sequence of str
        Parameters, from the left.
    dimensions : sequence of Dimension
        Their dimensions.
    coordinates : ndarray of shape (n_trials, n_names)
        Coordinates in the unit cube, NaN where a trial lacks the parameter.
    values : ndarray of shape (n_trials,)
        Losses or scores, NaN where the trial failed.
    complete : ndarray of bool of shape (n_trials,), default=None
        Which trials had all folds and all of the resource; others do not stand out.
        None: all.
    is_score : bool, default=False
        Whether greater values are better.
    value_name : str, default="loss"
        What the values are.
    n_best : int, default=5
        How many trials stand out.

    Attributes
    ----------
    ax_ : matplotlib axes
        Where it was drawn.
    figure_ : matplotlib figure
        Its figure.
    lines_ : list of matplotlib lines
        One for each trial.

    See Also
    --------
    SurrogateDisplay : How the loss depends on one or two parameters.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.plotting import ParallelCoordinatesDisplay
    >>> history = minimize(lambda p: p["x"] ** 2 + p["y"], n_trials=12, random_state=0,
    ...                    space={"x": Real(-1, 2), "y": Real(0, 1)})
    >>> display = ParallelCoordinatesDisplay.from_history(history)
    >>> len(display.lines_)
    12
    >>> plt.show()
    """

    def __init__(
        self,
        names: Sequence[str],
        dimensions: Sequence[Dimension],
        coordinates: FloatArray,
        values: FloatArray,
        *,
        complete: NDArray[np.bool_] | None = None,
        is_score: bool = False,
        value_name: str = "loss",
        n_best: int = 5,
    ) -> None:
        self.names = names
        self.dimensions = dimensions
        self.coordinates = coordinates
        self.values = values
        self.complete = complete
        self.is_score = is_score
        self.value_name = value_name
        self.n_best = n_best

    @classmethod
    def from_history(
        cls,
        history: Any,
        parameters: Sequence[str] | None = None,
        *,
        n_best: int = 5,
        ax: Any = None,
    ) -> Self:
        """Draw the trials of a history.

        Parameters
        ----------
        history : History, fitted search, or path of a journal
            What was observed.
        parameters : sequence of str, default=None
            Parameters to show, from the left; None: all that vary.
        n_best : int, default=5
            How many trials stand out.
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.

        Returns
        -------
        ParallelCoordinatesDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If ``history`` is none of these.
        ValueError
            If a parameter is unknown, or there is none that varies.
        """
        readout = as_readout(history)
        dimensions = _dimensions(readout.history)
        names = list(dimensions) if parameters is None else list(parameters)
        unknown = [name for name in names if name not in dimensions]
        if unknown or not names:
            raise ValueError(
                f"parameters must be among {list(dimensions)}, which vary, got "
                f"{unknown or names}. Choose from these."
            )
        chosen = [dimensions[name] for name in names]
        display = cls(
            names,
            chosen,
            _coordinates(readout.history, names, chosen),
            readout.sign * readout.history.values,
            complete=is_complete(readout.history),
            is_score=readout.is_score,
            value_name=readout.value_name,
            n_best=n_best,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the axes and the lines.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.

        Returns
        -------
        ParallelCoordinatesDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        n = len(self.names)
        size = (max(6.4, 1.5 + 1.1 * (n + 1)), 4.8)
        self.ax_ = axes_or_new(ax, f"{type(self).__name__}.plot", size)
        self.figure_ = self.ax_.figure
        self._draw_lines()
        for j, dimension in enumerate(self.dimensions):
            self._draw_axis(j, *tick_labels(dimension))
        self._draw_axis(n, *self._value_ticks())
        what = self.value_name.replace("_", " ")
        names = [label(name, 28) for name in self.names]
        turned = max(map(len, names)) > TURN
        self.ax_.set(
            xticks=range(n + 1), yticks=[], xlim=(-0.15, n + 0.55), ylim=(-0.2, 1.05)
        )
        self.ax_.set_xticklabels(
            [*names, label(what, 28)],
            **({"rotation": 25, "ha": "right"} if turned else {}),
        )
        self.ax_.spines[:].set_visible(False)
        self.ax_.tick_params(length=0)
        return self

    def _draw_lines(self) -> None:
        n = len(self.names)
        losses = -self.values if self.is_score else self.values
        failed = np.isnan(losses)
        ranks = rankdata(losses, method="min", nan_policy="omit")
        shades = np.where(failed, 1.0, (ranks - 1) / max(1, np.sum(~failed) - 1))
        may_win = ~failed if self.complete is None else ~failed & self.complete
        best = np.sort(losses[may_win])[: self.n_best]
        heights = _scaled(self.values)
        absent = np.isnan(self.coordinates)
        points = np.where(absent, ABSENT, self.coordinates)
        self.lines_ = []
        for i in range(len(points)):
            stands_out = may_win[i] and losses[i] in best
            y = [*points[i], np.nan if failed[i] else heights[i]]
            (line,) = self.ax_.plot(
                range(n + 1),
                y,
                color="C0" if stands_out else ink(),
                linewidth=2.4 if stands_out else 0.9,
                alpha=FAINTEST + (1.0 - FAINTEST) * (1.0 - shades[i]) ** 2,
                linestyle="--" if failed[i] else "-",
                zorder=2 + (1 - shades[i]) / 2,
                marker="x" if failed[i] else None,
                markersize=4,
                rasterized=len(points) > MANY_MARKS,
            )
            self.lines_.append(line)
        if absent.any():
            self.ax_.text(
                n + 0.06, ABSENT, "not used", va="center", fontsize="small", color=ink()
            )

    def _draw_axis(self, j: int, positions: FloatArray, labels: list[str]) -> None:
        self.ax_.plot([j, j], [0, 1], color=ink(), linewidth=1.0, zorder=3)
        for u, text in zip(positions, labels, strict=True):
            self.ax_.plot([j, j + 0.04], [u, u], color=ink(), linewidth=1.0, zorder=3)
            self.ax_.annotate(
                label(text, 16),
                (j + 0.06, u),
                va="center",
                fontsize="small",
                zorder=4,
                bbox={
                    "boxstyle": "round,pad=0.1",
                    "facecolor": self.ax_.get_facecolor(),
                    "edgecolor": "none",
                    "alpha": 0.75,
                },
            )

    def _value_ticks(self) -> tuple[FloatArray, list[str]]:
        known = self.values[np.isfinite(self.values)]
        if not len(known):
            return np.zeros(0), []
        positions = np.linspace(0.0, 1.0, 5 if np.ptp(known) > 0 else 1)
        values = known.min() + positions * np.ptp(known)
        return positions, [format_number(float(v), 3) for v in values]


def _dimensions(history: History) -> dict[str, Dimension]:
    """Return one dimension for each parameter that varies in some subspace."""
    subspaces = space_of(history).subspaces
    varied = dict.fromkeys(name for s in subspaces for name in s.names)
    return {
        name: _union([s.dimensions[name] for s in subspaces if name in s.dimensions])
        for name in varied
    }


def _union(dimensions: Sequence[Dimension]) -> Dimension:
    """Return a dimension that holds the values of several, as far as there is one."""
    distinct = list(dict.fromkeys(dimensions))
    if len(distinct) == 1:
        return distinct[0]
    if all(isinstance(d, Categorical) for d in distinct):
        return Categorical([value for d in distinct for value in d.values()])
    if all(isinstance(d, (Real, Integer)) for d in distinct):
        numeric: list[Any] = distinct
        low, high = min(d.low for d in numeric), max(d.high for d in numeric)
        return Real(low, high, log=all(d.log for d in numeric))
    return max(distinct, key=lambda d: d.n_levels != 1)


def _coordinates(
    history: History, names: Sequence[str], dimensions: Sequence[Dimension]
) -> FloatArray:
    """Return the coordinate of each trial on each axis, NaN where it is not on it."""
    table = np.full((len(history), len(names)), np.nan)
    for row, trial in zip(table, history.trials, strict=True):
        for j, (name, dimension) in enumerate(zip(names, dimensions, strict=True)):
            if name in trial.params:
                try:
                    row[j] = dimension.to_unit(trial.params[name])
                except (TypeError, ValueError):
                    # Another alternative has values that this axis does not show.
                    row[j] = np.nan
    return table


def _scaled(values: FloatArray) -> FloatArray:
    known = values[np.isfinite(values)]
    width = np.ptp(known) if len(known) else 0.0
    return (values - known.min()) / width if width > 0 else np.zeros_like(values)
