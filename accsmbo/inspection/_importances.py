# SPDX-License-Identifier: BSD-3-Clause
"""Which parameter explains how much of the variance of what a surrogate predicts.

Notation
--------
s           alternative (dict) of the space, each with the weight w_s = 1 / number
m_s, V_s    mean and variance of the surrogate's mean over alternative s
V           sum_s w_s V_s + sum_s w_s (m_s - m)^2        law of total variance
S_sj, T_sj  first-order and total Sobol index of parameter j in alternative s
S_j         sum_s w_s V_s S_sj / V over the alternatives that have j; T_j likewise
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accsmbo.inspection._surface import Surface
from accsmbo.surrogates import GaussianProcess, SobolIndices, sobol_indices

__all__ = ["ALTERNATIVE", "Importances", "importances"]

FloatArray = NDArray[np.float64]

# Stands for the choice among the dicts of a space.
ALTERNATIVE = "(which alternative)"
# Operations to spend on predictions: a Gaussian process takes n^2 for each.
OPERATIONS = 2e10
MAX_EVALUATIONS = 1 << 17


@dataclass(frozen=True, eq=False)
class Importances:
    """Shares of the variance of a surrogate's mean, by parameter.

    Attributes
    ----------
    names : tuple of str
        Parameters, the most important first.
    first_order, total : ndarray of shape (n,)
        Share explained alone, and alone or in interactions.
    first_order_error, total_error : ndarray of shape (n,)
        Standard errors of the estimates.
    std : float
        Standard deviation of the surrogate's mean over the space, in the units of the
        values.
    """

    names: tuple[str, ...]
    first_order: FloatArray
    total: FloatArray
    first_order_error: FloatArray
    total_error: FloatArray
    std: float


def importances(
    surfaces: Sequence[Surface],
    points: Sequence[float] = (),
    *,
    tolerance: float = 0.01,
    random_state: int = 0,
) -> Importances:
    """Return the importance of each parameter over all alternatives of a space.

    Parameters
    ----------
    surfaces : sequence of Surface
        One for each alternative in which something varies, all with the same weight.
    points : sequence of float, default=()
        Mean of each other alternative, with the same weight too.
    tolerance : float, default=0.01
        Standard error to reach, as a share of the variance within an alternative.
    random_state : int, default=0
        Seed of the estimates.

    Returns
    -------
    Importances
        In order of the total share; zeros where the surrogate is constant.
    """
    indices = [_indices(s, tolerance, random_state) for s in surfaces]
    means = np.array([*(i.mean for i in indices), *points])
    weights = np.array([i.variance for i in indices]) / len(means)
    between = float(means.var())
    variance = float(weights.sum()) + between
    # Columns: first order, total, and the squares of their errors.
    table: dict[str, FloatArray] = {}
    for surface, found, weight in zip(surfaces, indices, weights, strict=True):
        share = weight / variance if variance > 0 else 0.0
        for j, name in enumerate(surface.subspace.names):
            shares = share * np.array([found.first_order[j], found.total[j]])
            errors = share * np.array(
                [found.first_order_error[j], found.total_error[j]]
            )
            row = table.setdefault(name, np.zeros(4))
            row += np.concatenate([shares, errors**2])
    if len(means) > 1:
        share = between / variance if variance > 0 else 0.0
        table[ALTERNATIVE] = np.array([share, share, 0.0, 0.0])
    names = sorted(table, key=lambda name: (-table[name][1], name))
    columns = np.array([table[name] for name in names]).T
    return Importances(
        tuple(names),
        np.clip(columns[0], 0.0, None),
        columns[1],
        np.sqrt(columns[2]),
        np.sqrt(columns[3]),
        float(np.sqrt(variance)),
    )


def _indices(surface: Surface, tolerance: float, random_state: int) -> SobolIndices:
    n = len(surface.U)
    is_process = isinstance(surface.surrogate, GaussianProcess)
    cost = float(n * n) if is_process else 1e3
    return sobol_indices(
        lambda U: surface.predict(U)[0],
        surface.subspace.n_dims,
        tolerance=tolerance,
        max_evaluations=int(min(MAX_EVALUATIONS, OPERATIONS / cost)),
        random_state=random_state,
    )
