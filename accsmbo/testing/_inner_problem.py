# SPDX-License-Identifier: BSD-3-Clause
"""check_inner_problem: does a differentiable inner problem keep its contract."""

from typing import Any

import numpy as np
from sklearn.base import clone

from accsmbo.hypergradients import (
    InnerProblem,
    OuterLoss,
    implicit_hypergradient,
)

__all__ = ["check_inner_problem"]


def check_inner_problem(
    problem_class: type[InnerProblem],
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    rtol: float = 1e-4,
    step: float = 1e-4,
) -> None:
    """Raise an AssertionError unless an inner problem keeps its contract.

    Checked are: the names are parameters of the estimator with positive values; a
    solution is stationary and a warm start returns to it; the adjoint is symmetric
    and linear; and, for a linear functional of the outputs on ``X``, each derivative
    is the central difference of problems solved at shifted parameters.

    Parameters
    ----------
    problem_class : type
        Subclass of :class:`~accsmbo.hypergradients.InnerProblem`.
    estimator : estimator
        Unfitted, its hyperparameters set to positive numbers.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights.
    rtol : float, default=1e-4
        Relative accuracy asked of the derivatives.
    step : float, default=1e-4
        Relative step of the central differences.

    Raises
    ------
    AssertionError
        With the property that does not hold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from accsmbo.hypergradients import RidgeProblem
    >>> from accsmbo.testing import check_inner_problem
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> check_inner_problem(RidgeProblem, Ridge(2.0), X, X[:, 0])
    """
    names = problem_class.hyperparameters(estimator)
    values = _values(estimator, names)
    problem = problem_class(estimator, X, np.asarray(y), sample_weight)
    solution = problem.solve(estimator, tolerance=1e-10)
    outputs = problem.outputs(solution, X)
    probe = np.random.default_rng(0).standard_normal(outputs.shape)
    _check_solution(problem, estimator, solution, outputs, X)
    _check_adjoint(problem, solution, X, probe)

    loss = OuterLoss(
        "probe", {problem.link: lambda f, y, s: (np.sum(f * probe), probe)}
    )

    def evaluate(**shifted: float) -> Any:
        model = clone(estimator).set_params(**shifted)
        at = problem.solve(model, tolerance=1e-10, start=solution.w)
        return implicit_hypergradient(problem, at, loss, X, np.asarray(y))

    gradient = evaluate().gradient
    for name in names:
        if name not in gradient:
            raise AssertionError(f"no derivative came back for {name!r}")
        h = step * values[name]
        plus = evaluate(**{name: values[name] + h}).loss
        minus = evaluate(**{name: values[name] - h}).loss
        expected = (plus - minus) / (2 * h)
        np.testing.assert_allclose(
            gradient[name],
            expected,
            rtol=rtol,
            atol=1e-9 * np.abs(outputs).max(),
            err_msg=f"the derivative by {name!r} is not the central difference",
        )


def _values(estimator: Any, names: tuple[str, ...]) -> dict[str, float]:
    params = estimator.get_params()
    missing = [name for name in names if name not in params]
    if not names or missing:
        raise AssertionError(
            f"hyperparameters() must name parameters of the estimator, got {names}"
        )
    values = {name: float(params[name]) for name in names}
    if not all(value > 0 for value in values.values()):
        raise AssertionError(
            f"the estimator must carry positive hyperparameters, got {values}"
        )
    return values


def _check_solution(
    problem: InnerProblem, estimator: Any, solution: Any, outputs: Any, X: Any
) -> None:
    again = problem.solve(estimator, tolerance=1e-10, start=solution.w)
    np.testing.assert_allclose(
        problem.outputs(again, X),
        outputs,
        rtol=1e-6,
        atol=1e-8 * np.abs(outputs).max(),
        err_msg="a warm start from the solution leads elsewhere",
    )
    if not np.isfinite(solution.residual).all():
        raise AssertionError("the residual of the solution is not finite")


def _check_adjoint(problem: InnerProblem, solution: Any, X: Any, probe: Any) -> None:
    problem.outputs(solution, X)
    a, _ = problem.outputs_vjp(solution, X, probe)
    b, _ = problem.outputs_vjp(solution, X, probe[::-1].copy())
    Ha, Hb = (problem.adjoint(solution, v, tolerance=1e-12) for v in (a, b))
    np.testing.assert_allclose(
        np.sum(b * Ha),
        np.sum(a * Hb),
        rtol=1e-6,
        atol=1e-9 * float(np.linalg.norm(a) * np.linalg.norm(Hb)),
        err_msg="the adjoint is not symmetric",
    )
    both = problem.adjoint(solution, a + 2 * b, tolerance=1e-12)
    np.testing.assert_allclose(
        both,
        Ha + 2 * Hb,
        rtol=1e-5,
        atol=1e-7 * np.abs(both).max(),
        err_msg="the adjoint is not linear",
    )
