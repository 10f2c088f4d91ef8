# SPDX-License-Identifier: BSD-3-Clause
"""What every surrogate offers: arrays in, mean, std and input gradients out.

Notation
--------
U       (n, d)  observed points in the unit cube
y       (n,)    losses there, smaller is better, finite
V       (m, d)  points to predict at
mean    (m,)    posterior mean, in the units of y
std     (m,)    posterior standard deviation of the noise-free loss
dmean   (m, d)  derivative of mean by the coordinates of V; 0 for categories
dstd    (m, d)  derivative of std likewise
"""

from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accsmbo._validation import shown

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]

__all__ = ["BoolArray", "FloatArray", "Surrogate", "check_observations"]


@runtime_checkable
class Surrogate(Protocol):
    """The methods an optimizer needs of a surrogate.

    A protocol: any class with these methods will do, and nothing is inherited. ``fit``
    learns from points of the unit cube and their losses, ``predict`` gives mean and
    standard deviation of the noise-free loss, ``predict_gradient`` also their slopes,
    along which the acquisition function climbs, and ``condition`` adds points that are
    still being evaluated. It must cope with a single observation, with equal losses and
    with losses of any unit. Where ``fit`` has a keyword ``gradient``,
    :class:`~accsmbo.optimizers.AccSMBO` tells it the derivatives.

    See Also
    --------
    GaussianProcess : The default for values.
    DerivativeGaussianProcess : The default for values and gradients.
    RandomForestSurrogate : The default for many unordered choices.
    accsmbo.testing.check_surrogate : Check one of your own.

    Examples
    --------
    >>> from accsmbo import SMBO, Real, minimize
    >>> from accsmbo.surrogates import GaussianProcess, Matern32, Surrogate
    >>> surrogate = GaussianProcess(Matern32())
    >>> isinstance(surrogate, Surrogate)
    True
    >>> history = minimize(lambda p: (p["x"] - 0.3) ** 2, {"x": Real(-1, 2)},
    ...                    optimizer=SMBO(surrogate=surrogate), n_trials=12)
    >>> history.best_value < 0.01
    True
    """

    def fit(
        self,
        U: ArrayLike,
        y: ArrayLike,
        *,
        categorical: ArrayLike | None = None,
        noise: ArrayLike | None = None,
    ) -> Self:
        """Learn from n observed points."""
        ...

    def predict(self, U: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation at m points."""
        ...

    def predict_gradient(
        self, U: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return mean, std and their derivatives by the coordinates."""
        ...

    def condition(self, U: ArrayLike, y: ArrayLike) -> Any:
        """Return a new surrogate with the same settings and more data."""
        ...


def as_floats(name: str, values: ArrayLike) -> FloatArray:
    """Return `values` as an array of floats, or say which argument holds none."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must hold numbers, got {shown(values)} (of type "
            f"{type(values).__name__}). Give an array of floats."
        ) from None


def check_points(U: ArrayLike, name: str = "U") -> FloatArray:
    """Return `U` as a float array of shape (n, d), or say what is wrong."""
    points = as_floats(name, U)
    if points.ndim != 2:
        raise ValueError(
            f"{name} must have shape (n_points, n_dims), got an array of shape "
            f"{points.shape}; use {name}[None, :] for a single point"
        )
    if not np.isfinite(points).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity in it")
    return points


def check_observations(
    U: ArrayLike,
    y: ArrayLike,
    categorical: ArrayLike | None = None,
    noise: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray, BoolArray, FloatArray]:
    """Return the arrays of a `fit` call, checked.

    Parameters
    ----------
    U : array-like of shape (n, d)
        Points in the unit cube.
    y : array-like of shape (n,)
        Finite losses.
    categorical : array-like of shape (d,), optional
        True where a dimension is an unordered choice.
    noise : array-like of shape (n,), optional
        Standard errors of `y`; NaN means unknown.

    Returns
    -------
    U, y, categorical, noise : ndarrays
        Missing `categorical` becomes all False, missing `noise` all NaN.

    Raises
    ------
    ValueError
        On shapes that do not fit together and on values that are not finite.
    """
    points = check_points(U)
    values = as_floats("y", y)
    n, d = points.shape
    if values.shape != (n,):
        raise ValueError(
            f"y must have one value for each of the {n} points in U, got shape "
            f"{values.shape}"
        )
    if n == 0:
        raise ValueError("U must hold at least one observed point, got none")
    if not np.isfinite(values).all():
        raise ValueError(
            "y must be finite, got NaN or infinity; replace the loss of a failed "
            "trial by the worst finite loss"
        )
    kinds = np.zeros(d, bool) if categorical is None else np.asarray(categorical, bool)
    if kinds.shape != (d,):
        raise ValueError(
            f"categorical must have one flag for each of the {d} dimensions, got "
            f"shape {kinds.shape}"
        )
    errors = np.full(n, np.nan) if noise is None else as_floats("noise", noise)
    if errors.shape != (n,) or np.any(errors < 0):
        raise ValueError(
            f"noise must be {n} standard errors, each >= 0 or NaN, got {shown(noise)}"
        )
    return points, values, kinds, errors


def best_and_even(t: FloatArray, size: int) -> FloatArray | slice:
    """Return which of more than `size` points to keep: the best half, even rest."""
    if len(t) <= size:
        return slice(None)
    order = np.argsort(t, kind="stable")
    best, rest = order[: size // 2], np.sort(order[size // 2 :])
    even = np.linspace(0, len(rest) - 1, size - len(best)).round().astype(int)
    return np.sort(np.concatenate([best, rest[even]]))
