# SPDX-License-Identifier: BSD-3-Clause
"""Ridge regression that tunes its own penalty."""

from typing import Any

from sklearn.linear_model import Ridge

from accsmbo.linear_model._bilevel_model import BilevelRegressor

__all__ = ["BilevelRidgeCV"]


class BilevelRidgeCV(BilevelRegressor):
    """Ridge regression that tunes alpha while it trains.

    The same model as scikit-learn's ``Ridge`` at ``alpha_``. Unlike ``RidgeCV`` it
    needs no grid, and takes sparse rows without a dense decomposition.

    Parameters
    ----------
    alpha_bounds : tuple of (float, float), default=(1e-4, 1e4)
        Range of alpha.
    cv : int, cross-validation generator or iterable, default=None
        As in scikit-learn; None is 5 folds. One split is fine.
    scoring : str, callable or None, default=None
        Metric with a gradient; None: ``"neg_mean_squared_error"``.
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
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients on all rows.
    intercept_ : float or ndarray of shape (n_targets,)
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
    sklearn.linear_model.RidgeCV : A grid of values, scored by leave-one-out.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from accsmbo.linear_model import BilevelRidgeCV
    >>> X, y = make_regression(60, 30, noise=50.0, random_state=0)
    >>> bool(0.1 < BilevelRidgeCV().fit(X, y).alpha_ < 100)
    True
    """

    _default_scoring = "neg_mean_squared_error"
    _multi_output = True

    def _model(self) -> Any:
        return Ridge(fit_intercept=self.fit_intercept)

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
