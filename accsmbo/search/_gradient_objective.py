# SPDX-License-Identifier: BSD-3-Clause
"""GradientObjective: cross-validation that also returns the gradient of the loss."""

import time
from dataclasses import replace

import numpy as np

from accsmbo.evaluation import CrossValidationObjective
from accsmbo.hypergradients import FoldHypergradient, NotDifferentiableError
from accsmbo.hypergradients._fold import last_step

__all__ = ["GradientObjective", "only_weight"]


class GradientObjective(CrossValidationObjective):
    """A cross-validation objective whose evaluations carry hypergradients.

    The inner problem of each fold is solved to ``Trial.tolerance``; with ``warm_start``
    from the solution of the fold's last trial, else from nothing, so that the result is
    a function of the trial alone, whatever the worker and whatever ran before. A trial
    that cannot be differentiated is evaluated by values, as
    :class:`~accsmbo.evaluation.CrossValidationObjective` does. Parameters are those of
    that class.
    """

    warm_start: bool

    @classmethod
    def from_values(cls, objective, *, warm_start=True):
        """Return the same objective, with gradients."""
        result = cls(**objective.arguments())
        result.warm_start = warm_start
        return result

    def fold(self, trial, index, n_trials=None, callback=None):
        """Score one fold with its gradient; parameters as in the base class."""
        start = time.time()
        try:
            fold = self._fold(index, trial)
            result = fold(
                trial.params,
                tolerance=trial.tolerance,
                warm_start=self._warm_starts.get(index),
            )
            fitted = time.time()
            record = None if callback else self._record(fold, trial, index, result)
        except ValueError:  # not differentiable, or invalid: scikit-learn reports it
            return super().fold(trial, index, n_trials, callback)
        if record is None:  # a callback, or scores that need a fit of their own
            record = super().fold(trial, index, n_trials, callback)
        else:
            record["fit_time"] = fitted - start
            record["score_time"] = time.time() - fitted
        if self.warm_start:
            self._warm_starts[index] = result.warm_start
        return record | {"gradient": result.gradient, "error": result.error}

    def combine(self, folds, start, end):
        """Make one evaluation, its gradient the mean over the folds."""
        evaluation = super().combine(folds, start, end)
        if evaluation.failed or not all("gradient" in fold for fold in folds):
            return evaluation
        names = folds[0]["gradient"]
        mean = {n: float(np.mean([f["gradient"][n] for f in folds])) for n in names}
        return replace(
            evaluation,
            gradient={n: value for n, value in mean.items() if not np.isnan(value)},
            error_estimate=float(np.mean([fold["error"] for fold in folds])),
        )

    def _fold(self, index, trial):
        """Return the fold's evaluator, kept for later trials of this process."""
        if not hasattr(self, "_folds"):
            self._folds: dict = {}
            self._warm_starts: dict = {}
        key = index, tuple(trial.params)
        if key not in self._folds:
            self._folds[key] = FoldHypergradient(
                self.estimator,
                self.X,
                self.y,
                *self.splits[index],
                names=tuple(trial.params),
                scoring=self._optimised_scorer(),
                sample_weight=only_weight(
                    self.fit_params, last_step(self.estimator)[1] + "sample_weight"
                ),
                score_weight=only_weight(self.score_params, "sample_weight"),
            )
        return self._folds[key]

    def __getstate__(self):
        return {
            k: v for k, v in vars(self).items() if k not in ("_folds", "_warm_starts")
        }

    def _optimised_scorer(self):
        scorers = getattr(self.scorer, "_scorers", None)
        if scorers is None:
            return self.scorer
        return scorers.get(self.metric, next(iter(scorers.values())))

    def _record(self, fold, trial, index, result):
        """Return the record of a fold; None where scores need a fit of their own."""
        scores = -result.loss
        record = {"fit_error": None, "n_test_samples": len(self.splits[index][1])}
        several = hasattr(self.scorer, "_scorers")
        if not (several or self.return_train_score or self.keep_predictions):
            return record | {"test_scores": scores}
        model = fold.fitted_estimator(trial.params, result)
        if model is None or self.score_params:
            return None
        record["test_scores"] = self.scorer(model, fold.X_test, fold.y_test)
        if self.return_train_score:
            record["train_scores"] = self.scorer(model, fold.X_train, fold.y_train)
        if self.keep_predictions:
            record["predictions"] = self._predict(model, *self.splits[index])
        return record


def only_weight(params, understood):
    """Return the sample weights among routed parameters; nothing else is understood."""
    params = {k: v for k, v in (params or {}).items() if v is not None}
    if set(params) - {understood}:
        raise NotDifferentiableError(
            f"fit and score parameters must be {understood}, got {sorted(params)}."
        )
    return params.get(understood)
