# SPDX-License-Identifier: BSD-3-Clause
"""SurrogateDisplay: what a surrogate believes along parameters and pairs of them."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from accsmbo.inspection import (
    MANY_LEVELS,
    Contour,
    Slice,
    Surface,
    as_readout,
    contour_at,
    fit_surface,
    slice_at,
    tick_labels,
)
from accsmbo.plotting._matplotlib import MANY_MARKS, ink, label, panels
from accsmbo.space import Dimension

__all__ = ["SurrogateDisplay", "draw_contour", "slice_limits"]

FloatArray = NDArray[np.float64]

N_LEVELS = 8
# The band of a slice, in standard deviations.
BAND = 2.0
STD = "standard deviation"


class SurrogateDisplay:
    """Mean and uncertainty of a surrogate, in slices and pair-wise contours.

    It is best made by :meth:`from_history`. All parameters but the one or two shown
    have the values of the best trial, or those given as ``at``. A slice shows the mean
    and a band of two standard deviations; a pair takes two panels, the mean and the
    standard deviation. Circles are the finished trials, wherever they lie in the other
    parameters; a star is the best one and crosses are failed ones.

    Parameters
    ----------
    slices : sequence of Slice
        What to show along one parameter.
    contours : sequence of Contour
        What to show over two parameters.
    value_name : str, default="loss"
        What the values are.

    Attributes
    ----------
    ax_ : matplotlib axes
        The axes whose place the panels took, or the only panel.
    axes_ : ndarray of matplotlib axes
        One for each slice, then two for each pair.
    figure_ : matplotlib figure
        Their figure.

    See Also
    --------
    ParameterImportanceDisplay : Which parameter matters.
    accsmbo.surrogates.GaussianProcess : The surrogate that is fitted by default.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.plotting import SurrogateDisplay
    >>> history = minimize(lambda p: p["x"] ** 2 + p["y"], n_trials=12, random_state=0,
    ...                    space={"x": Real(-1, 2), "y": Real(0, 1)})
    >>> display = SurrogateDisplay.from_history(history, ["x", ("x", "y")])
    >>> len(display.axes_)
    3
    >>> plt.show()
    """

    def __init__(
        self,
        slices: Sequence[Slice],
        contours: Sequence[Contour] = (),
        *,
        value_name: str = "loss",
    ) -> None:
        self.slices = slices
        self.contours = contours
        self.value_name = value_name

    @classmethod
    def from_history(
        cls,
        history: Any,
        parameters: Sequence[str | tuple[str, str]] | None = None,
        *,
        at: Mapping[str, Any] | None = None,
        subspace: int | None = None,
        surrogate: Any = None,
        ax: Any = None,
    ) -> Self:
        """Fit a surrogate to a history and draw it.

        Parameters
        ----------
        history : History, fitted search, or path of a journal
            What was observed. Losses far above the others (above the upper quartile by
            three times the distance of the quartiles) count as that bound, failed
            trials as the worst.
        parameters : sequence of str or (str, str), default=None
            Parameters to show along, and pairs of them; None: each one by itself.
        at : mapping of str to object, default=None
            Values of the other parameters; those not named are as in the best trial.
        subspace : int, default=None
            Index of the dict of the search space; None: that of the best trial.
        surrogate : Surrogate, default=None
            Cloned and fitted; None: a Gaussian process, or a random forest where there
            are more than 500 trials or mostly unordered choices.
        ax : matplotlib axes or sequence of them, default=None
            Axes whose place the panels take, or one for each panel; None: a new figure.

        Returns
        -------
        SurrogateDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If ``history`` is none of these.
        ValueError
            If a parameter is unknown or constant, or fewer than two trials of the
            subspace succeeded.
        """
        readout = as_readout(history)
        surface = fit_surface(readout, subspace, surrogate)
        centre = surface.U[surface.best]
        if at is not None:
            best = surface.subspace.to_params(centre)
            centre = surface.subspace.to_unit({**best, **at})
        wanted = surface.subspace.names if parameters is None else parameters
        singles = [name for name in wanted if isinstance(name, str)]
        pairs = [pair for pair in wanted if not isinstance(pair, str)]
        display = cls(
            [slice_at(surface, centre, _index(surface, name)) for name in singles],
            [
                contour_at(surface, centre, _index(surface, a), _index(surface, b))
                for a, b in pairs
            ],
            value_name=readout.value_name,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : matplotlib axes or sequence of them, default=None
            Axes whose place the panels take, or one for each panel; None: a new figure.

        Returns
        -------
        SurrogateDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the number of axes is not that of the panels.
        """
        sizes = [1] * len(self.slices) + [2] * len(self.contours)
        self.ax_, axes = panels(ax, sizes, f"{type(self).__name__}.plot")
        self.figure_ = self.ax_.figure
        self.axes_ = np.array(axes, dtype=object)
        limits = slice_limits(self.slices)
        for panel, shown in zip(axes, self.slices, strict=False):
            self._draw_slice(panel, shown)
            panel.set_ylim(*limits)
        rest = axes[len(self.slices) :]
        for left, right, both in zip(rest[::2], rest[1::2], self.contours, strict=True):
            what = label(self.value_name.replace("_", " "), 24)
            draw_contour(left, both, both.mean, f"mean {what}")
            draw_contour(right, both, both.std, STD)
        return self

    def _draw_slice(self, ax: Any, shown: Slice) -> None:
        low, high = shown.mean - BAND * shown.std, shown.mean + BAND * shown.std
        if 0 < shown.dimension.n_levels <= MANY_LEVELS:
            ax.errorbar(
                shown.u,
                shown.mean,
                shown.mean - low,
                fmt="s",
                capsize=4,
                markersize=5,
            )
        else:
            (line,) = ax.plot(shown.u, shown.mean)
            ax.fill_between(
                shown.u, low, high, alpha=0.25, color=line.get_color(), lw=0
            )
        good = np.isfinite(shown.values)
        ax.scatter(
            shown.points[good],
            shown.values[good],
            s=14,
            facecolors="none",
            edgecolors=ink(),
            alpha=0.6,
            linewidths=0.8,
            rasterized=len(shown.points) > MANY_MARKS,
        )
        across = ax.get_xaxis_transform()
        ax.scatter(
            shown.points[~good],
            np.full(np.sum(~good), 0.04),
            s=22,
            marker="x",
            color=ink(),
            transform=across,
        )
        ax.scatter(
            shown.points[shown.best],
            shown.values[shown.best],
            s=90,
            marker="*",
            color=ink(),
            zorder=3,
        )
        set_ticks(ax, "x", shown.name, shown.dimension)
        ax.set_ylabel(label(self.value_name.replace("_", " "), 24))


