# SPDX-License-Identifier: BSD-3-Clause
"""Every derivative of every layer form against central differences.

The tested function is sum(outputs * R) plus the regulariser, with R random: its
derivatives by parameters, inputs, embeddings and strengths are compared entry by entry.
"""

import numpy as np
import pytest

from accsmbo.ensembles._layers._activations import (
    flatten,
    flatten_backward,
    max_pool,
    max_pool_backward,
    relu,
    relu_backward,
)
from accsmbo.ensembles._layers._convolutional import ConvolutionLayer
from accsmbo.ensembles._layers._dense import DenseLayer
from accsmbo.ensembles._layers._dropout import (
    dropout,
    dropout_backward,
    rate_gradient,
)
from accsmbo.ensembles._layers._embedding import Embedding
from accsmbo.ensembles._layers._initializers import GaussianAroundOne
from accsmbo.ensembles._layers._losses import (
    ensemble_cross_entropy,
    member_cross_entropy,
    smoothing_gradient,
)
from accsmbo.ensembles._layers._low_rank import LowRankDenseLayer
from accsmbo.ensembles._layers._patches import extract_patches, scatter_patches
from accsmbo.ensembles._layers._stages import (
    BackwardStep,
    Gradients,
    LinearStage,
    Signals,
)

STEP = 1e-6
FACTORS = GaussianAroundOne(0.5)

PLAIN = {}
BATCH = {"n_members": 3, "factors": FACTORS}
SELF_TUNING = {"tuned": True}
HYPER_BATCH = {"n_members": 3, "factors": FACTORS, "tuned": True}
FORMS = {
    "plain": PLAIN,
    "batch": BATCH,
    "batch, factors not regularised": {**BATCH, "regularize_factors": False},
    "self-tuning": SELF_TUNING,
    "hyper-batch": HYPER_BATCH,
    "hyper-batch, tied": {**HYPER_BATCH, "tie_factors": True},
    "hyper-batch, factors not regularised": {
        **HYPER_BATCH,
        "regularize_factors": False,
    },
    "hyper-batch, tied and not regularised": {
        **HYPER_BATCH,
        "tie_factors": True,
        "regularize_factors": False,
    },
}
LAYERS = {
    **{f"dense {k}": DenseLayer(4, 3, **v) for k, v in FORMS.items()},
    **{
        f"convolution {k}": ConvolutionLayer(2, 3, kernel_size=3, **v)
        for k, v in FORMS.items()
    },
    "convolution valid": ConvolutionLayer(
        2, 3, kernel_size=2, padding="valid", **HYPER_BATCH
    ),
    "low rank": LowRankDenseLayer(4, 3, rank=2),
    "low rank, members": LowRankDenseLayer(4, 3, rank=2, **BATCH),
    "low rank, factors not regularised": LowRankDenseLayer(
        4, 3, rank=2, regularize_factors=False, **BATCH
    ),
}


def central_difference(function, values):
    """Differentiate a function of no arguments by an array it reads."""
    gradient = np.empty_like(values)
    for index in np.ndindex(values.shape):
        kept = values[index]
        values[index] = kept + STEP
        above = function()
        values[index] = kept - STEP
        below = function()
        values[index] = kept
        gradient[index] = (above - below) / (2.0 * STEP)
    return gradient


def assert_gradient(actual, function, values):
    expected = central_difference(function, values)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual / scale, expected / scale, rtol=1e-6, atol=1e-8)


def random_parameters(shapes, rng):
    return {name: rng.normal(size=entry.shape) for name, entry in shapes.items()}


@pytest.fixture(params=LAYERS, ids=str)
def layer(request):
    return LAYERS[request.param]


@pytest.fixture(params=[True, False], ids=["shared inputs", "own inputs"])
def problem(request, layer):
    """Return a layer with everything one pass needs."""
    rng = np.random.default_rng(0)
    shape = (3, 4, 2) if isinstance(layer, ConvolutionLayer) else (4,)
    K, b = layer.n_members, 2
    tuned = layer.tuned or isinstance(layer, LowRankDenseLayer)
    return {
        "params": random_parameters(layer.parameter_shapes(), rng),
        "X": rng.normal(size=(1 if request.param else K, b, *shape)),
        "f": tuple(rng.normal(size=(K, b, width)) for width in layer.embedding_widths)
        if tuned
        else None,
        "nu": rng.uniform(0.1, 1.0, size=(K, b)),
        "nu_bias": rng.uniform(0.1, 1.0, size=(K, b)),
    }


