# SPDX-License-Identifier: BSD-3-Clause
"""Tune the penalties of a linear model on given folds: data in, penalties out."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length

from accsmbo.hypergradients import (
    LinearProblem,
    NotDifferentiableError,
    find_inner_problem,
    outer_loss,
)
from accsmbo.hypergradients._fold import encode_targets
from accsmbo.hypergradients._hessian import DIRECT_SIZE
from accsmbo.hypergradients._inner_problem import Array
from accsmbo.hypergradients._registry import known_hyperparameters
from accsmbo.hypergradients._scoring import check_link
from accsmbo.linear_model._bilevel_fold import BilevelFold, Outer
from accsmbo.linear_model._bilevel_newton import (
    ACCURACY,
    MAX_STEPS,
    BilevelNewton,
)
from accsmbo.linear_model._direct_path import DirectPath
from accsmbo.linear_model._fold_products import (
    FoldProducts,
    SeparateFolds,
    SharedRows,
)
from accsmbo.linear_model._found import OneFit
from accsmbo.linear_model._log_penalty import LogPenalty
from accsmbo.linear_model._penalty_search import Box
from accsmbo.linear_model._reduced_problem import ReducedProblem
from accsmbo.linear_model._row_space import RowSpace
from accsmbo.linear_model._work import Work, WorkSpent

__all__ = ["OneFit", "tune_penalties"]

_csr: Any = sparse.csr_array  # typed loosely: its stubs cover single dtypes
# Samples times squared coefficients up to which factorising pays: sparse rows; dense
# ones so many times more, as there the basis gains less and may miss a valley.
DIRECT_WORK, DENSE_GAIN = 5e7, 20
ROW_SPACE_SIZE = 1000  # rows up to which factorising is the way out of no convergence
FEW_STEPS = 12  # before that
AT_BOUND = 0.05  # distance in the logarithm


@dataclass
class _Fold:
    """A fold's problem, as both methods need it."""

    loss: Any
    penalty: LogPenalty
    outer: Outer
    n_validation: int


def tune_penalties(
    estimator: Any,
    bounds: Mapping[str, tuple[float, float]],
    X: Any,
    y: Array,
    splits: Sequence[tuple[Array, Array]],
    *,
    scoring: Any,
    parts: Sequence[tuple[Any, Any]] | None = None,
    sample_weight: Array | None = None,
    score_weight: Array | None = None,
    accuracy: float = ACCURACY,
    max_work: float | None = None,
) -> OneFit:
    """Minimise the mean validation loss of some folds by a model's penalties.

    Parameters
    ----------
    estimator : estimator
        Model with a registered linear inner problem; not a pipeline.
    bounds : mapping of str to (float, float)
        Range of each hyperparameter, positive.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Data, finite.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Targets.
    splits : sequence of (ndarray of int, ndarray of int)
        Training and validation rows.
    parts : sequence of (training rows, validation rows), default=None
        What the folds see in place of rows of X: each behind transformers of its own.
    scoring : str, scorer, OuterLoss or None
        Metric with a gradient.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights for training.
    score_weight : ndarray of shape (n_samples,), default=None
        Weights for the metric.
    accuracy : float, default=1e-3
        Error of the validation loss allowed, as a share of it.
    max_work : float, default=None
        Seconds of a reference core, counted and not measured, after which the method
        stops with what it has.

    Returns
    -------
    OneFit
        Penalties, losses and how they were found.

    Raises
    ------
    NotDifferentiableError
        If model, a setting of it, penalty or metric are of another kind, or if
        `max_work` is spent before anything is known.
    ValueError
        If there are not as many weights as rows.
    """
    check_consistent_length(y, sample_weight, score_weight)
    family = _problem_class(estimator, bounds)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    task = _Task(
        family,
        estimator,
        tuple(bounds),
        np.log([bounds[name] for name in bounds]),
        y,
        splits,
        scoring,
        np.asarray(weights, float),
        None if score_weight is None else np.asarray(score_weight, float),
        accuracy,
        Work(max_work),
    )
    if parts is None and len(splits) == 1:
        parts = [(X[splits[0][0]], X[splits[0][1]])]
        X = None
    found = task.run(X, parts)
    task.work.limit = np.inf  # rescoring is counted, and not stopped
    return found


