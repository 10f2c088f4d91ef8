# SPDX-License-Identifier: BSD-3-Clause
"""Deep ensembles: one configuration, trained from several seeds."""

import time
from numbers import Integral

import numpy as np

from accsmbo._sklearn_private import HasMethods, Interval, fit_context
from accsmbo._validation import root_seed
from accsmbo.ensembles._cross_fit import (
    fit_all,
    has_seed,
    seeded,
    warn_about_failures,
)
from accsmbo.ensembles._weighted_average import (
    WeightedAverage,
    WeightedAverageClassifier,
    WeightedAverageRegressor,
)

__all__ = ["DeepEnsembleClassifier", "DeepEnsembleRegressor"]


class _DeepEnsemble(WeightedAverage):
    """Base: fits clones that differ in their seeds."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(self, estimator, *, n_members=5, n_jobs=None, random_state=None):
        self.estimator = estimator
        self.n_members = n_members
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Fit a clone for each seed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target.

        Returns
        -------
        self : object
            The fitted ensemble.

        Raises
        ------
        ValueError
            If no part of the estimator has a ``random_state``.
        """
        start = time.perf_counter()
        if not has_seed(self.estimator):
            raise ValueError(
                "estimator must have a random_state, as seeds are all that the members "
                f"of {type(self).__name__} differ in, got "
                f"{type(self.estimator).__name__}. Use a HyperDeepEnsemble with "
                "strategy='row', whose members differ in their parameters."
            )
        X, y = self._check_X_y(X, y)
        self.seeds_ = np.random.SeedSequence(
            root_seed(self.random_state)
        ).generate_state(self.n_members) % np.uint32(2**31)
        members, errors = fit_all(
            [seeded(self.estimator, seed) for seed in self.seeds_],
            X,
            y,
            n_jobs=self.n_jobs,
        )
        self.failed_members_ = warn_about_failures(errors, "members")
        self._set_members(members, [error is None for error in errors])
        self.n_fits_ = self.n_members
        self.fit_time_ = time.perf_counter() - start
        return self

    def __sklearn_tags__(self):
        return self._with_member_tags(super().__sklearn_tags__(), [self.estimator])


class DeepEnsembleClassifier(WeightedAverageClassifier, _DeepEnsemble):
    """Classifier that averages one configuration trained from several seeds.

    Deep ensembles [1]_ for any estimator with a ``random_state``.

    Parameters
    ----------
    estimator : classifier
        Cloned; it, or a part of it, has a ``random_state``.
    n_members : int, default=5
        Number of seeds.
    n_jobs : int or None, default=None
        Fits in parallel, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Draws the seeds.

    Attributes
    ----------
    members_ : list of classifier
        Fitted members.
    member_weights_ : ndarray of shape (n_fitted,)
        Equal weights, sum 1.
    seeds_ : ndarray of int of shape (n_members,)
        The seeds.
    failed_members_ : list of int
        Places of the seeds whose fit failed.
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
    HyperDeepEnsembleClassifier : Members differ in parameters too.

    References
    ----------
    .. [1] Lakshminarayanan, Pritzel, Blundell (2017), Simple and Scalable Predictive
       Uncertainty Estimation using Deep Ensembles; Wenzel et al. (2020), section 2.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from accsmbo.ensembles import DeepEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ExtraTreesClassifier(n_estimators=5)
    >>> ensemble = DeepEnsembleClassifier(forest, n_members=3, random_state=0)
    >>> ensemble.fit(X, y).predict_proba(X[:1]).shape
    (1, 3)
    """


class DeepEnsembleRegressor(WeightedAverageRegressor, _DeepEnsemble):
    """Regressor that averages one configuration trained from several seeds.

    Deep ensembles [1]_ for any estimator with a ``random_state``.

    Parameters
    ----------
    estimator : regressor
        Cloned; it, or a part of it, has a ``random_state``.
    n_members : int, default=5
        Number of seeds.
    n_jobs : int or None, default=None
        Fits in parallel, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Draws the seeds.

    Attributes
    ----------
    members_ : list of regressor
        Fitted members.
    member_weights_ : ndarray of shape (n_fitted,)
        Equal weights, sum 1.
    seeds_ : ndarray of int of shape (n_members,)
        The seeds.
    failed_members_ : list of int
        Places of the seeds whose fit failed.
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
    HyperDeepEnsembleRegressor : Members differ in parameters too.

    References
    ----------
    .. [1] Lakshminarayanan, Pritzel, Blundell (2017), Simple and Scalable Predictive
       Uncertainty Estimation using Deep Ensembles; Wenzel et al. (2020), section 2.1.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> from accsmbo.ensembles import DeepEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ExtraTreesRegressor(n_estimators=5, max_depth=4)
    >>> ensemble = DeepEnsembleRegressor(forest, n_members=3, random_state=0)
    >>> mean, std = ensemble.fit(X, y).predict(X[:1], return_std=True)
    >>> bool(std[0] > 0)
    True
    """
