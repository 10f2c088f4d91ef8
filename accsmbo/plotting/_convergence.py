# SPDX-License-Identifier: BSD-3-Clause
"""ConvergenceDisplay: the best value found against the number of evaluations."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from accsmbo.history import History
from accsmbo.inspection import as_readout, is_complete, is_readable
from accsmbo.plotting._matplotlib import axes_or_new, label, styles

__all__ = ["ConvergenceDisplay"]

FloatArray = NDArray[np.float64]


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
        histories : History, fitted search, path, list of them, or mapping to these
            A path is that of a journal. A list is several runs of the same thing; a
            mapping of str names things to compare.
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.
        negate : bool, default=None
            Show minus the loss; None: where the first run is that of a search.
        value_name : str, default=None
            Label of the vertical axis; None: the metric of a search, or "loss".

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If something is neither a history, a fitted search nor a path.
        ValueError
            If there is nothing to show, or a file is no journal.
        """
        named = histories if isinstance(histories, Mapping) else {"": histories}
        runs = {
            str(name): [as_readout(run, "histories") for run in _as_runs(given)]
            for name, given in named.items()
        }
        first = next((run for given in runs.values() for run in given), None)
        if first is None:
            raise ValueError(
                "histories must hold at least one history, got none. Give a History, a "
                "fitted search, a path, a list of them or a dict of name to these."
            )
        display = cls(
            {
                name: _best_so_far([run.history for run in given])
                for name, given in runs.items()
            },
            negate=first.is_score if negate is None else negate,
            value_name=value_name or first.value_name,
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
        what = label(self.value_name.replace("_", " "))
        self.ax_.set(xlabel="Evaluations", ylabel=f"Best {what}")
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
            **styles(i),
            markevery=max(1, len(x) // 8),
            markersize=5,
            label=label(name) if name else None,
        )
        if len(curve) > 1:
            self.ax_.fill_between(
                x, low, high, step="post", alpha=0.2, color=line.get_color(), lw=0
            )
        return line


def _as_runs(given: Any) -> list[Any]:
    is_several = isinstance(given, Sequence) and not is_readable(given)
    return list(given) if is_several else [given]


def _best_so_far(histories: Sequence[History]) -> FloatArray:
    """Return the running minimum of each history, padded with NaN at the end.

    Trials with a part of the folds or of the resource count as evaluations, their
    values do not.
    """
    curves = np.full((len(histories), max(map(len, histories), default=0)), np.nan)
    for curve, history in zip(curves, histories, strict=True):
        values = np.where(is_complete(history), history.values, np.nan)
        curve[: len(history)] = np.fmin.accumulate(values)
    return curves


def _quartiles(curve: FloatArray) -> FloatArray:
    """Return quartiles over the runs, shape (3, n); NaN where no run has a value."""
    quartiles = np.full((3, curve.shape[1]), np.nan)
    known = ~np.isnan(curve).all(axis=0)
    quartiles[:, known] = np.nanpercentile(curve[:, known], [25, 50, 75], axis=0)
    return quartiles
