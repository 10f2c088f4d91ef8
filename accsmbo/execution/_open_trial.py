# SPDX-License-Identifier: BSD-3-Clause
"""OpenTrial: a trial whose folds are being run."""

import time
from dataclasses import replace
from typing import Any

from accsmbo.execution._objective import Objective
from accsmbo.execution._work import Finished
from accsmbo.history import Evaluation, Span, Trial

__all__ = ["OpenTrial"]


class OpenTrial:
    """A trial and what is known of its folds.

    Parameters
    ----------
    trial : Trial
        What is evaluated.
    n_folds : int
        Number of folds.
    """

    def __init__(self, trial: Trial, n_folds: int) -> None:
        self.trial = trial
        self.n_lost = 0
        self._since: float | None = None
        self._created = time.time()
        self._results: list[Finished | None] = [None] * n_folds
        self._spans: list[Span] = []

    @property
    def complete(self) -> bool:
        """Whether all folds are finished."""
        return None not in self._results

    @property
    def records(self) -> dict[int, Any]:
        """Records of the finished folds, by fold."""
        results = enumerate(self._results)
        return {i: result.record for i, result in results if result is not None}

    def started(self) -> None:
        """Note that a fold has begun; the clock of the trial runs from the first."""
        if self._since is None:
            self._since = time.monotonic()

    def lost(self) -> None:
        """Note that a worker died under the trial; its clock starts again."""
        self.n_lost += 1
        self._since = None

    def seconds(self) -> float:
        """Return how long the trial has been running."""
        return 0.0 if self._since is None else time.monotonic() - self._since

    def finish(self, index: int, slot: int, result: Finished) -> None:
        """Note the result of a fold."""
        self._results[index] = result
        self._spans.append(Span(slot, result.start, result.end))

    def evaluation(self, objective: Objective, error: str | None = None) -> Evaluation:
        """Return the evaluation.

        Parameters
        ----------
        objective : Objective
            Combines the records.
        error : str or None, default=None
            Why the trial failed, where folds are missing.
        """
        now = time.time()
        done = [result for result in self._results if result is not None]
        start = min([r.start for r in done], default=self._created)
        end = max([r.end for r in done], default=now) if self.complete else now
        records: list[Any] = [
            result.record
            if result is not None
            else objective.failed_fold(self.trial, i, str(error), now - start)
            for i, result in enumerate(self._results)
        ]
        evaluation = objective.combine(records, start, end)
        return replace(evaluation, spans=tuple(self._spans))

    def partial(self, objective: Objective) -> Evaluation:
        """Return the evaluation of the finished folds alone.

        Parameters
        ----------
        objective : Objective
            Combines the records.
        """
        records = self.records
        start = min(span.start for span in self._spans)
        end = max(span.end for span in self._spans)
        return replace(
            objective.combine(list(records.values()), start, end),
            fold_indices=tuple(records),
            spans=tuple(self._spans),
        )
