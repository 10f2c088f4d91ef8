# SPDX-License-Identifier: BSD-3-Clause
"""GradientSearchCV: gradients where a model has them, experience where it exists."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from accsmbo.execution import StopReason
from accsmbo.history import History
from accsmbo.hypergradients import differentiable_names
from accsmbo.optimizers import AccSMBO
from accsmbo.search._experience import shipped_density
from accsmbo.search._gradient_objective import GradientObjective
from accsmbo.search._one_fit_search import exact_evaluation, run_one_fit
from accsmbo.search._optimizer_search import OptimizerSearchCV
from accsmbo.space import Space

__all__ = ["GradientSearchCV"]

# Relative accuracies of the losses of the first and of the last inner solves, before
# the correction that makes them good to about the square of that.
FIRST_TOLERANCE, LAST_TOLERANCE = 3e-2, 3e-3
# How often the best row may change while rows are evaluated exactly.
MAX_EXACT_ROWS = 5


class GradientSearchCV(OptimizerSearchCV):
    """Base of AccSMBOSearchCV: chooses objective and density, makes the best exact."""

    def _default_optimizer(self):
        return AccSMBO()

    def _make_optimizer(self):
        if self.optimizer is not None and self.density != "auto":
            raise ValueError(
                "optimizer and density must not both be given, got "
                f"optimizer={self.optimizer!r} and density={self.density!r}. Give the "
                "density to the optimizer."
            )
        optimizer, n_trials = super()._make_optimizer()
        self._unstarted = optimizer
        return optimizer, n_trials

    def _make_objective(self, X, y, scorers, routed):
        objective = super()._make_objective(X, y, scorers, routed)
        optimizer = self.__dict__.pop("_unstarted")
        self._density = None
        if not isinstance(optimizer, AccSMBO):
            return objective
        space = Space(optimizer.space, allow_empty=True)
        if self.optimizer is None:
            self._density = self._choose_density(space, X, y)
            optimizer.set_params(density=self._density)
        if self.solver == "estimator" or not _has_gradient(objective, space):
            return objective
        # Kept predictions are those of the models that were scored: exact ones.
        if self.optimizer is None and not self.keep_predictions:
            optimizer.set_params(
                initial_tolerance=FIRST_TOLERANCE, tolerance=LAST_TOLERANCE
            )
        return GradientObjective.from_values(
            objective, warm_start=self._runs_in_order()
        )

    def _choose_density(self, space, X, y):
        if not isinstance(self.density, str):
            return self.density
        scoring = self.scoring
        metric = self.refit if isinstance(self.refit, str) else scoring
        if metric is not None and not isinstance(metric, str):
            return None
        return shipped_density(self.estimator, space, metric, X, y)

    def _run(self, optimizer, objective, *args):
        self._objective = objective
        done = run_one_fit(self, optimizer, objective, *args[:2])
        return super()._run(optimizer, objective, *args) if done is None else done

    def _store_results(self, optimizer, scorers, refit_metric, reason, n_trials):
        objective = self.__dict__.pop("_objective")
        density = self.__dict__.pop("_density", None)
        rest = (scorers, refit_metric, reason, n_trials)
        if isinstance(objective, GradientObjective):
            self._store_exact_best(optimizer.history, objective, rest)
        else:
            super()._store_results(optimizer, *rest)
        self._own |= {
            "history_": optimizer.history,
            "optimizer_": optimizer,
            "density_": density,
        }

    def _store_exact_best(self, history, objective, rest):
        """Store results whose best row is scored by the estimator's own fit."""
        records = sorted(history, key=lambda record: record[0].number)
        estimates = np.array([_error_estimate(e) for _, e in records])
        records = [(trial, _without_gradients(e)) for trial, e in records]
        super()._store_results(_view(history, records), *rest)
        scorers, refit_metric, reason, n_trials = rest
        for _ in range(0 if reason is StopReason.INTERRUPTED else MAX_EXACT_ROWS):
            best = getattr(self, "best_index_", None)
            if best is None or not estimates[best] > 0.0:
                break
            trial = records[best][0]
            records[best] = (trial, exact_evaluation(self, objective, trial))
            estimates[best] = 0.0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # said before
                super()._store_results(
                    _view(history, records), scorers, refit_metric, reason, n_trials
                )
        self.cv_results_["score_error_estimate"] = estimates


def _view(history, records):
    """Return what stands in for an optimizer with other records."""
    patched = History(history.space)
    for record in records:
        patched.append(*record)
    return SimpleNamespace(history=patched)


def _without_gradients(evaluation):
    """Return an evaluation whose folds hold what cv_results_ is made of."""
    folds = tuple(
        {k: v for k, v in fold.items() if k not in ("gradient", "error")}
        for fold in evaluation.folds
    )
    return replace(evaluation, folds=folds)


def _error_estimate(evaluation):
    if evaluation.gradient is None or evaluation.failed:
        return 0.0
    return max(evaluation.error_estimate or 0.0, np.finfo(float).tiny)


def _has_gradient(objective, space):
    """Whether the metric can be differentiated by a continuous parameter."""
    names = [
        name
        for subspace in space.subspaces
        for name, levels in zip(subspace.names, subspace.levels, strict=True)
        if levels == 0
    ]
    probe = GradientObjective.from_values(objective)
    try:
        scorer = probe._optimised_scorer()
        return bool(differentiable_names(objective.estimator, names, scorer))
    except ValueError:
        return False
