# SPDX-License-Identifier: BSD-3-Clause
"""Poisson regression that tunes its own penalty."""

from typing import Any

import numpy as np
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score

from accsmbo.linear_model._bilevel_model import BilevelRegressor

__all__ = ["BilevelPoissonRegressorCV"]


class BilevelPoissonRegressorCV(BilevelRegressor):
    """Poisson regression that tunes alpha while it trains.

    The same model as scikit-learn's ``PoissonRegressor`` at ``alpha_``.

    Parameters
    ----------
    alpha_bounds : tuple of (float, float), default=(1e-4, 1e4)
        Range of alpha.
    cv : int, cross-validation generator or iterable, default=None
        As in scikit-learn; None is 5 folds. One split is fine.
    scoring : str, callable or None, default=None
        Metric with a gradient; None: ``"neg_mean_poisson_deviance"``.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    accuracy : float, default=1e-3
        Error of the mean score that ends the search, as a share of it.
    tol : float, default=1e-6
        Norm of the gradient at the end of the final fit, as a share of that at zero
        coefficients.

    Attributes
    ----------
    alpha_ : float
        Penalty of the best mean score.
    coef_ : ndarray of shape (n_features,)
        Coefficients on all rows.
    intercept_ : float
        Intercept.
    alphas_ : ndarray of shape (n_visits,)
        Values that the search stood at, in order; the last is ``alpha_``.
    scores_path_ : ndarray of shape (n_folds, n_visits)
        Scores there, as far as they were known then.
    best_score_ : float
        Mean score at ``alpha_``.
    score_error_estimate_ : float
        By how much ``best_score_`` may be off.
    scan_ : dict
        The whole range as the search saw it: arrays ``alpha`` and ``score``.
    local_maxima_ : ndarray
        Values of alpha at the local maxima of that scan, the best first.
    at_bound_ : {"low", "high"} or None
        Whether ``alpha_`` is an end of its range.
    n_products_ : int
        Products of a vector with the training rows or their transpose in the search; 0
        for small tables, which are factorised.
    converged_ : bool
        Whether the search ended by its error estimate.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has string column names.
    n_iter_ : int
        Newton steps of the final fit.

    See Also
    --------
    sklearn.linear_model.PoissonRegressor : The model at one value of alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.linear_model import BilevelPoissonRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = rng.poisson(np.exp(X[:, 0]))
    >>> bool(BilevelPoissonRegressorCV().fit(X, y).score(X, y) > 0.5)
    True
    """

    _default_scoring = "neg_mean_poisson_deviance"

    def _model(self) -> Any:
        return PoissonRegressor(fit_intercept=self.fit_intercept)

    def predict(self, X: Any) -> Any:
        """Predict the mean.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions, positive.
        """
        return np.exp(self._linear(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of deviance explained, as ``PoissonRegressor`` does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            At most 1.
        """
        return float(
            d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1)
        )
