# SPDX-License-Identifier: BSD-3-Clause
"""An inner problem in one page: least squares whose coefficients vary smoothly."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from accsmbo.hypergradients import InnerProblem, Solution, register_inner_problem


def roughness(n_features):
    """Return P with w.P w = sum_j (w_{j+1} - w_j)^2."""
    differences = np.diff(np.eye(n_features), axis=0)
    return differences.T @ differences


class SmoothRidge(RegressorMixin, BaseEstimator):
    """Minimise ``|y - X w|^2 / 2 + alpha w.P w / 2 + ridge |w|^2 / 2``."""

    def __init__(self, alpha=1.0, ridge=1e-3):
        self.alpha = alpha
        self.ridge = ridge

    def fit(self, X, y):
        """Solve the normal equations."""
        X, y = validate_data(self, X, y, y_numeric=True)
        problem = SmoothRidgeProblem(self, X, y)
        self.coef_ = problem.solve(self, tolerance=0.0).w
        return self

    def predict(self, X):
        """Return ``X w``."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False) @ self.coef_


class SmoothRidgeProblem(InnerProblem):
    """The training part of one fold; H = X'X + alpha P + ridge I."""

    @classmethod
    def hyperparameters(cls, estimator):
        """Both strengths can be differentiated by."""
        return ("alpha", "ridge")

    def __init__(self, estimator, X, y, sample_weight=None):
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        self.gram, self.moment = X.T @ (weight[:, None] * X), X.T @ (weight * y)
        self.penalties = {
            "alpha": roughness(X.shape[1]),
            "ridge": np.eye(X.shape[1]),
        }

    def solve(self, estimator, *, tolerance, start=None):
        """Solve exactly, whatever the tolerance: the problem is quadratic."""
        H = self.gram + sum(
            getattr(estimator, name) * P for name, P in self.penalties.items()
        )
        w = np.linalg.solve(H, self.moment)
        return Solution(w, residual=H @ w - self.moment, state={"H": H})

    def outputs(self, solution, X):
        """Return ``X w``."""
        return X @ solution.w

    def outputs_vjp(self, solution, X, cotangent):
        """Return ``X^T cotangent``; no hyperparameter enters the outputs directly."""
        return X.T @ cotangent, {}

    def adjoint(self, solution, rhs, *, tolerance, start=None):
        """Return q with ``H q = rhs``."""
        return np.linalg.solve(solution.state["H"], rhs)

    def cross_product(self, solution, q):
        """Return ``q . d2L/(dw dlam) = q . P w`` for each strength."""
        return {name: float(q @ P @ solution.w) for name, P in self.penalties.items()}

    def fitted_attributes(self, solution):
        """Return what fit would set, so that no candidate is solved twice."""
        return {"coef_": solution.w, "n_features_in_": len(solution.w)}


register_inner_problem(SmoothRidge, SmoothRidgeProblem)
