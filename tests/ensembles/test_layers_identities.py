# SPDX-License-Identifier: BSD-3-Clause
"""Layers against hand-computed numbers, naive sums and each other."""

import numpy as np
import pytest
from scipy.signal import correlate

from accsmbo.ensembles._layers._activations import max_pool
from accsmbo.ensembles._layers._convolutional import ConvolutionLayer
from accsmbo.ensembles._layers._dense import DenseLayer
from accsmbo.ensembles._layers._dropout import dropout
from accsmbo.ensembles._layers._embedding import Embedding
from accsmbo.ensembles._layers._initializers import GaussianAroundOne, RandomSigns
from accsmbo.ensembles._layers._losses import (
    ensemble_cross_entropy,
    member_cross_entropy,
)
from accsmbo.ensembles._layers._low_rank import LowRankDenseLayer
from accsmbo.ensembles._layers._patches import extract_patches

FACTORS = GaussianAroundOne(0.5)
K, B = 3, 4


def dense(**options):
    return DenseLayer(5, 2, **options)


def convolution(**options):
    return ConvolutionLayer(2, 3, kernel_size=3, **options)


def inputs_of(layer, rng, n_members=K):
    shape = (5, 4, 2) if isinstance(layer, ConvolutionLayer) else (5,)
    return rng.normal(size=(n_members, B, *shape))


def random_parameters(layer, rng):
    shapes = layer.parameter_shapes()
    return {name: rng.normal(size=entry.shape) for name, entry in shapes.items()}


def moving(layer, params, e, **options):
    """Return the moving parts of kernel and bias for embeddings [e | e']."""
    v, delta = layer.scales(params, **options)
    kernel, bias = e[..., : v.shape[1]], e[..., v.shape[1] :]
    return kernel * v[:, None], params["b"][:, None] + bias * delta[:, None]


def forward(layer, params, X, e):
    """Return the outputs for embeddings [e | e']."""
    return layer.forward(params, X, moving(layer, params, e))[0]


def penalty(layer, params, strengths, e):
    """Return the regulariser for embeddings [e | e']."""
    f = moving(layer, params, e, by_regularizer=True)
    return layer.penalty(params, strengths, f=f).value


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("make", [dense, convolution])
def test_one_member_with_unit_factors_is_a_self_tuning_layer(make, rng):
    hyper = make(n_members=1, factors=FACTORS, tuned=True)
    tuning = make(tuned=True)
    params = random_parameters(tuning, rng)
    ones = {
        name: np.ones(hyper.parameter_shapes()[name].shape)
        for name in ("r", "s", "u", "v")
    }
    X = inputs_of(tuning, rng, n_members=1)
    e = rng.normal(size=(1, B, sum(tuning.embedding_widths)))
    strengths = rng.random((1, B)), rng.random((1, B))
    np.testing.assert_allclose(
        forward(hyper, params | ones, X, e),
        forward(tuning, params, X, e),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        penalty(hyper, params | ones, strengths, e),
        penalty(tuning, params, strengths, e),
        rtol=1e-12,
    )


@pytest.mark.parametrize("make", [dense, convolution])
def test_without_delta_hyper_batch_is_batch_ensemble(make, rng):
    hyper = make(n_members=K, factors=FACTORS, tuned=True)
    batch = make(n_members=K, factors=FACTORS)
    params = random_parameters(hyper, rng)
    params["Delta"][...] = 0.0
    params["delta"][...] = 0.0
    own = {name: params[name] for name in batch.parameter_shapes()}
    X = inputs_of(batch, rng)
    e = rng.normal(size=(K, B, sum(hyper.embedding_widths)))
    strengths = rng.random((K, B)), rng.random((K, B))
    np.testing.assert_allclose(
        forward(hyper, params, X, e), batch.forward(own, X)[0], rtol=1e-12
    )
    np.testing.assert_allclose(
        penalty(hyper, params, strengths, e),
        batch.penalty(own, strengths).value,
        rtol=1e-12,
    )