@dataclass
class _Task:
    """All but the rows; weights and targets are those of all of them."""

    family: type[LinearProblem]
    estimator: Any
    names: tuple[str, ...]
    ends: Array
    y: Array
    splits: Sequence[tuple[Array, Array]]
    scoring: Any
    weight: Array
    score_weight: Array | None
    accuracy: float
    work: Work

    def run(self, X: Any, parts: Any) -> OneFit:
        """Run; wide tables in the span of their rows if they are small, or must be."""
        pairs = parts or [(X, X[:0])]
        n_rows = max(train.shape[0] + test.shape[0] for train, test in pairs)
        wide = n_rows < pairs[0][0].shape[1] and self._has_row_space(X, parts)
        dense = not hasattr(pairs[0][0], "indptr")
        if wide and _small_shape(n_rows, n_rows, dense=dense):
            return self._run_in_row_space(X, parts)
        exact_later = wide and n_rows <= ROW_SPACE_SIZE
        found = self._run(X, parts, max_steps=FEW_STEPS if exact_later else MAX_STEPS)
        if found.converged or not exact_later:
            return found
        try:
            exact = self._run_in_row_space(X, parts)
        except WorkSpent:
            return found
        return replace(exact, n_products=found.n_products)

    def _problem(self, k: int, X: Any, parts: Any) -> LinearProblem:
        train = self.splits[k][0]
        rows = X if parts is None else parts[k][0]
        return self.family(self.estimator, rows, self.y[train], self.weight[train])

    def _has_row_space(self, X: Any, parts: Any) -> bool:
        """Return whether there is one output, and one strength for all features."""
        problem = self._problem(0, X, parts)
        unit = copy(self.estimator).set_params(**dict.fromkeys(self.names, 1.0))
        strengths = [problem.penalty(unit).d_l2.get(name, ()) for name in self.names]
        return len(problem.shape) == len(strengths) == 1 and np.ndim(strengths[0]) == 0

    def _run_in_row_space(self, X: Any, parts: Any) -> OneFit:
        stacked = [X] if parts is None else [_stacked(*pair) for pair in parts]
        spaces = [RowSpace(rows, self.work) for rows in stacked]
        if parts is None:
            X, spaces = spaces[0].rows, spaces * len(self.splits)
        else:
            ends = [train.shape[0] for train, _ in parts]
            Zs = [space.rows for space in spaces]
            parts = [(Z[:n], Z[n:]) for Z, n in zip(Zs, ends, strict=True)]
        found = self._run(X, parts, direct=True)
        pairs = zip(spaces, found.coefficients, strict=True)
        coefficients = [space.expand(c) for space, c in pairs]
        return replace(found, coefficients=coefficients, all_rows=None)

    def _run(
        self,
        X: Any,
        parts: Any,
        *,
        direct: bool = False,
        max_steps: int = MAX_STEPS,
    ) -> OneFit:
        if hasattr(X, "indptr") and not _small_shape(*X.shape):
            X = _single(X)
        problems = [self._problem(k, X, parts) for k in range(len(self.splits))]
        direct = direct or all(map(_is_small, problems))
        constant = problems[0].constant
        products = _products(X, parts, self.splits, constant, self.work, direct=direct)
        folds = [self._fold(k, problem, products) for k, problem in enumerate(problems)]
        box = Box(self.ends[:, 0], self.ends[:, 1], folds[0].penalty.signs)
        method: BilevelNewton | DirectPath
        if direct:
            method = DirectPath(_full_problems(folds, products), box)
        else:
            states = [
                BilevelFold(k, products, f.loss, f.penalty, f.outer, f.n_validation)
                for k, f in enumerate(folds)
            ]
            method = BilevelNewton(products, states, box, self.accuracy, max_steps)
        return _result(method.run(), self.names, box, products)

    def _fold(self, k: int, problem: LinearProblem, products: FoldProducts) -> _Fold:
        test = self.splits[k][1]
        weight = None if self.score_weight is None else self.score_weight[test]
        outer = _outer(problem, self.estimator, self.scoring, self.y[test], weight)
        if not np.isfinite(outer(np.zeros((len(test), *problem.shape[1:])))[0]):
            raise NotDifferentiableError(
                f"scoring={self.scoring!r} is undefined on fold {k}, whose validation "
                f"part holds {len(test)} row(s). Choose another scoring, or a cv with "
                "more, and different, validation targets in each fold."
            )
        loss = problem.loss.configured(self.estimator).with_dtype(products.dtype)
        loss.y = products.scatter(k, loss.y)
        loss.weight = products.scatter(k, loss.weight, add=True)
        penalty = LogPenalty(problem, self.estimator, self.names, products.design(k))
        return _Fold(loss, penalty, outer, len(test))


