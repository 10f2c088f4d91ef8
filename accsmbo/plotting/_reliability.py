# SPDX-License-Identifier: BSD-3-Clause
"""ReliabilityDisplay: how often predictions of some confidence are right."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from accsmbo._probabilities import CalibrationBins, calibration_bins
from accsmbo.plotting._matplotlib import MARKERS, axes_or_new, label, styles

__all__ = ["ReliabilityDisplay"]

# Marker areas, in points squared, of an empty bin and of one with all samples.
SMALLEST, LARGEST = 12.0, 400.0


class ReliabilityDisplay:
    """Accuracy against confidence, in equal-width bins of the confidence.

    It is best made by :meth:`from_predictions` or :meth:`from_estimator`. The
    confidence is the largest probability of a sample. Calibrated predictions lie on
    the diagonal, overconfident ones below it. The area of a marker grows with the
    share of samples in its bin; the legend has the expected calibration error.

    Parameters
    ----------
    bins : mapping of str to CalibrationBins
        What to show by name.

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
    accsmbo.ensembles.metrics.expected_calibration_error : Its summary in a number.
    accsmbo.ensembles.metrics.calibration_bins : The numbers behind it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from accsmbo.plotting import ReliabilityDisplay
    >>> y_prob = [[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.6, 0.4]]
    >>> display = ReliabilityDisplay.from_predictions([0, 1, 1, 0], y_prob, n_bins=5)
    >>> plt.show()
    """

    def __init__(self, bins: Mapping[str, CalibrationBins]) -> None:
        self.bins = bins

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        n_bins: int = 10,
        labels: Any = None,
        ax: Any = None,
    ) -> Self:
        """Make the display of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_prob : array-like of shape (n_samples, n_classes), or mapping of str to it
            Probabilities; a mapping names things to compare.
        n_bins : int, default=10
            Number of bins.
        labels : array-like of shape (n_classes,), default=None
            Label of each column. None: the sorted distinct values of ``y_true``, or
            0, 1, ... where it holds such numbers.
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the arrays do not fit or hold no probabilities.
        """
        named = y_prob if isinstance(y_prob, Mapping) else {"": y_prob}
        bins = {
            name: calibration_bins(y_true, p, n_bins=n_bins, labels=labels)
            for name, p in named.items()
        }
        return cls(bins).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Any = None
    ) -> Self:
        """Make the display of fitted classifiers.

        Parameters
        ----------
        estimator : classifier, or mapping of str to classifier
            Fitted, with ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Samples that they were not trained on.
        y : array-like of shape (n_samples,)
            True labels.
        n_bins : int, default=10
            Number of bins.
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.

        Returns
        -------
        ReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If ``y`` holds a class that an estimator does not know.
        """
        is_named = isinstance(estimator, Mapping)
        named = estimator if is_named else {type(estimator).__name__: estimator}
        bins = {
            name: calibration_bins(
                y, model.predict_proba(X), n_bins=n_bins, labels=model.classes_
            )
            for name, model in named.items()
        }
        return cls(bins).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves and the diagonal.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None: new axes.

        Returns
        -------
        ReliabilityDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_ = axes_or_new(ax, f"{type(self).__name__}.plot")
        self.figure_ = self.ax_.figure
        self.ax_.plot(
            [0, 1], [0, 1], color="0.6", linewidth=1, label="perfectly calibrated"
        )
        self.lines_ = [
            self._draw(i, name, bins)
            for i, (name, bins) in enumerate(self.bins.items())
        ]
        self.ax_.set(
            xlabel="Confidence (mean of the bin)",
            ylabel="Accuracy in the bin",
            xlim=(self._least_confidence() - 0.03, 1.03),
            ylim=(-0.03, 1.03),
        )
        self.ax_.legend(loc="best")
        return self

    def _draw(self, i: int, name: str, bins: CalibrationBins) -> Any:
        filled = bins.weight > 0
        x, y = bins.confidence[filled], bins.accuracy[filled]
        error = np.sum(bins.weight[filled] * np.abs(y - x))
        (line,) = self.ax_.plot(
            x,
            y,
            **styles(i),
            markersize=4,
            label=f"{label(name, 30)} (ECE {error:.3f})".strip(),
        )
        self.ax_.scatter(
            x,
            y,
            s=SMALLEST + (LARGEST - SMALLEST) * bins.weight[filled],
            marker=MARKERS[i % len(MARKERS)],
            facecolors="none",
            edgecolors=line.get_color(),
        )
        return line

    def _least_confidence(self) -> float:
        """Left end of the first bin that holds a sample of any curve."""
        return float(
            min(bins.edges[np.argmax(bins.weight > 0)] for bins in self.bins.values())
        )
