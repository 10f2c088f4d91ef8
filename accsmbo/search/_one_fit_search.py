# SPDX-License-Identifier: BSD-3-Clause
"""Searches over penalties alone: all candidates from one bilevel Newton run.

The values it stood at become the candidates. The last one, the best, is scored by the
estimator's own fits; the offset of its scores is taken off the others too.
"""

import time
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from accsmbo._sklearn_private import MultimetricScorer, safe_indexing
from accsmbo.evaluation import CrossValidationObjective
from accsmbo.execution import StopReason
from accsmbo.history import Trial
from accsmbo.hypergradients._fold import last_step, numeric_rows
from accsmbo.linear_model._one_fit import tune_penalties
from accsmbo.search._endings import AfterTrial
from accsmbo.search._gradient_objective import GradientObjective, only_weight
from accsmbo.search._progress import Progress
from accsmbo.space import Real

__all__ = ["exact_evaluation", "run_one_fit"]

MAX_PENALTIES = 5
# Arguments of a search that ask for single candidates to be run, or for more than
# the optimised score of each; with one that is set, candidates are evaluated.
MUST_BE_UNSET = (
    "optimizer",
    "timeout",
    "trial_timeout",
    "memory_limit",
    "executor",
    "storage",
    "selection",
    "stop_when",
)
MUST_BE_FALSE = ("return_train_score", "keep_predictions")


def run_one_fit(search, optimizer, objective, n_trials, callbacks):
    """Run a search at once where model, space, metric and arguments allow it.

    Parameters
    ----------
    search : BaseOptimizerSearchCV
        With a ``solver``.
    optimizer : Optimizer
        Not started; the candidates are asked of it and told to it.
    objective : CrossValidationObjective
        What the search would evaluate.
    n_trials : int
        Largest number of candidates.
    callbacks : SearchCallbacks
        Those of scikit-learn.

    Returns
    -------
    (StopReason, Exception or None) or None
        None: nothing was done, evaluate candidates.
    """
    if not _arguments_allow(search, callbacks):
        return None
    start = time.time()
    bounds = _bounds(optimizer.space)
    found = None if bounds is None else _tune(objective, bounds)
    if found is None:
        return None
    visits, errors = _candidates(found, n_trials)
    seconds = (time.time() - start) / (len(visits) * objective.n_folds)
    rows = [_params(visit, bounds) for visit in visits]
    best = Trial(len(rows) - 1, rows[-1], visits[-1].x)
    exact = exact_evaluation(search, objective, best)
    if exact.failed:
        return None
    optimizer.set_params(points_to_evaluate=rows)
    trials = [optimizer.ask() for _ in rows]
    evaluations = [
        _evaluation(objective, trial, visit, visits[-1], exact, error, seconds)
        for trial, visit, error in zip(trials, visits, errors, strict=True)
    ]
    records = zip(trials, [*evaluations[:-1], exact], strict=True)
    return _tell(search, optimizer, records)


def _params(visit, bounds):
    """Return the parameters of a visit; rounding must not carry them out of range."""
    values = zip(bounds, np.exp(visit.x), strict=True)
    return {name: float(np.clip(value, *bounds[name])) for name, value in values}


def _candidates(found, n_trials):
    """Return the last visits, each value once, the best one last; and their errors."""
    visits = found.rescore()
    errors = [
        abs(float(visit.losses.mean() - before.losses.mean())) + found.error
        for visit, before in zip(visits, found.visits, strict=True)
    ]
    distinct = {tuple(np.round(visit.x, 9)): k for k, visit in enumerate(visits)}
    order = sorted(distinct.values(), key=lambda k: (-visits[k].losses.mean(), k))
    kept = [*sorted(order[:-1]), order[-1]][-n_trials:]
    return [visits[k] for k in kept], [errors[k] for k in kept]


def exact_evaluation(search, objective, trial):
    """Return the evaluation of a trial by the estimator's own fits.

    Parameters
    ----------
    search : BaseOptimizerSearchCV
        Its ``n_jobs`` counts.
    objective : CrossValidationObjective
        Perhaps one with gradients, which are not used.
    trial : Trial
        What to evaluate.

    Returns
    -------
    Evaluation
        Scores as ``cross_val_score`` gives them.
    """
    arguments = objective.arguments() | {"keep_predictions": False}
    plain = CrossValidationObjective(**arguments)
    start = time.time()
    folds = Parallel(n_jobs=search.n_jobs)(
        delayed(plain.fold)(trial, index) for index in range(plain.n_folds)
    )
    return plain.combine(folds, start, time.time())


