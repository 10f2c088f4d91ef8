# SPDX-License-Identifier: BSD-3-Clause
"""Out-of-fold predictions: made by a worker, kept for all candidates of a search.

Notation
--------
M    candidates whose every fold was predicted
n    rows that at least one fold tests
c    classes; 1 for a regressor with one target
"""

import os
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from accsmbo._probabilities import align_classes

__all__ = [
    "FoldAverage",
    "OutOfFoldPredictions",
    "PredictionStore",
    "fold_predictions",
    "predicted_classes",
]

# Beyond this many bytes the predictions of a search go to a temporary file.
MEMORY_LIMIT = 2**28


def fold_predictions(estimator: Any, X: Any, classes: Any = None) -> NDArray[Any]:
    """Predict, with one column for each of all classes, or for each target.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Samples.
    classes : array-like of shape (n_classes,), default=None
        All classes, sorted, for a classifier; a class that the estimator did not see
        has probability 0. Without ``predict_proba`` the predicted class has 1. None:
        a regressor.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)
        Probabilities, or predictions of each target.
    """
    if classes is None:
        predicted = np.asarray(estimator.predict(X))
        return predicted.reshape(len(predicted), -1)
    if hasattr(estimator, "predict_proba"):
        return align_classes(estimator.predict_proba(X), estimator.classes_, classes)
    codes = np.searchsorted(classes, estimator.predict(X))
    votes: NDArray[Any] = np.eye(len(classes))[codes]
    return votes


def predicted_classes(estimator: Any, y: Any) -> Any:
    """Return the classes whose probabilities are kept.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Target.

    Returns
    -------
    ndarray of shape (n_classes,) or None
        Sorted; None for a regressor.

    Raises
    ------
    ValueError
        If it is neither, or a classifier with several targets.
    """
    if y is not None and is_regressor(estimator):
        return None
    if y is not None and is_classifier(estimator) and np.size(y) == len(y):
        return np.unique(np.asarray(y))
    raise ValueError(
        "keep_predictions must be False unless the estimator is a regressor or a "
        "classifier with one target of shape (n_samples,), got "
        f"{type(estimator).__name__} with a target of shape {np.shape(y)}. Leave it "
        "out."
    )


