# SPDX-License-Identifier: BSD-3-Clause
"""Hyper-deep ensembles: diversity of hyperparameters and of seeds."""

from accsmbo.ensembles._hyper_deep import HyperDeepEnsemble
from accsmbo.ensembles._weighted_average import (
    WeightedAverageClassifier,
    WeightedAverageRegressor,
)

__all__ = ["HyperDeepEnsembleClassifier", "HyperDeepEnsembleRegressor"]


class HyperDeepEnsembleClassifier(WeightedAverageClassifier, HyperDeepEnsemble):
    """Classifier of models that differ in parameters and in seeds.

    Algorithm 1 of [1]_: a search trains ``n_candidates`` configurations; greedy
    selection takes up to K = ``n_members`` of them (a "row"); each of these is trained
    from K seeds, keeping what is trained already; greedy selection takes up to K of
    all these. Candidates are compared on held-out rows.

    Parameters
    ----------
    estimator : classifier
        What to tune; cloned.
    param_distributions : dict, list of dict, Space or None, default=None
        What to search; None: the default space of the estimator.
    n_members : int, default=3
        K: largest number of distinct members, and number of seeds.
    n_candidates : int, default=50
        Configurations that the search tries.
    strategy : {"hyper-deep", "row", "hyper"}, default="hyper-deep"
        "row": one seed for all candidates and no second step (fixed initialisation);
        "hyper": a seed for each candidate and no second step (NES-RS). See the
        constructors `row` and `hyper`.
    optimizer : Optimizer, default=None
        What proposes configurations; None: random search. It is cloned; its space and
        seed are replaced.
    predictions : OutOfFoldPredictions, default=None
        ``predictions_`` of a search, instead of an own one; see `from_search`.
    metric : {"nll", "brier", "accuracy", "squared_error"} or callable, default=None
        What is searched and selected for, see `greedy_selection`. None: "nll".
    greater_is_better : bool, default=False
        Direction of a callable ``metric``.
    max_rounds : int, default=100
        Rounds of greedy selection.
    patience : int or None, default=1
        End greedy selection after that many rounds without improvement; 1 is the
        paper's rule, None is never.
    cv : int, cross-validation generator or iterable, default=None
        Folds that candidates are trained and compared on. None: one split that holds
        out a fifth of the rows, as in the paper.
    refit : bool, default=True
        Fit the members again on all data. False: the ensemble is made of the folds'
        models, as in the paper.
    n_jobs : int or None, default=None
        Fits in parallel, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Decides the split, the candidates and the seeds.

    Attributes
    ----------
    members_ : list of classifier
        Fitted members of weight above zero.
    member_weights_ : ndarray of shape (n_fitted,)
        Their weights, sum 1.
    member_params_ : list of dict
        Configuration of each member.
    member_seeds_ : list of int or None
        Seed of each member; None: the estimator's own.
    row_selection_ : Selection
        First greedy selection, over the search's candidates.
    selection_ : Selection
        Last greedy selection.
    failed_members_ : list of int
        Places, among the selected, of those that could not be fitted.
    history_ : History
        The search; absent with ``predictions``.
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
    DeepEnsembleClassifier : One configuration, several seeds.
    EnsembleSelectionClassifier : The candidates of a search.

    References
    ----------
    .. [1] Wenzel, Snoek, Tran, Jenatton (2020), Hyperparameter Ensembles for
       Robustness and Uncertainty Quantification, section 3, Algorithms 1 and 2,
       appendix C.7.5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from accsmbo import Integer
    >>> from accsmbo.ensembles import HyperDeepEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ensemble = HyperDeepEnsembleClassifier(
    ...     DecisionTreeClassifier(max_features=1),
    ...     {"max_depth": Integer(1, 8), "min_samples_leaf": Integer(1, 20)},
    ...     n_candidates=8,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> len(ensemble.members_) <= 3
    True
    """


class HyperDeepEnsembleRegressor(WeightedAverageRegressor, HyperDeepEnsemble):
    """Regressor of models that differ in parameters and in seeds.

    Algorithm 1 of [1]_: a search trains ``n_candidates`` configurations; greedy
    selection takes up to K = ``n_members`` of them (a "row"); each of these is trained
    from K seeds, keeping what is trained already; greedy selection takes up to K of
    all these. Candidates are compared on held-out rows.

    Parameters
    ----------
    estimator : regressor
        What to tune; cloned.
    param_distributions : dict, list of dict, Space or None, default=None
        What to search; None: the default space of the estimator.
    n_members : int, default=3
        K: largest number of distinct members, and number of seeds.
    n_candidates : int, default=50
        Configurations that the search tries.
    strategy : {"hyper-deep", "row", "hyper"}, default="hyper-deep"
        "row": one seed for all candidates and no second step (fixed initialisation);
        "hyper": a seed for each candidate and no second step (NES-RS). See the
        constructors `row` and `hyper`.
    optimizer : Optimizer, default=None
        What proposes configurations; None: random search. It is cloned; its space and
        seed are replaced.
    predictions : OutOfFoldPredictions, default=None
        ``predictions_`` of a search, instead of an own one; see `from_search`.
    metric : {"nll", "brier", "accuracy", "squared_error"} or callable, default=None
        What is searched and selected for, see `greedy_selection`. None:
        "squared_error".
    greater_is_better : bool, default=False
        Direction of a callable ``metric``.
    max_rounds : int, default=100
        Rounds of greedy selection.
    patience : int or None, default=1
        End greedy selection after that many rounds without improvement; 1 is the
        paper's rule, None is never.
    cv : int, cross-validation generator or iterable, default=None
        Folds that candidates are trained and compared on. None: one split that holds
        out a fifth of the rows, as in the paper.
    refit : bool, default=True
        Fit the members again on all data. False: the ensemble is made of the folds'
        models, as in the paper.
    n_jobs : int or None, default=None
        Fits in parallel, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Decides the split, the candidates and the seeds.

    Attributes
    ----------
    members_ : list of regressor
        Fitted members of weight above zero.
    member_weights_ : ndarray of shape (n_fitted,)
        Their weights, sum 1.
    member_params_ : list of dict
        Configuration of each member.
    member_seeds_ : list of int or None
        Seed of each member; None: the estimator's own.
    row_selection_ : Selection
        First greedy selection, over the search's candidates.
    selection_ : Selection
        Last greedy selection.
    failed_members_ : list of int
        Places, among the selected, of those that could not be fitted.
    history_ : History
        The search; absent with ``predictions``.
    member_variances_ : ndarray of shape (n_fitted,) or (n_fitted, n_targets)
        Mean squared held-out error of each member.
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
    DeepEnsembleRegressor : One configuration, several seeds.
    EnsembleSelectionRegressor : The candidates of a search.

    References
    ----------
    .. [1] Wenzel, Snoek, Tran, Jenatton (2020), Hyperparameter Ensembles for
       Robustness and Uncertainty Quantification, section 3, Algorithms 1 and 2,
       appendix C.7.5.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from accsmbo import Integer
    >>> from accsmbo.ensembles import HyperDeepEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ensemble = HyperDeepEnsembleRegressor(
    ...     DecisionTreeRegressor(max_features=1),
    ...     {"max_depth": Integer(1, 8), "min_samples_leaf": Integer(1, 20)},
    ...     n_candidates=8,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> mean, std = ensemble.predict(X[:2], return_std=True)
    >>> mean.shape, std.shape
    ((2,), (2,))
    """
