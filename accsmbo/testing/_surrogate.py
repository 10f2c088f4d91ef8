# SPDX-License-Identifier: BSD-3-Clause
"""check_surrogate: what every surrogate must do, for people who write one."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from accsmbo.testing._gradient import numerical_gradient

__all__ = ["check_surrogate"]

FloatArray = NDArray[np.float64]

CATEGORICAL = np.array([False, False, True])
N_CHOICES = 3


def _data(n: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Return read-only points with two numbers and a category, and losses."""
    rng = np.random.default_rng(seed)
    U = rng.random((n, 3))
    U[:, 2] = (rng.integers(N_CHOICES, size=n) + 0.5) / N_CHOICES
    y = np.sin(4.0 * U[:, 0]) + U[:, 1] ** 2 + (U[:, 2] > 0.5)
    U.setflags(write=False)
    y.setflags(write=False)
    return U, y


def _check(condition: object, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _fitted(surrogate: Any, U: FloatArray, y: FloatArray) -> Any:
    return clone(surrogate).fit(U, y, categorical=CATEGORICAL)


def _check_settings_kept(surrogate: Any) -> None:
    U, y = _data(12)
    fresh = clone(surrogate)
    before = repr(fresh.get_params())
    result = fresh.fit(U, y, categorical=CATEGORICAL)
    _check(result is fresh, "fit must return self")
    _check(repr(fresh.get_params()) == before, "fit must not change parameters")


def _check_shapes(surrogate: Any) -> None:
    model = _fitted(surrogate, *_data(15))
    V, _ = _data(7, seed=1)
    mean, std, dmean, dstd = model.predict_gradient(V)
    _check(mean.shape == (7,), f"mean must have shape (7,), got {mean.shape}")
    _check(std.shape == (7,), f"std must have shape (7,), got {std.shape}")
    _check(dmean.shape == V.shape, f"dmean must have shape (7, 3), got {dmean.shape}")
    _check(dstd.shape == V.shape, f"dstd must have shape (7, 3), got {dstd.shape}")
    _check(np.all(std > 0), "std must be positive")
    for one, other in zip(model.predict(V), (mean, std), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def _check_learns(surrogate: Any) -> None:
    U, y = _data(80)
    mean, _ = _fitted(surrogate, U, y).predict(U)
    error = float(np.sqrt(np.mean((mean - y) ** 2)))
    _check(
        error < 0.5 * y.std(),
        f"predictions at the observed points must explain the losses, got a root "
        f"mean square error of {error:.3g} where their spread is {y.std():.3g}",
    )


def _check_gradients(surrogate: Any) -> None:
    model = _fitted(surrogate, *_data(20))
    u = np.array([0.31, 0.64, 0.5 / N_CHOICES])
    _, _, dmean, dstd = model.predict_gradient(u[None, :])
    for k, analytic in enumerate((dmean[0], dstd[0])):

        def along(x: FloatArray, k: int = k) -> float:
            point = np.append(x, u[2])
            return float(model.predict(point[None, :])[k][0])

        numerical = numerical_gradient(along, u[:2], step=1e-5)
        np.testing.assert_allclose(analytic[:2], numerical, rtol=1e-4, atol=1e-6)
        _check(analytic[2] == 0.0, "derivatives along categories must be 0")


def _check_units(surrogate: Any) -> None:
    U, y = _data(20)
    V, _ = _data(9, seed=2)
    mean, std = _fitted(surrogate, U, y).predict(V)
    for scale in (2.0**-990, 2.0**990):  # powers of two scale without rounding
        scaled = _fitted(surrogate, U, y * scale).predict(V)
        np.testing.assert_allclose(scaled[0] / scale, mean, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(scaled[1] / scale, std, rtol=1e-3, atol=1e-3)


def _check_condition(surrogate: Any) -> None:
    U, y = _data(20)
    model = _fitted(surrogate, U, y)
    far = np.array([[0.02, 0.98, 0.5]])
    mean, std = model.predict(far)
    other = model.condition(far, mean)
    _check(other is not model, "condition must return a new surrogate")
    again = model.predict(far)
    _check(again[1][0] == std[0], "condition must leave the surrogate unchanged")
    _check(
        other.predict(far)[1][0] <= std[0],
        "condition must not raise the uncertainty at the added point",
    )


def _check_hard_data(surrogate: Any) -> None:
    U, y = _data(25)
    copies = np.repeat(U[:1], 20, axis=0)
    cases = {
        "one observation": (U[:1], y[:1]),
        "equal losses": (U, np.full(25, 3.7)),
        "20 copies of one point": (copies, np.linspace(0.0, 1.0, 20)),
        "20 equal observations": (copies, np.full(20, -1.0)),
        "losses over 300 decades": (U, 10.0 ** np.linspace(-300, 0, 25)),
    }
    for name, (points, values) in cases.items():
        mean, std = _fitted(surrogate, points, values).predict(U)
        _check(
            np.isfinite(mean).all() and np.isfinite(std).all(),
            f"predictions after {name} must be finite",
        )


def check_surrogate(surrogate: Any) -> None:
    """Raise unless a surrogate keeps the contract.

    Checked are: settings stay as they are; shapes; positive std; that it learns;
    derivatives against central differences, zero along categories; invariance to the
    units of the losses; `condition`; one observation, equal losses, repeated points;
    and that none of this warns or writes into its arguments.

    Parameters
    ----------
    surrogate : Surrogate
        An unfitted instance; clones of it are used.

    Raises
    ------
    AssertionError
        Saying what was required and what was got.

    Examples
    --------
    >>> from accsmbo.surrogates import GaussianProcess
    >>> from accsmbo.testing import check_surrogate
    >>> check_surrogate(GaussianProcess())
    """
    checks = (
        _check_settings_kept,
        _check_shapes,
        _check_learns,
        _check_gradients,
        _check_units,
        _check_condition,
        _check_hard_data,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for check in checks:
            check(surrogate)
