# SPDX-License-Identifier: BSD-3-Clause
"""Random forest surrogate for large and mostly categorical spaces.

Notation
--------
U, y        observed points (n, d) and losses (n,)
mu_b, v_b   (m,)  mean and variance of the training losses in the leaf of tree b
mean        (m,)  average of mu_b over the trees
var         (m,)  average of v_b plus variance of mu_b (law of total variance)
            Hutter, Xu, Hoos and Leyton-Brown (2014), section 4.3.2
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestRegressor

from accsmbo.surrogates._base import (
    BoolArray,
    FloatArray,
    check_observations,
    check_points,
)
from accsmbo.surrogates._standardize import Standardization

__all__ = ["RandomForestSurrogate"]

# Below this share of the variance of the losses a prediction counts as certain.
VARIANCE_FLOOR = 1e-6


class RandomForestSurrogate(BaseEstimator):
    """Mean and variance over the trees of a random forest.

    Piecewise constant, so its gradients are zero; the search for the acquisition's
    maximum then rests on its candidates and neighbour moves.

    Parameters
    ----------
    n_estimators : int, default=20
        Number of trees.
    max_features : float, default=0.8
        Share of the dimensions looked at in each split.
    min_samples_leaf : int, default=1
        Smallest number of points in a leaf.
    log_loss : bool, default=False
        Model the logarithm of the losses, for costs that span decades; they must be
        positive. Predictions are in the losses' own units, by the log-normal moments.
    random_state : int or None, default=0
        Seed of the forest.

    Attributes
    ----------
    forest_ : RandomForestRegressor
        The fitted forest, on standardised losses.

    See Also
    --------
    GaussianProcess : For up to a few thousand points of a mostly numeric space.

    References
    ----------
    .. [1] F. Hutter, L. Xu, H. H. Hoos and K. Leyton-Brown, Algorithm Runtime
       Prediction: Methods and Evaluation, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from accsmbo.surrogates import RandomForestSurrogate
    >>> U = np.linspace(0, 1, 50)[:, None]
    >>> mean, std = RandomForestSurrogate().fit(U, U[:, 0] ** 2).predict([[0.5]])
    >>> bool(abs(mean[0] - 0.25) < 0.05)
    True
    """

    def __init__(
        self,
        n_estimators: int = 20,
        *,
        max_features: float = 0.8,
        min_samples_leaf: int = 1,
        log_loss: bool = False,
        random_state: int | None = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.log_loss = log_loss
        self.random_state = random_state

    def fit(
        self,
        U: ArrayLike,
        y: ArrayLike,
        *,
        categorical: ArrayLike | None = None,
        noise: ArrayLike | None = None,
    ) -> Self:
        """Grow the forest.

        Parameters
        ----------
        U : array-like of shape (n, d)
            Points in the unit cube.
        y : array-like of shape (n,)
            Finite losses.
        categorical : array-like of shape (d,), optional
            True where a dimension is an unordered choice; its choices are ordered by
            their mean loss, which makes the best split on them one threshold.
        noise : array-like of shape (n,), optional
            Standard errors; a point with a known one weighs 1 / (1 + its variance over
            the variance of the losses).

        Returns
        -------
        self : RandomForestSurrogate
            The fitted object itself.

        Raises
        ------
        ValueError
            On shapes that do not fit together, values that are not finite, and losses
            that are not positive with ``log_loss=True``.
        """
        points, values, kinds, errors = check_observations(U, y, categorical, noise)
        if self.log_loss and values.min() <= 0.0:
            raise ValueError(
                "y must be positive with log_loss=True, got a smallest loss of "
                f"{values.min():g}; set log_loss=False"
            )
        used = np.log(values) if self.log_loss else values
        self._standard = Standardization.of(used)
        relative = errors / values if self.log_loss else errors
        scaled = self._standard.apply_scale(np.where(np.isnan(errors), 0.0, relative))
        self._U, self._y, self._kinds = points, values, kinds
        self._errors = errors
        self._orders = _choice_orders(points, self._standard.apply(used), kinds)
        self.forest_ = RandomForestRegressor(
            n_estimators=self.n_estimators,
            max_features=self.max_features,
            min_samples_leaf=self.min_samples_leaf,
            random_state=self.random_state,
        )
        self.forest_.fit(
            self._encode(points),
            self._standard.apply(used),
            sample_weight=1.0 / (1.0 + scaled**2),
        )
        return self

    def predict(self, U: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation over the trees.

        Parameters
        ----------
        U : array-like of shape (m, d)
            Points in the unit cube.

        Returns
        -------
        mean, std : ndarray of shape (m,)
            In the units of the losses.
        """
        X = self._encode(check_points(U)).astype(np.float32)
        leaves = [(t.tree_, t.tree_.apply(X)) for t in self.forest_.estimators_]
        mu = np.stack([tree.value[leaf, 0, 0] for tree, leaf in leaves])
        within = np.stack([tree.impurity[leaf] for tree, leaf in leaves])
        mean = mu.mean(axis=0)
        var = np.maximum(mu.var(axis=0) + within.mean(axis=0), VARIANCE_FLOOR)
        if not self.log_loss:
            undo = self._standard
            return undo.undo(mean), undo.undo_scale(np.sqrt(var))
        log_mean = self._standard.undo(mean)
        log_var = self._standard.undo_scale(np.sqrt(var)) ** 2
        moment = np.exp(log_mean + 0.5 * log_var)
        return moment, moment * np.sqrt(np.expm1(log_var))

    def predict_gradient(
        self, U: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the prediction and zeros for its derivatives.

        Parameters
        ----------
        U : array-like of shape (m, d)
            Points in the unit cube.

        Returns
        -------
        mean, std : ndarray of shape (m,)
            As from `predict`.
        dmean, dstd : ndarray of shape (m, d)
            Zeros: a forest is piecewise constant.
        """
        mean, std = self.predict(U)
        zeros = np.zeros(np.shape(U))
        return mean, std, zeros, zeros.copy()

    def condition(self, U: ArrayLike, y: ArrayLike) -> "RandomForestSurrogate":
        """Return a forest grown on these points as well.

        Parameters
        ----------
        U : array-like of shape (m, d)
            Further points in the unit cube.
        y : array-like of shape (m,)
            Losses there, observed or imagined.

        Returns
        -------
        RandomForestSurrogate
            A new object; this one is unchanged.
        """
        points, values, _, errors = check_observations(U, y)
        other: RandomForestSurrogate = clone(self)
        return other.fit(
            np.vstack([self._U, points]),
            np.concatenate([self._y, values]),
            categorical=self._kinds,
            noise=np.concatenate([self._errors, errors]),
        )

    def _encode(self, U: FloatArray) -> FloatArray:
        """Return U with the coordinate of each choice replaced by its rank."""
        X = U.copy()
        for j, (coordinates, ranks, unseen) in self._orders.items():
            at = np.minimum(np.searchsorted(coordinates, U[:, j]), len(ranks) - 1)
            known = np.isclose(coordinates[at], U[:, j], rtol=0.0, atol=1e-9)
            X[:, j] = np.where(known, ranks[at], unseen)
        return X


def _choice_orders(
    U: FloatArray, t: FloatArray, categorical: BoolArray
) -> dict[int, tuple[FloatArray, FloatArray, float]]:
    """Return for each unordered dimension the coordinates seen and their mean losses.

    The mean is shrunk towards that of all points by one pseudo-observation; choices
    not seen yet take the mean of all.
    """
    orders = {}
    for j in np.flatnonzero(categorical):
        coordinates, index = np.unique(U[:, j], return_inverse=True)
        counts = np.bincount(index)
        means = np.bincount(index, weights=t) / (counts + 1.0)
        orders[int(j)] = (coordinates, means, float(t.mean()))
    return orders
