# SPDX-License-Identifier: BSD-3-Clause
"""Training: objectives (8) and (9), the alternation, Adam, checkpoints."""

import numpy as np
import pytest

from accsmbo.ensembles._layers._adam import AdamState, adam_update
from accsmbo.ensembles._layers._distributions import LogUniform, SigmoidNormal
from accsmbo.ensembles._layers._initializers import GaussianAroundOne
from accsmbo.ensembles._layers._stages import Signals
from accsmbo.ensembles._training._architectures import (
    LayerOptions,
    lenet,
    multi_layer_perceptron,
)
from accsmbo.ensembles._training._hyperparameters import (
    Hyperparameters,
    tuned_strengths,
)
from accsmbo.ensembles._training._state import load_state, save_state
from accsmbo.ensembles._training._trainer import Trainer, TrainingSettings

STEP = 1e-6
N_CLASSES = 3
FACTORS = GaussianAroundOne(0.3)


def hyperparameters(n_layers, *, layerwise=False):
    tuned = Hyperparameters()
    tuned.strengths = tuned_strengths(tuned, n_layers, (1e-2, 1e1), layerwise=layerwise)
    tuned.dropout = tuned.tune("dropout", (1e-2, 0.9))
    tuned.label_smoothing = tuned.tune("label_smoothing", (1e-3, 0.3))
    return tuned


def make_trainer(architecture="mlp", *, distribution=LogUniform, rank=None, **settings):
    """Return a small trainer with everything tuned."""
    tuned = hyperparameters(4 if architecture == "lenet" else 2, layerwise=True)
    options = LayerOptions(
        n_members=2,
        factors=FACTORS,
        n_hyperparameters=len(tuned.names),
        embedding_units=4,
        rank=rank,
    )
    if architecture == "lenet":
        network = lenet((4, 4, 1), N_CLASSES, options)
    else:
        network = multi_layer_perceptron(5, (6,), N_CLASSES, options)
    defaults = {"batch_size": 8, "learning_rate": 1e-2, "factor_learning_rate": 1.0}
    defaults |= {"warmup_epochs": 0, "tuning_learning_rate": 1e-2}
    given = TrainingSettings(**(defaults | settings))
    low, high = np.array(tuned.bounds).T
    return Trainer(network, tuned, distribution(low, high), given)


def make_data(shape=(5,), n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, *shape))
    return X, rng.integers(N_CLASSES, size=n)


def difference(function, values, index):
    kept = values[index]
    values[index] = kept + STEP
    above = function()
    values[index] = kept - STEP
    below = function()
    values[index] = kept
    return (above - below) / (2.0 * STEP)


@pytest.mark.parametrize("loss", ["members", "ensemble"])
@pytest.mark.parametrize("rank", [None, 2])
def test_gradient_of_the_training_objective(loss, rank):
    trainer = make_trainer(loss=loss, rank=rank)
    state = trainer.start(0, "float64")
    batch = make_data(n=6)
    noise = trainer.distribution.sample(state.xi, 6, state.rng)[1]
    saved = state.rng.bit_generator.state
    gradient = np.empty_like(state.theta)

    def value():
        state.rng.bit_generator.state = saved
        free = np.empty_like(state.theta)
        return trainer.loss_and_gradient(state, batch, 0.1, noise, free)

    state.rng.bit_generator.state = saved
    trainer.loss_and_gradient(state, batch, 0.1, noise, gradient)
    numeric = [difference(value, state.theta, i) for i in range(len(state.theta))]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-8)


def test_gradient_of_the_training_objective_of_lenet():
    """Along random directions: the network has many parameters."""
    trainer = make_trainer("lenet")
    state = trainer.start(0, "float64")
    batch = make_data((4, 4, 1), n=3)
    noise = trainer.distribution.sample(state.xi, 3, state.rng)[1]
    saved = state.rng.bit_generator.state

    def value_and_gradient():
        state.rng.bit_generator.state = saved
        gradient = np.empty_like(state.theta)
        value = trainer.loss_and_gradient(state, batch, 0.1, noise, gradient)
        return value, gradient

    gradient = value_and_gradient()[1]
    start = state.theta.copy()
    rng = np.random.default_rng(1)
    views = trainer.network.layout.views(np.arange(start.size))
    for stage in views:
        for positions in stage.values():
            direction = np.zeros_like(start)
            direction[positions.ravel()] = rng.normal(size=positions.size)
            state.theta[...] = start + STEP * direction
            above = value_and_gradient()[0]
            state.theta[...] = start - STEP * direction
            below = value_and_gradient()[0]
            numeric = (above - below) / (2.0 * STEP)
            np.testing.assert_allclose(
                gradient @ direction, numeric, rtol=1e-6, atol=1e-7
            )


