# SPDX-License-Identifier: BSD-3-Clause
"""Quadratic penalties as functions of the logarithms of their hyperparameters.

x_g     log of hyperparameter g
l2(x) = sum_g exp(s_g x_g) base_g      strengths of w^2 / 2, like w; s_g = +1 or -1
"""

from copy import copy
from typing import Any

import numpy as np

from accsmbo.hypergradients import NotDifferentiableError
from accsmbo.hypergradients._inner_problem import Array

__all__ = ["LogPenalty", "bounded_exp"]


def bounded_exp(x: Array, dtype: Any = np.float64) -> Array:
    """Return ``exp(x)``, but no more than the root of the largest number.

    Coefficients vanish at such a strength, and products with it stay finite.

    Parameters
    ----------
    x : ndarray
        Exponents.
    dtype : dtype, default=float64
        Precision of what is computed with the result.

    Returns
    -------
    ndarray
        In double precision.
    """
    largest = 0.5 * np.log(float(np.finfo(dtype).max))
    return np.asarray(np.exp(np.minimum(x, largest)))


class LogPenalty:
    """Strengths of a linear model's penalty for any values of its hyperparameters.

    Parameters
    ----------
    problem : LinearProblem
        Family of the model; gives strength and derivative at one value.
    estimator : estimator
        Carries the settings that are not tuned.
    names : sequence of str
        Hyperparameters, each a strength or the inverse of one (C, alpha, alpha__k).
    design : Design
        Whose columns the strengths belong to.

    Attributes
    ----------
    bases : list of ndarray
        Strengths at value 1, one array of the shape of w for each hyperparameter.
    signs : ndarray of shape (n_names,)
        +1 for a strength, -1 for an inverse one.

    Raises
    ------
    NotDifferentiableError
        If a part of the penalty is an l1 norm or depends on none of the names.
    """

    def __init__(
        self, problem: Any, estimator: Any, names: tuple[str, ...], design: Any
    ) -> None:
        unit = copy(estimator).set_params(**dict.fromkeys(names, 1.0))
        penalty = problem.penalty(unit)
        derivatives = [np.asarray(penalty.d_l2.get(name, 0.0)) for name in names]
        self.signs = np.array([-1.0 if d.sum() < 0 else 1.0 for d in derivatives])
        self.bases = [problem._per_coefficient(np.abs(d), design) for d in derivatives]
        total = problem._per_coefficient(penalty.l2, design)
        whole = np.allclose(np.sum(self.bases, axis=0), total)
        if np.any(penalty.l1) or not whole or not all(map(np.any, derivatives)):
            raise NotDifferentiableError(
                f"The penalty of {type(estimator).__name__} must be quadratic, and all "
                f"of it set by {list(names)}. Tune it by evaluations "
                "(solver='evaluate')."
            )

    def factors(self, x: Array) -> Array:
        """Return ``exp(s x)``, the factor of each base."""
        return bounded_exp(self.signs * x, self.bases[0].dtype)

    def l2(self, x: Array) -> Array:
        """Return the strength of each coefficient."""
        strengths: Array = np.zeros_like(self.bases[0])
        for factor, base in zip(self.factors(x), self.bases, strict=True):
            strengths += base.dtype.type(factor) * base
        return strengths
