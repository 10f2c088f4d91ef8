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
    """Inner problem of :class:`sklearn.svm.LinearSVC`, one class against the rest."""

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
    """Inner problem of :class:`sklearn.svm.LinearSVR`."""

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
