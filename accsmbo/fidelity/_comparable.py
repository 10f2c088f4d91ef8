# SPDX-License-Identifier: BSD-3-Clause
"""What a model learns from rungs: one comparable loss for each candidate.

Notation
--------
rung        place on the ladder of amounts of the resource, from 0
top         the highest rung on which a candidate has succeeded
shift[k]    what a candidate's loss changes by from rung k to k + 1: the median over
            those that succeeded on both
spread[k]   the robust standard deviation of that change
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from accsmbo.history import Evaluation

__all__ = ["comparable_evaluations"]

FloatArray = NDArray[np.float64]

# The median absolute deviation of a normal variable times this is its standard one.
MAD_TO_STD = 1.4826
# From so many candidates on a spread is known.
MIN_SPREAD = 3


def comparable_evaluations(
    results: Sequence[dict[int, Evaluation]], n_rungs: int
) -> list[Evaluation | None]:
    """Return what is known of each candidate as if on the top rung.

    A candidate counts once, with its loss on the highest rung it has finished, moved by
    the shifts from there to the top rung. The spreads of these shifts are its noise: a
    model that takes noise relies on the candidates that got further. A candidate that
    failed on a rung has failed.

    Parameters
    ----------
    results : sequence of dict of int to Evaluation
        For each candidate the evaluations by rung.
    n_rungs : int
        Number of rungs.

    Returns
    -------
    list of Evaluation or None
        None for a candidate without a result.
    """
    losses = np.full((len(results), n_rungs), np.nan)
    for candidate, by_rung in enumerate(results):
        for rung, evaluation in by_rung.items():
            losses[candidate, rung] = loss_of(evaluation)
    losses[~np.isfinite(losses)] = np.nan
    shift, variance = _steps(losses)
    known = np.flatnonzero(~np.isnan(losses).all(axis=0))
    top = int(known[-1]) if len(known) else 0
    return [_at_top(by_rung, top, shift, variance) for by_rung in results]


def loss_of(evaluation: Evaluation) -> float:
    """Return the loss of an evaluation; infinity where a fold of it failed."""
    if evaluation.failed or evaluation.error is not None:
        return math.inf
    return float(evaluation.value)  # type: ignore[arg-type]


def _steps(losses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the shift and the squared spread of each step up the ladder."""
    n_steps = losses.shape[1] - 1
    shift, variance = np.zeros(n_steps), np.full(n_steps, np.nan)
    for k in range(n_steps):
        change = losses[:, k + 1] - losses[:, k]
        change = change[np.isfinite(change)]
        if len(change):
            shift[k] = np.median(change)
        if len(change) >= MIN_SPREAD:
            spread = MAD_TO_STD * np.median(np.abs(change - shift[k]))
            variance[k] = spread**2
    return shift, variance


def _at_top(
    by_rung: dict[int, Evaluation], top: int, shift: FloatArray, variance: FloatArray
) -> Evaluation | None:
    if not by_rung:
        return None
    failed = [e for e in by_rung.values() if math.isinf(loss_of(e))]
    if failed:
        return Evaluation(error=failed[-1].error or "failed")
    rung = max(by_rung)
    noise = math.sqrt(float(variance[rung:top].sum())) if rung < top else 0.0
    return Evaluation(
        value=loss_of(by_rung[rung]) + float(shift[rung:top].sum()),
        noise=None if math.isnan(noise) or noise == 0.0 else noise,
    )