def test_every_gradient_of_a_layer(layer, problem):
    params, X, f = problem["params"], problem["X"], problem["f"]
    strengths = problem["nu"], problem["nu_bias"]
    R = np.random.default_rng(1).normal(size=layer.forward(params, X, f)[0].shape)

    def value():
        penalty = layer.penalty(params, strengths, f=f).value
        return (layer.forward(params, X, f)[0] * R).sum() + penalty

    grads = {name: np.zeros_like(values) for name, values in params.items()}
    _, cache = layer.forward(params, X, f)
    dX, df = layer.backward(params, cache, R.copy(), grads=grads)
    penalty = layer.penalty(params, strengths, f=f, df=df, grads=grads)
    for name, values in params.items():
        assert_gradient(grads[name], value, values)
    assert_gradient(dX, value, X)
    for gradient, strength in zip(penalty.by_strengths(), strengths, strict=True):
        assert_gradient(gradient, value, strength)
    if f is not None:
        for gradient, values in zip(df, f, strict=True):
            assert_gradient(gradient, value, values)


def test_a_backward_pass_without_weights_gives_the_same_inputs(layer, problem):
    params, X, f = problem["params"], problem["X"], problem["f"]
    Z, cache = layer.forward(params, X, f)
    grads = {name: np.zeros_like(values) for name, values in params.items()}
    dX, df = layer.backward(params, cache, np.ones_like(Z), grads=grads)
    _, cache = layer.forward(params, X, f)
    lean_dX, lean_df = layer.backward(params, cache, np.ones_like(Z))
    np.testing.assert_array_equal(lean_dX, dX)
    if f is not None:
        for lean, full in zip(lean_df, df, strict=True):
            np.testing.assert_array_equal(lean, full)


@pytest.mark.parametrize(
    "layer", [name for name in LAYERS if name.startswith("convolution")], indirect=True
)
def test_blocks_of_examples_give_what_one_block_gives(layer, problem, monkeypatch):
    params, X, f = problem["params"], problem["X"], problem["f"]
    found = []
    for size in (1 << 30, 1):
        monkeypatch.setattr(f"{ConvolutionLayer.__module__}.BLOCK_BYTES", size)
        grads = {name: np.zeros_like(values) for name, values in params.items()}
        Z, cache = layer.forward(params, X, f)
        dX, df = layer.backward(params, cache, np.cos(Z), grads=grads)
        found.append([Z, dX, *(df or ()), *grads.values()])
    for together, apart in zip(*found, strict=True):
        np.testing.assert_allclose(apart, together, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("layer", LAYERS, indirect=True)
def test_examples_can_share_their_moving_parts(layer, problem, monkeypatch):
    """As in a prediction, where all examples have the mean hyperparameters."""
    monkeypatch.setattr(f"{ConvolutionLayer.__module__}.BLOCK_BYTES", 1)
    if not layer.tuned:
        pytest.skip("no moving parts")
    params, X = problem["params"], problem["X"]
    shared = tuple(part[:, :1] for part in problem["f"])
    each = tuple(np.repeat(part, X.shape[1], axis=1) for part in shared)
    Z, expected = (layer.forward(params, X, f)[0] for f in (shared, each))
    np.testing.assert_array_equal(Z, expected)


@pytest.mark.parametrize("units", [0, 5])
def test_embedding(units):
    rng = np.random.default_rng(2)
    embedding = Embedding(3, (4, 2), units=units)
    params = random_parameters(embedding.parameter_shapes(), rng)
    z = rng.normal(size=(2, 3, 3))
    d = rng.normal(size=(2, 4)), rng.normal(size=(2, 2))
    R = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 2))

    def value():
        f = embedding.scaled(params, embedding.features(params, z), d)
        return (f[0] * R[0]).sum() + (f[1] * R[1]).sum()

    grads = {name: np.zeros_like(values) for name, values in params.items()}
    T = embedding.features(params, z)
    dT, dd = embedding.scaled_backward(params, T, d, R, grads=grads)
    dz = embedding.features_backward(params, z, T, dT, grads=grads)
    assert_gradient(dz, value, z)
    for gradient, values in zip(dd, d, strict=True):
        assert_gradient(gradient, value, values)
    for name, values in params.items():
        assert_gradient(grads[name], value, values)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("units", [0, 5])
