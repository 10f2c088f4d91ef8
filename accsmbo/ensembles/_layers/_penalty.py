# SPDX-License-Identifier: BSD-3-Clause
"""The regulariser (12) of one layer: kernel and bias, with the gradients it adds.

Notation
--------
As in `_regularizer`. M1, M2, M3 are sums over the members of the factors' outer
products, weighted with the moments, each (r, s):

    K (12) = sum(W o W o M1) + 2 sum(W o Delta o M2) + sum(Delta o Delta o M3)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accsmbo.ensembles._layers._parameters import Views
from accsmbo.ensembles._layers._regularizer import (
    Columns,
    Moments,
    Product,
    add_factor_gradients,
    embedding_gradient,
    penalty_value,
    strength_gradient,
    strength_moments,
    tap_product,
)

if TYPE_CHECKING:
    from accsmbo.ensembles._layers._dense import DenseLayer

Factors = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class LayerPenalty:
    """Value of the regulariser of one layer and its derivatives.

    Attributes
    ----------
    value : float
        Kernel and bias part of (12) together.
    e : ndarray of shape (K, b, 2 s) or None
        Derivative by the embeddings.
    by_strengths : callable
        Without arguments; returns the derivatives by the strengths of kernel and bias,
        each of shape (K, b). Training needs none, so they are computed when asked for.
    """

    value: float
    e: np.ndarray | None
    by_strengths: Callable[[], tuple[np.ndarray, np.ndarray]]


def layer_penalty(
    layer: "DenseLayer",
    params: Views,
    strengths: tuple[np.ndarray, np.ndarray],
    *,
    e: np.ndarray | None = None,
    grads: Views | None = None,
) -> LayerPenalty:
    """Return the regulariser (12) of a layer and add its gradients to `grads`.

    Parameters
    ----------
    layer : DenseLayer
        The layer, dense or convolutional.
    params : dict of str to ndarray
        Its parameters.
    strengths : tuple of two ndarray of shape (K, b)
        L2 strengths of the kernel and of the bias, per member and example.
    e : ndarray of shape (K, b, 2 s) or None
        Embeddings of kernel and bias, for a tuned layer.
    grads : dict of str to ndarray or None
        Gradients that are added to.

    Returns
    -------
    LayerPenalty
        Value and derivatives.
    """
    nu, nu_bias = strengths
    s = layer.n_outputs
    e_kernel, e_bias = (None, None) if e is None else (e[..., :s], e[..., s:])
    kernel = kernel_columns(layer, params, strength_moments(nu, e_kernel), grads)
    bias = bias_columns(params, strength_moments(nu_bias, e_bias), grads)
    value = penalty_value(*kernel) + penalty_value(*bias)
    de = None
    if e_kernel is not None and e_bias is not None:
        de = np.empty_like(e)
        embedding_gradient(nu, e_kernel, kernel[0], out=de[..., :s])
        embedding_gradient(nu_bias, e_bias, bias[0], out=de[..., s:])

    def by_strengths() -> tuple[np.ndarray, np.ndarray]:
        return (
            strength_gradient(nu, e_kernel, kernel[0]),
            strength_gradient(nu_bias, e_bias, bias[0]),
        )

    return LayerPenalty(value, de, by_strengths)


def bias_columns(
    params: Views, moments: Moments, grads: Views | None
) -> tuple[Columns, Moments]:
    """Return the column sums of the biases and the moments; add the gradients."""
    b = params["b"]
    if grads is not None:
        grads["b"] += 2.0 * moments.nu * b
    if moments.moving is None:
        return Columns(b * b), moments
    delta = params["delta"]
    nu_e, nu_ee = moments.moving
    if grads is not None:
        grads["b"] += 2.0 * nu_e * delta
        grads["delta"] += 2.0 * (nu_e * b + nu_ee * delta)
    return Columns(b * b, (b * delta, delta * delta)), moments


def kernel_columns(
    layer: "DenseLayer", params: Views, moments: Moments, grads: Views | None
) -> tuple[Columns, Moments]:
    """Return the column sums of the kernel and the moments; add the gradients.

    Parameters
    ----------
    layer : DenseLayer
        The layer.
    params : dict of str to ndarray
        Its parameters.
    moments : Moments
        Averages over the examples.
    grads : dict of str to ndarray or None
        Gradients that are added to.

    Returns
    -------
    columns : Columns
        Column sums.
    moments : Moments
        As given.
    """
    factors = visible_factors(layer, params)
    gradients = None
    if grads is not None and layer.factors is not None and layer.regularize_factors:
        gradients = visible_factors(layer, grads)
    products = _products(params, factors, tuned=moments.moving is not None)
    if grads is not None:
        _add_kernel_gradients(params, moments, factors, grads)
    if gradients is not None:
        _add_all_factor_gradients(products, moments, factors, gradients)
    _, s, _, v = factors
    A = products[0].sums * (s * s)
    if moments.moving is None:
        return Columns(A), moments
    B, C = products[1].sums * (s * v), products[2].sums * (v * v)
    return Columns(A, (B, C)), moments


def _products(params: Views, factors: Factors, *, tuned: bool) -> list[Product]:
    W = params["W"]
    r, _, u, _ = factors
    products = [_product(W, W, r * r)]
    if tuned:
        Delta = params["Delta"]
        products.append(_product(W, Delta, r * u))
        products.append(_product(Delta, Delta, u * u))
    return products


def _product(left: np.ndarray, right: np.ndarray, rows: np.ndarray) -> Product:
    values = tap_product(left, right)
    return Product(values, rows @ values)


def _add_kernel_gradients(
    params: Views, moments: Moments, factors: Factors, grads: Views
) -> None:
    W = params["W"]
    r, s, u, v = factors
    M1 = (r * r).T @ (2.0 * moments.nu * s * s)
    grads["W"] += W * M1
    if moments.moving is not None:
        nu_e, nu_ee = moments.moving
        Delta = params["Delta"]
        M2 = (r * u).T @ (2.0 * nu_e * s * v)
        M3 = (u * u).T @ (2.0 * nu_ee * v * v)
        grads["W"] += Delta * M2
        grads["Delta"] += W * M2
        grads["Delta"] += Delta * M3


def _add_all_factor_gradients(
    products: list[Product], moments: Moments, factors: Factors, gradients: Factors
) -> None:
    r, s, u, v = factors
    dr, ds, du, dv = gradients
    base = (r, s, r, s), (dr, ds, dr, ds)
    add_factor_gradients(products[0], moments.nu, *base)
    if moments.moving is not None:
        nu_e, nu_ee = moments.moving
        add_factor_gradients(products[1], 2.0 * nu_e, factors, gradients)
        delta = (u, v, u, v), (du, dv, du, dv)
        add_factor_gradients(products[2], nu_ee, *delta)


def visible_factors(layer: "DenseLayer", values: Views) -> Factors:
    """Return r, s, u, v as the regulariser sees them: ones where it sees none."""
    if layer.factors is None or not layer.regularize_factors:
        rows = np.ones((layer.n_members, layer.n_inputs), values["W"].dtype)
        columns = np.ones((layer.n_members, layer.n_outputs), values["W"].dtype)
        return rows, columns, rows, columns
    r, s = values["r"], values["s"]
    return r, s, values.get("u", r), values.get("v", s)
