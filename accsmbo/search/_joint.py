# SPDX-License-Identifier: BSD-3-Clause
"""The joint route: penalties tuned while the folds are trained, then confirmed.

The bilevel Newton method proposes one candidate and says what it should score. The
estimator's own fits of this candidate, a trial like any other, tell whether that holds:
then there is nothing left to search. Otherwise the search goes on from there.
"""

import logging
import math
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from accsmbo._sklearn_private import safe_indexing
from accsmbo.exceptions import Converged, NothingReady
from accsmbo.hypergradients._fold import last_step, numeric_rows
from accsmbo.linear_model._one_fit import tune_penalties
from accsmbo.linear_model._work import WorkSpent
from accsmbo.search._cost import plain_seconds
from accsmbo.search._route import only_weight, optimised_scorer, penalty_bounds

__all__ = ["ConfirmFirst", "tune_jointly"]

logger = logging.getLogger("accsmbo")

# By how much the estimator's own score may differ from the one expected, as a share.
AGREEMENT = 2e-3
# Of the plain evaluation of all candidates: what the method may cost, by its own count.
LARGEST_SHARE = 0.5
# What it may cost beside all of them; beyond, there are so many candidates fewer.
FREE_SHARE = 0.08


@dataclass(frozen=True)
class JointResult:
    """What joint training and tuning found.

    Parameters
    ----------
    params : dict of str to float, or None
        Candidate; None where the work allowed was spent before any was known.
    loss : float or None
        Mean validation loss that it should have; None where the method stepped back
        before it had converged.
    n_spent : int
        By how many candidates fewer the search has to do, where it goes on.
    """

    params: dict | None
    loss: float | None
    n_spent: int


def tune_jointly(objective, space, n_trials, *, limited=True):
    """Tune the penalties of a linear model while its folds are trained.

    Parameters
    ----------
    objective : CrossValidationObjective
        Of a model, space and metric that the route allows.
    space : Space
        Of positive continuous parameters.
    n_trials : int
        Plain evaluations that it stands for.
    limited : bool, default=True
        Whether to step back before it costs a share of these.

    Returns
    -------
    JointResult or None
        None where it failed: the plain evaluation says what is wrong.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # the estimator's own fits give theirs
            return _tune(objective, penalty_bounds(space), n_trials, limited=limited)
    except Exception:
        logger.debug("Joint tuning failed; evaluating plainly.", exc_info=True)
        return None


def _tune(objective, bounds, n_trials, *, limited):
    transformers, prefix, final = last_step(clone(objective.estimator))
    splits = [tuple(map(_as_rows, split)) for split in objective.splits]
    X, parts = _rows(objective, transformers, splits)
    plain = plain_seconds(objective, final)
    max_work = LARGEST_SHARE * n_trials * plain if limited else None
    try:
        found = tune_penalties(
            final,
            {name[len(prefix) :]: ends for name, ends in bounds.items()},
            X,
            np.asarray(objective.y),
            splits,
            parts=parts,
            scoring=optimised_scorer(objective),
            sample_weight=only_weight(objective.fit_params, prefix + "sample_weight"),
            score_weight=only_weight(objective.score_params, "sample_weight"),
            max_work=max_work,
        )
    except WorkSpent:
        return JointResult(None, None, _n_spent(max_work / plain, n_trials))
    params = {
        name: float(np.clip(found.params[name[len(prefix) :]], *ends))
        for name, ends in bounds.items()
    }
    loss = float(found.losses.mean()) if found.converged else None
    spent = found.work / plain + bool(transformers)
    return JointResult(params, loss, _n_spent(spent, n_trials))


def _n_spent(spent, n_trials):
    return max(0, math.ceil(spent - FREE_SHARE * n_trials))


def _rows(objective, transformers, splits):
    """Return the rows as numbers, those of each fold apart behind transformers."""
    if not transformers:
        return numeric_rows(objective.X), None
    parts = []
    for train, test in splits:
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


class ConfirmFirst:
    """Scheduler that hands out one trial and the others only if it disappoints.

    Parameters
    ----------
    scheduler : Scheduler
        Takes over where the first trial does not score what was expected.
    loss : float
        What the first trial should give.
    """

    def __init__(self, scheduler, loss):
        self.scheduler = scheduler
        self.loss = loss

    def begin(self, optimizer, n_slots, *, steady):
        """Take an optimizer."""
        self._optimizer = optimizer
        self.scheduler.begin(optimizer, n_slots, steady=steady)

    def next(self, slot):
        """Return the first trial; then nothing until it is told, or ever."""
        self._check()
        return self.scheduler.next(slot)

    def told(self, interval):
        """Note a result."""
        self.scheduler.told(interval)

    def idle(self, n_left):
        """Prepare nothing before the first trial is told."""
        first = len(self._optimizer.history) == 0
        return math.inf if first else self.scheduler.idle(n_left)

    def rest(self):
        """Wait for what runs beside the loop."""
        self.scheduler.rest()

    def confirms(self, history):
        """Return whether the first trial gave the loss expected."""
        if not len(history):
            return False
        first = min(history, key=lambda record: record[0].number)[1]
        if first.failed:
            return False
        return abs(first.value - self.loss) <= AGREEMENT * abs(self.loss)

    def _check(self):
        history = self._optimizer.history
        if self.confirms(history):
            raise Converged("the estimator's own fits confirm the joint optimum.")
        if not len(history) and self._optimizer.n_asked:
            raise NothingReady("the first trial is under way.")
