# SPDX-License-Identifier: BSD-3-Clause
"""Logistic regression, binary and multinomial: C and l1_ratio.

``sum_i s_i loss_i + (1 - rho) / (2 C) |w|^2 + rho / C |w|_1``, rho = l1_ratio.
"""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from accsmbo.hypergradients._inner_problem import (
    Array,
    NotDifferentiableError,
    Solution,
    words,
)
from accsmbo.hypergradients._linear_problem import LinearProblem, Penalty
from accsmbo.hypergradients._losses import InnerLoss, LogisticLoss, SoftmaxLoss
from accsmbo.hypergradients._registry import register_inner_problem
from accsmbo.hypergradients._targets import (
    class_weights,
    encode_classes,
    one_hot,
    signs,
)

__all__ = ["LogisticRegressionProblem"]

# "deprecated": as l1_ratio says (scikit-learn >= 1.8)
PENALTIES = ("l2", "l1", "elasticnet", "deprecated")


class LogisticRegressionProblem(LinearProblem):
    """Inner problem of :class:`sklearn.linear_model.LogisticRegression`.

    It minimises the estimator's own objective, whichever of scikit-learn's solvers is
    set, binary or multinomial, with class weights. C is differentiated, and
    ``l1_ratio`` where ``solver="saga"`` takes any value of it. With
    ``solver="liblinear"`` the intercept is penalised as liblinear does it, and there
    may be two classes only. Tune by the log loss or the Brier score: accuracy is flat
    between jumps.

    See Also
    --------
    GroupLogisticRegressionProblem : A strength for each group of features.
    LinearSVCProblem : The squared hinge in place of the log loss.
    accsmbo.linear_model.BilevelLogisticRegressionCV : Fitting and tuning in one.

    Notes
    -----
    With ``rho = l1_ratio`` the objective is
    ``sum_i s_i loss_i + (1 - rho) |w|^2 / (2 C) + rho |w|_1 / C``. For two classes and
    ``rho = 0``, ``H = X^T D X + I / C`` with ``D_ii = s_i p_i (1 - p_i)``; from
    ``H q = dG/dw`` follows ``df/dC = q.w / C^2`` ([1]_, equation 3).

    References
    ----------
    .. [1] F. Pedregosa, Hyperparameter Optimization with Approximate Gradient,
       ICML 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from accsmbo.hypergradients import hypergradient
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> _, gradient = hypergradient(
    ...     LogisticRegression(), {"C": 0.1}, X / 16, y, cv=3, scoring="neg_log_loss",
    ...     log_scale=["C"])
    >>> bool(gradient["C"] > 0.05)  # 10 % more C: about 0.01 better
    True
    """

    settings = words(
        "C class_weight dual fit_intercept intercept_scaling l1_ratio max_iter "
        "multi_class n_jobs penalty random_state solver tol verbose warm_start"
    )

    @classmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return C, and l1_ratio where the solver takes any value of it."""
        strategy = getattr(estimator, "multi_class", "auto")
        if strategy not in ("auto", "deprecated"):
            raise NotDifferentiableError(
                "LogisticRegression has gradients with multi_class='auto' only, "
                f"got {strategy!r}. Leave multi_class at its default."
            )
        if estimator.penalty is None:
            return ()
        if estimator.penalty not in PENALTIES:
            raise NotDifferentiableError(
                f"LogisticRegression has gradients with a penalty among {PENALTIES}, "
                f"got {estimator.penalty!r}. Use one of them."
            )
        elastic = estimator.penalty in ("elasticnet", "deprecated")
        if elastic and estimator.solver == "saga" and estimator.l1_ratio is not None:
            return ("C", "l1_ratio")
        return ("C",)

    @classmethod
    def is_quadratic(cls, estimator: Any) -> bool:
        """Return whether there is an l2 penalty alone."""
        return estimator.penalty is not None and _l1_ratio(estimator) == 0

    def make_constant(self, estimator: Any) -> float:
        """Return 1, or liblinear's ``intercept_scaling``; 0 without intercept."""
        self.penalised_constant = _by_liblinear(estimator)
        if not estimator.fit_intercept:
            return 0.0
        scaled = self.penalised_constant
        return float(estimator.intercept_scaling) if scaled else 1.0

    def make_loss(self, estimator: Any, y: Array, weight: Array) -> InnerLoss:
        """Return the binary or the softmax log loss, classes weighted."""
        self.classes, index = encode_classes(y)
        per_class = class_weights(estimator.class_weight, self.classes, y, weight)
        weight = weight * per_class[index]
        if len(self.classes) == 2:
            self.link = "logit"
            return LogisticLoss(signs(index), weight)
        if _by_liblinear(estimator):
            raise NotDifferentiableError(
                "LogisticRegression(solver='liblinear') has gradients for two "
                f"classes only, got {len(self.classes)}. Use solver='lbfgs'."
            )
        self.link = "softmax"
        return SoftmaxLoss(one_hot(index, len(self.classes)), weight)

    def penalty(self, estimator: Any) -> Penalty:
        """Return both strengths; they vanish at ``C = inf``."""
        if estimator.penalty is None:
            return Penalty(0.0)
        rho, strength = _l1_ratio(estimator), 1 / float(estimator.C)
        d_l2 = {"C": -(1 - rho) * strength**2, "l1_ratio": -strength}
        d_l1 = {"C": -rho * strength**2, "l1_ratio": strength}
        return Penalty((1 - rho) * strength, rho * strength, d_l2, d_l1)

    def fitted_attributes(self, solution: Solution) -> dict[str, Any]:
        """Return coefficients with one row per class (one row for two classes)."""
        return classifier_attributes(self.linear_attributes(solution), self.classes)


def classifier_attributes(fitted: dict[str, Any], classes: Any) -> dict[str, Any]:
    """Return linear attributes in the shapes that classifiers have."""
    fitted["coef_"] = np.atleast_2d(fitted["coef_"])
    fitted["intercept_"] = np.atleast_1d(fitted["intercept_"])
    fitted["n_iter_"] = np.array([fitted["n_iter_"]], dtype=np.int32)
    return {**fitted, "classes_": classes}


def _by_liblinear(estimator: Any) -> bool:
    return bool(getattr(estimator, "solver", None) == "liblinear")


def _l1_ratio(estimator: Any) -> float:
    fixed = {"l2": 0.0, "l1": 1.0}
    if estimator.penalty in fixed:
        return fixed[estimator.penalty]
    return float(estimator.l1_ratio or 0.0)


register_inner_problem(LogisticRegression, LogisticRegressionProblem)
