# SPDX-License-Identifier: BSD-3-Clause
"""FidelityObjective: cross-validation with a part of the rows, or of a parameter."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from accsmbo.evaluation import CrossValidationObjective
from accsmbo.fidelity._continuation import Continuation, FittedFold, continuation
from accsmbo.fidelity._subsample import nested_order, strata
from accsmbo.history import Evaluation, Trial

__all__ = ["N_SAMPLES", "FidelityObjective"]

N_SAMPLES = "n_samples"


class FidelityObjective(CrossValidationObjective):
    """A cross-validation objective that obeys ``Trial.fidelity``.

    Of ``"n_samples"`` each fold is trained on the beginning of a fixed order of its
    training rows, and tested on all of its test rows. Of a parameter the fitted
    estimators of a candidate go on, where they can, from where its last trial ended.
    """

    resource: str
    max_resources: int
    continues: bool
    orders: list[Any]

    @classmethod
    def of(
        cls,
        objective: CrossValidationObjective,
        resource: str,
        max_resources: int,
        *,
        continues: bool,
        seed: int,
    ) -> "FidelityObjective":
        """Return the objective for a resource.

        Parameters
        ----------
        objective : CrossValidationObjective
            What it is made from; a subclass loses what it adds.
        resource : str
            ``"n_samples"`` or a parameter of the estimator.
        max_resources : int
            All of the resource.
        continues : bool
            Whether fitted estimators go on.
        seed : int
            Seed of the subsamples.

        Returns
        -------
        FidelityObjective
            Travels to the workers.
        """
        result = cls.__new__(cls)
        state: Any = objective.__getstate__()
        vars(result).update(
            state, resource=resource, max_resources=max_resources, continues=continues
        )
        result.orders = []
        if resource == N_SAMPLES:
            classes = strata(objective.estimator, objective.y)
            everything = np.arange(result.n_rows)
            result.orders = [
                nested_order(
                    everything[np.asarray(train)],
                    classes,
                    np.random.default_rng([seed, index]),
                )
                for index, (train, _) in enumerate(objective.splits)
            ]
        return result

    @property
    def n_rows(self) -> int:
        """Number of rows of the data."""
        X = self.X
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)

    def fold(
        self,
        trial: Trial,
        index: int,
        n_trials: int | None = None,
        callback: Mapping[str, Any] | None = None,
        start: FittedFold | None = None,
    ) -> dict[str, Any]:
        """Fit and score one fold.

        Parameters
        ----------
        trial : Trial
            What to evaluate.
        index : int
            Index into ``splits``.
        n_trials : int or None, default=None
            Number of trials of the run, for the progress text.
        callback : mapping or None, default=None
            Further arguments of scikit-learn's fit-and-score, for its callbacks.
        start : FittedFold or None, default=None
            Where the candidate's last trial ended.

        Returns
        -------
        dict
            As from the base class; where the estimator can go on ``state``, to start
            from.
        """
        train, test = self.splits[index]
        if self.resource == N_SAMPLES:
            train = self._rows(index, trial)
            record = self._fit_and_score(
                clone(self.estimator), trial, index, n_trials, callback, train=train
            )
            return self._bare(record, trial, train, test)
        record = self._go_on(trial, index, n_trials, callback, start)
        state = record.pop("state", None)
        record = self._bare(record, trial, train, test)
        return record if state is None else record | {"state": state}

    def combine(
        self, folds: Sequence[dict[str, Any]], start: float, end: float
    ) -> Evaluation:
        """Make one evaluation of a trial's folds, their states as its warm start.

        Parameters
        ----------
        folds : sequence of dict
            What :meth:`fold` returned for each fold.
        start, end : float
            Seconds since the epoch.

        Returns
        -------
        Evaluation
            The value is minus the mean test score: a loss.
        """
        states = tuple(fold.get("state") for fold in folds)
        bare = [{k: v for k, v in f.items() if k != "state"} for f in folds]
        evaluation = super().combine(bare, start, end)
        if all(state is None for state in states):
            return evaluation
        return replace(evaluation, warm_start=states)

    def _bare(
        self, record: dict[str, Any], trial: Trial, train: Any, test: Any
    ) -> dict[str, Any]:
        """Return a record without the estimator; predictions with all of the resource.

        What a model predicts that had less says nothing of one fitted on everything.
        """
        if trial.fidelity is None or trial.fidelity >= self.max_resources:
            return self._without_estimator(record, train, test)
        del record["estimator"]
        return record | {"predictions": None} if self.keep_predictions else record

    def _rows(self, index: int, trial: Trial) -> Any:
        """Return the training rows of a trial, in the order of the data."""
        order = self.orders[index]
        amount = self.n_rows if trial.fidelity is None else trial.fidelity
        n = max(1, int(len(order) * amount / self.n_rows + 1e-9))
        return np.sort(order[:n])

    def _go_on(
        self,
        trial: Trial,
        index: int,
        n_trials: int | None,
        callback: Mapping[str, Any] | None,
        start: FittedFold | None,
    ) -> dict[str, Any]:
        """Return the record of a fold, with ``estimator`` and ``state``."""
        amount = int(trial.params[self.resource])
        more = {"train": self.splits[index][0]}
        estimator = None if start is None else start.open()
        done = 0 if start is None or estimator is None else start.amount
        if estimator is None:
            estimator = clone(self.estimator)
        way = self._continuation(trial)
        with self._quiet(amount):
            if way is None:
                return self._fit_and_score(
                    estimator, trial, index, n_trials, callback, **more
                )
            ahead = way.params(amount, done)
            more["params"] = ahead if done else {**trial.params, **ahead}
            with way.going_on(estimator, amount, done):
                record = self._fit_and_score(
                    estimator, trial, index, n_trials, callback, **more
                )
        if amount < self.max_resources and record["fit_error"] is None:
            record["state"] = FittedFold(record["estimator"], amount)
        return record

    def _continuation(self, trial: Trial) -> Continuation | None:
        """Return how the estimator goes on; None: it is fitted as it is.

        Also where a trial has all of the resource: scores of candidates that went on
        and of those that start there are compared.
        """
        if not self.continues:
            return None
        try:
            configured = clone(self.estimator).set_params(
                **clone(trial.params, safe=False)
            )
        except (TypeError, ValueError):
            return None
        return continuation(configured, self.resource, self.fit_params, self.n_rows)

    @contextmanager
    def _quiet(self, amount: int) -> Iterator[None]:
        """Leave out what is said only because training ends early, or goes on."""
        with warnings.catch_warnings():
            if amount < self.max_resources:
                warnings.simplefilter("ignore", ConvergenceWarning)
            # The data are the same: the presets give the same weights.
            warnings.filterwarnings("ignore", message="class_weight presets")
            yield
