# SPDX-License-Identifier: BSD-3-Clause
"""What an optimizer knows of a subspace as arrays, and what it would ask next."""

import math
import numbers
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accsmbo._validation import check_is, shown
from accsmbo.history import Evaluation, History, Trial
from accsmbo.space import Subspace

__all__ = [
    "Observations",
    "Proposal",
    "Request",
    "as_evaluation",
    "check_gradient",
    "checked",
    "observe",
    "penalty",
    "with_failures",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Observations:
    """What is known of one subspace, as arrays.

    What ``_propose`` of an optimizer is given: a model of the loss wants numbers in the
    unit cube, not dicts of parameters. Gradients went through the chain rule, scales
    of the parameters included, and failed trials have a loss, so that a model learns to
    stay away from them. It is a copy, which a thread may use while trials go on.

    Attributes
    ----------
    subspace : Subspace
        The subspace.
    U : ndarray of shape (n, n_dims)
        Canonical points of the finished trials.
    y : ndarray of shape (n,)
        Losses; a failed trial carries a worse one than all seen (0 if there is none).
    failed : ndarray of bool of shape (n,)
        Which trials failed.
    gradient : ndarray of shape (n, n_dims)
        d loss / d u, NaN where unknown.
    noise : ndarray of shape (n,)
        Standard errors of ``y``, NaN where unknown.
    pending : ndarray of shape (m, n_dims)
        Points asked and not told.
    n_started : int
        Number of points asked so far, those that were given up included.

    See Also
    --------
    Optimizer : Its method ``observations`` returns them.
    accsmbo.history.History : The trials themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo import Real
    >>> from accsmbo.optimizers import RandomSearch
    >>> optimizer = RandomSearch({"x": Real(1e-3, 1e3, log=True)}, random_state=0)
    >>> trial, pending = optimizer.ask(), optimizer.ask()
    >>> x = trial.params["x"]
    >>> optimizer.tell(trial, x**2, {"x": 2 * x})
    >>> known = optimizer.observations()
    >>> known.U.shape, known.pending.shape
    ((1, 1), (1, 1))
    >>> np.allclose(known.gradient, 2 * x * x * np.log(1e6))  # dx/du = x log(1e6)
    True
    """

    subspace: Subspace
    U: FloatArray
    y: FloatArray
    failed: NDArray[np.bool_]
    gradient: FloatArray
    noise: FloatArray
    pending: FloatArray
    n_started: int = 0

    @property
    def n_asked(self) -> int:
        """Number of trials asked so far in this subspace, finished or pending."""
        return len(self.U) + len(self.pending)


@dataclass(frozen=True, eq=False)
class Proposal:
    """A point that an optimizer would ask, and that is not a trial yet.

    Attributes
    ----------
    unit : ndarray of shape (n_dims,)
        Canonical point of its subspace.
    subspace : int
        Index into ``space.subspaces``.
    """

    unit: FloatArray
    subspace: int


class Request(NamedTuple):
    """What an optimizer needs to propose points.

    Attributes
    ----------
    known : list of (int, int, Observations)
        Index of a subspace, number of points to propose, and what is known there.
    rng : Generator
        Source of randomness.
    """

    known: list[tuple[int, int, Observations]]
    rng: np.random.Generator


def observe(
    subspace: Subspace,
    index: int,
    history: History,
    pending: Sequence[Trial],
    n_started: int = 0,
) -> Observations:
    """Return what is known of one subspace.

    Parameters
    ----------
    subspace : Subspace
        The subspace.
    index : int
        Its index in the space.
    history : History
        All finished trials.
    pending : sequence of Trial
        Trials of this subspace that were asked and not told.
    n_started : int
        Number of trials of this subspace that were ever asked.

    Returns
    -------
    Observations
        Arrays in the unit cube.
    """
    records = [r for r in history if r[0].subspace == index]
    failed = np.array([e.failed for _, e in records], dtype=bool)
    y = np.array([0.0 if e.failed else e.value for _, e in records], dtype=float)
    if failed.any() and not failed.all():
        y[failed] = penalty(y[~failed])
    shape = (len(records), subspace.n_dims)
    return Observations(
        subspace=subspace,
        U=np.array([t.unit for t, _ in records], dtype=float).reshape(shape),
        y=y,
        failed=failed,
        gradient=np.array(
            [_unit_gradient(subspace, t, e) for t, e in records], dtype=float
        ).reshape(shape),
        noise=np.array(
            [np.nan if e.noise is None else e.noise for _, e in records],
            dtype=float,
        ),
        pending=np.array([t.unit for t in pending], dtype=float).reshape(
            len(pending), subspace.n_dims
        ),
        n_started=n_started,
    )


def penalty(finished: FloatArray) -> float:
    """Return the loss of failed trials: as far above the worst as that above the best.

    A tie with the worst would teach nothing. Where all losses are equal, their size is
    the scale.
    """
    worst = float(finished.max())
    spread = worst - float(finished.min())
    return min(worst + (spread or abs(worst) or 1.0), sys.float_info.max)


def with_failures(
    failed: NDArray[np.bool_], rows: NDArray[np.intp], t: FloatArray, slope: FloatArray
) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
    """Add the failed trials to a view of the finished ones, on its own scale.

    Parameters
    ----------
    failed : ndarray of bool of shape (n,)
        Which trials failed.
    rows, t, slope : ndarray of shape (r,)
        What a view selected of the finished ones.

    Returns
    -------
    rows, t, slope : ndarray of shape (r + n_failed,)
        Rows count all trials.
    """
    lost = np.flatnonzero(failed)
    return (
        np.concatenate([np.flatnonzero(~failed)[rows], lost]),
        np.concatenate([t, np.full(len(lost), penalty(t))]),
        np.concatenate([slope, np.ones(len(lost))]),
    )


def as_evaluation(
    value: float | Evaluation | None,
    gradient: dict[str, float] | None,
    noise: float | None,
    error: str | BaseException | None,
) -> Evaluation:
    """Return what ``Optimizer.tell`` was given as an evaluation."""
    if isinstance(value, Evaluation):
        return value
    if error is not None:
        text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        return Evaluation(error=text)
    try:
        loss = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(
            f"value must be a number or an Evaluation, got {shown(value)}. Give the "
            "loss, or the reason of a failure as error."
        ) from None
    if not math.isfinite(loss):
        return Evaluation(error=f"the value is not finite: {value!r}")
    return Evaluation(value=loss, gradient=gradient, noise=noise)


def check_gradient(evaluation: Evaluation, trial: Trial) -> None:
    """Raise where a gradient is no mapping of parameters of the trial to numbers."""
    gradient = evaluation.gradient
    if gradient is None:
        return
    check_is("gradient", gradient, Mapping, "a dict like {'C': 0.5}, or None")
    for name, slope in gradient.items():
        if name not in trial.params:
            raise ValueError(
                f"gradient has the unknown name {shown(name)}; the trial has "
                f"{list(trial.params)}. Use the names of trial.params."
            )
        check_is(f"gradient[{name!r}]", slope, numbers.Real, "a number")


def checked(trial: Trial, evaluation: Evaluation) -> Evaluation:
    """Return the evaluation, as a failure where its gradient cannot be told."""
    try:
        check_gradient(evaluation, trial)
    except (TypeError, ValueError) as error:
        text = f"{type(error).__name__}: {error}"
        return replace(evaluation, value=None, gradient=None, error=text)
    return evaluation


def _unit_gradient(
    subspace: Subspace, trial: Trial, evaluation: Evaluation
) -> list[float]:
    gradient = {} if evaluation.failed else dict(evaluation.gradient or {})
    return [
        gradient[name] * subspace.derivative(name, trial.params[name])
        if name in gradient and subspace.levels[j] == 0
        else math.nan
        for j, name in enumerate(subspace.names)
    ]
