# SPDX-License-Identifier: BSD-3-Clause
"""Default spaces of support vector machines, kernel ridge and Gaussian processes.

Each has the parameters of its current kernel. ``gamma`` of the polynomial kernel only
scales what the cost scales too, and large values make libsvm run for hours: it stays.
Not listed: GaussianProcessClassifier, whose kernel is fitted by its likelihood.
"""

from typing import Any

from accsmbo.default_spaces._intervals import (
    COST,
    EPSILON,
    GAMMA,
    NOT_TUNED,
    ON_OFF,
    PENALTY,
)
from accsmbo.default_spaces._registry import FoundSpace, SpaceSource
from accsmbo.space import Integer, Real

__all__ = ["KERNEL_METHODS"]

# Probst, Boulesteix and Bischl 2019.
DEGREE = Integer(2, 5)

# auto-sklearn has -1 .. 1; negative values are no kernel for "poly".
COEF0 = Real(0.0, 1.0)

# Hsu, Chang and Lin 2003.
RBF_COST = Real(2.0**-5, 2.0**15, log=True)


def _kernel_parameters(kernel: Any) -> FoundSpace:
    if not isinstance(kernel, str):
        return {}
    if kernel in {"poly", "polynomial"}:
        return {"degree": DEGREE, "coef0": COEF0}
    if kernel == "sigmoid":
        return {"gamma": GAMMA, "coef0": COEF0}
    return {"gamma": GAMMA} if kernel in {"chi2", "laplacian", "rbf"} else {}


def _cost(params: dict[str, Any]) -> Real:
    return RBF_COST if params["kernel"] == "rbf" else COST


def _svc(params: dict[str, Any]) -> FoundSpace:
    return {"C": _cost(params), **_kernel_parameters(params["kernel"])}


def _svr(params: dict[str, Any]) -> FoundSpace:
    return {**_svc(params), "epsilon": EPSILON}


def _nu_svc(params: dict[str, Any]) -> FoundSpace:
    # Feasible up to a bound set by the class frequencies; the current one is trusted.
    nu = params["nu"]
    return ({"nu": Real(0.05, nu)} if nu > 0.05 else {}) | dict(
        _kernel_parameters(params["kernel"])
    )


def _nu_svr(params: dict[str, Any]) -> FoundSpace:
    return {**_svc(params), "nu": Real(0.05, 1.0)}


def _kernel_ridge(params: dict[str, Any]) -> FoundSpace:
    return {"alpha": PENALTY, **_kernel_parameters(params["kernel"])}


def _gaussian_process_regressor(params: dict[str, Any]) -> FoundSpace:
    # One value a sample: the user knows the noise.
    if not isinstance(params["alpha"], (int, float)):
        return NOT_TUNED
    # Below 1e-6 repeated rows are not positive definite.
    return {"alpha": Real(1e-6, 1.0, log=True), "normalize_y": ON_OFF}


def _of_kernel(params: dict[str, Any]) -> FoundSpace:
    return _kernel_parameters(params["kernel"])


KERNEL_METHODS: dict[str, SpaceSource] = {
    "GaussianProcessRegressor": _gaussian_process_regressor,
    "KernelPCA": _of_kernel,
    "KernelRidge": _kernel_ridge,
    "NuSVC": _nu_svc,
    "NuSVR": _nu_svr,
    "Nystroem": _of_kernel,
    "RBFSampler": {"gamma": GAMMA},
    "SVC": _svc,
    "SVR": _svr,
}
