# SPDX-License-Identifier: BSD-3-Clause
"""Linear support vector machines with squared losses: C and epsilon.

``sum_i s_i loss_i + |w|^2 / (2 C)`` (or ``|w|_1 / C``); liblinear penalises the
intercept as one more coefficient through ``intercept_scaling``.
"""

from typing import Any

import numpy as np
from sklearn.svm import LinearSVC, LinearSVR

from accsmbo.hypergradients._inner_problem import (
    Array,
    NotDifferentiableError,
    Solution,
    words,
)
from accsmbo.hypergradients._linear_problem import LinearProblem, Penalty
from accsmbo.hypergradients._logistic import classifier_attributes
from accsmbo.hypergradients._losses import (
    EpsilonSquaredLoss,
    InnerLoss,
    SquaredHingeLoss,
)
from accsmbo.hypergradients._registry import register_inner_problem
from accsmbo.hypergradients._targets import (
    class_weights,
    encode_classes,
    one_hot,
    signs,
)

__all__ = ["LinearSVCProblem", "LinearSVRProblem"]


class _LiblinearProblem(LinearProblem):
    penalised_constant = True
    required_loss: str

    settings = words(
        "C class_weight dual epsilon fit_intercept intercept_scaling loss "
        "max_iter multi_class penalty random_state tol verbose"
    )

    def make_constant(self, estimator: Any) -> float:
        """Return ``intercept_scaling``."""
        return float(estimator.intercept_scaling) if estimator.fit_intercept else 0.0

    @classmethod
    def _check_loss(cls, estimator: Any) -> None:
        if estimator.loss != cls.required_loss:
            raise NotDifferentiableError(
                f"{type(estimator).__name__}(loss={estimator.loss!r}) has no "
                f"gradients: its loss has a kink. Use loss={cls.required_loss!r}."
            )


class LinearSVCProblem(_LiblinearProblem):
    """Inner problem of :class:`sklearn.svm.LinearSVC`, one class against the rest.

    The squared hinge, the default of ``LinearSVC``, has a slope everywhere, so C can be
    differentiated with an l2 or an l1 penalty; the plain hinge cannot. A support vector
    machine has no probabilities: the metric is a function of the decision values, the
    hinge loss of scikit-learn or :func:`squared_hinge_loss`.

    See Also
    --------
    LogisticRegressionProblem : With probabilities.
    SVCProblem : With kernels, for two classes.
    accsmbo.linear_model.BilevelLinearSVCCV : Fitting and tuning in one.

    Notes
    -----
    As in liblinear [1]_ the intercept is one more penalised coefficient, whose feature
    is ``intercept_scaling``. The squared hinge has no second derivative at a margin of
    1; the Hessian is that of the rows inside. With the l2 norm
    ``df/dC = q.w / C^2``, with the l1 norm ``q.sign(w) / C^2``.

    References
    ----------
    .. [1] R.-E. Fan et al., LIBLINEAR: A Library for Large Linear Classification,
       Journal of Machine Learning Research 9, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import make_scorer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn.svm import LinearSVC
    >>> from accsmbo.hypergradients import hypergradient, squared_hinge_loss
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> metric = make_scorer(squared_hinge_loss, greater_is_better=False,
    ...                      response_method="decision_function")
    >>> _, gradient = hypergradient(
    ...     LinearSVC(), {"C": 1.0}, scale(X), y, cv=5, scoring=metric)
    >>> bool(gradient["C"] < 0)  # more regularisation is better
    True
    """

    link = "margin"
    required_loss = "squared_hinge"

    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return C."""
        cls._check_loss(estimator)
        if estimator.multi_class != "ovr":
            raise NotDifferentiableError(
                "LinearSVC has gradients with multi_class='ovr' only, got "
                f"{estimator.multi_class!r}. Leave multi_class at its default."
            )
        return ("C",)

    def make_loss(self, estimator: Any, y: Array, weight: Array) -> InnerLoss:
        """Return the squared hinge; liblinear weights the positive class only."""
        self.classes, index = encode_classes(y)
        per_class = class_weights(estimator.class_weight, self.classes, y, weight)
        if len(self.classes) == 2:
            return SquaredHingeLoss(signs(index), weight * per_class[index])
        positive = one_hot(index, len(self.classes))
        weights = weight[:, None] * np.where(positive, per_class, 1.0)
        return SquaredHingeLoss(2 * positive - 1, weights)

    @classmethod
    def is_quadratic(cls, estimator: Any) -> bool:
        """Return whether the norm is the l2 norm."""
        return bool(estimator.penalty == "l2")

    def penalty(self, estimator: Any) -> Penalty:
        """Return ``1 / C`` for the norm chosen."""
        strength = 1 / float(estimator.C)
        derivative = {"C": -(strength**2)}
        if estimator.penalty == "l1":
            return Penalty(0.0, strength, d_l1=derivative)
        return Penalty(strength, d_l2=derivative)

    def fitted_attributes(self, solution: Solution) -> dict[str, Any]:
        """Return coefficients with one row per class (one row for two classes)."""
        fitted = classifier_attributes(self.linear_attributes(solution), self.classes)
        return {**fitted, "n_iter_": int(fitted["n_iter_"][0])}


class LinearSVRProblem(_LiblinearProblem):
    """Inner problem of :class:`sklearn.svm.LinearSVR`.

    ``LinearSVR`` must be told ``loss="squared_epsilon_insensitive"``: its default has a
    kink at the edge of the tube. Both C and the half-width epsilon of the tube are then
    tuned, the latter in the units of the target.

    See Also
    --------
    SVRProblem : With kernels, and the default loss.
    RidgeProblem : Without a tube.

    Notes
    -----
    The objective is ``sum_i s_i max(0, |y_i - x_i.w| - epsilon)^2 + |w|^2 / (2 C)``,
    with ``intercept_scaling`` as in :class:`LinearSVCProblem`. ``df/dC = q.w / C^2``;
    the slope at a row outside of the tube changes by ``-2 s_i sign(x_i.w - y_i)`` with
    epsilon, hence ``df/depsilon = sum_i 2 s_i sign(x_i.w - y_i) x_i.q`` over these
    rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.svm import LinearSVR
    >>> from accsmbo.hypergradients import hypergradient
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(loss="squared_epsilon_insensitive")
    >>> score, gradient = hypergradient(model, {"C": 1.0, "epsilon": 10.0}, X, y, cv=5)
    >>> bool(gradient["C"] > 0)  # too much regularisation
    True
    """

    required_loss = "squared_epsilon_insensitive"

    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return C and epsilon."""
        cls._check_loss(estimator)
        return ("C", "epsilon")

    def make_loss(self, estimator: Any, y: Array, weight: Array) -> InnerLoss:
        """Return the squared epsilon-insensitive loss."""
        return EpsilonSquaredLoss(np.asarray(y, float), weight)

    def penalty(self, estimator: Any) -> Penalty:
        """Return ``1 / C``."""
        strength = 1 / float(estimator.C)
        return Penalty(strength, d_l2={"C": -(strength**2)})

    def fitted_attributes(self, solution: Solution) -> dict[str, Any]:
        """Return coefficients; the intercept is an array, as liblinear's."""
        fitted = self.linear_attributes(solution)
        return {**fitted, "intercept_": np.atleast_1d(fitted["intercept_"])}


register_inner_problem(LinearSVC, LinearSVCProblem)
register_inner_problem(LinearSVR, LinearSVRProblem)
