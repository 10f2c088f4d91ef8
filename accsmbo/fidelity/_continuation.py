# SPDX-License-Identifier: BSD-3-Clause
"""Continuation: how a fitted estimator goes on to more of a parameter.

Three ways, by what the estimator offers:

- ``total``: with ``warm_start`` the parameter counts what there is in all, as the trees
  of a forest: fitting goes on to the same estimator as a fit from nothing.
- ``epochs``: classifiers and regressors with ``partial_fit``, whose ``max_iter`` counts
  epochs: as many calls as there are epochs to go.
- ``further``: with ``warm_start`` the parameter counts what is still to do.
"""

import contextlib
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.pipeline import Pipeline

try:
    import cloudpickle  # type: ignore[import-untyped,unused-ignore]
except ImportError:
    from joblib.externals import cloudpickle

__all__ = ["Continuation", "FittedFold", "continuation"]

HIST_BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
# Rows beyond which their early_stopping="auto" is True.
AUTO_STOPPING = 10_000


@dataclass(frozen=True)
class Continuation:
    """How an estimator goes on.

    Attributes
    ----------
    way : {"total", "epochs", "further"}
        See the module.
    parameter : str
        The resource, as a parameter of the whole estimator.
    """

    way: Literal["total", "epochs", "further"]
    parameter: str

    def params(self, amount: int, done: int) -> dict[str, Any]:
        """Return what to set before going on.

        Parameters
        ----------
        amount, done : int
            Amount to reach, and amount reached; 0: not fitted yet.

        Returns
        -------
        dict
            Parameters of the whole estimator.
        """
        if self.way == "epochs":
            return {self.parameter: amount}
        owner, _, _ = self.parameter.rpartition("__")
        warm_start = f"{owner}__warm_start" if owner else "warm_start"
        to_do = amount - done if self.way == "further" else amount
        return {self.parameter: to_do, warm_start: True}

    @contextlib.contextmanager
    def going_on(self, estimator: Any, amount: int, done: int) -> Iterator[None]:
        """Make ``fit`` of this estimator go on, and tell the whole amount afterwards.

        Parameters
        ----------
        estimator : estimator
            Fitted to the amount `done`, or not fitted where that is 0.
        amount, done : int
            As for :meth:`params`.

        Yields
        ------
        None
            Meanwhile ``fit`` may be called once.
        """
        if self.way != "epochs":
            yield
            estimator.set_params(**{self.parameter: amount})
            return

        def fit(X: Any, y: Any = None, **fit_params: Any) -> Any:
            return _epochs(estimator, amount - done, done == 0, X, y, fit_params)

        estimator.fit = fit
        try:
            yield
        finally:
            del estimator.fit


def continuation(
    estimator: Any,
    parameter: str,
    fit_params: Mapping[str, Any] | None,
    n_samples: int,
) -> Continuation | None:
    """Return how an estimator goes on to more of a parameter.

    Parameters
    ----------
    estimator : estimator
        With the parameters of a candidate.
    parameter : str
        The resource.
    fit_params : mapping or None
        What ``fit`` is given.
    n_samples : int
        Number of rows it is fitted on.

    Returns
    -------
    Continuation or None
        None: it cannot, or not to where a fit from nothing would lead: the parameter
        belongs to a part that ``fit`` clones, or training stops early by itself.
    """
    owner = _owner(estimator, parameter)
    if owner is None:
        return None
    params, leaf = owner.get_params(deep=False), parameter.rpartition("__")[2]
    if leaf == "n_estimators" or isinstance(owner, HIST_BOOSTING):
        able = "warm_start" in params and not _ends_early(owner, params, n_samples)
        return Continuation("total", parameter) if able else None
    if leaf != "max_iter":
        return None
    if _has_epochs(estimator, owner, params, fit_params):
        return Continuation("epochs", parameter)
    return Continuation("further", parameter) if "warm_start" in params else None


class FittedFold:
    """A fitted estimator on its way to another worker.

    Within a process it is handed on as it is. Elsewhere it travels as bytes, which the
    process in between does not read.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    amount : int
        How much of the resource it has had.
    """

    def __init__(self, estimator: Any, amount: int) -> None:
        self.amount = amount
        self._estimator = estimator
        self._data: bytes | None = None

    def open(self) -> Any:
        """Return the estimator, None where it could not travel."""
        if self._estimator is None and self._data is not None:
            self._estimator = pickle.loads(self._data)
            self._data = None
        return self._estimator

    def __getstate__(self) -> dict[str, Any]:
        data = self._data
        if self._estimator is not None:
            try:
                data = cloudpickle.dumps(self._estimator)
            except Exception:
                # Whatever its __reduce__ raises: it is fitted from nothing there.
                data = None
        return {"amount": self.amount, "_estimator": None, "_data": data}


def _owner(estimator: Any, parameter: str) -> Any:
    """Return the estimator that has the parameter, None where ``fit`` clones it."""
    owner = estimator
    for name in parameter.split("__")[:-1]:
        if not isinstance(owner, Pipeline) or owner.steps[-1][0] != name:
            return None
        owner = owner.steps[-1][1]
    return owner if hasattr(owner, "get_params") else None


def _ends_early(owner: Any, params: Mapping[str, Any], n_samples: int) -> bool:
    if isinstance(owner, HIST_BOOSTING):
        if params["early_stopping"] == "auto":
            return n_samples > AUTO_STOPPING
        return bool(params["early_stopping"])
    return params.get("n_iter_no_change") is not None or bool(params.get("oob_score"))


def _has_epochs(
    estimator: Any,
    owner: Any,
    params: Mapping[str, Any],
    fit_params: Mapping[str, Any] | None,
) -> bool:
    predicts = is_classifier(owner) or is_regressor(owner)
    if not predicts or not hasattr(owner, "partial_fit"):
        return False
    if params.get("early_stopping") or params.get("class_weight") == "balanced":
        return False
    if params.get("solver") == "lbfgs":
        return False
    return not isinstance(estimator, Pipeline) or (
        not fit_params and estimator.memory is None
    )


def _epochs(
    estimator: Any, n: int, first: bool, X: Any, y: Any, fit_params: dict[str, Any]
) -> Any:
    """Train the last step for n epochs; the steps before it are fitted once."""
    last = estimator
    while isinstance(last, Pipeline):
        if len(last.steps) > 1:
            head = last[:-1]
            X = head.fit_transform(X, y) if first else head.transform(X)
        last = last.steps[-1][1]
    if first and is_classifier(last):
        fit_params = {**fit_params, "classes": np.unique(y)}
    for _ in range(n):
        last.partial_fit(X, y, **fit_params)
        fit_params.pop("classes", None)
    return estimator