def draw_contour(ax: Any, both: Contour, values: FloatArray, title: str) -> None:
    """Draw a mean or a standard deviation over two parameters, and the trials.

    Parameters
    ----------
    ax : matplotlib axes
        Where.
    both : Contour
        Grid and trials.
    values : ndarray of shape (a, b)
        What to draw: its mean or its standard deviation.
    title : str
        What that is; :data:`STD` is drawn in greys.
    """
    colours = "Greys" if title == STD else "viridis"
    mesh = ax.pcolormesh(
        both.u[0], both.u[1], values.T, cmap=colours, shading="nearest", rasterized=True
    )
    ax.figure.colorbar(mesh, ax=ax)
    few = [0 < d.n_levels <= MANY_LEVELS for d in both.dimensions]
    if not any(few) and np.ptp(values) > 0:
        lines = ax.contour(
            both.u[0], both.u[1], values.T, levels=N_LEVELS, colors="k", linewidths=0.6
        )
        ax.clabel(lines, fontsize="x-small")
    good = np.isfinite(both.values)
    style = {"edgecolors": "white", "linewidths": 0.8}
    many = len(both.points) > MANY_MARKS
    ax.scatter(*both.points[good].T, s=22, color="black", rasterized=many, **style)
    for width, colour in ((3.0, "white"), (1.4, "black")):
        ax.scatter(
            *both.points[~good].T, s=26, marker="x", color=colour, linewidths=width
        )
    ax.scatter(*both.points[both.best], s=150, marker="*", color="black", **style)
    ax.set_title(title, fontsize="medium")
    for axis, name, dimension in zip("xy", both.names, both.dimensions, strict=True):
        set_ticks(ax, axis, name, dimension)


def set_ticks(ax: Any, axis: str, name: str, dimension: Dimension) -> None:
    """Label a unit-cube axis by the parameter and its values.

    Parameters
    ----------
    ax : matplotlib axes
        Where.
    axis : {"x", "y"}
        Which axis.
    name : str
        Name of the parameter.
    dimension : Dimension
        Its dimension.
    """
    positions, labels = tick_labels(dimension)
    texts = [label(text) for text in labels]
    crowded = axis == "x" and sum(len(text) + 2 for text in texts) > 30
    ax.set(
        **{
            f"{axis}ticks": positions,
            f"{axis}lim": (-0.02, 1.02),
            f"{axis}label": label(name, 34),
        }
    )
    getattr(ax, f"set_{axis}ticklabels")(
        texts, **({"rotation": 30, "ha": "right"} if crowded else {})
    )


def _index(surface: Surface, name: str) -> int:
    names = surface.subspace.names
    if name not in names:
        raise ValueError(
            f"parameters must be among {list(names)}, which vary in subspace "
            f"{surface.index}, got {name!r}. Choose from these, or another subspace."
        )
    return names.index(name)


def slice_limits(slices: Sequence[Slice]) -> tuple[float | None, float | None]:
    """Return the range of all bands and most trials: slices share one scale."""
    if not slices:
        return None, None
    ends = [s.mean + side * BAND * s.std for s in slices for side in (-1.0, 1.0)]
    values = slices[0].values[np.isfinite(slices[0].values)]
    ends += [np.percentile(values, [10, 90]), slices[0].values[[slices[0].best]]]
    low, high = float(np.min(np.concatenate(ends))), float(np.max(np.concatenate(ends)))
    margin = 0.05 * (high - low) or 1.0
    return low - 2 * margin, high + margin
