# SPDX-License-Identifier: BSD-3-Clause
"""Score and hypergradient of one fold: what an objective calls for each trial.

:class:`FoldHypergradient` is the seam between this folder and whoever evaluates
trials.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import (
    assert_all_finite,
    check_array,
    check_consistent_length,
)

from accsmbo._digest import cache_key
from accsmbo._sklearn_private import safe_indexing
from accsmbo.hypergradients._implicit import Hypergradient, implicit_hypergradient
from accsmbo.hypergradients._inner_problem import Array, InnerProblem, Solution
from accsmbo.hypergradients._registry import (
    find_inner_problem,
    known_hyperparameters,
)
from accsmbo.hypergradients._scoring import check_link, outer_loss

__all__ = [
    "FoldHypergradient",
    "FoldResult",
    "differentiable_names",
    "encode_targets",
    "last_step",
    "numeric_rows",
]

TIGHT = 1e-10  # relative gradient that makes scores agree with refits to 1e-6
MAX_TIGHTENING = 4
CACHED_PROBLEMS = 4


@dataclass(frozen=True)
class FoldResult:
    """What one trial gave on one fold.

    A search averages loss and gradient over the folds of a trial and keeps
    ``warm_start`` for the next trial nearby: the same fold is then solved in a few
    steps. Where the inner solve was inexact, ``loss`` is corrected to second order,
    and ``error`` says by how much it would have been off otherwise.

    Parameters
    ----------
    loss : float
        Negated score of the validation rows.
    gradient : dict of str to float
        ``d loss / d parameter`` for each name asked for, in the parameter's own
        units; NaN = unknown.
    error : float
        Estimate of the error of ``loss`` before its correction.
    warm_start : dict
        Arrays to hand to a later call of the same fold.
    approximate : bool
        True where the gradient is an approximation by nature.
    attributes : dict or None
        Fitted attributes of the last step, where the problem knows them.

    See Also
    --------
    FoldHypergradient : Returns it.
    Hypergradient : The same for an inner problem by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from accsmbo.hypergradients import FoldHypergradient
    >>> X, y = load_diabetes(return_X_y=True)
    >>> train, test = np.split(np.arange(442), [300])
    >>> fold = FoldHypergradient(Ridge(), X, y, train, test, names=["alpha"])
    >>> result = fold({"alpha": 1.0})
    >>> near = fold({"alpha": 1.02}, warm_start=result.warm_start)
    >>> expected = 0.02 * result.gradient["alpha"]
    >>> bool(np.isclose(near.loss - result.loss, expected, rtol=0.1))
    True
    """

    loss: float
    gradient: dict[str, Any]
    error: float
    warm_start: dict[str, Array]
    approximate: bool
    attributes: Mapping[str, Any] | None


def last_step(estimator: Any) -> tuple[list[Pipeline], str, Any]:
    """Return the pipelines of transformers, the name prefix and the last step.

    A subclass of Pipeline may do anything with its steps, so it counts as one step; so
    does a pipeline that transforms metadata too.
    """
    transformers, prefix = [], ""
    while (
        type(estimator) is Pipeline
        and getattr(estimator, "transform_input", None) is None
    ):
        if len(estimator.steps) > 1:
            transformers.append(estimator[:-1])
        name, final = estimator.steps[-1]
        prefix, estimator = f"{prefix}{name}__", final
    return transformers, prefix, estimator


def differentiable_names(
    estimator: Any, names: Iterable[str], scoring: Any
) -> tuple[str, ...]:
    """Return those of ``names`` that the score can be differentiated by.

    Parameters
    ----------
    estimator : estimator
        With the trial's parameters set; pipelines are looked into.
    names : iterable of str
        Parameter names as ``set_params`` takes them.
    scoring : str, scorer, OuterLoss or None
        The metric.

    Returns
    -------
    tuple of str
        Possibly empty.

    Raises
    ------
    NotDifferentiableError
        If the model, one of its settings or the metric rules gradients out.
    """
    _, prefix, final = last_step(estimator)
    known = known_hyperparameters(final)
    outer_loss(scoring, final)
    return tuple(n for n in names if n.startswith(prefix) and n[len(prefix) :] in known)


class FoldHypergradient:
    """Evaluate trials on one fold with gradients.

    For those who write their own loop over trials: :func:`hypergradient` makes the
    folds and averages over them, this keeps one fold between calls. The steps of a
    pipeline before the last are fitted once as long as their parameters stay the same,
    the inner problem is built once for each setting of what cannot be differentiated,
    and every solve may start from an earlier one. It is called with the parameters of a
    trial; everything it returns is a loss, smaller is better. Further scores of the
    trial come from ``fitted_estimator``, without a second fit.

    Parameters
    ----------
    estimator : estimator
        Model or pipeline; it is cloned for each trial.
    X, y : array-like
        All rows; cut here.
    train, test : ndarray of int
        Rows of the fold.
    names : iterable of str
        All parameters that trials will set.
    scoring : str, scorer, OuterLoss or None
        The metric.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of all rows for fitting the last step.
    score_weight : ndarray of shape (n_samples,), default=None
        Weights of all rows for the metric (as ``cross_val_score``, which passes
        none unless metadata routing asks for it).
    solver : {"auto", "liblinear"}, default="auto"
        "auto" is our own Newton solver; "liblinear" starts it from liblinear's
        solution where there is no warm start (two classes or epsilon-insensitive,
        one l2 strength, no weights).

    See Also
    --------
    hypergradient : The mean over the folds of a splitter.
    implicit_hypergradient : One solved inner problem, without an estimator around it.
    accsmbo.evaluation.CrossValidationObjective : What a search runs.

    Notes
    -----
    The object pickles without its caches.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from accsmbo.hypergradients import FoldHypergradient
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> train, test = np.split(np.random.default_rng(0).permutation(len(y)), [400])
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> params = {"logisticregression__C": 1.0}
    >>> fold = FoldHypergradient(
    ...     model, X, y, train, test, names=params, scoring="neg_log_loss")
    >>> result = fold(params, tolerance=1e-2)
    >>> fitted = fold.fitted_estimator(params, result)  # no second fit
    >>> bool(fitted.score(X[test], y[test]) > 0.95)
    True
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        train: Array,
        test: Array,
        *,
        names: Iterable[str],
        scoring: Any = None,
        sample_weight: Array | None = None,
        score_weight: Array | None = None,
        solver: str = "auto",
    ) -> None:
        if solver not in ("auto", "liblinear"):
            raise ValueError(
                f"solver must be 'auto' or 'liblinear', got {solver!r}. Leave it at "
                "'auto'."
            )
        self.solver = solver
        self.estimator, self.scoring, self.names = estimator, scoring, tuple(names)
        self.X_train, self.X_test = safe_indexing(X, train), safe_indexing(X, test)
        y = np.asarray(y)
        check_consistent_length(y, sample_weight, score_weight)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        self.y_train, self.y_test = y[train], y[test]
        self.sample_weight = _cut(sample_weight, train)
        self.score_weight = _cut(score_weight, test)
        self._transformed: tuple[Any, Any] | None = None
        self._problems: dict[Any, tuple[InnerProblem, Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_transformed": None, "_problems": {}}

    def __call__(
        self,
        params: Mapping[str, Any],
        *,
        tolerance: float | None = None,
        warm_start: Mapping[str, Array] | None = None,
    ) -> FoldResult:
        """Evaluate one trial.

        Parameters
        ----------
        params : mapping of str to object
            The trial's parameters.
        tolerance : float, default=None
            Relative accuracy wanted of the loss; None solves tightly. Where the
            estimate of the error exceeds it, the inner problem is tightened.
        warm_start : mapping, default=None
            ``FoldResult.warm_start`` of an earlier trial.

        Returns
        -------
        FoldResult
            Loss, gradient and warm start.

        Raises
        ------
        NotDifferentiableError
            If the model, one of its settings or the metric rules gradients out.
        """
        estimator = _with_params(self.estimator, params)
        known = differentiable_names(estimator, self.names, self.scoring)
        _, prefix, final = last_step(estimator)
        _check_values(final)
        problem, X_test = self._problem(estimator, params, known)
        found, solution = self._solve(problem, X_test, final, tolerance, warm_start)
        return self._result(problem, solution, found, prefix, known)

    def _result(
        self,
        problem: InnerProblem,
        solution: Solution,
        found: Hypergradient,
        prefix: str,
        known: Iterable[str],
    ) -> FoldResult:
        gradient: dict[str, Any] = dict.fromkeys(self.names, np.nan)
        gradient |= {name: found.gradient[name[len(prefix) :]] for name in known}
        return FoldResult(
            found.loss,
            gradient,
            found.error,
            {"w": solution.w, "q": found.adjoint},
            problem.approximate,
            problem.fitted_attributes(solution),
        )

    def gradient_at(
        self, params: Mapping[str, Any], fitted: Any, *, tolerance: float | None = None
    ) -> FoldResult:
        """Differentiate at an estimator that was fitted on this fold.

        It costs no fit: the estimator's own solution is read, and one adjoint solved.

        Parameters
        ----------
        params : mapping of str to object
            The trial's parameters.
        fitted : estimator
            Fitted with them on the training rows.
        tolerance : float, default=None
            Relative accuracy wanted of the loss, to which the adjoint's fits; None is
            tight.

        Returns
        -------
        FoldResult
            ``loss`` is that of the minimum, up to second order; where it differs from
            the estimator's own score, that is not at the minimum of the problem known
            here, and the gradient says little about it.

        Raises
        ------
        NotDifferentiableError
            If the model, one of its settings or the metric rules gradients out.
        """
        estimator = _with_params(self.estimator, params)
        known = differentiable_names(estimator, self.names, self.scoring)
        _, prefix, final = last_step(estimator)
        problem, X_test = self._problem(estimator, params, known)
        solution = problem.solution_of(
            last_step(fitted)[2], tolerance=TIGHT if tolerance is None else tolerance
        )
        loss = outer_loss(self.scoring, final)
        check_link(loss, problem.link, final)
        found = implicit_hypergradient(
            problem,
            solution,
            loss,
            X_test,
            encode_targets(problem, self.y_test),
            weight=self.score_weight,
            tolerance=TIGHT if tolerance is None else _adjoint_tolerance(tolerance),
        )
        return self._result(problem, solution, found, prefix, known)

    def fitted_estimator(
        self, params: Mapping[str, Any], result: FoldResult
    ) -> Any | None:
        """Return the estimator of a trial as fitted on this fold, or None.

        It serves further scorers without a second fit; None where the family
        cannot say what scikit-learn's own attributes would be.
        """
        if result.attributes is None:
            return None
        estimator = _with_params(self.estimator, params)
        _, prefix, final = last_step(estimator)
        columns = self.X_train
        if prefix:
            fitted, columns, _ = self._transform(estimator, params)
            steps = [step for pipeline in fitted for step in pipeline.steps]
            estimator = Pipeline([*steps, (prefix.split("__")[-2], final)])
        for name, value in result.attributes.items():
            setattr(final, name, value)
        if hasattr(columns, "columns"):
            final.feature_names_in_ = np.asarray(columns.columns, dtype=object)
        return estimator

    def _solve(
        self,
        problem: InnerProblem,
        X_test: Any,
        final: Any,
        tolerance: float | None,
        warm_start: Mapping[str, Array] | None,
    ) -> tuple[Hypergradient, Solution]:
        warm = dict(warm_start or {})
        loss = outer_loss(self.scoring, final)
        check_link(loss, problem.link, final)
        y = encode_targets(problem, self.y_test)
        inner_tolerance = TIGHT if tolerance is None else min(tolerance, 0.03)
        rtol = TIGHT if tolerance is None else _adjoint_tolerance(tolerance)
        for _ in range(MAX_TIGHTENING):
            solution = problem.solve(
                final, tolerance=inner_tolerance, start=warm.get("w")
            )
            found = implicit_hypergradient(
                problem,
                solution,
                loss,
                X_test,
                y,
                weight=self.score_weight,
                tolerance=rtol,
                start=warm.get("q"),
            )
            allowed = (tolerance or np.inf) * abs(found.loss)
            if found.error <= allowed or inner_tolerance <= TIGHT:
                break
            warm = {"w": solution.w, "q": found.adjoint}
            inner_tolerance *= max(0.1, 0.5 * allowed / found.error)
        return found, solution

    def _problem(
        self, estimator: Any, params: Mapping[str, Any], known: Iterable[str]
    ) -> tuple[InnerProblem, Any]:
        """Return the inner problem of the trial's structure, built once."""
        known = set(known)
        key = cache_key({n: v for n, v in params.items() if n not in known})
        if key not in self._problems:
            _, X_train, X_test = self._transform(estimator, params)
            final = last_step(estimator)[2]
            problem_class = find_inner_problem(final)
            problem = problem_class(
                final, numeric_rows(X_train), self.y_train, self.sample_weight
            )
            problem.solver = self.solver
            while len(self._problems) >= CACHED_PROBLEMS:
                self._problems.pop(next(iter(self._problems)))
            self._problems[key] = (problem, numeric_rows(X_test))
        return self._problems[key]

    def _transform(
        self, estimator: Any, params: Mapping[str, Any]
    ) -> tuple[list[Pipeline], Any, Any]:
        """Return the fitted transformers and both parts, transformed."""
        transformers, prefix, _ = last_step(estimator)
        before = {n: v for n, v in params.items() if n[: len(prefix)] != prefix}
        key = cache_key(before)
        if self._transformed is None or self._transformed[0] != key:
            X_train, X_test = self.X_train, self.X_test
            for pipeline in transformers:
                X_train = pipeline.fit_transform(X_train, self.y_train)
                X_test = pipeline.transform(X_test)
            self._transformed = (key, (transformers, X_train, X_test))
        found: tuple[list[Pipeline], Any, Any] = self._transformed[1]
        return found


def _with_params(estimator: Any, params: Mapping[str, Any]) -> Any:
    """Return a clone with parameters set; those that are estimators are cloned too."""
    return clone(estimator).set_params(**clone(dict(params), safe=False))


def _adjoint_tolerance(tolerance: float) -> float:
    """Return the residual allowed of an adjoint, given the accuracy of the loss."""
    return max(min(2 * math.sqrt(tolerance), 1e4 * tolerance), TIGHT)


def _cut(weight: Array | None, rows: Array) -> Array | None:
    return None if weight is None else np.asarray(weight, float)[rows]


def numeric_rows(X: Any) -> Any:
    """Return rows as numbers, CSR where sparse.

    Raises
    ------
    ValueError
        If they are not finite numbers.
    """
    return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])


def encode_targets(problem: InnerProblem, y: Array) -> Array:
    """Return class indices for a classifier, floats otherwise."""
    if problem.classes is None:
        return np.asarray(y, float)
    index = np.searchsorted(problem.classes, y)
    index = np.minimum(index, len(problem.classes) - 1)
    unseen = problem.classes[index] != y
    if unseen.any():
        raise ValueError(
            f"The validation part of a fold holds the class {y[unseen][0]!r}, which "
            "its training part lacks. Use a stratified cv with fewer folds."
        )
    return index


def _check_values(final: Any) -> None:
    """Let scikit-learn's own validation speak where the estimator has one."""
    if hasattr(final, "_parameter_constraints"):
        final._validate_params()
