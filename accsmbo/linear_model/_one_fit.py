# SPDX-License-Identifier: BSD-3-Clause
"""Tune the penalties of a linear model on given folds: data in, penalties out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from accsmbo.hypergradients import (
    LinearProblem,
    NotDifferentiableError,
    find_inner_problem,
    outer_loss,
)
from accsmbo.hypergradients._fold import encode_targets
from accsmbo.hypergradients._hessian import DIRECT_SIZE
from accsmbo.hypergradients._inner_problem import Array
from accsmbo.hypergradients._scoring import check_link
from accsmbo.linear_model._bilevel_fold import BilevelFold, Outer
from accsmbo.linear_model._bilevel_newton import ACCURACY, BilevelNewton, Visit
from accsmbo.linear_model._direct_path import DirectPath
from accsmbo.linear_model._fold_products import FoldProducts
from accsmbo.linear_model._log_penalty import LogPenalty
from accsmbo.linear_model._penalty_search import Box, Scan
from accsmbo.linear_model._reduced_problem import ReducedProblem

__all__ = ["OneFit", "tune_penalties"]

DIRECT_WORK = 5e7  # samples times squared coefficients up to which factorising pays
AT_BOUND = 0.05  # distance in the logarithm


@dataclass
class OneFit:
    """What tuning found.

    Parameters
    ----------
    params : dict of str to float
        Hyperparameters of the smallest mean validation loss.
    losses : ndarray of shape (n_folds,)
        Validation losses there.
    error : float
        Estimate of the error of their mean.
    visits : list of Visit
        Logarithms of the hyperparameters visited, with their losses, in order.
    scan : Scan
        The whole range as the last basis saw it.
    minima : list of int
        Local minima of the scan, the best first.
    at_bound : dict of str to str
        "low" or "high" for each hyperparameter that ended at an end of its range.
    coefficients : list of ndarray
        Of each fold, the constant's last.
    n_products : float
        Products of a vector with the training rows or their transpose.
    converged : bool
        Whether the dual test was passed.
    """

    params: dict[str, float]
    losses: Array
    error: float
    visits: list[Visit]
    scan: Scan
    minima: list[int]
    at_bound: dict[str, str]
    coefficients: list[Array]
    n_products: float
    converged: bool


@dataclass
class _Fold:
    """A fold's problem, as both methods need it."""

    problem: LinearProblem
    loss: Any
    penalty: LogPenalty
    outer: Outer


def tune_penalties(
    estimator: Any,
    bounds: Mapping[str, tuple[float, float]],
    X: Any,
    y: Array,
    splits: Sequence[tuple[Array, Array]],
    *,
    scoring: Any,
    sample_weight: Array | None = None,
    score_weight: Array | None = None,
    accuracy: float = ACCURACY,
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
    scoring : str, scorer, OuterLoss or None
        Metric with a gradient.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights for training.
    score_weight : ndarray of shape (n_samples,), default=None
        Weights for the metric.
    accuracy : float, default=1e-3
        Error of the validation loss allowed, as a share of it.

    Returns
    -------
    OneFit
        Penalties, losses and how they were found.

    Raises
    ------
    NotDifferentiableError
        If model, penalty or metric are of another kind.
    """
    problem_class = find_inner_problem(estimator)
    if not issubclass(problem_class, LinearProblem):
        raise NotDifferentiableError(
            f"{type(estimator).__name__} is not a linear model with a quadratic "
            "penalty. Tune it by evaluations (solver='evaluate')."
        )
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    names = tuple(bounds)
    ends = np.log([bounds[name] for name in names])
    weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    problems = [
        problem_class(estimator, X, y[train], np.asarray(weights, float)[train])
        for train, _ in splits
    ]
    first = problems[0]
    direct = _is_small(first, X)
    single = sparse.issparse(X) and not direct
    products = FoldProducts(
        _dense(X) if direct else X,
        splits,
        first.constant,
        np.float32 if single else np.float64,
    )
    folds = [
        _make_fold(i, p, estimator, names, products, y, scoring, score_weight)
        for i, p in enumerate(problems)
    ]
    box = Box(ends[:, 0], ends[:, 1], folds[0].penalty.signs)
    if direct:
        return _result(_direct(folds, products, box).run(), names, box, products)
    states = [
        BilevelFold(i, products, f.loss, f.penalty, f.outer, len(splits[i][1]))
        for i, f in enumerate(folds)
    ]
    newton = BilevelNewton(products, states, box, accuracy).run()
    return _result(newton, names, box, products)


def _make_fold(
    index: int,
    problem: LinearProblem,
    estimator: Any,
    names: tuple[str, ...],
    products: FoldProducts,
    y: Array,
    scoring: Any,
    score_weight: Array | None,
) -> _Fold:
    test = products.splits[index][1]
    metric = outer_loss(scoring, estimator)
    check_link(metric, problem.link, estimator)
    encoded = encode_targets(problem, y[test])
    weight = None if score_weight is None else np.asarray(score_weight, float)[test]
    loss = problem.loss.configured(estimator).with_dtype(products.design.dtype)
    loss.y = products.scatter(index, loss.y)
    loss.weight = products.scatter(index, loss.weight, add=True)
    return _Fold(
        problem,
        loss,
        LogPenalty(problem, estimator, names, products.design),
        lambda f: metric(problem.link, f, encoded, weight),
    )


def _is_small(problem: LinearProblem, X: Any) -> bool:
    size = int(np.prod(problem.shape))
    one_output = len(problem.shape) == 1
    return one_output and size <= DIRECT_SIZE and X.shape[0] * size**2 <= DIRECT_WORK


def _dense(X: Any) -> Array:
    dense = X.toarray() if hasattr(X, "toarray") else X
    return np.asarray(dense, np.float64)


def _direct(folds: list[_Fold], products: FoldProducts, box: Box) -> DirectPath:
    F = _rows(products.design.X, products.constant)
    problems = []
    for i, fold in enumerate(folds):
        test = products.splits[i][1]
        V = _rows(products.validation, products.constant) if products.single else None
        problems.append(
            ReducedProblem(
                fold.loss,
                F,
                F[:, test] if V is None else V,
                [np.diag(base) for base in fold.penalty.bases],
                fold.penalty.signs,
                fold.outer,
            )
        )
    return DirectPath(problems, box)


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
        method.scan,
        method.scan.minima(1e-3 * spread),
        at_bound,
        [products.design.expand(w) for w in method.coefficients],
        products.n_products,
        method.converged,
    )
