# SPDX-License-Identifier: BSD-3-Clause
"""Logistic regression that tunes its own penalty."""

from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression

from accsmbo._sklearn_private import StrOptions
from accsmbo.linear_model._bilevel_model import CONSTRAINTS, BilevelModel
from accsmbo.linear_model._predictions import ProbabilityPredictions

__all__ = ["BilevelLogisticRegressionCV"]


class BilevelLogisticRegressionCV(
    ProbabilityPredictions, ClassifierMixin, BilevelModel
):
    """Logistic regression that tunes C while it trains.

    The same model as scikit-learn's ``LogisticRegression`` at ``C_``, and the same
    question as its ``LogisticRegressionCV`` asks, without a grid: the Newton steps that
    train the folds also say how C should move, so that the whole range is searched
    for about the price of one fit a fold.

    Parameters
    ----------
    C_bounds : tuple of (float, float), default=(1e-4, 1e4)
        Range of C.
    cv : int, cross-validation generator or iterable, default=None
        As in scikit-learn; None is 5 stratified folds. One split is fine.
    scoring : str, callable or None, default=None
        Metric with a gradient; None: ``"neg_log_loss"``.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    accuracy : float, default=1e-3
        Error of the mean score that ends the search, as a share of it.
    tol : float, default=1e-6
        Norm of the gradient at the end of the final fit, as a share of that at zero
        coefficients.

    Attributes
    ----------
    C_ : float
        Inverse penalty of the best mean score.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients on all rows.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    Cs_ : ndarray of shape (n_visits,)
        Values that the search stood at, in order; the last is ``C_``.
    scores_path_ : ndarray of shape (n_folds, n_visits)
        Scores there, as far as they were known then.
    best_score_ : float
        Mean score at ``C_``.
    score_error_estimate_ : float
        By how much ``best_score_`` may be off.
    scan_ : dict
        The whole range as the search saw it: arrays ``C`` and ``score``.
    local_maxima_ : ndarray
        Values of C at the local maxima of that scan, the best first.
    at_bound_ : {"low", "high"} or None
        Whether ``C_`` is an end of its range.
    n_products_ : int
        Products of a vector with the training rows or their transpose in the search; 0
        for small tables, which are factorised.
    converged_ : bool
        Whether the search ended by its error estimate.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has string column names.
    n_iter_ : ndarray of shape (1,)
        Newton steps of the final fit.

    See Also
    --------
    sklearn.linear_model.LogisticRegressionCV : A grid of values, each fitted.
    AccSMBOSearchCV : Uses the same method inside a search of any estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from accsmbo.linear_model import BilevelLogisticRegressionCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BilevelLogisticRegressionCV().fit(scale(X), y)
    >>> bool(0.1 < model.C_ < 10), model.at_bound_
    (True, None)
    """

    _penalty_name = "C"
    _default_scoring = "neg_log_loss"
    _classifies = True
    _parameter_constraints: dict[str, list[Any]] = {
        "C_bounds": ["array-like"],
        **CONSTRAINTS,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        C_bounds: tuple[float, float] = (1e-4, 1e4),
        *,
        cv: Any = None,
        scoring: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        accuracy: float = 1e-3,
        tol: float = 1e-6,
    ) -> None:
        self.C_bounds = C_bounds
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.accuracy = accuracy
        self.tol = tol

    def _model(self) -> Any:
        return LogisticRegression(
            fit_intercept=self.fit_intercept, class_weight=self.class_weight
        )
