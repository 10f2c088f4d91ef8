# SPDX-License-Identifier: BSD-3-Clause
"""What tuning the penalties of a linear model returns."""

from collections.abc import Callable
from dataclasses import dataclass

from accsmbo.hypergradients._inner_problem import Array
from accsmbo.linear_model._bilevel_newton import Visit
from accsmbo.linear_model._fold_products import FoldProducts
from accsmbo.linear_model._penalty_search import Scan
from accsmbo.linear_model._work import Work

__all__ = ["OneFit"]


@dataclass
class OneFit:
    """What tuning found.

    Parameters
    ----------
    params : dict of str to float
        Hyperparameters of the smallest mean validation loss.
    losses : ndarray of shape (n_folds,)
        Validation losses there.
    error : float
        Estimate of the error of their mean.
    visits : list of Visit
        Logarithms of the hyperparameters visited, with their losses, in order.
    rescore : callable
        Returns the same, with their losses as known in the end.
    scan : Scan
        The whole range as the method saw it last.
    minima : list of int
        Local minima of the scan, the best first.
    at_bound : dict of str to str
        "low" or "high" for each hyperparameter that ended at an end of its range.
    coefficients : list of ndarray
        Of each fold, the constant's last.
    n_products : float
        Products of a vector with the training rows or their transpose; 0 where the
        Hessian is factorised.
    converged : bool
        Whether the method ended by its error estimate, not by `max_work`.
    all_rows : FoldProducts or None
        Products with all rows, if the folds shared them.
    meter : Work
        Counts what was done, rescoring too.
    """

    params: dict[str, float]
    losses: Array
    error: float
    visits: list[Visit]
    rescore: Callable[[], list[Visit]]
    scan: Scan
    minima: list[int]
    at_bound: dict[str, str]
    coefficients: list[Array]
    n_products: float
    converged: bool
    all_rows: FoldProducts | None
    meter: Work

    @property
    def work(self) -> float:
        """Return the seconds that the work done so far takes on a reference core."""
        return self.meter.seconds
