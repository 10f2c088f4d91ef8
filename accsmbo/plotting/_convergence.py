# SPDX-License-Identifier: BSD-3-Clause
"""ConvergenceDisplay: the best value found against the number of evaluations."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from accsmbo.history import History
from accsmbo.plotting._matplotlib import axes_or_new

__all__ = ["ConvergenceDisplay"]

FloatArray = NDArray[np.float64]

# Told apart without colour, in print and by those who do not see red and green.
LINE_STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


class ConvergenceDisplay:
    """Best value found so far against the number of evaluations.

    It is best made by :meth:`from_history`. Several runs under one name are shown as
    their median and the band between their quartiles.

    Parameters
    ----------
    curves : mapping of str to ndarray of shape (n_runs, n_evaluations)
        Best loss so far by name; NaN before the first success and after the end.
    negate : bool, default=False
        Show minus the loss: the score of a search, greater is better.
    value_name : str, default="loss"
        Label of the vertical axis.

    Attributes
    ----------
    ax_ : matplotlib axes
        Where it was drawn.
    figure_ : matplotlib figure
        Its figure.
    lines_ : list of matplotlib lines
        One for each name.

    See Also
    --------
    accsmbo.history.History : What it shows.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.plotting import ConvergenceDisplay
    >>> history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=8)
    >>> display = ConvergenceDisplay.from_history({"SMBO": history})
    >>> plt.show()
    """

    def __init__(
        self,
        curves: Mapping[str, FloatArray],
        *,
        negate: bool = False,
        value_name: str = "loss",
    ) -> None:
        self.curves = curves
        self.negate = negate
        self.value_name = value_name

    @classmethod
    def from_history(
        cls,
        histories: Any,
        *,
        ax: Any = None,
        negate: bool | None = None,
        value_name: str | None = None,
    ) -> Self:
        """Make the display of one or several runs.

        Parameters
        ----------
        histories : History, fitted search, list of them, or mapping of str to these
            A list is several runs of the same thing; a mapping names things to compare.
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.
        negate : bool, default=None
            Show minus the loss; None: where fitted searches are given.
        value_name : str, default=None
            Label of the vertical axis; None: the metric of a search, or "loss".

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If something is neither a history nor a fitted search.
        ValueError
            If there is nothing to show.
        """
        named = histories if isinstance(histories, Mapping) else {"": histories}
        runs = {name: _as_runs(given) for name, given in named.items()}
        first = next((r for given in runs.values() for r in given), None)
        if first is None:
            raise ValueError(
                "histories must hold at least one history, got none. Give a History, a "
                "fitted search, a list of them or a dict of name to these."
            )
        metric = getattr(first, "objective_metric_", None)
        display = cls(
            {
                name: _best_so_far([_history(run) for run in given])
                for name, given in runs.items()
            },
            negate=metric is not None if negate is None else negate,
            value_name=value_name or metric or "loss",
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.

        Returns
        -------
        ConvergenceDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_ = axes_or_new(ax, f"{type(self).__name__}.plot")
        self.figure_ = self.ax_.figure
        self.lines_ = [
            self._draw(i, name, curve)
            for i, (name, curve) in enumerate(self.curves.items())
        ]
        self.ax_.set(
            xlabel="Evaluations", ylabel=f"Best {self.value_name.replace('_', ' ')}"
        )
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        if any(self.curves):
            self.ax_.legend()
        return self

    def _draw(self, i: int, name: str, curve: FloatArray) -> Any:
        low, middle, high = _quartiles(-curve if self.negate else curve)
        x = np.arange(1, curve.shape[1] + 1)
        (line,) = self.ax_.plot(
            x,
            middle,
            drawstyle="steps-post",
            linestyle=LINE_STYLES[i % len(LINE_STYLES)],
            marker=MARKERS[i % len(MARKERS)],
            markevery=max(1, len(x) // 8),
            markersize=5,
            label=name or None,
        )
        if len(curve) > 1:
            self.ax_.fill_between(
                x, low, high, step="post", alpha=0.2, color=line.get_color(), lw=0
            )
        return line


def _as_runs(given: Any) -> list[Any]:
    is_several = isinstance(given, Sequence) and not isinstance(given, History)
    return list(given) if is_several else [given]


def _history(run: Any) -> History:
    history = getattr(run, "history_", run)
    if not isinstance(history, History):
        raise TypeError(
            f"histories must hold History objects or fitted searches, got {run!r} "
            f"(of type {type(run).__name__}). Give search.history_ or what minimize "
            "returns."
        )
    return history


def _best_so_far(histories: Sequence[History]) -> FloatArray:
    """Return the running minimum of each history, padded with NaN at the end."""
    curves = np.full((len(histories), max(map(len, histories), default=0)), np.nan)
    for curve, history in zip(curves, histories, strict=True):
        curve[: len(history)] = np.fmin.accumulate(history.values)
    return curves


def _quartiles(curve: FloatArray) -> FloatArray:
    """Return quartiles over the runs, shape (3, n); NaN where no run has a value."""
    quartiles = np.full((3, curve.shape[1]), np.nan)
    known = ~np.isnan(curve).all(axis=0)
    quartiles[:, known] = np.nanpercentile(curve[:, known], [25, 50, 75], axis=0)
    return quartiles
