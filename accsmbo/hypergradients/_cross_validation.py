# SPDX-License-Identifier: BSD-3-Clause
"""The public function: a cross-validated score and its gradient."""

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from accsmbo._validation import closest_names
from accsmbo.hypergradients._fold import (
    FoldHypergradient,
    FoldResult,
    differentiable_names,
)
from accsmbo.hypergradients._inner_problem import NotDifferentiableError

__all__ = ["hypergradient"]


def hypergradient(
    estimator: Any,
    params: Mapping[str, Any],
    X: Any,
    y: Any,
    cv: Any = None,
    scoring: Any = None,
    *,
    names: Iterable[str] | None = None,
    log_scale: Iterable[str] = (),
    sample_weight: Any = None,
    groups: Any = None,
    tolerance: float | None = None,
    n_jobs: int | None = None,
    solver: str = "auto",
) -> tuple[float, dict[str, Any]]:
    """Return a cross-validated score and its derivative by the hyperparameters.

    Parameters
    ----------
    estimator : estimator
        A model with a registered inner problem, or a pipeline that ends in one.
    params : mapping of str to object
        Where to evaluate; set on a clone of the estimator.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets.
    cv : int, splitter or iterable, default=None
        As in :func:`sklearn.model_selection.cross_val_score`.
    scoring : str, scorer or None, default=None
        The metric; None means the estimator's own score.
    names : iterable of str, default=None
        Parameters whose derivative must exist. By default those of ``params``,
        and the ones that cannot be differentiated come back as NaN.
    log_scale : iterable of str, default=()
        Names whose derivative is wanted by the natural logarithm of the parameter.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights for fitting the last step; the metric is not weighted, as in
        ``cross_val_score``.
    groups : array-like of shape (n_samples,), default=None
        Groups for the splitter.
    tolerance : float, default=None
        Relative accuracy of the score; None solves tightly.
    n_jobs : int, default=None
        Folds computed in parallel.
    solver : {"auto", "liblinear"}, default="auto"
        As in :class:`FoldHypergradient`.

    Returns
    -------
    score : float
        Mean over the folds; greater is better.
    gradient : dict of str to float
        ``d score / d parameter`` in the parameter's own units; an array where the
        parameter is one (``Ridge.alpha`` per target).

    Raises
    ------
    NotDifferentiableError
        If the model or the metric has no gradient, or a name of ``names`` none.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from accsmbo.hypergradients import hypergradient
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> score, gradient = hypergradient(
    ...     model, {"logisticregression__C": 1.0}, X, y, cv=3, scoring="neg_log_loss")
    >>> bool(gradient["logisticregression__C"] < 0)  # less regularisation is worse
    True
    """
    X, y, groups = indexable(X, y, groups)
    wanted = tuple(params if names is None else names)
    probe = clone(estimator).set_params(**params)
    known = differentiable_names(probe, wanted, scoring)
    _check_wanted(probe, known, wanted, strict=names is not None)
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    folds = (
        FoldHypergradient(
            estimator,
            X,
            y,
            train,
            test,
            names=wanted,
            scoring=scoring,
            sample_weight=sample_weight,
            solver=solver,
        )
        for train, test in splitter.split(X, y, groups)
    )
    results = Parallel(n_jobs=n_jobs)(
        delayed(_evaluate)(fold, dict(params), tolerance) for fold in folds
    )
    gradient = {
        name: np.negative(np.mean([r.gradient[name] for r in results], axis=0))[()]
        for name in wanted
    }
    values = probe.get_params()
    for name in log_scale:
        gradient[name] = gradient[name] * values[name]
    return -float(np.mean([r.loss for r in results])), gradient


def _evaluate(
    fold: FoldHypergradient, params: dict[str, Any], tolerance: float | None
) -> FoldResult:
    return fold(params, tolerance=tolerance)


def _check_wanted(
    estimator: Any, known: tuple[str, ...], wanted: tuple[str, ...], *, strict: bool
) -> None:
    missing = [name for name in wanted if name not in known]
    if missing and (strict or not known):
        candidates = [n for n, v in estimator.get_params().items() if _is_number(v)]
        possible = differentiable_names(estimator, candidates, "r2")
        raise NotDifferentiableError(
            f"{', '.join(map(repr, missing))} of {type(estimator).__name__} cannot be "
            f"differentiated; gradients exist for {list(possible)}. "
            f"{closest_names(missing[0], possible)}".rstrip()
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, (numbers.Real, np.ndarray)) and not isinstance(value, bool)
