# SPDX-License-Identifier: BSD-3-Clause
"""ParameterImportanceDisplay: which parameter explains how much of the variance."""

from typing import Any, Self

import numpy as np

from accsmbo.inspection import (
    Importances,
    as_readout,
    fit_surface,
    fit_surfaces,
    importances,
    means_of_points,
)
from accsmbo.plotting._matplotlib import axes_or_new, ink, label

__all__ = ["ParameterImportanceDisplay"]

BAR_HEIGHT = 0.38


class ParameterImportanceDisplay:
    """Share of the variance of the loss that each parameter explains.

    It is best made by :meth:`from_history`. A surrogate is fitted to the trials, and
    the variance of its mean over the whole search space is split among the parameters
    (functional analysis of variance [1]_, Sobol indices). The solid bar is the
    first-order share, what a parameter explains alone; the hatched one is the total
    share, alone and in interactions. Lines are two standard errors of the estimate
    [2]_; they say nothing of how well the surrogate is known.

    In a space of several alternatives (a list of dicts) each that has successful trials
    (two, where a parameter varies) has the same weight. The variance between the
    alternatives' means is the share of "which alternative"; a parameter has its share
    within the alternatives that hold it, so that all first-order shares add up to at
    most one.

    Parameters
    ----------
    importances : Importances
        What to show: names, shares and their standard errors.
    n_largest : int, default=20
        At most so many parameters are drawn.
    value_name : str, default="loss"
        What the values are.

    Attributes
    ----------
    ax_ : matplotlib axes
        Where it was drawn.
    figure_ : matplotlib figure
        Its figure.
    bars_ : list of matplotlib patches
        First-order bars from the top down, then total ones.

    See Also
    --------
    SurrogateDisplay : How the loss depends on a parameter.
    accsmbo.surrogates.sobol_indices : The estimator.

    References
    ----------
    .. [1] F. Hutter, H. Hoos and K. Leyton-Brown, An Efficient Approach for Assessing
       Hyperparameter Importance, ICML 2014.
    .. [2] A. Saltelli et al., Variance Based Sensitivity Analysis of Model Output:
       Design and Estimator for the Total Sensitivity Index, 2010, table 2.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.plotting import ParameterImportanceDisplay
    >>> history = minimize(lambda p: p["x"] ** 2 + 0.1 * p["y"], n_trials=12,
    ...                    space={"x": Real(-1, 2), "y": Real(0, 1)}, random_state=0)
    >>> display = ParameterImportanceDisplay.from_history(history)
    >>> display.importances.names
    ('x', 'y')
    >>> plt.show()
    """

    def __init__(
        self,
        importances: Importances,
        *,
        n_largest: int = 20,
        value_name: str = "loss",
    ) -> None:
        self.importances = importances
        self.n_largest = n_largest
        self.value_name = value_name

    @classmethod
    def from_history(
        cls,
        history: Any,
        *,
        subspace: int | None = None,
        surrogate: Any = None,
        tolerance: float = 0.01,
        n_largest: int = 20,
        random_state: int = 0,
        ax: Any = None,
    ) -> Self:
        """Fit surrogates to a history, split their variance, and draw it.

        Parameters
        ----------
        history : History, fitted search, or path of a journal
            What was observed. Losses far above the others (above the upper quartile by
            three times the distance of the quartiles) count as that bound, failed
            trials as the worst.
        subspace : int, default=None
            Index of one dict of the search space; None: all of them.
        surrogate : Surrogate, default=None
            Cloned and fitted; None: a Gaussian process, or a random forest where there
            are more than 500 trials or mostly unordered choices.
        tolerance : float, default=0.01
            Standard error of a share at which the estimate stops, unless it has used
            its evaluations before.
        n_largest : int, default=20
            At most so many parameters are drawn.
        random_state : int, default=0
            Seed of the estimate; the same seed gives the same result.
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.

        Returns
        -------
        ParameterImportanceDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If ``history`` is none of these.
        ValueError
            If fewer than two trials succeeded, or there is no such subspace.
        """
        readout = as_readout(history)
        options: dict[str, Any] = {
            "tolerance": tolerance,
            "random_state": random_state,
        }
        if subspace is None:
            surfaces = fit_surfaces(readout, surrogate)
            found = importances(surfaces, means_of_points(readout), **options)
        else:
            found = importances([fit_surface(readout, subspace, surrogate)], **options)
        display = cls(found, n_largest=n_largest, value_name=readout.value_name)
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.

        Returns
        -------
        ParameterImportanceDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        shown = self.importances
        n = min(len(shown.names), self.n_largest)
        size = (6.4, 1.3 + 0.45 * n)
        self.ax_ = axes_or_new(ax, f"{type(self).__name__}.plot", size)
        self.figure_ = self.ax_.figure
        places = np.arange(n)
        style = {"height": BAR_HEIGHT, "ecolor": ink(), "capsize": 2}
        alone = self.ax_.barh(
            places - BAR_HEIGHT / 2,
            shown.first_order[:n],
            xerr=2 * shown.first_order_error[:n],
            label="alone (first order)",
            **style,
        )
        together = self.ax_.barh(
            places + BAR_HEIGHT / 2,
            shown.total[:n],
            xerr=2 * shown.total_error[:n],
            label="with interactions (total)",
            facecolor="none",
            edgecolor=ink(),
            hatch="////",
            **style,
        )
        self.bars_ = [*alone, *together]
        what = label(self.value_name.replace("_", " "), 30)
        self.ax_.set(
            xlabel=f"share of the variance of {what}",
            yticks=places,
            xlim=(0.0, max(1.0, 1.05 * float(np.max(shown.total, initial=0.0)))),
        )
        self.ax_.set_yticklabels([label(name, 40) for name in shown.names[:n]])
        self.ax_.invert_yaxis()
        self.ax_.legend(loc="lower right")
        return self
