# SPDX-License-Identifier: BSD-3-Clause
"""Ensembles of the candidates of a search, or of any list of estimators."""

from accsmbo.ensembles._ensemble_selection import EnsembleSelection
from accsmbo.ensembles._weighted_average import (
    WeightedAverageClassifier,
    WeightedAverageRegressor,
)

__all__ = ["EnsembleSelectionClassifier", "EnsembleSelectionRegressor"]


class EnsembleSelectionClassifier(WeightedAverageClassifier, EnsembleSelection):
    """Classifier that averages greedily selected candidates.

    Each candidate's out-of-fold predictions are known from a search (`from_search`)
    or made by cross-validation; greedy selection with replacement [1]_, [2]_ picks
    members and weights; these are fitted on all data.

    Parameters
    ----------
    estimators : list of estimator or of (str, estimator), default=None
        Candidates.
    predictions : OutOfFoldPredictions, default=None
        ``predictions_`` of a search over the same candidates and data. None: made by
        cross-validation in ``fit``.
    n_members : int, default=5
        Largest number of distinct members.
    metric : {"nll", "brier", "accuracy", "squared_error"} or callable, default=None
        What the selection improves, see `greedy_selection`. None: "nll".
    greater_is_better : bool, default=False
        Direction of a callable ``metric``.
    selection : {"greedy", "top-k"}, default="greedy"
        How members are chosen; "top-k" averages the individually best.
    max_rounds : int, default=100
        Rounds of greedy selection.
    patience : int or None, default=None
        End after that many rounds without improvement. None: never early.
    n_initial : int, default=0
        Members that the greedy selection starts from, the individually best.
    n_bags : int, default=1
        Bags of the greedy selection.
    members : {"refit", "folds"}, default="refit"
        Fit each member once on all data, or keep one model for each fold, trained on
        the fold's training part alone.
    cv : int, cross-validation generator or iterable, default=None
        As in scikit-learn; not used with ``predictions``.
    n_jobs : int or None, default=None
        Fits in parallel, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Decides between equal candidates, draws bags.

    Attributes
    ----------
    members_ : list of estimator
        Fitted members of weight above zero.
    member_weights_ : ndarray of shape (n_fitted,)
        Their weights, sum 1; those of members that failed went to the others.
    member_indices_ : ndarray of shape (n_fitted,)
        Candidate that each member comes from.
    weights_ : ndarray of shape (n_candidates,)
        Weights as selected, sum 1.
    selection_ : Selection
        Weights, path and best point.
    failed_members_ : list of int
        Selected candidates that could not be fitted.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    n_fits_ : int
        Fits made by ``fit``.
    fit_time_ : float
        Seconds that ``fit`` took.
    n_features_in_ : int
        Number of features, where the members tell.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the members have them.

    See Also
    --------
    greedy_selection : The selection by itself.
    EnsembleSelectionRegressor : For regressors.

    References
    ----------
    .. [1] Caruana, Niculescu-Mizil, Crew, Ksikes (2004), Ensemble Selection from
       Libraries of Models.
    .. [2] Wenzel et al. (2020), Hyperparameter Ensembles for Robustness and
       Uncertainty Quantification, Algorithm 2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from accsmbo.ensembles import EnsembleSelectionClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> candidates = [LogisticRegression(max_iter=1000), KNeighborsClassifier()]
    >>> ensemble = EnsembleSelectionClassifier(candidates, random_state=0).fit(X, y)
    >>> float(ensemble.weights_.sum())
    1.0
    """


class EnsembleSelectionRegressor(WeightedAverageRegressor, EnsembleSelection):
    """Regressor that averages greedily selected candidates.

    Each candidate's out-of-fold predictions are known from a search (`from_search`)
    or made by cross-validation; greedy selection with replacement [1]_, [2]_ picks
    members and weights; these are fitted on all data.

    Parameters
    ----------
    estimators : list of estimator or of (str, estimator), default=None
        Candidates.
    predictions : OutOfFoldPredictions, default=None
        ``predictions_`` of a search over the same candidates and data. None: made by
        cross-validation in ``fit``.
    n_members : int, default=5
        Largest number of distinct members.
    metric : {"nll", "brier", "accuracy", "squared_error"} or callable, default=None
        What the selection improves, see `greedy_selection`. None: "squared_error".
    greater_is_better : bool, default=False
        Direction of a callable ``metric``.
    selection : {"greedy", "top-k"}, default="greedy"
        How members are chosen; "top-k" averages the individually best.
    max_rounds : int, default=100
        Rounds of greedy selection.
    patience : int or None, default=None
        End after that many rounds without improvement. None: never early.
    n_initial : int, default=0
        Members that the greedy selection starts from, the individually best.
    n_bags : int, default=1
        Bags of the greedy selection.
    members : {"refit", "folds"}, default="refit"
        Fit each member once on all data, or keep one model for each fold, trained on
        the fold's training part alone.
    cv : int, cross-validation generator or iterable, default=None
        As in scikit-learn; not used with ``predictions``.
    n_jobs : int or None, default=None
        Fits in parallel, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Decides between equal candidates, draws bags.

    Attributes
    ----------
    members_ : list of estimator
        Fitted members of weight above zero.
    member_weights_ : ndarray of shape (n_fitted,)
        Their weights, sum 1; those of members that failed went to the others.
    member_indices_ : ndarray of shape (n_fitted,)
        Candidate that each member comes from.
    weights_ : ndarray of shape (n_candidates,)
        Weights as selected, sum 1.
    selection_ : Selection
        Weights, path and best point.
    failed_members_ : list of int
        Selected candidates that could not be fitted.
    member_variances_ : ndarray of shape (n_fitted,) or (n_fitted, n_targets)
        Mean squared out-of-fold error of each member.
    n_fits_ : int
        Fits made by ``fit``.
    fit_time_ : float
        Seconds that ``fit`` took.
    n_features_in_ : int
        Number of features, where the members tell.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the members have them.

    See Also
    --------
    greedy_selection : The selection by itself.
    EnsembleSelectionClassifier : For classifiers.

    References
    ----------
    .. [1] Caruana, Niculescu-Mizil, Crew, Ksikes (2004), Ensemble Selection from
       Libraries of Models.
    .. [2] Wenzel et al. (2020), Hyperparameter Ensembles for Robustness and
       Uncertainty Quantification, Algorithm 2.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from accsmbo.ensembles import EnsembleSelectionRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ensemble = EnsembleSelectionRegressor([Ridge(0.1), Ridge(10)], random_state=0)
    >>> mean, std = ensemble.fit(X, y).predict(X[:2], return_std=True)
    >>> mean.shape, std.shape
    ((2,), (2,))
    """
