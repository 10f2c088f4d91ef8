# SPDX-License-Identifier: BSD-3-Clause
"""The L2 regulariser (12) of one layer in the form of appendix B.2, with gradients.

Notation
--------
K, b, r, s  members, examples, inputs, outputs
f           moving part of the kernel, v_k o e, or of the bias, b_k(lam), (K, b, s)
w           strengths over K b, (K, b): one weight for each member and example
mu          moments sum_i w, sum_i w f, sum_i w f o f, each (K, 1) or (K, s)

One example costs

    |W o (r_k s_k^T) + (Delta o u_k) o f^T|^2 = sum(A_k) + 2 f.B_k + (f o f).C_k

with the columns A_k = s_k^2 o (r_k^2)^T (W o W), B_k = s_k o (r_k o u_k)^T (W o Delta)
and C_k = (u_k^2)^T (Delta o Delta), so that (12) needs the weights only through three
forms of `_bilinear`: no array has both a member axis and the shape of the weights.
Where the regulariser does not see the factors
(appendix D.1), r, s and u are ones here and f is made without v.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from accsmbo.ensembles._layers._bilinear import BilinearForm, tap_product
from accsmbo.ensembles._layers._embedding import Pair
from accsmbo.ensembles._layers._parameters import Views

if TYPE_CHECKING:
    from accsmbo.ensembles._layers._dense import DenseLayer

Factors = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class LayerPenalty:
    """Value of the regulariser of one layer and its derivatives.

    Attributes
    ----------
    value : float
        Kernel and bias part of (12) together.
    by_strengths : callable
        Without arguments; returns the derivatives by the strengths of kernel and bias,
        each of shape (K, b). Training needs none, so they are computed when asked for.
    """

    value: float
    by_strengths: Callable[[], tuple[np.ndarray, np.ndarray]]


def layer_penalty(
    layer: "DenseLayer",
    params: Views,
    strengths: tuple[np.ndarray, np.ndarray],
    *,
    f: Pair | None = None,
    df: Pair | None = None,
    grads: Views | None = None,
) -> LayerPenalty:
    """Return the regulariser (12) of a layer and add its gradients.

    Parameters
    ----------
    layer : DenseLayer
        The layer, dense or convolutional.
    params : dict of str to ndarray
        Its parameters.
    strengths : tuple of two ndarray of shape (K, b)
        L2 strengths of the kernel and of the bias, per member and example.
    f : pair of ndarray of shape (K, b, s) or None
        Moving parts of kernel and bias; None if there are no hyperparameters.
    df : pair of ndarray of shape (K, b, s) or None
        Gradients by `f` that are added to.
    grads : dict of str to ndarray or None
        Gradients that are added to.

    Returns
    -------
    LayerPenalty
        Value and derivatives by the strengths.
    """
    f_kernel, f_bias = f or (None, None)
    df_kernel, df_bias = df or (None, None)
    kernel = kernel_penalty(
        layer, params, strengths[0], f=f_kernel, df=df_kernel, grads=grads
    )
    bias = bias_penalty(params, strengths[1], f=f_bias, df=df_bias, grads=grads)
    return LayerPenalty(
        kernel[0] + bias[0], by_strengths=lambda: (kernel[1](), bias[1]())
    )


def bias_penalty(
    params: Views,
    nu: np.ndarray,
    *,
    f: np.ndarray | None = None,
    df: np.ndarray | None = None,
    grads: Views | None = None,
) -> tuple[float, Callable[[], np.ndarray]]:
    """Return sum_k,i w |b_k(lam)|^2 and its derivative by the strengths.

    Parameters and shapes are those of `layer_penalty`, for the biases alone.
    """
    weights = nu / nu.size
    if f is None:
        weights = weights.sum(axis=1, keepdims=True)
    bias = params["b"][:, None] if f is None else f
    value = 0.0
    for k, bias_k in enumerate(bias):
        slope = bias_k * (2.0 * weights[k][:, None])
        value += 0.5 * float(np.vdot(slope, bias_k))
        if df is not None:
            df[k] += slope
        elif grads is not None:
            grads["b"][k] += slope[0]

    def by_strengths() -> np.ndarray:
        return np.broadcast_to((bias**2).sum(axis=-1), nu.shape) / nu.size

    return value, by_strengths


def kernel_penalty(
    layer: "DenseLayer",
    params: Views,
    nu: np.ndarray,
    *,
    f: np.ndarray | None = None,
    df: np.ndarray | None = None,
    grads: Views | None = None,
) -> tuple[float, Callable[[], np.ndarray]]:
    """Return sum_k,i w |W_k(lam)|^2 and its derivative by the strengths.

    Parameters and shapes are those of `layer_penalty`, for the kernel alone.
    """
    w = nu / nu.size
    W, (r, s, u) = params["W"], visible_factors(layer, params)
    total = w.sum(axis=1, keepdims=True)
    forms, weights = [BilinearForm(tap_product(W, W), r * r)], [total * s * s]
    first = columns = None
    if f is not None:
        Delta = params["Delta"]
        forms.append(BilinearForm(tap_product(W, Delta), r * u))
        forms.append(BilinearForm(tap_product(Delta, Delta), u * u))
        columns = forms[1].by_columns * s, forms[2].by_columns
        first, second = _moments(w, f, columns, df)
        weights += [2.0 * first * s, second]
    if grads is not None:
        _add_kernel_gradients(params, forms, weights, grads)
        if layer.factors is not None and layer.regularize_factors:
            _add_factor_gradients(params, forms, weights, (total, first), grads)

    def by_strengths() -> np.ndarray:
        A = forms[0].by_columns * (s * s)
        norms = np.broadcast_to(A.sum(axis=1, keepdims=True), nu.shape)
        if f is not None and columns is not None:
            B, C = (column[:, None] for column in columns)
            norms = norms + (f * (2.0 * B + f * C)).sum(axis=-1)
        return norms / nu.size

    pairs = zip(forms, weights, strict=True)
    return sum(form.value(S) for form, S in pairs), by_strengths


def visible_factors(layer: "DenseLayer", params: Views) -> Factors:
    """Return r, s, u as the regulariser sees them: ones where it sees none."""
    if layer.factors is None or not layer.regularize_factors:
        rows = np.ones((layer.n_members, layer.n_inputs), params["W"].dtype)
        columns = np.ones((layer.n_members, layer.n_outputs), params["W"].dtype)
        return rows, columns, rows
    r = params["r"]
    return r, params["s"], params.get("u", r)


def _moments(
    w: np.ndarray,
    f: np.ndarray,
    columns: tuple[np.ndarray, np.ndarray],
    df: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return sum_i w f and sum_i w f o f; add the slopes 2 w (B_k + C_k o f) to df."""
    first, second = np.empty_like(columns[0]), np.empty_like(columns[1])
    # Member by member, so that all passes find f in the cache.
    for k, (B_k, C_k) in enumerate(zip(*columns, strict=True)):
        np.matmul(w[k], f[k], out=first[k])
        np.matmul(w[k], f[k] * f[k], out=second[k])
        if df is not None:
            slope = f[k] * C_k
            slope += B_k
            slope *= 2.0 * w[k][:, None]
            df[k] += slope
    return first, second


