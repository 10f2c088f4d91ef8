# SPDX-License-Identifier: BSD-3-Clause
"""Linear models with one l2 strength for each group of features."""

import numbers
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    validate_data,
)

from accsmbo._sklearn_private import Interval, StrOptions
from accsmbo.hypergradients import (
    GroupLogisticRegressionProblem,
    GroupRidgeProblem,
    register_inner_problem,
)
from accsmbo.linear_model._predictions import LinearOutputs, ProbabilityPredictions

__all__ = ["GroupLogisticRegression", "GroupRidge"]

PREFIX = "alpha__"


class _GroupPenaltyModel(BaseEstimator):
    """Parameters and fit shared by the models of this module."""

    _problem_class: Any
    _parameter_constraints: dict[str, list[Any]] = {
        "alpha": [Interval(numbers.Real, 0, None, closed="left"), "array-like"],
        "groups": ["array-like", None],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self, alpha: Any = 1.0, *, groups: Any = None, fit_intercept: bool = True
    ) -> None:
        self.alpha = alpha
        self.groups = groups
        self.fit_intercept = fit_intercept

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Also return ``alpha__k``, the strength of group k, where there are
            groups.

        Returns
        -------
        dict of str to object
            Parameter names and values.
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            params |= {f"{PREFIX}{k}": v for k, v in enumerate(self._strengths())}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of single groups by ``alpha__k`` too.

        Parameters
        ----------
        **params : dict
            Parameter names and values.

        Returns
        -------
        object
            The estimator itself.
        """
        of_groups = {n: v for n, v in params.items() if n.startswith(PREFIX)}
        super().set_params(**{n: v for n, v in params.items() if n not in of_groups})
        if not of_groups:
            return self
        strengths = self._strengths()
        for name, value in of_groups.items():
            number = name[len(PREFIX) :]
            if not (number.isdigit() and int(number) < len(strengths)):
                raise ValueError(
                    f"Invalid parameter {name!r} for {type(self).__name__}: there are "
                    f"{len(strengths)} groups. Give groups=, and one of "
                    f"{PREFIX}0 to {PREFIX}{max(len(strengths) - 1, 0)}."
                )
            strengths[int(number)] = value
        self.alpha = strengths
        return self

    def _strengths(self) -> list[Any]:
        """Return one strength per group, a new list; empty without valid groups."""
        groups = np.asarray(self.groups)
        if groups.ndim != 1 or groups.dtype.kind not in "iu" or not len(groups):
            return []
        if np.ndim(self.alpha):
            return list(self.alpha)
        return [self.alpha] * (int(groups.max()) + 1)

    def _check_groups(self, n_features: int) -> None:
        groups = self.groups
        if groups is not None:
            groups = np.asarray(groups)
            if groups.shape != (n_features,) or groups.dtype.kind not in "iu":
                raise ValueError(
                    f"groups must hold one integer for each of the {n_features} "
                    f"features, got an array of shape {groups.shape} and type "
                    f"{groups.dtype}. Number the groups from 0."
                )
        if np.ndim(self.alpha):
            self._check_strengths(groups)

    def _check_strengths(self, groups: Any) -> None:
        strengths = np.asarray(self.alpha, float)
        if groups is None:
            raise ValueError(
                f"alpha holds {len(strengths)} strengths, but groups is None. "
                "Give groups=, the group of each feature."
            )
        if groups.min() < 0 or groups.max() >= len(strengths):
            raise ValueError(
                f"groups must lie between 0 and {len(strengths) - 1}, as alpha holds "
                f"{len(strengths)} strengths; got {groups.min()} to {groups.max()}. "
                "Give alpha one strength per group."
            )
        if not (strengths >= 0).all():
            raise ValueError(
                f"alpha must hold numbers >= 0, got a smallest one of "
                f"{strengths.min()}. Give non-negative strengths."
            )

    def _solve(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_groups(X.shape[1])
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        problem = self._problem_class(self, X, y, sample_weight)
        solution = problem.solve(self, tolerance=1e-10)
        for name, value in problem.fitted_attributes(solution).items():
            setattr(self, name, value)
        return self


class GroupRidge(LinearOutputs, RegressorMixin, _GroupPenaltyModel):
    """Ridge regression with one penalty for each group of features.

    Minimises ``sum_i s_i (y_i - x_i.w - b)^2 + sum_k alpha_k |w_group(k)|^2``. Where
    features come in families (word counts beside prices, lags of several series), a
    single strength is a compromise; with gradients, one for each can be tuned.

    Parameters
    ----------
    alpha : float or array-like of shape (n_groups,), default=1.0
        Strength for all features, or one for each group. Single ones are set by
        ``set_params(alpha__3=0.1)``, which is what a search does.
    groups : array-like of shape (n_features,), default=None
        Group of each feature, an integer from 0 on; None puts all in one.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has string column names.
    n_iter_ : int
        Newton steps made.

    See Also
    --------
    sklearn.linear_model.Ridge : One strength for all features.
    GroupLogisticRegression : The same for classification.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.linear_model import GroupRidge
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> model = GroupRidge(groups=[0, 1]).set_params(alpha__0=1e-3, alpha__1=1e3)
    >>> abs(model.fit(X, [0.0, 1.0, 1.0]).coef_).round(2)
    array([1., 0.])
    """

    _problem_class = GroupRidgeProblem

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        GroupRidge
            The fitted estimator.

        Raises
        ------
        ValueError
            If ``alpha`` and ``groups`` do not fit together or the data.
        """
        self._validate_params()
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            multi_output=True,
            y_numeric=True,
        )
        return self._solve(X, y, sample_weight)

    def predict(self, X: Any) -> Any:
        """Predict.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        return self._linear(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class GroupLogisticRegression(
    ProbabilityPredictions, ClassifierMixin, _GroupPenaltyModel
):
    """Logistic regression with one l2 penalty for each group of features.

    Minimises ``sum_i s_i log_loss_i + sum_k alpha_k |w_group(k)|^2 / 2``, binary or
    multinomial; with a single strength it is scikit-learn's model at
    ``C = 1 / alpha``.

    Parameters
    ----------
    alpha : float or array-like of shape (n_groups,), default=1.0
        Strength for all features, or one for each group. Single ones are set by
        ``set_params(alpha__3=0.1)``, which is what a search does.
    groups : array-like of shape (n_features,), default=None
        Group of each feature, an integer from 0 on; None puts all in one.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has string column names.
    n_iter_ : ndarray of shape (1,)
        Newton steps made.

    See Also
    --------
    sklearn.linear_model.LogisticRegression : One strength for all features.
    GroupRidge : The same for regression.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from accsmbo.linear_model import GroupLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> groups = [j // 10 for j in range(30)]  # means, errors, worst values
    >>> model = GroupLogisticRegression([1.0, 100.0, 1.0], groups=groups)
    >>> bool(model.fit(scale(X), y).score(scale(X), y) > 0.98)
    True
    """

    _problem_class = GroupLogisticRegressionProblem
    _parameter_constraints: dict[str, list[Any]] = {
        **_GroupPenaltyModel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        groups: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
    ) -> None:
        super().__init__(alpha, groups=groups, fit_intercept=fit_intercept)
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        GroupLogisticRegression
            The fitted estimator.

        Raises
        ------
        ValueError
            If ``alpha`` and ``groups`` do not fit together or the data, or there is
            one class only.
        """
        self._validate_params()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        check_classification_targets(y)
        return self._solve(X, y, sample_weight)


register_inner_problem(GroupRidge, GroupRidgeProblem)
register_inner_problem(GroupLogisticRegression, GroupLogisticRegressionProblem)
