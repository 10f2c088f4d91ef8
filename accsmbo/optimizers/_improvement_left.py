# SPDX-License-Identifier: BSD-3-Clause
"""How much a model still expects to gain, in the units of the loss.

Notation
--------
U, y, G     (n, d), (n,), (n, d)    finished points, losses, gradients; NaN = unknown
t           (n,)    transformed losses, what the surrogate sees
slope       (n,)    dt/dy
lowest      loss to improve on
"""

import inspect
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accsmbo.acquisition import LogExpectedImprovement, maximize_acquisition
from accsmbo.optimizers._observations import Observations, with_failures
from accsmbo.optimizers._views import VIEWS
from accsmbo.surrogates._log_distance import log_distance

__all__ = ["expected_improvement_left", "linear_improvement_left"]

FloatArray = NDArray[np.float64]

# The best so many points are where local candidates start.
N_STARTS = 5


def expected_improvement_left(
    model: Any, observations: Observations, lowest: float, rng: np.random.Generator
) -> float:
    """Return the largest expected improvement over one subspace.

    It is computed on the scale on which the model is fitted, and taken back to losses
    by the slope of the transform at the best loss: exact to first order.

    Parameters
    ----------
    model : Surrogate
        Not fitted; its `fit` takes gradients where it can.
    observations : Observations
        At least one finished trial that did not fail.
    lowest : float
        Loss to improve on; at most the lowest of this subspace.
    rng : Generator
        Source of the candidates.

    Returns
    -------
    float
        In the units of the loss; 0 where no point is left.
    """
    failed, subspace, more = observations.failed, observations.subspace, {}
    differentiated = bool(np.isfinite(observations.gradient).any())
    differentiated &= _takes_gradients(model)
    finished = observations.y[~failed]
    if differentiated:
        scaled = np.arange(len(finished)), *log_distance(finished)
    else:
        scaled = VIEWS[0].select(finished, subspace.n_dims)
    rows, t, slope = with_failures(failed, *scaled)
    U, y, noise = observations.U[rows], observations.y[rows], observations.noise[rows]
    if differentiated:
        more["gradient"] = observations.gradient[rows] * slope[:, None]
    first = int(np.argmin(y))
    model.fit(U, t, categorical=subspace.categorical, noise=noise * slope, **more)
    best = float(t[first] - slope[first] * (y[first] - lowest))
    acquisition = LogExpectedImprovement()
    found = maximize_acquisition(
        acquisition,
        subspace,
        surrogate=model,
        best=best,
        seen=observations.U,
        starts=U[np.argsort(y, kind="stable")[:N_STARTS]],
        rng=rng,
    )
    if len(found) == 0:
        return 0.0
    log_gain = float(acquisition.evaluate(model, found[:1], best)[0])
    return math.exp(log_gain) / float(slope[first])


def linear_improvement_left(observations: Observations, lowest: float) -> float:
    """Return what the gradient at the best point promises over the whole box.

    This is the gap of the Frank-Wolfe method, the largest decrease of the linear model
    over the box: nothing of a gradient that points out of it counts. Of a convex loss
    it is an upper bound on what is left to gain.

    Parameters
    ----------
    observations : Observations
        At least one finished trial that did not fail.
    lowest : float
        Loss to improve on; at most the lowest of this subspace.

    Returns
    -------
    float
        In the units of the loss; infinity where the gradient is not wholly known.
    """
    y = np.where(observations.failed, np.inf, observations.y)
    first = int(np.argmin(y))
    u, g = observations.U[first], observations.gradient[first]
    if len(g) == 0 or np.isnan(g).any():
        return math.inf
    gap = float(np.sum(np.where(g > 0.0, g * u, -g * (1.0 - u))))
    return max(0.0, gap - (float(y[first]) - lowest))


def _takes_gradients(model: Any) -> bool:
    return "gradient" in inspect.signature(model.fit).parameters
