# SPDX-License-Identifier: BSD-3-Clause
"""The contract of a differentiable inner problem and the solution it returns.

Notation (all of ``hypergradients``)
------------------------------------
X       (n, p)       training rows of one fold; V (m, p) its validation rows
w       (p,), (p, k) coefficients, the intercept last where there is one
f       (n,), (n, k) raw outputs, for linear models X w
L       float        inner objective, a sum over samples plus penalties
lam                  hyperparameters, in the estimator's own units
G       float        outer loss on V (smaller is better)
H       operator     d2L / dw2 at the solution
q       like w       adjoint: H q = dG/dw
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "InnerProblem", "NotDifferentiableError", "Solution"]

Array = npt.NDArray[Any]


class NotDifferentiableError(ValueError):
    """A model, hyperparameter or metric has no gradient; the message says why.

    The message also names what to change: a setting of the estimator, or the scoring.
    Searches with ``solver="auto"`` catch it and evaluate by values; it reaches those
    who ask for a gradient themselves. A subclass of :class:`InnerProblem` raises it in
    ``hyperparameters``, or in its constructor where only the data tell.

    See Also
    --------
    differentiable_names : Which parameters have a gradient.
    register_inner_problem : Give gradients to a further estimator.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from accsmbo.hypergradients import NotDifferentiableError, differentiable_names
    >>> try:
    ...     names = differentiable_names(Ridge(positive=True), ["alpha"], "r2")
    ... except NotDifferentiableError as error:
    ...     print(error)
    Ridge(positive=True) has no gradients. Use positive=False.
    """


@dataclass
class Solution:
    """An inner problem solved at one value of its hyperparameters.

    ``solve`` returns it and the other methods of the problem take it: what was computed
    for the fit, a factorisation or a Hessian, is so at hand for the gradient. Its ``w``
    may start the solve of a neighbouring value, also on another fold.

    Parameters
    ----------
    w : ndarray
        Coefficients in the problem's own shape; what a warm start hands on.
    residual : ndarray
        ``dL/dw`` at ``w``, in the shape that ``InnerProblem.adjoint`` returns.
    state : dict
        Whatever the problem needs to differentiate at ``w``.

    See Also
    --------
    InnerProblem : What is solved.
    implicit_hypergradient : Differentiates a validation loss at it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import scale
    >>> from accsmbo.hypergradients import LogisticRegressionProblem
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(C=1.0)
    >>> problem = LogisticRegressionProblem(model, scale(X), y)
    >>> cold = problem.solve(model, tolerance=1e-8)
    >>> warm = problem.solve(model.set_params(C=1.1), tolerance=1e-8, start=cold.w)
    >>> steps = [problem.fitted_attributes(s)["n_iter_"].item() for s in (cold, warm)]
    >>> steps[1] < steps[0]
    True
    """

    w: Array
    residual: Array
    state: dict[str, Any] = field(default_factory=dict)


class InnerProblem(ABC):
    """Training part of one fold: ``w(lam) = argmin_w L(w, lam)``.

    Subclass it to make a model differentiable, and announce the subclass with
    :func:`register_inner_problem`. An instance holds the data of one fold and
    everything that does not depend on the differentiable hyperparameters; it is
    solved many times, each time for an estimator that carries their values.

    Parameters
    ----------
    estimator : estimator
        Unfitted estimator that carries all settings.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training rows.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Training targets as the user gave them.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of the training rows.

    Attributes
    ----------
    link : {"identity", "exp", "logit", "softmax", "margin"}
        What turns raw outputs into the estimator's response.
    approximate : bool
        True where the gradient is an approximation by nature.
    classes : ndarray or None
        Sorted class labels of a classifier.
    solver : {"auto", "liblinear"}
        Solver for a cold start, of those problems that have several.
    gradient_cost : float
        Largest cost of a gradient at a fitted estimator, as a share of its fit.
    settings : frozenset of str or None
        Constructor parameters of the estimator that the problem accounts for, or that
        cannot change the solution. An estimator with any other is refused: what is not
        known may change the objective. None: `hyperparameters` alone decides.

    See Also
    --------
    LinearProblem : Base of those of linear models.
    register_inner_problem : Announce a subclass.
    accsmbo.testing.check_inner_problem : Check a subclass.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from accsmbo.hypergradients import find_inner_problem
    >>> find_inner_problem(Ridge()).hyperparameters(Ridge())
    ('alpha',)
    """

    link: str = "identity"
    approximate: bool = False
    classes: Array | None = None
    solver: str = "auto"
    gradient_cost: float = 1.0
    settings: frozenset[str] | None = None

    @classmethod
    @abstractmethod
    def hyperparameters(cls, estimator: Any) -> tuple[str, ...]:
        """Return the names that ``estimator`` can be differentiated by.

        Parameters
        ----------
        estimator : estimator
            Carries the settings.

        Returns
        -------
        tuple of str
            Parameter names.

        Raises
        ------
        NotDifferentiableError
            If a setting of the estimator rules gradients out.
        """

    @abstractmethod
    def __init__(
        self, estimator: Any, X: Any, y: Array, sample_weight: Array | None = None
    ) -> None: ...

    @abstractmethod
    def solve(
        self, estimator: Any, *, tolerance: float, start: Array | None = None
    ) -> Solution:
        """Minimise L at the hyperparameters of ``estimator``.

        ``tolerance`` bounds the norm of dL/dw relative to its norm at ``w = 0``;
        ``start`` is the ``w`` of an earlier solution (it may be of any fold).
        """

    def solution_of(self, fitted: Any, *, tolerance: float) -> Solution:
        """Return the solution that a fitted estimator stands for.

        Parameters
        ----------
        fitted : estimator
            Fitted on the same rows, with its hyperparameters.
        tolerance : float
            As in :meth:`solve`.

        Returns
        -------
        Solution
            By default solved anew; a family that can read the estimator's attributes
            saves the solve.
        """
        return self.solve(fitted, tolerance=tolerance)

    @abstractmethod
    def outputs(self, solution: Solution, X: Any) -> Array:
        """Return the raw outputs (m,) or (m, k) for the rows of ``X``."""

    @abstractmethod
    def outputs_vjp(
        self, solution: Solution, X: Any, cotangent: Array
    ) -> tuple[Array, dict[str, float]]:
        """Return ``J^T cotangent`` and the direct derivatives of the outputs.

        J is the derivative of the outputs by w; the dict holds, by name, the
        inner product of ``cotangent`` with their partial derivative by a
        hyperparameter at fixed w (empty for linear models).
        """

    @abstractmethod
    def adjoint(
        self,
        solution: Solution,
        rhs: Array,
        *,
        tolerance: float,
        start: Array | None = None,
    ) -> Array:
        """Return q with ``H q = rhs`` to the relative tolerance given."""

    @abstractmethod
    def cross_product(self, solution: Solution, q: Array) -> dict[str, float]:
        """Return ``q . d2L/(dw dlam)`` by name of hyperparameter."""

    def fitted_attributes(self, solution: Solution) -> Mapping[str, Any] | None:
        """Return the attributes that make the estimator fitted, or None."""
        return None


def words(text: str) -> frozenset[str]:
    """Return the set of the words of a text."""
    return frozenset(text.split())


def inner(a: Array, b: Array) -> float:
    """Return the sum of ``a * b`` in float64."""
    return float(np.vdot(np.asarray(a, np.float64), np.asarray(b, np.float64)))
