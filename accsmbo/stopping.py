# SPDX-License-Identifier: BSD-3-Clause
"""When to stop: what ``stop_when=`` of a search and of ``minimize`` takes.

A condition is asked after each finished trial. Those below read the history alone,
so that a resumed run stops where an unbroken one does. Only trials with all of the
resource count, where :mod:`accsmbo.fidelity` gives some of them less.

Numbers are in the user's own terms: scores (greater is better) in a search, losses
(smaller is better) in :func:`~accsmbo.minimize`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from accsmbo._validation import check_integer, check_real
from accsmbo.optimizers import GridSearch, Optimizer

__all__ = [
    "ExpectedImprovementBelow",
    "NoImprovement",
    "StopCondition",
    "TargetReached",
    "of_scores",
]


class StopCondition(BaseEstimator):
    """Base of the conditions; a subclass implements :meth:`should_stop`.

    A condition looks at the optimizer: at its history, its pending trials and, where it
    has one, its model. One that keeps nothing between calls also ends a resumed run
    where it would have ended an unbroken one. A search gives scores the sign of losses
    by :meth:`of_scores`, which a condition on a value overrides.

    See Also
    --------
    NoImprovement : So many trials without a better one.
    TargetReached : A value that is good enough.
    ExpectedImprovementBelow : The model sees nothing left to gain.
    minimize : Takes one as ``stop_when``, as all searches do.

    Examples
    --------
    >>> import math
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.stopping import StopCondition
    >>> class ThreeFailures(StopCondition):
    ...     def should_stop(self, optimizer):
    ...         return sum(e.failed for e in optimizer.history.evaluations) >= 3
    >>> history = minimize(lambda p: -math.log(p["x"]), {"x": Real(-2, 1)},
    ...                    stop_when=ThreeFailures(), random_state=0)
    >>> sum(evaluation.failed for evaluation in history.evaluations)
    3
    """

    def should_stop(self, optimizer: Optimizer) -> bool:
        """Tell whether to end the run.

        Parameters
        ----------
        optimizer : Optimizer
            After a trial was told; its history holds losses.

        Returns
        -------
        bool
            True ends the run.
        """
        raise NotImplementedError

    def of_scores(self) -> "StopCondition":
        """Return the condition for a run whose losses are minus the user's scores.

        Returns
        -------
        StopCondition
            Itself, where no sign is involved.
        """
        return self


class NoImprovement(StopCondition):
    """Stop when so many trials in a row were not better.

    The plainest sign that a search has run dry; it needs no model and works with every
    optimizer. It cannot tell a finished search from one that has not begun to learn:
    give `n_trials` well above the size of the initial design.

    Parameters
    ----------
    n_trials : int
        Number of trials without an improvement, failed ones included.
    tolerance : float, default=0.0
        An improvement is more than that, in the units of the score; several small ones
        add up.

    See Also
    --------
    ExpectedImprovementBelow : Asks the model instead.

    Examples
    --------
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.stopping import NoImprovement
    >>> history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=50,
    ...                    stop_when=NoImprovement(5, 1e-3), random_state=0)
    >>> len(history) < 50
    True
    """

    def __init__(self, n_trials: int, tolerance: float = 0.0) -> None:
        self.n_trials = n_trials
        self.tolerance = tolerance

    def should_stop(self, optimizer: Optimizer) -> bool:
        """Tell whether to end the run.

        Parameters
        ----------
        optimizer : Optimizer
            After a trial was told.

        Returns
        -------
        bool
            True ends the run.

        Raises
        ------
        TypeError, ValueError
            If an argument is invalid.
        """
        n_trials = check_integer("n_trials", self.n_trials, minimum=1)
        tolerance = _check_tolerance(self.tolerance)
        best, last = math.inf, 0
        values = _full_values(optimizer)
        for number, value in enumerate(values, 1):
            if value < best - tolerance:
                best, last = value, number
        return len(values) - last >= n_trials


class TargetReached(StopCondition):
    """Stop when a value is reached.

    For a search that need not be the best, only good enough, and to measure how long an
    optimizer takes to a known value. Trials under way on other workers are given up.

    Parameters
    ----------
    value : float
        In a search a score: stop at this or a greater one. In ``minimize`` a loss: stop
        at this or a smaller one.

    See Also
    --------
    NoImprovement : Where it is not known what can be reached.

    Examples
    --------
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.stopping import TargetReached
    >>> history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=50,
    ...                    stop_when=TargetReached(0.01), random_state=0)
    >>> bool(history.values.min() <= 0.01 < history.values[:-1].min())
    True
    """

    def __init__(self, value: float) -> None:
        self.value = value

    def should_stop(self, optimizer: Optimizer) -> bool:
        """Tell whether to end the run.

        Parameters
        ----------
        optimizer : Optimizer
            After a trial was told.

        Returns
        -------
        bool
            True ends the run.

        Raises
        ------
        TypeError, ValueError
            If the value is not a finite number.
        """
        value = check_real("value", self.value)
        return bool((_full_values(optimizer) <= value).any())

    def of_scores(self) -> "TargetReached":
        """Return the condition for a run whose losses are minus the user's scores.

        Returns
        -------
        TargetReached
            With the other sign.
        """
        return TargetReached(-check_real("value", self.value))


class ExpectedImprovementBelow(StopCondition):
    """Stop when the model sees no point that promises more than a tolerance.

    The promise is the largest expected improvement over the best loss, in the units of
    the score. Where the gradient at the best point is known, it is at most what the
    gradient promises over the whole space: for a convex loss an upper bound on what is
    left, for others a local minimum ends the run. Never before the initial design is
    finished.

    Parameters
    ----------
    tolerance : float
        In the units of the score, above 0.

    See Also
    --------
    NoImprovement : Needs no model.

    References
    ----------
    .. [1] D. R. Jones, M. Schonlau and W. J. Welch, Efficient Global Optimization of
       Expensive Black-Box Functions, 1998, section 4.2.
    .. [2] M. Jaggi, Revisiting Frank-Wolfe: Projection-Free Sparse Convex Optimization,
       2013, eq. 2 (the gap).

    Examples
    --------
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.stopping import ExpectedImprovementBelow
    >>> history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=50,
    ...                    stop_when=ExpectedImprovementBelow(1e-3), random_state=0)
    >>> len(history) < 30
    True
    """

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance

    def should_stop(self, optimizer: Optimizer) -> bool:
        """Tell whether to end the run.

        Parameters
        ----------
        optimizer : Optimizer
            After a trial was told. A grid, to which small finite spaces are turned, has
            no model and is evaluated to its end.

        Returns
        -------
        bool
            True ends the run.

        Raises
        ------
        TypeError, ValueError
            If the tolerance is invalid, or the optimizer has no model.
        """
        tolerance = _check_tolerance(self.tolerance, positive=True)
        # The optimizer itself, or what a strategy of accsmbo.fidelity was put around.
        inner: Any = getattr(optimizer, "optimizer_", optimizer)
        if isinstance(inner, GridSearch):
            return False
        if not hasattr(inner, "expected_improvement"):
            raise ValueError(
                "ExpectedImprovementBelow needs an optimizer with a model, such as "
                f"SMBO or AccSMBO, got {type(inner).__name__}. Use NoImprovement "
                "instead."
            )
        if not np.isfinite(_full_values(optimizer)).any():
            return False
        return bool(inner.expected_improvement() < tolerance)


def of_scores(stop_when: Any) -> Any:
    """Return conditions given in scores as a run on losses needs them.

    Parameters
    ----------
    stop_when : object with ``should_stop``, list of them or None
        What the user gave to a search.

    Returns
    -------
    object, list or None
        The same, with the sign of scores turned; what is not of this module as it is.
    """
    if isinstance(stop_when, (list, tuple)):
        return [of_scores(condition) for condition in stop_when]
    if isinstance(stop_when, StopCondition):
        return stop_when.of_scores()
    return stop_when


def _full_values(optimizer: Optimizer) -> NDArray[np.float64]:
    """Return the losses of the trials with all of the resource, infinite if failed."""
    most = getattr(optimizer, "max_resources_", None)
    values = [
        math.inf if evaluation.failed else evaluation.value
        for trial, evaluation in optimizer.history
        if trial.fidelity in (None, most)
    ]
    return np.array(values, dtype=float)


def _check_tolerance(value: Any, *, positive: bool = False) -> float:
    tolerance = check_real("tolerance", value)
    if tolerance < 0.0 or (positive and tolerance == 0.0):
        raise ValueError(
            f"tolerance must be {'positive' if positive else '0 or more'}, got "
            f"{value!r}. Give the smallest improvement of the score that matters."
        )
    return tolerance