def _add_kernel_gradients(
    params: Views, forms: list[BilinearForm], weights: list[np.ndarray], grads: Views
) -> None:
    W, dW = params["W"], grads["W"]
    dW += W * forms[0].by_matrix(2.0 * weights[0])
    if len(forms) > 1:
        Delta, dDelta = params["Delta"], grads["Delta"]
        mixed = forms[1].by_matrix(weights[1])
        dW += Delta * mixed
        dDelta += W * mixed
        dDelta += Delta * forms[2].by_matrix(2.0 * weights[2])


def _add_factor_gradients(
    params: Views,
    forms: list[BilinearForm],
    weights: list[np.ndarray],
    moments: tuple[np.ndarray, np.ndarray | None],
    grads: Views,
) -> None:
    """Add the gradients of r, s and u; u is r where they are tied."""
    r, s = params["r"], params["s"]
    total, first = moments
    grads["r"] += 2.0 * r * forms[0].by_rows(weights[0])
    grads["s"] += 2.0 * total * s * forms[0].by_columns
    if first is not None:
        u, du = params.get("u", r), grads.get("u", grads["r"])
        mixed = forms[1].by_rows(weights[1])
        grads["r"] += u * mixed
        grads["s"] += 2.0 * first * forms[1].by_columns
        du += r * mixed + 2.0 * u * forms[2].by_rows(weights[2])