@pytest.mark.parametrize("make", [dense, convolution])
def test_with_unit_factors_batch_ensemble_is_the_plain_layer(make, rng):
    batch = make(n_members=K, factors=FACTORS)
    plain = make()
    params = random_parameters(plain, rng)
    shapes = batch.parameter_shapes()
    ones = {name: np.ones(shapes[name].shape) for name in ("r", "s")}
    tiled = params | ones | {"b": np.repeat(params["b"], K, axis=0)}
    X = inputs_of(plain, rng, n_members=1)
    Z = batch.forward(tiled, X)[0]
    for member in Z:
        np.testing.assert_allclose(member, plain.forward(params, X)[0][0], rtol=1e-12)


@pytest.mark.parametrize("make", [dense, convolution])
@pytest.mark.parametrize("tuned", [False, True])
def test_all_members_at_once_equal_a_loop_over_members(make, tuned, rng):
    together = make(n_members=K, factors=FACTORS, tuned=tuned)
    alone = make(n_members=1, factors=FACTORS, tuned=tuned)
    params = random_parameters(together, rng)
    X = inputs_of(together, rng)
    shape = (2, K, B, together.n_outputs)
    f = tuple(rng.normal(size=shape)) if tuned else None
    Z = together.forward(params, X, f)[0]
    for k in range(K):
        own = {
            name: values if name in ("W", "Delta") else values[k : k + 1]
            for name, values in params.items()
        }
        f_k = None if f is None else tuple(part[k : k + 1] for part in f)
        Z_k = alone.forward(own, X[k : k + 1], f_k)[0]
        np.testing.assert_allclose(Z[k], Z_k[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("make", [dense, convolution])
@pytest.mark.parametrize("regularize_factors", [False, True])
def test_the_regulariser_equals_the_naive_sum(make, regularize_factors, rng):
    layer = make(
        n_members=K,
        factors=FACTORS,
        tuned=True,
        regularize_factors=regularize_factors,
    )
    params = random_parameters(layer, rng)
    e = rng.normal(size=(K, B, sum(layer.embedding_widths)))
    nu, nu_bias = rng.random((K, B)), rng.random((K, B))
    s = layer.n_outputs
    total = 0.0
    for k in range(K):
        W, Delta = params["W"], params["Delta"]
        if regularize_factors:
            W = W * np.outer(params["r"][k], params["s"][k])
            Delta = Delta * np.outer(params["u"][k], params["v"][k])
        for i in range(B):
            kernel = W + Delta * e[k, i, :s]
            bias = params["b"][k] + params["delta"][k] * e[k, i, s:]
            total += nu[k, i] * (kernel**2).sum() + nu_bias[k, i] * (bias**2).sum()
    value = penalty(layer, params, (nu, nu_bias), e)
    np.testing.assert_allclose(value, total / (K * B), rtol=1e-12)


OPTIONS = {
    "plain": {},
    "batch": {"factors": FACTORS},
    "batch, factors not regularised": {"factors": FACTORS, "regularize_factors": False},
    "self-tuning": {"tuned": True},
    "hyper-batch": {"factors": FACTORS, "tuned": True},
    "hyper-batch, tied": {"factors": FACTORS, "tuned": True, "tie_factors": True},
    "hyper-batch, tied, factors not regularised": {
        "factors": FACTORS,
        "tuned": True,
        "tie_factors": True,
        "regularize_factors": False,
    },
}


def naive(X, kernel, bias, padding):
    """Apply one example's own kernel (l, l, r, s), or (r, s), as it is written."""
    if kernel.ndim == 2:
        return X @ kernel + bias
    size = len(kernel)
    if padding == "same":
        before = (size - 1) // 2
        X = np.pad(X, [(before, size - 1 - before)] * 2 + [(0, 0)])
    height, width = (length - size + 1 for length in X.shape[:2])
    return np.array(
        [
            [
                np.tensordot(X[i : i + size, j : j + size], kernel, axes=3) + bias
                for j in range(width)
            ]
            for i in range(height)
        ]
    )


@pytest.mark.parametrize(
    ("size", "padding"), [(0, ""), (1, "same"), (2, "same"), (3, "valid"), (5, "same")]
)
@pytest.mark.parametrize(
    ("form", "n_members", "n_examples"),
    [
        (form, *sizes)
        for form, options in OPTIONS.items()
        for sizes in [(1, 1), (2, 5), (5, 2)]
        if sizes[0] == 1 or "factors" in options
    ],
)
def test_layers_of_any_size_are_what_the_paper_writes(
    form, size, padding, n_members, n_examples, rng
):
    """Each example's kernel and bias by (7), (10), (11), and the sum (12) over them."""
    options = OPTIONS[form]
    if size:
        layer = ConvolutionLayer(
            3, 4, kernel_size=size, padding=padding, n_members=n_members, **options
        )
        shape, kernel_shape = (7, 6, 3), (size, size, 3, 4)
    else:
        layer = DenseLayer(6, 4, n_members=n_members, **options)
        shape, kernel_shape = (6,), (6, 4)
    params = random_parameters(layer, rng)
    W = params["W"].reshape(kernel_shape)
    X = rng.normal(size=(n_members, n_examples, *shape))
    strengths = nu, nu_bias = rng.random((2, n_members, n_examples))
    e = rng.normal(size=(n_members, n_examples, 8)) if layer.tuned else None
    if layer.tuned:
        Z = forward(layer, params, X, e)
        value = penalty(layer, params, strengths, e)
    else:
        Z = layer.forward(params, X)[0]
        value = layer.penalty(params, tuple(strengths)).value
    total = 0.0
    for k in range(n_members):

        def factor(rows, columns, k=k):
            names = {"u": "r", "v": "s"} if layer.tie_factors else {}
            if layer.factors is None:
                return 1.0
            return np.outer(*[params[names.get(n, n)][k] for n in (rows, columns)])

        for i in range(n_examples):
            kernel, seen, bias = W * factor("r", "s"), W, params["b"][k]
            if layer.tuned:
                moved = params["Delta"].reshape(kernel_shape) * e[k, i, :4]
                kernel, seen = kernel + moved * factor("u", "v"), seen + moved
                bias = bias + params["delta"][k] * e[k, i, 4:]
            if layer.regularize_factors:
                seen = kernel
            np.testing.assert_allclose(
                Z[k, i], naive(X[k, i], kernel, bias, padding), rtol=1e-10, atol=1e-12
            )
            total += nu[k, i] * (seen**2).sum() + nu_bias[k, i] * (bias**2).sum()
    np.testing.assert_allclose(value, total / nu.size, rtol=1e-12)


@pytest.mark.parametrize("n_members", [1, K])
def test_the_low_rank_layer_equals_its_dense_kernel(n_members, rng):
    factors = FACTORS if n_members > 1 else None
    layer = LowRankDenseLayer(5, 2, rank=3, n_members=n_members, factors=factors)
    params = random_parameters(layer, rng)
    e = rng.normal(size=(n_members, B, sum(layer.embedding_widths)))
    nu, nu_bias = rng.random((n_members, B)), rng.random((n_members, B))
    X = rng.normal(size=(n_members, B, 5))
    Z = forward(layer, params, X, e)
    total = 0.0
    for k in range(n_members):
        W = params["W"][0]
        if factors is not None:
            W = W * np.outer(params["r"][k], params["s"][k])
        for i in range(B):
            kernel = W + (params["G"] * e[k, i, :3]) @ params["H"].T
            bias = params["b"][k] + params["delta"][k] * e[k, i, 3:]
            np.testing.assert_allclose(Z[k, i], X[k, i] @ kernel + bias, rtol=1e-12)
            total += nu[k, i] * (kernel**2).sum() + nu_bias[k, i] * (bias**2).sum()
    value = penalty(layer, params, (nu, nu_bias), e)
    np.testing.assert_allclose(value, total / (n_members * B), rtol=1e-12)


def test_a_diagonal_low_rank_layer_is_a_self_tuning_layer(rng):
    """(15) with G = Delta and H = I is (3)."""
    low_rank = LowRankDenseLayer(5, 2, rank=2)
    tuning = dense(tuned=True)
    params = random_parameters(tuning, rng)
    own = {k: v for k, v in params.items() if k != "Delta"}
    own |= {"G": params["Delta"][0], "H": np.eye(2)}
    X = rng.normal(size=(1, B, 5))
    e = rng.normal(size=(1, B, 4))
    strengths = rng.random((1, B)), rng.random((1, B))
    np.testing.assert_allclose(
        forward(low_rank, own, X, e), forward(tuning, params, X, e), rtol=1e-12
    )
    np.testing.assert_allclose(
        penalty(low_rank, own, strengths, e),
        penalty(tuning, params, strengths, e),
        rtol=1e-12,
    )


def test_a_hyper_batch_output_by_hand():
    """Two inputs, one output, two members: (7) written out with small numbers."""
    layer = DenseLayer(2, 1, n_members=2, factors=RandomSigns(), tuned=True)
    params = {
        "W": np.array([[[1.0], [2.0]]]),
        "Delta": np.array([[[3.0], [-1.0]]]),
        "r": np.array([[1.0, -1.0], [2.0, 1.0]]),
        "s": np.array([[1.0], [3.0]]),
        "u": np.array([[1.0, 1.0], [0.0, 2.0]]),
        "v": np.array([[2.0], [1.0]]),
        "b": np.array([[0.5], [-1.0]]),
        "delta": np.array([[1.0], [4.0]]),
    }
    X = np.array([[[1.0, 1.0]]])
    e = np.array([[[0.5, 2.0]], [[-1.0, 0.25]]])
    # Member 0: x W_0 = 1 - 2 = -1; x Delta_0 = (3 - 1) 2 = 4, times e = 0.5 is 2;
    # bias 0.5 + 1 * 2 = 2.5; sum 3.5.
    # Member 1: x W_1 = (2 + 2) 3 = 12; x Delta_1 = -2, times e = -1 is 2;
    # bias -1 + 4 * 0.25 = 0; sum 14.
    Z = forward(layer, params, X, e)
    np.testing.assert_array_equal(Z, [[[3.5]], [[14.0]]])
    # |W_0(lam)|^2 = (1 + 3)^2 + (-2 - 1)^2 = 25, |W_1(lam)|^2 = 6^2 + (6 + 2)^2 = 100,
    # biases 2.5^2 and 0: with strengths 0.1, 0.2 and 1 the mean is
    # (2.5 + 20 + 6.25) / 2.
    nu = np.array([[0.1], [0.2]])
    value = penalty(layer, params, (nu, np.ones((2, 1))), e)
    np.testing.assert_allclose(value, 14.375, rtol=1e-14)


def test_a_batch_ensemble_convolution_by_hand():
    """A 2 x 2 kernel of ones sums windows; the factors double it or turn its sign."""
    layer = ConvolutionLayer(
        1, 1, kernel_size=2, padding="valid", n_members=2, factors=RandomSigns()
    )
    params = {
        "W": np.ones((4, 1, 1)),
        "r": np.array([[2.0], [1.0]]),
        "s": np.array([[1.0], [-1.0]]),
        "b": np.array([[0.0], [10.0]]),
    }
    X = np.arange(9.0).reshape(1, 1, 3, 3, 1)
    Z = layer.forward(params, X)[0][:, 0, :, :, 0]
    np.testing.assert_array_equal(Z[0], [[16.0, 24.0], [40.0, 48.0]])
    np.testing.assert_array_equal(Z[1], [[2.0, -2.0], [-10.0, -14.0]])


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_convolution_equals_scipy(padding, rng):
    layer = ConvolutionLayer(2, 3, kernel_size=3, padding=padding)
    params = random_parameters(layer, rng)
    kernel = params["W"].reshape(3, 3, 2, 3)
    X = rng.normal(size=(1, 2, 6, 5, 2))
    Z = layer.forward(params, X)[0]
    for i in range(2):
        for channel in range(3):
            expected = params["b"][0, channel] + sum(
                correlate(X[0, i, :, :, c], kernel[:, :, c, channel], mode=padding)
                for c in range(2)
            )
            np.testing.assert_allclose(Z[0, i, :, :, channel], expected, atol=1e-12)


def test_patches_are_ordered_like_a_kernel():
    X = np.arange(18.0).reshape(1, 3, 3, 2)
    patches = extract_patches(X, 2, "valid")
    np.testing.assert_array_equal(patches[0, 0, 1], [2, 3, 4, 5, 8, 9, 10, 11])


def test_max_pooling_takes_the_largest_of_four_and_drops_an_odd_edge():
    X = np.arange(15.0).reshape(1, 1, 3, 5, 1)
    np.testing.assert_array_equal(max_pool(X)[0].ravel(), [6.0, 8.0])


def test_dropout_keeps_the_mean_at_each_example_s_own_rate(rng):
    X = np.ones((2, 2, 20000))
    rate = np.array([[0.0, 0.2], [0.5, 0.9]])
    Y, _ = dropout(X, rate, rng)
    np.testing.assert_allclose(Y.mean(axis=-1), 1.0, atol=0.06)
    np.testing.assert_allclose((Y == 0.0).mean(axis=-1), rate, atol=0.02)
    np.testing.assert_allclose(Y.max(axis=-1), 1.0 / (1.0 - rate))


def test_a_linear_embedding_is_a_product(rng):
    embedding = Embedding(2, (3, 1), units=0)
    params = {"C": rng.normal(size=(2, 4))}
    z = rng.normal(size=(2, 5, 2))
    d = rng.normal(size=(2, 3)), rng.normal(size=(2, 1))
    f = embedding.scaled(params, embedding.features(params, z), d)
    e = z @ params["C"]
    np.testing.assert_allclose(f[0], e[..., :3] * d[0][:, None])
    np.testing.assert_allclose(f[1], e[..., 3:] * d[1][:, None])


def test_cross_entropies_by_hand():
    """Two members say 1/4 and 3/4: mean of logs, and log of the mean 1/2."""
    Z = np.log(np.array([[[0.25, 0.75]], [[0.75, 0.25]]]))
    y = np.array([0])
    mean = -(np.log(0.25) + np.log(0.75)) / 2.0
    np.testing.assert_allclose(member_cross_entropy(Z, y)[0], mean)
    np.testing.assert_allclose(ensemble_cross_entropy(Z, y)[0], np.log(2.0))
    smooth = np.full((2, 1), 1.0)
    np.testing.assert_allclose(member_cross_entropy(Z, y, smooth)[0], mean)


def test_factors_start_as_asked(rng):
    signs = RandomSigns(0.75).draw(rng, (200, 200))
    assert set(np.unique(signs)) == {-1.0, 1.0}
    np.testing.assert_allclose((signs == 1.0).mean(), 0.75, atol=0.01)
    gaussian = GaussianAroundOne(0.5).draw(rng, (200, 200))
    np.testing.assert_allclose(gaussian.mean(), 1.0, atol=0.02)
    np.testing.assert_allclose(gaussian.std(), 0.5, atol=0.02)


def test_a_layer_starts_with_glorot_kernels_and_zero_biases(rng):
    layer = ConvolutionLayer(2, 3, kernel_size=3, **{"tuned": True})
    params = {
        name: np.full(entry.shape, np.nan)
        for name, entry in layer.parameter_shapes().items()
    }
    layer.initialize(params, rng)
    bound = np.sqrt(6.0 / (9 * 2 + 9 * 3))
    for name in ("W", "Delta"):
        assert 0.5 * bound < np.abs(params[name]).max() <= bound
    assert not params["b"].any()
    assert not params["delta"].any()


def test_several_members_without_factors_are_refused():
    with pytest.raises(ValueError, match="factors=None needs n_members=1"):
        DenseLayer(2, 2, n_members=3)


def test_unknown_padding_is_refused():
    with pytest.raises(ValueError, match="padding must be one of"):
        ConvolutionLayer(1, 1, kernel_size=3, padding="full")


def test_a_low_rank_layer_needs_embeddings():
    layer = LowRankDenseLayer(2, 2, rank=1)
    params = random_parameters(layer, np.random.default_rng(0))
    with pytest.raises(ValueError, match="f must be given"):
        layer.forward(params, np.ones((1, 2, 2)))
    with pytest.raises(ValueError, match="f must be given"):
        layer.penalty(params, (np.ones((1, 2)), np.ones((1, 2))))