@pytest.mark.parametrize("distribution", [LogUniform, SigmoidNormal])
@pytest.mark.parametrize("loss", ["members", "ensemble"])
def test_gradient_of_the_tuning_objective(distribution, loss):
    trainer = make_trainer(distribution=distribution, loss=loss, entropy_weight=0.3)
    state = trainer.start(0, "float64")
    batch = make_data(n=6)
    noise = trainer.distribution.sample(state.xi, 6, state.rng)[1]

    def value():
        return trainer.tuning_objective(state, batch, noise)[0]

    gradient = trainer.tuning_objective(state, batch, noise)[1]
    for index in np.ndindex(gradient.shape):
        numeric = difference(value, state.xi, index)
        np.testing.assert_allclose(gradient[index], numeric, rtol=1e-6, atol=1e-8)


def test_the_objective_is_cross_entropy_plus_the_regulariser_over_n():
    """One layer without hyperparameters, written out."""
    fixed = Hyperparameters(strengths=[(2.0, 3.0)])
    network = multi_layer_perceptron(5, (), N_CLASSES, LayerOptions())
    settings = TrainingSettings(8, 1e-2, 1.0)
    trainer = Trainer(network, fixed, None, settings)
    state = trainer.start(0, "float64")
    state.theta[...] = np.random.default_rng(1).normal(size=state.theta.shape)
    X, y = make_data(n=6)
    params = network.layout.views(state.theta)[-1]
    Z = X @ params["W"][0] + params["b"][0]
    log_p = Z - np.log(np.exp(Z).sum(axis=1, keepdims=True))
    expected = -log_p[np.arange(6), y].mean()
    expected += (2.0 * (params["W"] ** 2).sum() + 3.0 * (params["b"] ** 2).sum()) / 40
    free = np.empty_like(state.theta)
    value = trainer.loss_and_gradient(state, (X, y), 1.0 / 40, None, free)
    np.testing.assert_allclose(value, expected, rtol=1e-12)


def test_two_training_steps_come_before_each_tuning_step(monkeypatch):
    trainer = make_trainer(warmup_epochs=1)
    calls = []
    for name in ("training_step", "tuning_step"):
        original = getattr(trainer, name)

        def recorded(*args, original=original, name=name):
            calls.append(name)
            return original(*args)

        monkeypatch.setattr(trainer, name, recorded)
    state = trainer.start(0, "float32")
    data = make_data()
    trainer.run_epoch(state, data, data)
    assert calls == ["training_step"] * 5
    calls.clear()
    trainer.run_epoch(state, data, data)
    trainer.run_epoch(state, data, data)
    kinds = "".join("T" if name == "tuning_step" else "s" for name in calls)
    assert kinds == "sTssTssTssTssTs"


def test_tuning_moves_only_the_distributions_and_training_only_the_weights():
    trainer = make_trainer()
    state = trainer.start(0, "float64")
    X, y = make_data()
    theta, xi = state.theta.copy(), state.xi.copy()
    # From the full range the ends can only move inwards, so start inside.
    state.xi[..., 0] += 0.5
    state.xi[..., 1] -= 0.5
    inside = state.xi.copy()
    trainer.tuning_step(state, X, y)
    np.testing.assert_array_equal(state.theta, theta)
    assert (state.xi != inside).all()
    assert (state.xi[..., 0] >= xi[..., 0]).all()
    xi = state.xi.copy()
    trainer.training_step(state, X, y, 0.1, np.empty_like(theta))
    np.testing.assert_array_equal(state.xi, xi)
    assert (state.theta != theta).mean() > 0.8


def test_a_large_entropy_weight_keeps_the_upper_ends_up():
    wide = make_trainer(entropy_weight=10.0)
    state = wide.start(0, "float64")
    state.xi[..., 1] -= 1.0
    before = state.xi[..., 1].copy()
    wide.tuning_step(state, *make_data())
    assert (state.xi[..., 1] > before).all()


def test_the_bounds_of_the_hyperparameters_hold_during_training():
    trainer = make_trainer(tuning_learning_rate=1.0, entropy_weight=10.0)
    state = trainer.start(0, "float64")
    data = make_data()
    for _ in range(3):
        trainer.run_epoch(state, data, data)
    path = np.array(state.lambda_path)
    assert path.shape == (4, 2, len(trainer.hyperparameters.names), 3)
    bounds = np.array(trainer.hyperparameters.bounds)
    assert (path >= bounds[:, :1] * (1 - 1e-12)).all()
    assert (path <= bounds[:, 1:] * (1 + 1e-12)).all()
    assert (path[..., 0] < path[..., 1]).all()


def test_fast_weights_have_their_own_learning_rate():
    still = make_trainer(factor_learning_rate=1e-30)
    state = still.start(0, "float64")
    before = state.theta.copy()
    X, y = make_data()
    still.training_step(state, X, y, 0.1, np.empty_like(before))
    n_slow = still.network.layout.n_slow
    np.testing.assert_array_equal(state.theta[n_slow:], before[n_slow:])
    assert (state.theta[:n_slow] != before[:n_slow]).mean() > 0.8


