# SPDX-License-Identifier: BSD-3-Clause
"""GradientObjective: the estimator's own evaluations, with the gradient of the loss."""

import logging
from dataclasses import replace

import numpy as np
from sklearn.base import clone

from accsmbo.evaluation import CrossValidationObjective
from accsmbo.hypergradients import FoldHypergradient
from accsmbo.hypergradients._fold import last_step
from accsmbo.search._route import only_weight, optimised_scorer

__all__ = ["GradientObjective"]

logger = logging.getLogger("accsmbo")

# By how much the score of the minimum may differ from the estimator's, as a share, for
# the gradient to be trusted where nobody asked for it.
AGREEMENT = 1e-2


class GradientObjective(CrossValidationObjective):
    """A cross-validation objective whose first evaluations carry hypergradients.

    Every fold is fitted and scored by the estimator itself; the gradient is read off
    the fitted model; where that fails there is none. Other parameters are those of
    :class:`~accsmbo.evaluation.CrossValidationObjective`.

    Attributes
    ----------
    n_gradients : float
        Number of first trials that get one.
    agreement : float
        By how much the score of the minimum may differ from the estimator's, as a
        share: one that stopped early is not where the gradient is known.
    """

    n_gradients: float
    agreement: float

    @classmethod
    def from_values(cls, objective, *, n_gradients=None):
        """Return the same objective with gradients: of some first trials, or of all."""
        result = cls(**objective.arguments())
        asked = n_gradients is None
        result.n_gradients = np.inf if asked else n_gradients
        result.agreement = np.inf if asked else AGREEMENT
        return result

    def fold(self, trial, index, n_trials=None, callback=None):
        """Score one fold, with its gradient; parameters as in the base class."""
        train, test = self.splits[index]
        record = self._fit_and_score(
            clone(self.estimator), trial, index, n_trials, callback, train=train
        )
        gradient = None
        if trial.number < self.n_gradients and record["fit_error"] is None:
            gradient = self._gradient(trial, index, record)
        record = self._without_estimator(record, train, test)
        return record if gradient is None else record | {"gradient": gradient}

    def combine(self, folds, start, end):
        """Make one evaluation, its gradient the mean over the folds."""
        gradients = [fold.get("gradient") for fold in folds]
        folds = [{k: v for k, v in f.items() if k != "gradient"} for f in folds]
        evaluation = super().combine(folds, start, end)
        if evaluation.failed or None in gradients:
            return evaluation
        mean = {n: float(np.mean([g[n] for g in gradients])) for n in gradients[0]}
        known = {name: value for name, value in mean.items() if not np.isnan(value)}
        return replace(evaluation, gradient=known)

    def _gradient(self, trial, index, record):
        """Return the gradient by name at the fitted estimator, or None."""
        try:
            found = self._fold(index, trial).gradient_at(
                trial.params, record["estimator"], tolerance=trial.tolerance
            )
        except Exception:
            logger.debug("No gradient of trial %d.", trial.number, exc_info=True)
            return None
        loss = self.loss(record)
        differs = abs(found.loss - loss) > self.agreement * abs(loss)
        return None if differs else found.gradient

    def _fold(self, index, trial):
        """Return the fold's evaluator, kept for later trials of this process."""
        if not hasattr(self, "_folds"):
            self._folds: dict = {}
        key = index, tuple(trial.params)
        if key not in self._folds:
            self._folds[key] = FoldHypergradient(
                self.estimator,
                self.X,
                self.y,
                *self.splits[index],
                names=tuple(trial.params),
                scoring=optimised_scorer(self),
                sample_weight=only_weight(
                    self.fit_params, last_step(self.estimator)[1] + "sample_weight"
                ),
                score_weight=only_weight(self.score_params, "sample_weight"),
            )
        return self._folds[key]

    def __getstate__(self):
        return {k: v for k, v in vars(self).items() if k != "_folds"}
