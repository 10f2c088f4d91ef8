# SPDX-License-Identifier: BSD-3-Clause
"""What happens after each candidate, and what is said when a search ends early."""

import numpy as np

from accsmbo._warnings import warn_user
from accsmbo.exceptions import SearchInterruptedWarning
from accsmbo.execution import StopReason
from accsmbo.execution._study import resume_hint

__all__ = [
    "AfterTrial",
    "nothing_scored",
    "raise_nothing_finished",
    "raise_nothing_scored",
    "warn_interrupted",
]

# So many candidates without a score say that there will be none.
FEW = 3


class AfterTrial:
    """Called with the history after each candidate; a true answer ends the search.

    Parameters
    ----------
    progress : Progress
        Updated.
    store : PredictionStore or None
        Updated.
    callbacks : callable, list of callable or None
        Those of the user; an exception of one ends the search.
    metric : str
        Name of the metric that is optimised: the history says so.

    Attributes
    ----------
    error : Exception or None
        What a callback raised.
    """

    def __init__(self, progress, store, callbacks, metric):
        self.progress = progress
        self.store = store
        self.callbacks = [callbacks] if callable(callbacks) else callbacks or []
        self.metric = metric
        self.error = None

    def __call__(self, history):
        """Update and call all; parameters as in the class."""
        history.metric = self.metric
        self.progress.update(history)
        if self.store is not None:
            self.store.update(history)
        try:
            answers = [callback(history) for callback in self.callbacks]
        except Exception as error:
            self.error = error
            return True
        hopeless = nothing_scored(history) and _all_sides_were_tried(history)
        return hopeless or any(answers)


def nothing_scored(records):
    """Whether a few candidates are finished, and the scorer raised wherever it ran.

    Parameters
    ----------
    records : sequence of (Trial, Evaluation)
        Finished candidates.

    Returns
    -------
    bool
        False too where scores are NaN for another reason: scikit-learn warns of that.
    """
    folds = [fold for _, evaluation in records for fold in evaluation.folds]
    errors = [fold.get("score_error") for fold in folds if fold["fit_error"] is None]
    return (
        len(records) >= FEW
        and bool(errors)
        and all(errors)
        # Many metrics are undefined on one row: NaN there, as in scikit-learn.
        and any(fold["n_test_samples"] > 1 for fold in folds)
        and all(evaluation.failed for _, evaluation in records)
    )


def raise_nothing_scored(records):
    """Raise ValueError from the scorer's own exception.

    Parameters
    ----------
    records : sequence of (Trial, Evaluation)
        Finished candidates, for which :func:`nothing_scored`.
    """
    folds = [fold for _, evaluation in records for fold in evaluation.folds]
    error = next(fold["score_error"] for fold in folds if fold.get("score_error"))
    said = error.strip().splitlines()[-1]
    raise ValueError(
        "scoring must give a finite score on at least one fold, but the scorer raised "
        f"on each of them, for all of the first {len(records)} candidates: {said}. "
        "Choose a metric that suits the target and the estimator; "
        "error_score='raise' shows where it was raised."
    ) from getattr(error, "exception", None)


def _all_sides_were_tried(history):
    """Whether each unordered choice and both halves of each range have been tried.

    A scorer may get on with some candidates only: a metric of probabilities with some
    losses of a model, any metric with steps that do not diverge.
    """
    tried = history.trials
    for index, subspace in enumerate(history.space.subspaces):
        seen = [t.unit for t in tried if t.subspace == index]
        if not seen:
            return False
        kinds = zip(subspace.categorical, subspace.levels, strict=True)
        for column, (unordered, n_levels) in zip(
            np.transpose(seen), kinds, strict=True
        ):
            if unordered and len(set(column)) < n_levels:
                return False
            if not unordered and not column.min() < 0.5 < column.max():
                return False
    return True


def raise_nothing_finished(reason, timeout, n_folds):
    """Raise what a search without one finished candidate raises.

    Parameters
    ----------
    reason : StopReason
        Why it ended.
    timeout : float or None
        The time limit.
    n_folds : int
        Folds of a candidate.

    Raises
    ------
    KeyboardInterrupt
        If it was interrupted.
    ValueError
        If the time was up.
    RuntimeError
        If the journal or the executor failed.
    """
    if reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    if reason is not StopReason.TIMEOUT:
        raise RuntimeError(
            f"no candidate was evaluated, because {reason.value}. The warning "
            "before says more."
        )
    raise ValueError(
        f"timeout must leave time for at least one candidate, got {timeout!r} "
        "seconds, which ended before the first was evaluated on all "
        f"{n_folds} folds. Raise timeout or use fewer folds."
    )


def warn_interrupted(n_finished, n_trials, storage):
    """Warn that a search was interrupted, and say what is there.

    Parameters
    ----------
    n_finished, n_trials : int
        Candidates finished and planned.
    storage : str, path-like, JournalStorage or None
        Where they are kept.
    """
    warn_user(
        f"The search was interrupted after {n_finished} of {n_trials} candidates; "
        "cv_results_ and best_params_ are those of the finished ones. Nothing was "
        f"refitted: call refit_best(X, y) before predict.{resume_hint(storage)}",
        SearchInterruptedWarning,
    )
