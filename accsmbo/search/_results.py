# SPDX-License-Identifier: BSD-3-Clause
"""SearchResults: from the history of a search to its fitted attributes."""

from collections.abc import Mapping

import numpy as np

from accsmbo._sklearn_private import (
    BaseSearchCV,
    MultimetricScorer,
    insert_error_scores,
    warn_or_raise_about_fit_failures,
)
from accsmbo.execution import StopReason
from accsmbo.search._endings import (
    nothing_scored,
    raise_nothing_finished,
    raise_nothing_scored,
    warn_interrupted,
)
from accsmbo.search._missing_folds import (
    correct_for_missing_folds,
    filled,
    folds_run,
)

__all__ = ["SearchResults"]


class SearchResults(BaseSearchCV):
    """The part of a search that stores ``cv_results_`` and what follows from it."""

    def _store_results(self, optimizer, scorers, refit_metric, reason, n_trials):
        history = optimizer.history
        self._own |= {"history_": history, "optimizer_": optimizer}
        if not len(history):
            raise_nothing_finished(reason, self.timeout, self.n_splits_)
        if reason is StopReason.INTERRUPTED:
            warn_interrupted(len(history), n_trials, self.storage)
        records = sorted(history, key=lambda record: record[0].number)
        folds = [fold for _, evaluation in records for fold in evaluation.folds]
        self._report_failures(records, folds)
        if callable(self.scoring):
            insert_error_scores(folds, self.error_score)
        first_scores = folds[0]["test_scores"]
        self.multimetric_ = isinstance(first_scores, Mapping)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(first_scores)
            refit_metric = self.refit
        history.metric = self._objective_metric(first_scores)
        self._own["objective_metric_"] = history.metric
        params = [trial.params for trial, _ in records]
        run = folds_run(records, self.n_splits_)
        rows = [
            {key: value for key, value in fold.items() if key != "score_error"}
            for fold in filled(records, run)
        ]
        self.cv_results_ = self._format_results(params, self.n_splits_, rows)
        if not run.all():
            correct_for_missing_folds(self.cv_results_, run)
        may_win = np.ones(len(records), dtype=bool)
        if self.selection is not None:
            self.cv_results_.update(self.selection.columns(records))
            self._own |= self.selection.attributes(records)
            may_win = self.selection.may_win(records)
        self.scorer_ = _each(scorers)
        if self.refit or not self.multimetric_:
            self._store_best(refit_metric, may_win)

    def _report_failures(self, records, folds):
        try:
            warn_or_raise_about_fit_failures(folds, self.error_score)
        except ValueError as error:
            if self.selection is None:
                raise
            raise ValueError(f"{error}{self.selection.advice(records)}") from error
        if nothing_scored(records):
            raise_nothing_scored(records)

    def _objective_metric(self, scores):
        if not isinstance(scores, Mapping):
            return self.scoring if isinstance(self.scoring, str) else "score"
        return self.refit if isinstance(self.refit, str) else next(iter(scores))

    def _metric_ahead(self, scorers):
        """Return the metric's name before anything is scored.

        What a callable computes is known by its results alone.
        """
        if callable(self.scoring) and isinstance(self.refit, str):
            return self.refit
        return self._objective_metric(_each(scorers))

    def _store_best(self, refit_metric, may_win):
        results = self.cv_results_
        self.best_index_ = self._best_index(refit_metric, may_win)
        if not callable(self.refit):
            self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
        self.best_params_ = results["params"][self.best_index_]

    def _best_index(self, refit_metric, may_win):
        results = self.cv_results_
        if not may_win.any():
            raise ValueError(
                f"selection={self.selection!r} must leave at least one candidate with "
                f"all of its resource, but none of the {len(may_win)} got it before "
                "the search ended. Give it more time or more candidates."
            )
        if callable(self.refit) or may_win.all():
            index = self._select_best_index(self.refit, refit_metric, results)
            if not may_win[index]:
                raise ValueError(
                    "refit must return the index of a candidate with all of its "
                    f"resource, got {index}, which selection={self.selection!r} cut "
                    "short. See the columns of cv_results_ that it adds."
                )
            return index
        ranks = results[f"rank_test_{refit_metric}"]
        return int(np.argmin(np.where(may_win, ranks, np.iinfo(ranks.dtype).max)))


def _each(scorers):
    """Return the scorers by name where there are several, else the only one."""
    return scorers._scorers if isinstance(scorers, MultimetricScorer) else scorers