class FoldAverage:
    """Puts the predictions of folds in one array, a row of which was tested.

    Parameters
    ----------
    splits : sequence of (train, test)
        Indices or masks.
    n_samples : int
        Number of rows of the data.

    Attributes
    ----------
    rows : ndarray of int of shape (n_rows,)
        Rows that at least one fold tests, sorted.
    n_folds : int
        Number of folds.
    """

    def __init__(self, splits: Sequence[tuple[Any, Any]], n_samples: int) -> None:
        self._tests = [np.arange(n_samples)[np.asarray(test)] for _, test in splits]
        times = np.bincount(np.concatenate(self._tests), minlength=n_samples)
        self.rows = np.flatnonzero(times)
        self.n_folds = len(self._tests)
        self._times = times[self.rows, None].astype(np.float32)
        self._place = np.cumsum(times > 0) - 1

    def __call__(self, folds: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Average the predictions of the folds for each row.

        Parameters
        ----------
        folds : sequence of ndarray of shape (n_test, n_outputs)
            Predictions of each fold's test part.

        Returns
        -------
        ndarray of float32 of shape (n_rows, n_outputs)
            A row tested by several folds holds their mean.
        """
        total = np.zeros((len(self.rows), folds[0].shape[1]), dtype=np.float32)
        for test, fold in zip(self._tests, folds, strict=True):
            # A splitter with replacement may test a row twice in one fold.
            np.add.at(total, self._place[test], fold)
        total /= self._times
        return total


class OutOfFoldPredictions:
    """What each candidate of a search predicted for rows it was not trained on.

    Immutable; a copy (also by ``clone``) is the object itself.

    Parameters
    ----------
    values : ndarray of float32 of shape (n_candidates, n_rows, n_outputs)
        Predictions, read-only; a row tested by several folds holds their mean.
    params : sequence of dict
        Parameters of each candidate.
    numbers : sequence of int
        Number of each candidate in the order of asking.
    rows : ndarray of int of shape (n_rows,)
        Rows of the data that were tested, sorted.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Target of all rows.
    splits : sequence of (train, test)
        The folds.
    classes : ndarray of shape (n_classes,) or None
        Class of each column; None for a regressor.
    """

    def __init__(
        self,
        values: NDArray[np.float32],
        *,
        params: Sequence[dict[str, Any]],
        numbers: Sequence[int],
        rows: NDArray[np.intp],
        y: Any,
        splits: Sequence[tuple[Any, Any]],
        classes: Any,
    ) -> None:
        self.values = values
        self.params = list(params)
        self.numbers = list(numbers)
        self.rows = rows
        self.y = y
        self.splits = splits
        self.classes = classes

    def __len__(self) -> int:
        return len(self.params)

    def __repr__(self) -> str:
        kind = "memory map" if isinstance(self.values, np.memmap) else "array"
        return f"OutOfFoldPredictions({kind} of shape {self.values.shape})"

    def check_target(self, y: NDArray[Any], classes: Any) -> None:
        """Check that the predictions were made for a target.

        Parameters
        ----------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Target of all rows.
        classes : ndarray of shape (n_classes,) or None
            Its classes; None for a regressor.

        Raises
        ------
        ValueError
            If it is another one.
        """
        known = np.asarray(self.y)
        same_kind = (self.classes is None) == (classes is None)
        if (
            not same_kind
            or known.size != y.size
            or not np.array_equal(known.ravel(), y.ravel())
        ):
            raise ValueError(
                "predictions must have been made for the X and y given to fit, but y "
                "differs. Fit with the data of the search, or set predictions=None."
            )

    def __copy__(self) -> "OutOfFoldPredictions":
        return self

    def __deepcopy__(self, memo: Any) -> "OutOfFoldPredictions":
        return self

    def __getstate__(self) -> dict[str, Any]:
        # The file behind a memory map does not travel.
        return self.__dict__ | {"values": np.array(self.values)}


class PredictionStore:
    """Collects the predictions of finished candidates, in memory or on disk.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Target.
    splits : sequence of (train, test)
        The folds of each candidate.
    classes : array-like of shape (n_classes,) or None
        All classes, sorted; None for a regressor.
    memory_limit : int, default=2**28
        Bytes kept in memory; beyond them all goes to a temporary file, which is
        removed with the result.
    """

    def __init__(
        self,
        y: Any,
        splits: Sequence[tuple[Any, Any]],
        classes: Any,
        *,
        memory_limit: int = MEMORY_LIMIT,
    ) -> None:
        self.y = np.asarray(y)
        self.splits = splits
        self.classes = classes
        self.memory_limit = memory_limit
        self._average = FoldAverage(splits, len(self.y))
        self._params: list[dict[str, Any]] = []
        self._numbers: list[int] = []
        self._arrays: list[NDArray[np.float32]] = []
        self._n_bytes = 0
        self._path: Path | None = None
        self._n_seen = 0

    @classmethod
    def of(cls, objective: Any) -> "PredictionStore":
        """Make a store for the trials of an objective.

        Parameters
        ----------
        objective : CrossValidationObjective
            With ``keep_predictions``.

        Returns
        -------
        PredictionStore
            Empty.
        """
        return cls(objective.y, objective.splits, objective.classes)

    def update(self, history: Any) -> None:
        """Move the predictions of new trials out of a history.

        Parameters
        ----------
        history : History
            Each fold record of its evaluations may hold ``predictions``, an array or
            None; the entry is removed. A trial that lacks a fold is not kept.
        """
        for trial, evaluation in history[self._n_seen :]:
            folds = [fold.pop("predictions", None) for fold in evaluation.folds]
            complete = len(folds) == self._average.n_folds and all(
                fold is not None for fold in folds
            )
            if complete and not evaluation.failed:
                self._append(trial, self._average(folds))
        self._n_seen = len(history)

    def result(self) -> OutOfFoldPredictions:
        """Return all that was collected, candidates in the order of asking."""
        order = np.argsort(self._numbers, kind="stable")
        values = self._values(order)
        values.setflags(write=False)
        predictions = OutOfFoldPredictions(
            values,
            params=[self._params[i] for i in order],
            numbers=[self._numbers[i] for i in order],
            rows=self._average.rows,
            y=self.y,
            splits=self.splits,
            classes=self.classes,
        )
        if self._path is not None:
            weakref.finalize(predictions, _remove, self._path)
        return predictions

    def _append(self, trial: Any, predicted: NDArray[np.float32]) -> None:
        self._params.append(dict(trial.params))
        self._numbers.append(trial.number)
        self._arrays.append(predicted)
        self._n_bytes += predicted.nbytes
        if self._n_bytes > self.memory_limit:
            self._flush()

    def _flush(self) -> None:
        """Append what is in memory to the file."""
        if self._path is None:
            handle, name = tempfile.mkstemp(prefix="accsmbo-", suffix=".float32")
            os.close(handle)
            self._path = Path(name)
        with self._path.open("ab") as file:
            for array in self._arrays:
                file.write(array.tobytes())
        self._shape = self._arrays[-1].shape
        self._arrays = []

    def _values(self, order: NDArray[np.intp]) -> NDArray[np.float32]:
        if self._path is None:
            if not self._arrays:
                n_outputs = 1 if self.classes is None else len(self.classes)
                return np.empty(
                    (0, len(self._average.rows), n_outputs), dtype=np.float32
                )
            return np.stack([self._arrays[i] for i in order])
        if self._arrays:
            self._flush()
        shape = (len(self._numbers), *self._shape)
        values = np.memmap(self._path, dtype=np.float32, mode="r+", shape=shape)
        if np.any(order != np.arange(len(order))):
            _permute(values, order)
        return np.memmap(self._path, dtype=np.float32, mode="r", shape=shape)


def _permute(values: NDArray[np.float32], order: NDArray[np.intp]) -> None:
    """Put ``values[order]`` in place, following each cycle with one row spare."""
    done = np.zeros(len(order), dtype=bool)
    for start in range(len(order)):
        if done[start]:
            continue
        spare, place = values[start].copy(), start
        while not done[place]:
            done[place] = True
            source = int(order[place])
            values[place] = spare if source == start else values[source]
            place = source


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
