# SPDX-License-Identifier: BSD-3-Clause
"""What the estimators that tune their own penalty have in common."""

import numbers
import warnings
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from accsmbo._sklearn_private import Interval
from accsmbo.hypergradients import Solution, find_inner_problem
from accsmbo.hypergradients._hessian import DIRECT_SIZE
from accsmbo.hypergradients._targets import encode_classes
from accsmbo.linear_model._one_fit import ROW_SPACE_SIZE, OneFit, tune_penalties
from accsmbo.linear_model._predictions import LinearOutputs
from accsmbo.linear_model._row_space import RowSpace
from accsmbo.linear_model._warm_fit import warm_fit

__all__ = ["CONSTRAINTS", "BilevelModel", "BilevelRegressor"]

EXACT = 1e-10  # tolerance that costs a factorised problem one more step
CONSTRAINTS: dict[str, list[Any]] = {
    "cv": ["cv_object"],
    "scoring": [str, callable, None],
    "fit_intercept": ["boolean"],
    "accuracy": [Interval(numbers.Real, 0, 1, closed="neither")],
    "tol": [Interval(numbers.Real, 0, 1, closed="neither")],
}


class BilevelModel(BaseEstimator):
    """Search, refit and attributes; a subclass names model, penalty and metric."""

    _penalty_name: str
    _default_scoring: Any
    _classifies = False
    _multi_output = False

    def _model(self) -> Any:
        """Return the scikit-learn estimator whose penalty is tuned."""
        raise NotImplementedError

    def _read(self, X: Any, y: Any) -> tuple[Any, Any]:
        numeric: dict[str, Any] = {} if self._classifies else {"y_numeric": True}
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            multi_output=self._multi_output,
            **numeric,
        )
        if self._classifies:
            check_classification_targets(y)
        return X, y

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Tune the penalty by cross-validation and fit on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for training and in the metric.

        Returns
        -------
        object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are invalid, the metric has no gradient, or a
            training part has one class only, rows of weight zero apart.
        """
        self._validate_params()
        X, y = self._read(X, y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        model = self._model()
        low, high = self._bounds()
        cv = check_cv(self.cv, y, classifier=self._classifies)
        splits = [tuple(map(_as_rows, split)) for split in cv.split(X, y)]
        if sample_weight is not None:
            self._check_weights(sample_weight, y, splits)
        found = tune_penalties(
            model,
            {self._penalty_name: (low, high)},
            X,
            y,
            splits,
            scoring=self._default_scoring if self.scoring is None else self.scoring,
            sample_weight=sample_weight,
            score_weight=sample_weight,
            accuracy=self.accuracy,
        )
        self._store(found)
        if not found.converged:
            self._warn()
        self._refit(model.set_params(**found.params), X, y, sample_weight, found)
        return self

    def _warn(self) -> None:
        name = self._penalty_name
        warnings.warn(
            f"{type(self).__name__} stopped at {name}={getattr(self, f'{name}_'):.3g} "
            f"with a mean score of {self.best_score_:.4g}, known to "
            f"{self.score_error_estimate_:.1g}. Scale the features, narrow "
            f"{name}_bounds to stronger penalties or raise accuracy.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _bounds(self) -> tuple[float, float]:
        name = f"{self._penalty_name}_bounds"
        given = getattr(self, name)
        try:
            low, high = (float(v) for v in given)
        except (TypeError, ValueError):
            low = high = np.nan
        if not 0 < low < high < np.inf:
            raise ValueError(
                f"{name} must hold two numbers, 0 < low < high, got {given!r}. "
                "Give the smallest and the largest value to consider."
            )
        return low, high

    def _check_weights(self, weight: Any, y: Any, splits: Any) -> None:
        """Refuse weights with which a training problem has no solution."""
        if weight.min() < 0:
            raise ValueError(
                f"sample_weight must not be negative, got {weight.min()}. Use 0 to "
                "leave a row out."
            )
        for train, test in splits:
            for rows, kind in ((train, "training"), (test, "validation")):
                if not weight[rows].any():
                    raise ValueError(
                        f"sample_weight must be positive for some {kind} rows of each "
                        "fold, got a fold with none. Use a cv that shuffles."
                    )
            kept = y[train][weight[train] > 0]
            if self._classifies:
                encode_classes(kept)

    def _store(self, found: OneFit) -> None:
        name = self._penalty_name
        values = np.exp([float(visit.x[0]) for visit in found.visits])
        setattr(self, f"{name}_", found.params[name])
        setattr(self, f"{name}s_", values)
        self.scores_path_ = -np.array([visit.losses for visit in found.visits]).T
        self.best_score_ = -float(found.losses.mean())
        self.score_error_estimate_ = found.error
        self.scan_ = {
            name: np.exp(found.scan.points[:, 0]),
            "score": -found.scan.values,
        }
        self.local_maxima_ = np.exp(found.scan.points[found.minima, 0])
        self.at_bound_ = found.at_bound.get(name)
        self.n_products_ = int(np.ceil(found.n_products))
        self.converged_ = found.converged

    def _refit(
        self, model: Any, X: Any, y: Any, sample_weight: Any, found: OneFit
    ) -> None:
        """Solve on all rows; few of many columns in their span."""
        family: Any = find_inner_problem(model)
        column = y.ndim == 2 and y.shape[1] == 1
        y = y[:, 0] if column else y
        if X.shape[0] < X.shape[1] and X.shape[0] <= ROW_SPACE_SIZE:
            space = RowSpace(X)
            problem = family(model, space.rows, y, sample_weight)
            solution = problem.solve(model, tolerance=min(self.tol, EXACT))
            solution.w = space.expand(solution.w)
        else:
            problem = family(model, X, y, sample_weight)
            solution = self._solution(problem, model, found)
        fitted = problem.linear_attributes(solution)
        fitted |= problem.fitted_attributes(solution) or {}
        if column and self.fit_intercept:  # as Ridge has it
            fitted["intercept_"] = np.atleast_1d(fitted["intercept_"])
        for name, value in fitted.items():
            setattr(self, name, value)

    def _solution(self, problem: Any, model: Any, found: OneFit) -> Solution:
        start = np.mean(found.coefficients, axis=0).reshape(problem.shape)
        if problem.link == "softmax" and problem.constant:
            # A shift of all classes changes nothing; scikit-learn's solvers have none.
            start[-1] -= start[-1].mean()
        if int(np.prod(problem.shape)) <= DIRECT_SIZE:
            solution: Solution = problem.solve(model, tolerance=self.tol, start=start)
            return solution
        name = self._penalty_name
        w, n_steps = warm_fit(problem, model, name, start, self.tol, found.all_rows)
        state = {"linear": SimpleNamespace(n_iter=n_steps)}
        return Solution(w, np.zeros_like(w), state)


def _as_rows(index: Any) -> Any:
    index = np.asarray(index)
    return np.flatnonzero(index) if index.dtype == bool else index


class BilevelRegressor(LinearOutputs, RegressorMixin, BilevelModel):
    """Constructor of the regressors."""

    _penalty_name = "alpha"
    _parameter_constraints: dict[str, list[Any]] = {
        "alpha_bounds": ["array-like"],
        **CONSTRAINTS,
    }

    def __init__(
        self,
        alpha_bounds: tuple[float, float] = (1e-4, 1e4),
        *,
        cv: Any = None,
        scoring: Any = None,
        fit_intercept: bool = True,
        accuracy: float = 1e-3,
        tol: float = 1e-6,
    ) -> None:
        self.alpha_bounds = alpha_bounds
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.accuracy = accuracy
        self.tol = tol
