# SPDX-License-Identifier: BSD-3-Clause
"""CrossValidationObjective: params -> Evaluation, fold by fold; what a worker runs."""

import inspect
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from accsmbo._predictions import fold_predictions, predicted_classes
from accsmbo._scoring_error import watched_scorer
from accsmbo._sklearn_private import fit_and_score, safe_split
from accsmbo.history import Evaluation, Trial

__all__ = ["CrossValidationObjective"]


class CrossValidationObjective:
    """Cross-validated loss of an estimator as a function of its parameters.

    The splits are drawn once, outside, so that all candidates are compared on the same
    rows. A fold is the unit of work: :meth:`fold` may run anywhere, in any order;
    :meth:`combine` makes an :class:`Evaluation` of a trial's folds. Calling the object
    does both.

    Parameters
    ----------
    estimator : estimator
        Cloned for each fold.
    X : array-like of shape (n_samples, n_features)
        Data.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        Target.
    splits : sequence of (ndarray, ndarray)
        Train and test indices of each fold.
    scorer : callable
        ``scorer(estimator, X, y)`` -> score or dict of scores, greater is better.
    metric : str or None, default=None
        Which score to optimise where the scorer gives several; None or an absent name:
        the first.
    fit_params, score_params : dict or None, default=None
        Passed to ``estimator.fit`` and to the scorer; entries with one value per sample
        are sliced to the fold.
    error_score : "raise" or float, default=nan
        Score of a fold whose fit or scoring failed.
    return_train_score : bool, default=False
        Also score the training part.
    verbose : int, default=0
        As in scikit-learn's searches.
    keep_predictions : bool, default=False
        Add ``predictions`` of the test part to the record of each fold: float32 of
        shape (n_test, n_outputs), None where they failed.

    Raises
    ------
    ValueError
        If predictions are to be kept of what is neither a classifier with one target
        nor a regressor.

    See Also
    --------
    Objective : The protocol that it follows.
    run : Evaluates it on any workers.
    minimize : For plain functions of the parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import get_scorer
    >>> from sklearn.model_selection import StratifiedKFold
    >>> from sklearn.svm import SVC
    >>> from accsmbo import SMBO
    >>> from accsmbo.evaluation import CrossValidationObjective
    >>> X, y = load_iris(return_X_y=True)
    >>> splits = list(StratifiedKFold(3).split(X, y))
    >>> objective = CrossValidationObjective(
    ...     SVC(), X, y, splits=splits, scorer=get_scorer("accuracy")
    ... )
    >>> evaluation = objective(SMBO({"C": [1.0, 10.0]}).ask())
    >>> evaluation.value < -0.9, len(evaluation.folds)
    (True, 3)
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        splits: Sequence[tuple[Any, Any]],
        scorer: Any,
        metric: str | None = None,
        fit_params: Mapping[str, Any] | None = None,
        score_params: Mapping[str, Any] | None = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        verbose: int = 0,
        keep_predictions: bool = False,
    ) -> None:
        self.estimator = estimator
        self.X = X
        self.y = y
        self.splits = splits
        self.scorer = scorer
        self.metric = metric
        self.fit_params = fit_params
        self.score_params = score_params
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.verbose = verbose
        self.keep_predictions = keep_predictions
        self.classes = predicted_classes(estimator, y) if keep_predictions else None

    def arguments(self) -> dict[str, Any]:
        """Return what the constructor was given, by name.

        Returns
        -------
        dict
            To make an objective of another class, or with another setting.
        """
        names = inspect.signature(CrossValidationObjective).parameters
        return {name: getattr(self, name) for name in names}

    @property
    def n_folds(self) -> int:
        """Number of folds of one trial."""
        return len(self.splits)

    def __call__(self, trial: Trial) -> Evaluation:
        """Run all folds of a trial.

        Parameters
        ----------
        trial : Trial
            What to evaluate.

        Returns
        -------
        Evaluation
            Loss, folds, times, the first error.
        """
        start = time.time()
        folds = [self.fold(trial, i) for i in range(self.n_folds)]
        return self.combine(folds, start, time.time())

    def fold(
        self,
        trial: Trial,
        index: int,
        n_trials: int | None = None,
        callback: Mapping[str, Any] | None = None,
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

        Returns
        -------
        dict
            ``test_scores``, ``train_scores`` where asked, ``fit_time``, ``score_time``
            (seconds), ``n_test_samples``, ``fit_error`` (a traceback or None),
            ``score_error`` where the scorer raised, ``predictions`` where asked.
        """
        train, test = self.splits[index]
        record = self._fit_and_score(
            clone(self.estimator), trial, index, n_trials, callback, train=train
        )
        return self._without_estimator(record, train, test)

    def failed_fold(
        self, trial: Trial, index: int, error: str, seconds: float
    ) -> dict[str, Any]:
        """Return the record of a fold that was not finished: its worker was lost.

        Parameters
        ----------
        trial : Trial
            What was evaluated.
        index : int
            Index into ``splits``.
        error : str
            Why there is no result.
        seconds : float
            How long the trial ran.

        Returns
        -------
        dict
            As from :meth:`fold`, with ``error_score`` for every score.

        Raises
        ------
        RuntimeError
            With ``error_score="raise"``.
        """
        if self.error_score == "raise":
            raise RuntimeError(f"{error} The parameters were {trial.params!r}.")
        names = getattr(self.scorer, "_scorers", None)
        scores = (
            self.error_score
            if names is None
            else dict.fromkeys(names, self.error_score)
        )
        record: dict[str, Any] = {
            "test_scores": scores,
            "fit_error": error,
            "fit_time": seconds,
            "score_time": 0.0,
            "n_test_samples": len(self.splits[index][1]),
        }
        if self.return_train_score:
            record["train_scores"] = scores
        if self.keep_predictions:
            record["predictions"] = None
        return record

    def combine(
        self, folds: Sequence[dict[str, Any]], start: float, end: float
    ) -> Evaluation:
        """Make one evaluation of a trial's folds.

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
        found = [fold["fit_error"] or fold.get("score_error") for fold in folds]
        errors = [error for error in found if error is not None]
        loss = float(np.mean([self.loss(fold) for fold in folds]))
        finite = math.isfinite(loss)
        if not finite and not errors:
            errors = [f"the mean test score is not finite: {-loss}"]
        return Evaluation(
            value=loss if finite else None,
            error=errors[0] if errors else None,
            folds=tuple(folds),
            start_time=start,
            end_time=end,
        )

    def loss(self, fold: Mapping[str, Any]) -> float:
        """Return the loss of one fold: minus the optimised test score.

        Parameters
        ----------
        fold : mapping
            What :meth:`fold` returned.

        Returns
        -------
        float
            Not finite where the fold failed.
        """
        scores = fold["test_scores"]
        if not isinstance(scores, Mapping):
            return -float(scores)
        name = self.metric if self.metric in scores else next(iter(scores))
        return -float(scores[name])

    def _fit_and_score(
        self,
        estimator: Any,
        trial: Trial,
        index: int,
        n_trials: int | None,
        callback: Mapping[str, Any] | None,
        *,
        train: Any,
        params: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the record of a fold with the fitted ``estimator``.

        ``train``: rows to fit on; ``params``: what to set, None: those of the trial.
        """
        scorer = watched_scorer(self.scorer, self.metric)
        record: dict[str, Any] = fit_and_score(
            estimator,
            self.X,
            self.y,
            scorer=scorer,
            train=train,
            test=self.splits[index][1],
            verbose=self.verbose,
            parameters=trial.params if params is None else params,
            fit_params=self.fit_params,
            score_params=self.score_params,
            return_train_score=self.return_train_score,
            return_n_test_samples=True,
            return_times=True,
            return_estimator=True,
            split_progress=(index, self.n_folds),
            candidate_progress=(trial.number, n_trials) if n_trials else None,
            error_score=self.error_score,
            **(callback or {}),
        )
        return (
            record if scorer.error is None else record | {"score_error": scorer.error}
        )

    def _without_estimator(
        self, record: dict[str, Any], train: Any, test: Any
    ) -> dict[str, Any]:
        """Return a record without the estimator, with its predictions where asked."""
        estimator = record.pop("estimator")
        if self.keep_predictions:
            failed = record["fit_error"] is not None
            record["predictions"] = (
                None if failed else self._predict(estimator, train, test)
            )
        return record

    def _predict(self, estimator: Any, train: Any, test: Any) -> Any:
        X, _ = safe_split(estimator, self.X, self.y, test, train)
        try:
            predicted = fold_predictions(estimator, X, self.classes)
        except Exception:  # to keep predictions changes nothing else
            return None
        return predicted.astype(np.float32)