def test_dropout_is_on_in_training_and_off_in_tuning():
    trainer = make_trainer()
    state = trainer.start(0, "float64")
    X, y = make_data(n=6)
    noise = trainer.distribution.sample(state.xi, 6, state.rng)[1]
    free = np.empty_like(state.theta)

    def training():
        return trainer.loss_and_gradient(state, (X, y), 0.1, noise, free)

    assert training() != training()
    first = trainer.tuning_objective(state, (X, y), noise)[0]
    assert trainer.tuning_objective(state, (X, y), noise)[0] == first


def test_adam_equals_its_textbook_form():
    rng = np.random.default_rng(0)
    values = rng.normal(size=100_000)
    expected = values.copy()
    state = AdamState.zeros(values.size, values.dtype)
    m = v = np.zeros_like(values)
    for step in range(1, 4):
        g = rng.normal(size=values.size)
        rates = [(slice(0, 70_000), 0.1), (slice(70_000, None), 0.05)]
        adam_update(values, g, state, learning_rates=rates)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        m_hat, v_hat = m / (1.0 - 0.9**step), v / (1.0 - 0.999**step)
        rate = np.where(np.arange(values.size) < 70_000, 0.1, 0.05)
        expected -= rate * m_hat / (np.sqrt(v_hat) + 1e-8)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nothing_leaves_the_chosen_precision(dtype):
    trainer = make_trainer()
    state = trainer.start(0, dtype)
    X, y = make_data()
    trainer.run_epoch(state, (X.astype(dtype), y), (X.astype(dtype), y))
    assert state.theta.dtype == state.adam.first.dtype == dtype
    Z = trainer.member_logits(state.theta, state.xi, X.astype(dtype))
    assert Z.dtype == dtype


def test_a_checkpoint_resumes_bit_for_bit(tmp_path):
    path = tmp_path / "run.npz"
    trainer = make_trainer()
    data = make_data()
    state = trainer.start(0, "float32")
    for _ in range(3):
        trainer.run_epoch(state, data, data)
    state.best = state.theta.copy(), state.xi.copy()
    save_state(path, state, "mark")
    resumed = load_state(path, "mark")
    for _ in range(2):
        trainer.run_epoch(state, data, data)
        trainer.run_epoch(resumed, data, data)
    np.testing.assert_array_equal(resumed.theta, state.theta)
    np.testing.assert_array_equal(resumed.xi, state.xi)
    np.testing.assert_array_equal(resumed.best[0], state.best[0])
    np.testing.assert_array_equal(resumed.lambda_path, state.lambda_path)
    assert resumed.loss_curve == state.loss_curve
    assert resumed.rng.bit_generator.state == state.rng.bit_generator.state
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    state = make_trainer().start(0, "float32")
    save_state(path, state, "one")
    with pytest.raises(ValueError, match="belongs to another run"):
        load_state(path, "another")


def test_predictions_are_at_the_means_of_the_ranges():
    """(b - a) / log(b / a) of each member, scaled to [-1, 1] in its logarithm."""
    trainer = make_trainer()
    state = trainer.start(0, "float64")
    state.xi[0, :, 0] += 0.7
    state.xi[1, :, 1] -= 0.4
    X, _ = make_data()
    a, b = np.exp(np.moveaxis(state.xi, 2, 0))
    low, high = np.log(np.array(trainer.hyperparameters.bounds).T)
    z = 2 * (np.log((b - a) / np.log(b / a)) - low) / (high - low) - 1
    params = trainer.network.layout.views(state.theta)
    each = np.repeat(z[:, None], len(X), axis=1)
    expected = trainer.network.forward(params, X[None], Signals(each))[0]
    np.testing.assert_allclose(
        trainer.member_logits(state.theta, state.xi, X), expected, rtol=1e-10
    )


def test_predictions_in_chunks_equal_predictions_at_once(monkeypatch):
    trainer = make_trainer()
    state = trainer.start(0, "float64")
    X, _ = make_data()
    together = trainer.member_logits(state.theta, state.xi, X)
    monkeypatch.setattr("accsmbo.ensembles._training._trainer.CHUNK", 7)
    np.testing.assert_allclose(
        trainer.member_logits(state.theta, state.xi, X), together, rtol=1e-12
    )


@pytest.mark.parametrize("layerwise", [False, True])
def test_the_two_tuning_settings(layerwise):
    """Appendix C.1: two strengths in all, or two for each layer."""
    tuned = hyperparameters(3, layerwise=layerwise)
    assert len(tuned.names) == (8 if layerwise else 4)
    lam = np.arange(2.0 * 5 * len(tuned.names)).reshape(2, 5, -1)
    values = tuned.values(lam, (2, 5), 0.5, np.float64)
    kernel, bias = values.strengths[-1]
    column = 4 if layerwise else 0
    np.testing.assert_array_equal(kernel, 0.5 * lam[..., column])
    np.testing.assert_array_equal(bias, 0.5 * lam[..., column + 1])
    np.testing.assert_array_equal(values.rates, lam[..., -2])
    np.testing.assert_array_equal(values.smoothing, lam[..., -1])
