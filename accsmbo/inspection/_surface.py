# SPDX-License-Identifier: BSD-3-Clause
"""Surface: a surrogate of one subspace, fitted to what a history knows of it.

Notation
--------
U, y    (n, d), (n,)    finished trials of the subspace and their losses
fence                   q75 + 3 (q75 - q25) of y: Tukey's outer fence
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from accsmbo.history import History
from accsmbo.inspection._observed_space import space_of
from accsmbo.inspection._readout import Readout, is_complete, resources
from accsmbo.optimizers._observations import observe
from accsmbo.optimizers._smbo import wants_forest
from accsmbo.space import Subspace
from accsmbo.surrogates import GaussianProcess, RandomForestSurrogate

__all__ = ["Surface", "fit_surface", "fit_surfaces", "means_of_points"]

FloatArray = NDArray[np.float64]

# Predictions of a Gaussian process cost n^2 each, and a display needs thousands.
MAX_GP_POINTS = 500
FENCE = 3.0


@dataclass(frozen=True, eq=False)
class Surface:
    """A fitted surrogate and what it was fitted to, in the values people read.

    Attributes
    ----------
    index : int
        Index of the subspace.
    subspace : Subspace
        The subspace.
    U : ndarray of shape (n, n_dims)
        Canonical points of the finished trials.
    values : ndarray of shape (n,)
        Losses or scores there; NaN where the trial failed.
    surrogate : Surrogate
        Fitted to losses: those above the outer fence count as the fence, those of
        failed trials as the worst.
    sign : float
        1 for losses, -1 for scores.
    resource : float or None
        Which resource the trials had; None: all of it.
    """

    index: int
    subspace: Subspace
    U: FloatArray
    values: FloatArray
    surrogate: Any
    sign: float
    resource: float | None = None

    def predict(self, U: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation at snapped points, each of shape (m,)."""
        mean, std = self.surrogate.predict(self.subspace.snap(U))
        return self.sign * mean, std

    @property
    def best(self) -> int:
        """Row of the best successful trial."""
        return int(np.nanargmin(self.sign * self.values))


def fit_surface(
    readout: Readout, index: int | None = None, surrogate: Any = None
) -> Surface:
    """Fit a surrogate to one subspace.

    Parameters
    ----------
    readout : Readout
        What was observed. Where trials differ in their resource, those with the largest
        one that enough trials had.
    index : int or None, default=None
        Index of the subspace; None: that of the best trial.
    surrogate : Surrogate or None, default=None
        Cloned; None: a Gaussian process, or a forest where there are more than 500
        points or mostly choices.

    Returns
    -------
    Surface
        The fit.

    Raises
    ------
    ValueError
        If there is no such subspace, nothing to vary in it, or fewer than two
        successful trials.
    """
    space = space_of(readout.history)
    if index is None:
        best = _selected(readout.history, is_complete(readout.history)).best
        index = best[0].subspace if best else 0
    if not 0 <= index < len(space.subspaces):
        raise ValueError(
            f"subspace must be at least 0 and less than {len(space.subspaces)}, got "
            f"{index}. Give the index of a dict of the search space."
        )
    subspace = space.subspaces[index]
    history, resource = _comparable(readout.history, index, subspace.n_dims + 2)
    seen = observe(subspace, index, history, ())
    n_good = int(np.sum(~seen.failed))
    if subspace.n_dims == 0 or n_good < 2:
        raise ValueError(
            "history must hold at least two successful trials in a subspace with a "
            f"parameter to vary, got {n_good} in subspace {index} with "
            f"{subspace.n_dims} of them. Run more trials, or name another subspace."
        )
    if surrogate is None:
        forest = len(seen.U) > MAX_GP_POINTS or wants_forest(subspace, len(seen.U))
        surrogate = RandomForestSurrogate() if forest else GaussianProcess()
    fitted = clone(surrogate).fit(
        seen.U,
        _fenced(seen.y, seen.failed),
        categorical=subspace.categorical,
        noise=seen.noise,
    )
    values = np.where(seen.failed, np.nan, readout.sign * seen.y)
    return Surface(index, subspace, seen.U, values, fitted, readout.sign, resource)


def fit_surfaces(readout: Readout, surrogate: Any = None) -> Sequence[Surface]:
    """Fit a surrogate to each subspace that has something to fit.

    Parameters
    ----------
    readout : Readout
        What was observed.
    surrogate : Surrogate or None, default=None
        As in :func:`fit_surface`.

    Returns
    -------
    list of Surface
        In the order of the subspaces.

    Raises
    ------
    ValueError
        If no subspace has; the message is that of the subspace of the best trial.
    """
    surfaces = []
    for index in range(len(space_of(readout.history).subspaces)):
        try:
            surfaces.append(fit_surface(readout, index, surrogate))
        except ValueError:
            continue
    return surfaces or [fit_surface(readout, None, surrogate)]


def means_of_points(readout: Readout) -> list[float]:
    """Return the mean of each subspace in which nothing varies, as people read it.

    Parameters
    ----------
    readout : Readout
        What was observed; trials that failed or had less than the others are left out.

    Returns
    -------
    list of float
        One for each such subspace with a successful trial.
    """
    good = is_complete(readout.history) & np.isfinite(readout.history.values)
    where = np.array([trial.subspace for trial in readout.history.trials])
    values = readout.sign * readout.history.values
    return [
        float(values[good & (where == index)].mean())
        for index, subspace in enumerate(space_of(readout.history).subspaces)
        if subspace.n_dims == 0 and (good & (where == index)).any()
    ]


def _selected(history: History, chosen: NDArray[np.bool_]) -> History:
    """Return some of the trials."""
    result = History(history.space)
    for (trial, evaluation), is_chosen in zip(history, chosen, strict=True):
        if is_chosen:
            result.append(trial, evaluation)
    return result


def _comparable(
    history: History, index: int, n_enough: int
) -> tuple[History, float | None]:
    """Return the trials of the largest resource that enough of a subspace had.

    Trials that were given up before their last fold are among them: their values are
    estimates with a known noise.
    """
    amounts = resources(history)
    usable = np.array([t.subspace == index and not e.failed for t, e in history])
    for resource in sorted(set(amounts), reverse=True):
        chosen = amounts == resource
        if np.sum(chosen & usable) >= n_enough:
            break
    else:
        chosen = is_complete(history)
        resource = max(amounts, default=np.inf)
    known = None if np.isinf(resource) else float(resource)
    return _selected(history, chosen), known


def _fenced(y: FloatArray, failed: NDArray[np.bool_]) -> FloatArray:
    """Return losses of which none is far outside: one diverged model hides the rest."""
    low, high = np.percentile(y[~failed], [25, 75])
    fence = high + FENCE * (high - low)
    return np.minimum(y, fence) if high > low else y
