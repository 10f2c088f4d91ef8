# SPDX-License-Identifier: BSD-3-Clause
"""The parameters of the estimators that concern rank-one factors."""

from numbers import Integral, Real

from accsmbo._sklearn_private import Interval, StrOptions
from accsmbo.ensembles._layers._initializers import (
    FactorInitializer,
    GaussianAroundOne,
    RandomSigns,
)

FACTOR_CONSTRAINTS: dict = {
    "n_members": [Interval(Integral, 1, None, closed="left")],
    "factor_init": [StrOptions({"signs", "gaussian"}), None],
    "factor_scale": [Interval(Real, 0, None, closed="neither"), None],
    "factor_learning_rate": [Interval(Real, 0, None, closed="neither")],
    "regularize_factors": ["boolean"],
}


def factor_initializer(
    kind: str | None, scale: float | None, n_members: int
) -> FactorInitializer | None:
    """Return the initialiser of the rank-one factors (appendix C.2).

    Parameters
    ----------
    kind : {"signs", "gaussian"} or None
        Random signs, Gaussian around one, or no factors at all.
    scale : float or None
        Probability of +1 (0.75 by default) or standard deviation (0.5 by default).
    n_members : int
        Number of members.

    Returns
    -------
    FactorInitializer or None
        The initialiser.

    Raises
    ------
    ValueError
        If several members would be equal, or if a probability is above one.
    """
    if kind is None:
        if n_members > 1:
            raise ValueError(
                f"factor_init=None needs n_members=1, got n_members={n_members}: "
                "without rank-one factors all members are equal. Use "
                "factor_init='signs'."
            )
        return None
    if kind == "gaussian":
        return GaussianAroundOne(0.5 if scale is None else float(scale))
    probability = 0.75 if scale is None else float(scale)
    if probability > 1.0:
        raise ValueError(
            "factor_scale must be a probability, in (0, 1], with factor_init='signs', "
            f"got {scale!r}. Give for example 0.75, or use factor_init='gaussian'."
        )
    return RandomSigns(probability)
