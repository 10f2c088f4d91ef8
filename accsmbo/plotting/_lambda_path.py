# SPDX-License-Identifier: BSD-3-Clause
"""LambdaPathDisplay: how a neural ensemble's hyperparameters moved while it trained."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from accsmbo.plotting._matplotlib import LINE_STYLES, axes_or_new, label

__all__ = ["LambdaPathDisplay"]

FloatArray = NDArray[np.float64]


class LambdaPathDisplay:
    """Mean and range of one hyperparameter of each member against the epochs.

    Like figure 2 (right) of [1]_: a line for the mean of each member's distribution,
    a shaded region between its lower and upper end. It is best made by
    :meth:`from_estimator`.

    Parameters
    ----------
    path : ndarray of shape (n_epochs + 1, n_members, 3)
        Lower end, upper end and mean at the start and after each epoch.
    name : str
        Name of the hyperparameter.

    Attributes
    ----------
    ax_ : matplotlib axes
        Where it was drawn.
    figure_ : matplotlib figure
        Its figure.
    lines_ : list of matplotlib lines
        One for each member.

    See Also
    --------
    accsmbo.ensembles.HyperBatchEnsembleClassifier : What it shows.

    References
    ----------
    .. [1] Wenzel, Snoek, Tran, Jenatton (2020), Hyperparameter Ensembles for Robustness
       and Uncertainty Quantification.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from accsmbo.ensembles import HyperBatchEnsembleClassifier
    >>> from accsmbo.plotting import LambdaPathDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> ensemble = HyperBatchEnsembleClassifier((8,), max_iter=20, random_state=0)
    >>> display = LambdaPathDisplay.from_estimator(ensemble.fit(X, y), "dropout")
    >>> plt.show()
    """

    def __init__(self, path: FloatArray, *, name: str) -> None:
        self.path = path
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, name: str | None = None, *, ax: Any = None
    ) -> Self:
        """Draw the path of one hyperparameter of a fitted ensemble.

        Parameters
        ----------
        estimator : estimator
            Fitted `SelfTuningClassifier` or `HyperBatchEnsembleClassifier`.
        name : str or None, default=None
            One of its `hyperparameter_names_`; None for the first.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes new axes.

        Returns
        -------
        LambdaPathDisplay
            The display.

        Raises
        ------
        ValueError
            If the estimator tunes no such hyperparameter.
        """
        path = getattr(estimator, "lambda_path_", None)
        if path is None:
            raise ValueError(
                "estimator must be a fitted self-tuning or hyper-batch ensemble, but "
                f"this {type(estimator).__name__} has no lambda_path_. Call fit first."
            )
        names = list(estimator.hyperparameter_names_)
        if name is None:
            name = names[0]
        if name not in names:
            raise ValueError(
                f"name must be one of {names}, got {name!r}. See hyperparameter_names_."
            )
        return cls(path[:, :, names.index(name)], name=name).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes new axes.

        Returns
        -------
        LambdaPathDisplay
            Itself.
        """
        ax = axes_or_new(ax, "LambdaPathDisplay.plot")
        epochs = np.arange(len(self.path))
        self.lines_ = []
        for k in range(self.path.shape[1]):
            low, high, mean = self.path[:, k].T
            style = LINE_STYLES[k % len(LINE_STYLES)]
            (line,) = ax.plot(epochs, mean, style, label=f"member {k}")
            ax.fill_between(epochs, low, high, color=line.get_color(), alpha=0.15)
            self.lines_.append(line)
        ax.set_yscale("log")
        ax.set_xlabel("epoch")
        ax.set_ylabel(label(self.name))
        ax.legend()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