def test_every_gradient_of_a_layer_with_its_embedding(form, units):
    """v, delta and the hyperparameters reach the layer through the embedding."""
    rng = np.random.default_rng(9)
    layer = DenseLayer(4, 3, **FORMS[form])
    embedding = (
        Embedding(2, layer.embedding_widths, units=units) if layer.tuned else None
    )
    stage = LinearStage(layer, embedding, 0)
    params = random_parameters(stage.parameter_shapes(), rng)
    K, b = layer.n_members, 3
    X = rng.normal(size=(K, b, 4))
    z = rng.normal(size=(K, b, 2)) if layer.tuned else None
    strengths = rng.uniform(0.1, 1.0, size=(2, K, b))
    signals = Signals(z, strengths=[tuple(strengths)])
    R = rng.normal(size=(K, b, 3))

    def run(grads=None):
        Z, cache = stage.forward(params, X, signals)
        totals = Gradients(z=None if z is None else np.zeros_like(z))
        step = BackwardStep(grads, totals, needs_input=True)
        dX = stage.backward(params, cache, R.copy(), signals, step)
        return (Z * R).sum() + totals.penalty, dX, totals.z

    grads = {name: np.zeros_like(values) for name, values in params.items()}
    _, dX, dz = run(grads)
    assert_gradient(dX, lambda: run()[0], X)
    for name, values in params.items():
        assert_gradient(grads[name], lambda: run()[0], values)
    if z is not None:
        assert_gradient(dz, lambda: run()[0], z)


@pytest.mark.parametrize(
    ("forward", "backward"),
    [(relu, relu_backward), (max_pool, max_pool_backward), (flatten, flatten_backward)],
)
def test_stages_without_parameters(forward, backward):
    rng = np.random.default_rng(3)
    X = rng.permutation(np.linspace(-1.0, 1.0, 2 * 2 * 5 * 4 * 2) + 0.003)
    X = X.reshape(2, 2, 5, 4, 2)
    Y, cache = forward(X.copy())
    R = rng.normal(size=Y.shape)

    def value():
        return (forward(X.copy())[0] * R).sum()

    assert_gradient(backward(cache, R.copy()), value, X)


def test_dropout_at_a_fixed_mask():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2, 3, 6))
    rate = rng.uniform(0.2, 0.7, size=(2, 3))
    R = rng.normal(size=X.shape)

    def value():
        return (dropout(X, rate, np.random.default_rng(5))[0] * R).sum()

    _, cache = dropout(X, rate, np.random.default_rng(5))
    assert_gradient(dropout_backward(cache, R), value, X)
    assert_gradient(rate_gradient(cache, R), value, rate)


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("kernel_size", [1, 2, 3, 5])
def test_scattering_patches_is_the_adjoint_of_extracting_them(padding, kernel_size):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2, 6, 5, 3))
    P = extract_patches(X, kernel_size, padding)
    Q = rng.normal(size=P.shape)
    back = scatter_patches(Q, X.shape, kernel_size, padding)
    np.testing.assert_allclose((P * Q).sum(), (X * back).sum(), rtol=1e-12)


@pytest.mark.parametrize("loss", [member_cross_entropy, ensemble_cross_entropy])
@pytest.mark.parametrize("smooth", [False, True])
def test_cross_entropies(loss, smooth):
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(3, 4, 5))
    y = rng.integers(5, size=4)
    smoothing = rng.uniform(0.05, 0.3, size=(3, 4)) if smooth else None
    assert_gradient(loss(Z, y, smoothing)[1], lambda: loss(Z, y, smoothing)[0], Z)


def test_label_smoothing():
    rng = np.random.default_rng(8)
    Z = rng.normal(size=(3, 4, 5))
    y = rng.integers(5, size=4)
    smoothing = rng.uniform(0.05, 0.3, size=(3, 4))

    def value():
        return member_cross_entropy(Z, y, smoothing)[0]

    assert_gradient(smoothing_gradient(Z, y), value, smoothing)