def _arguments_allow(search, callbacks):
    return (
        search.solver == "auto"
        and all(getattr(search, name) is None for name in MUST_BE_UNSET)
        and not any(getattr(search, name) for name in MUST_BE_FALSE)
        and getattr(search, "density", None) in ("auto", None)
        and int(search.verbose) <= 1
        and not callbacks.active
    )


def _bounds(space):
    """Return the ranges of a space of a few positive continuous parameters, or None."""
    if len(space.subspaces) != 1:
        return None
    dimensions = space.subspaces[0].dimensions
    if not 1 <= len(dimensions) <= MAX_PENALTIES:
        return None
    bounds = {}
    for name, dimension in dimensions.items():
        if not isinstance(dimension, Real) or not 0 < dimension.low < dimension.high:
            return None
        bounds[name] = dimension.low, dimension.high
    return bounds


def _tune(objective, bounds):
    """Return the penalties found, or None where the model or the metric is not fit."""
    if objective.y is None or isinstance(objective.scorer, (MultimetricScorer, dict)):
        return None
    transformers, prefix, final = last_step(clone(objective.estimator))
    if not all(name.startswith(prefix) for name in bounds):
        return None
    try:
        scoring = GradientObjective.from_values(objective)._optimised_scorer()
        X, parts = _rows(objective, transformers)
        found = tune_penalties(
            final,
            {name[len(prefix) :]: ends for name, ends in bounds.items()},
            X,
            np.asarray(objective.y),
            [tuple(map(_as_rows, split)) for split in objective.splits],
            parts=parts,
            scoring=scoring,
            sample_weight=only_weight(objective.fit_params, prefix + "sample_weight"),
            score_weight=only_weight(objective.score_params, "sample_weight"),
        )
    except (ValueError, TypeError):  # evaluations say what is wrong
        return None
    return found if found.converged else None


def _rows(objective, transformers):
    """Return the rows as numbers, those of each fold apart behind transformers."""
    if not transformers:
        return numeric_rows(objective.X), None
    parts = []
    for train, test in objective.splits:
        X_train = safe_indexing(objective.X, train)
        X_test = safe_indexing(objective.X, test)
        for pipeline in transformers:
            pipeline = clone(pipeline)
            X_train = pipeline.fit_transform(X_train, safe_indexing(objective.y, train))
            X_test = pipeline.transform(X_test)
        parts.append((numeric_rows(X_train), numeric_rows(X_test)))
    return None, parts


def _as_rows(index):
    index = np.asarray(index)
    return np.flatnonzero(index) if index.dtype == bool else index


def _evaluation(objective, trial, visit, last, exact, error, seconds):
    """Return the evaluation of a value that the method passed."""
    scores = [fold["test_scores"] for fold in exact.folds]
    folds = [
        {
            "fit_error": None,
            "n_test_samples": len(objective.splits[k][1]),
            "test_scores": float(score - (visit.losses[k] - last.losses[k])),
            "fit_time": seconds,
            "score_time": 0.0,
        }
        for k, score in enumerate(scores)
    ]
    now = time.time()
    evaluation = objective.combine(folds, now, now)
    gradient = {
        name: float(slope) / trial.params[name]
        for name, slope in zip(trial.params, visit.slope, strict=True)
    }
    return replace(evaluation, gradient=gradient, error_estimate=error)


def _tell(search, optimizer, records):
    """Tell all, with the user's callbacks after each."""
    n_rows = len(optimizer.pending)
    with Progress(search.verbose, n_rows, search.n_splits_) as progress:
        after_trial = AfterTrial(progress, None, search.callbacks)
        for trial, evaluation in records:
            optimizer.tell(trial, evaluation)
            if after_trial(optimizer.history):
                break
    reason = StopReason.CALLBACK if optimizer.pending else StopReason.BUDGET
    return reason, after_trial.error
