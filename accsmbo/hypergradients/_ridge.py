# SPDX-License-Identifier: BSD-3-Clause
"""Ridge regression and classification: alpha, one for all targets or one each.

``sum_i s_i (y_i - x_i.w)^2 / 2 + alpha |w|^2 / 2``.
"""

from typing import Any

import numpy as np
from sklearn.linear_model import Ridge, RidgeClassifier

from accsmbo.hypergradients._inner_problem import (
    Array,
    NotDifferentiableError,
    Solution,
    words,
)
from accsmbo.hypergradients._linear_problem import LinearProblem, Penalty
from accsmbo.hypergradients._losses import InnerLoss, SquaredLoss
from accsmbo.hypergradients._registry import register_inner_problem
from accsmbo.hypergradients._targets import (
    class_weights,
    encode_classes,
    one_hot,
    signs,
)

__all__ = ["RidgeClassifierProblem", "RidgeProblem"]


class RidgeProblem(LinearProblem):
    """Inner problem of :class:`sklearn.linear_model.Ridge`.

    Quadratic, so that one linear solve is the fit and one more, with the same matrix,
    the gradient. ``alpha`` may be an array with a strength for each target; its
    derivative is then an array too.

    See Also
    --------
    GroupRidgeProblem : A strength for each group of features.
    ElasticNetProblem : With an l1 penalty.
    accsmbo.linear_model.BilevelRidgeCV : Fitting and tuning in one.

    Notes
    -----
    ``H = X^T diag(s) X + alpha I``, without ``alpha`` at the intercept, ``H q = dG/dw``
    and ``df/dalpha = -q.w``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_linnerud
    >>> from sklearn.linear_model import Ridge
    >>> from accsmbo.hypergradients import hypergradient
    >>> X, Y = load_linnerud(return_X_y=True)  # three targets
    >>> score, gradient = hypergradient(Ridge(), {"alpha": np.ones(3)}, X, Y, cv=4)
    >>> gradient["alpha"].shape
    (3,)
    """

    settings = words(
        "alpha class_weight copy_X fit_intercept max_iter positive random_state "
        "solver tol"
    )

    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return alpha."""
        if estimator.positive:
            raise NotDifferentiableError(
                f"{type(estimator).__name__}(positive=True) has no gradients. "
                "Use positive=False."
            )
        return ("alpha",)

    def make_loss(self, estimator: Any, y: Array, weight: Array) -> InnerLoss:
        """Return the squared error."""
        return SquaredLoss(np.asarray(y, float), weight)

    def penalty(self, estimator: Any) -> Penalty:
        """Return alpha; an array holds one per target."""
        return Penalty(estimator.alpha, d_l2={"alpha": 1.0})

    def cross_product(self, solution: Solution, q: Array) -> dict[str, Any]:
        """Return ``q . w``, per target where alpha is an array."""
        if np.ndim(solution.state["penalty"].l2) == 0:
            return dict(super().cross_product(solution, q))
        strength = self._per_coefficient(1.0, solution.state["design"])
        products = strength * q * solution.state["linear"].w
        return {"alpha": products.reshape(len(q), -1).sum(axis=0)}


class RidgeClassifierProblem(RidgeProblem):
    """Inner problem of :class:`sklearn.linear_model.RidgeClassifier`.

    Ridge regression of targets -1 and +1, a column for each class where there are more
    than two. Its outputs are decision values, so the metric is a hinge loss. Fit and
    adjoint are one linear solve each. A further metric costs a fit: the estimator keeps
    a label binarizer of its own, which only its ``fit`` can make.

    See Also
    --------
    RidgeProblem : For regression.
    LogisticRegressionProblem : With probabilities.
    LinearSVCProblem : With a loss that leaves rows beyond the margin alone.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.metrics import make_scorer
    >>> from accsmbo.hypergradients import hypergradient, squared_hinge_loss
    >>> X, y = load_digits(return_X_y=True)
    >>> metric = make_scorer(squared_hinge_loss, greater_is_better=False,
    ...                      response_method="decision_function")
    >>> _, gradient = hypergradient(
    ...     RidgeClassifier(), {"alpha": 1e3}, X, y, cv=5, scoring=metric)
    >>> bool(gradient["alpha"] > 0)  # more is better
    True
    """

    link = "margin"

    def make_loss(self, estimator: Any, y: Array, weight: Array) -> InnerLoss:
        """Return the squared error of targets -1 and +1, one class against the rest."""
        self.classes, index = encode_classes(y)
        per_class = class_weights(estimator.class_weight, self.classes, y, None)
        weight = weight * per_class[index]
        if len(self.classes) == 2:
            return SquaredLoss(signs(index), weight)
        return SquaredLoss(2 * one_hot(index, len(self.classes)) - 1, weight)

    def fitted_attributes(self, solution: Solution) -> None:
        """Return None: RidgeClassifier keeps a private label binarizer."""


register_inner_problem(Ridge, RidgeProblem)
register_inner_problem(RidgeClassifier, RidgeClassifierProblem)