def _problem_class(estimator: Any, names: Iterable[str]) -> type[LinearProblem]:
    """Return the family of a model; refuse settings that it does not cover."""
    problem_class, kind = find_inner_problem(estimator), type(estimator).__name__
    if not issubclass(problem_class, LinearProblem):
        raise NotDifferentiableError(
            f"{kind} is not a linear model with a quadratic penalty. Tune it by "
            "evaluations (solver='estimator')."
        )
    tuned = copy(estimator).set_params(**dict.fromkeys(names, 1.0))
    known = known_hyperparameters(tuned)
    if unknown := sorted(set(names) - set(known)):
        raise NotDifferentiableError(
            f"{kind} as it is set can be tuned by {list(known)}, got bounds for "
            f"{unknown}. Tune it by evaluations (solver='estimator')."
        )
    return problem_class


def _products(
    X: Any,
    parts: Sequence[tuple[Any, Any]] | None,
    splits: Sequence[tuple[Array, Array]],
    constant: float,
    work: Work,
    *,
    direct: bool,
) -> FoldProducts:
    if direct:
        X = None if X is None else _dense(X)
        parts = parts and [(_dense(train), _dense(test)) for train, test in parts]
    one = X if parts is None else parts[0][0]
    large = hasattr(one, "indptr") and not _small_shape(*one.shape)
    dtype = np.float32 if large else np.float64
    if parts is not None:
        return SeparateFolds(parts, constant, dtype, work)
    return SharedRows(X, splits, constant, dtype, work)


def _outer(
    problem: LinearProblem, estimator: Any, scoring: Any, y: Array, weight: Any
) -> Outer:
    metric = outer_loss(scoring, estimator)
    check_link(metric, problem.link, estimator)
    encoded = encode_targets(problem, y)
    return lambda f: metric(problem.link, f, encoded, weight)


def _is_small(problem: LinearProblem) -> bool:
    size = int(np.prod(problem.shape))
    one_output = len(problem.shape) == 1
    dense = not hasattr(problem.X, "indptr")
    return one_output and _small_shape(problem.X.shape[0], size, dense=dense)


def _small_shape(n_samples: int, size: int, *, dense: bool = False) -> bool:
    work = n_samples * size**2 / (DENSE_GAIN if dense else 1)
    return size <= DIRECT_SIZE and work <= DIRECT_WORK


def _single(X: Any) -> Any:
    """Return CSR rows in single precision that share their indices with X."""
    X = _csr(X)
    parts = X.data.astype(np.float32, copy=False), X.indices, X.indptr
    return _csr(parts, shape=X.shape)


def _stacked(train: Any, test: Any) -> Any:
    if hasattr(train, "indptr"):
        return _csr(sparse.vstack([train, test]))
    return np.vstack([train, test])


def _dense(X: Any) -> Array:
    dense = X.toarray() if hasattr(X, "toarray") else X
    return np.asarray(dense, np.float64)


def _full_problems(folds: list[_Fold], products: FoldProducts) -> list[ReducedProblem]:
    """Return the training problems with all coefficients for a basis.

    Folds that share their rows share F too.
    """
    problems: list[ReducedProblem] = []
    for k, fold in enumerate(folds):
        shared = k > 0 and products.design(k) is products.design(0)
        X = products.design(k).X
        F = problems[0].F if shared else _rows(X, products.constant)
        problems.append(
            ReducedProblem(
                fold.loss,
                F,
                products.validation_rows(k, F),
                [np.diag(base) for base in fold.penalty.bases],
                fold.penalty.signs,
                fold.outer,
                products.work,
            )
        )
    return problems


def _rows(X: Array, constant: float) -> Array:
    if not constant:
        return X.T
    return np.vstack([X.T, np.full((1, len(X)), constant)])


def _result(
    method: BilevelNewton | DirectPath,
    names: tuple[str, ...],
    box: Box,
    products: FoldProducts,
) -> OneFit:
    x, visits = method.x, method.visits
    assert method.scan is not None  # for the type checker
    spread = float(np.ptp(method.scan.values))
    at_bound = {
        name: "low" if x[g] - box.low[g] < AT_BOUND else "high"
        for g, name in enumerate(names)
        if min(x[g] - box.low[g], box.high[g] - x[g]) < AT_BOUND
    }
    return OneFit(
        dict(zip(names, map(float, np.exp(x)), strict=True)),
        visits[-1].losses,
        method.error,
        visits,
        method.rescored,
        method.scan,
        method.scan.minima(1e-3 * spread),
        at_bound,
        [products.design(k).expand(w) for k, w in enumerate(method.coefficients)],
        products.n_products,
        method.converged,
        products if isinstance(products, SharedRows) else None,
        products.work,
    )
