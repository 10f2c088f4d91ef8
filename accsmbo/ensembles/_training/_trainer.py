# SPDX-License-Identifier: BSD-3-Clause
"""Alternating training: steps on the weights (8) and on the hyperparameters (9).

Notation
--------
K, b, m  members, examples, tuned hyperparameters
theta    parameters of the network
xi       parameters of the hyperparameters' distributions, (K, m, 2)
lam      hyperparameters, one draw for each member and example, (K, b, m)
z        2 (log lam - log low) / (log high - log low) - 1, what the embeddings see
"""

from dataclasses import dataclass

import numpy as np

from accsmbo.ensembles._layers._adam import AdamState, adam_update
from accsmbo.ensembles._layers._distributions import HyperparameterDistribution
from accsmbo.ensembles._layers._losses import (
    ensemble_cross_entropy,
    member_cross_entropy,
)
from accsmbo.ensembles._layers._network import Network
from accsmbo.ensembles._layers._stages import Gradients, Signals
from accsmbo.ensembles._training._hyperparameters import Hyperparameters
from accsmbo.ensembles._training._state import TrainingState

LOSSES = {"members": member_cross_entropy, "ensemble": ensemble_cross_entropy}
CHUNK = 256  # rows per forward pass of a prediction: bounds its memory
KEPT_BYTES = 31 << 20  # just under the largest threshold that glibc learns, 32 MiB


def keep_freed_memory() -> None:
    """Let the C library keep the memory of one step for the next.

    With glibc, freeing one array of this size raises the size from which memory is
    returned to the system, see M_MMAP_THRESHOLD in mallopt(3). Without it, a third of
    the time of a step goes into page faults. The array is never touched.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of the alternation.

    Attributes
    ----------
    batch_size : int
        Examples in a training and in a tuning step.
    learning_rate, factor_learning_rate : float
        Rates of the weights and of the rank-one factors.
    loss : {"members", "ensemble"}
        Cross entropy of (8) and (9).
    entropy_weight : float
        tau of (9).
    warmup_epochs : int
        Epochs without tuning steps.
    training_steps : int
        Training steps before each tuning step.
    tuning_learning_rate : float
        Rate of xi.
    """

    batch_size: int
    learning_rate: float
    factor_learning_rate: float
    loss: str = "members"
    entropy_weight: float = 1e-3
    warmup_epochs: int = 5
    training_steps: int = 2
    tuning_learning_rate: float = 5e-4


class Trainer:
    """Trains one network; all that changes is in a `TrainingState`.

    Parameters
    ----------
    network : Network
        The network.
    hyperparameters : Hyperparameters
        Fixed and tuned hyperparameters.
    distribution : HyperparameterDistribution or None
        Distribution of the tuned ones; None where there are none.
    settings : TrainingSettings
        Settings.
    """

    def __init__(
        self,
        network: Network,
        hyperparameters: Hyperparameters,
        distribution: HyperparameterDistribution | None,
        settings: TrainingSettings,
    ) -> None:
        self.network = network
        self.hyperparameters = hyperparameters
        self.distribution = distribution
        self.settings = settings

    def start(self, seed: int, dtype: str) -> TrainingState:
        """Return the state before the first step.

        Parameters
        ----------
        seed : int
            Seed of parameters, batches and split.
        dtype : str
            Type of the parameters.

        Returns
        -------
        TrainingState
            The state.
        """
        rng = np.random.default_rng(seed)
        theta = self.network.initialize(rng, dtype)
        xi = np.zeros((self.network.n_members, 0, 2))
        if self.distribution is not None:
            xi = self.distribution.initial(self.network.n_members)
        state = TrainingState(
            theta=theta,
            adam=AdamState.zeros(theta.size, theta.dtype),
            xi=xi,
            xi_adam=AdamState.zeros(xi.size, xi.dtype),
            rng=rng,
            split_seed=int(rng.integers(2**63)),
        )
        self._record_path(state)
        return state

    def run_epoch(
        self,
        state: TrainingState,
        training: tuple[np.ndarray, np.ndarray],
        validation: tuple[np.ndarray, np.ndarray] | None,
    ) -> None:
        """Go once through the training data, with tuning steps in between.

        Parameters
        ----------
        state : TrainingState
            Changed in place.
        training : tuple of ndarray
            Inputs and class indices.
        validation : tuple of ndarray or None
            The same for the tuning steps; needed where hyperparameters are tuned.
        """
        X, y = training
        settings = self.settings
        keep_freed_memory()
        gradient = np.empty_like(state.theta)
        order = state.rng.permutation(len(y))
        tunes = self.distribution is not None and state.epoch >= settings.warmup_epochs
        total = 0.0
        for start in range(0, len(y), settings.batch_size):
            rows = order[start : start + settings.batch_size]
            scale = 1.0 / len(y)
            loss = self.training_step(state, X[rows], y[rows], scale, gradient)
            total += loss * len(rows) * scale
            state.step += 1
            due = state.step % settings.training_steps == 0
            if due and tunes and validation is not None:
                self._tune_on(state, *validation)
        state.epoch += 1
        state.loss_curve.append(total)
        self._record_path(state)

    def training_step(
        self,
        state: TrainingState,
        X: np.ndarray,
        y: np.ndarray,
        scale: float,
        gradient: np.ndarray,
    ) -> float:
        """Take one step on theta along the gradient of (8).

        Parameters
        ----------
        state : TrainingState
            Changed in place.
        X : ndarray of shape (b, ...)
            Inputs.
        y : ndarray of shape (b,)
            Class indices.
        scale : float
            Factor of the regulariser: one over the number of training examples.
        gradient : ndarray
            Working space of the size of theta.

        Returns
        -------
        float
            Loss before the step, regulariser included.
        """
        noise = self._draw(state, len(y))
        loss = self.loss_and_gradient(state, (X, y), scale, noise, gradient)
        layout, settings = self.network.layout, self.settings
        slow, fast = slice(0, layout.n_slow), slice(layout.n_slow, layout.size)
        rates = [
            (slow, settings.learning_rate),
            (fast, settings.learning_rate * settings.factor_learning_rate),
        ]
        adam_update(state.theta, gradient, state.adam, learning_rates=rates)
        return loss

    def loss_and_gradient(
        self,
        state: TrainingState,
        batch: tuple[np.ndarray, np.ndarray],
        scale: float,
        noise: np.ndarray | None,
        gradient: np.ndarray,
    ) -> float:
        """Return the objective (8) on a batch and write its gradient by theta.

        Parameters
        ----------
        state : TrainingState
            Parameters; only its generator moves (dropout).
        batch : tuple of ndarray
            Inputs and class indices.
        scale : float
            Factor of the regulariser.
        noise : ndarray of shape (K, b, m) or None
            Noise behind the hyperparameters.
        gradient : ndarray
            Filled with the gradient.

        Returns
        -------
        float
            Objective.
        """
        X, y = batch
        dtype = state.theta.dtype
        lam, z = self._hyperparameters(state.xi, noise, dtype)
        shape = (self.network.n_members, len(y))
        values = self.hyperparameters.values(lam, shape, scale, dtype)
        strengths = values.strengths if self.hyperparameters.penalized else None
        signals = Signals(z, values.rates, state.rng, strengths)
        layout = self.network.layout
        params = layout.views(state.theta)
        Z, caches = self.network.forward(params, X[None], signals)
        loss, dZ = LOSSES[self.settings.loss](Z, y, values.smoothing)
        gradient[...] = 0.0
        gradients = Gradients(theta=layout.views(gradient))
        self.network.backward(params, caches, dZ, signals, gradients)
        return loss + gradients.penalty

    def tuning_step(self, state: TrainingState, X: np.ndarray, y: np.ndarray) -> float:
        """Take one step on xi along the gradient of (9) and clip to the bounds.

        Parameters
        ----------
        state : TrainingState
            Changed in place.
        X : ndarray of shape (b, ...)
            Validation inputs.
        y : ndarray of shape (b,)
            Class indices.

        Returns
        -------
        float
            Objective before the step.
        """
        noise = self._tuned.sample(state.xi, len(y), state.rng)[1]
        value, gradient = self.tuning_objective(state, (X, y), noise)
        xi = state.xi.reshape(-1)
        rates = [(slice(None), self.settings.tuning_learning_rate)]
        adam_update(xi, gradient.reshape(-1), state.xi_adam, learning_rates=rates)
        self._tuned.clip(state.xi)
        return value

    def tuning_objective(
        self,
        state: TrainingState,
        batch: tuple[np.ndarray, np.ndarray],
        noise: np.ndarray,
    ) -> tuple[float, np.ndarray]:
        """Return the objective (9) on a batch and its gradient by xi.

        Without dropout, label smoothing and regulariser: those move the validation
        loss only through the embeddings.

        Parameters
        ----------
        state : TrainingState
            Parameters.
        batch : tuple of ndarray
            Validation inputs and class indices.
        noise : ndarray of shape (K, b, m)
            Noise behind the hyperparameters.

        Returns
        -------
        value : float
            Objective.
        gradient : ndarray of shape (K, m, 2)
            Gradient by xi.
        """
        X, y = batch
        dtype = state.theta.dtype
        z = self._scaled(self._tuned.log_values(state.xi, noise)).astype(dtype)
        params = self.network.layout.views(state.theta)
        signals = Signals(z)
        Z, caches = self.network.forward(params, X[None], signals)
        loss, dZ = LOSSES[self.settings.loss](Z, y)
        by_z = np.zeros_like(z)
        self.network.backward(params, caches, dZ, signals, Gradients(z=by_z))
        by_log = by_z * (2.0 / self._log_width())
        entropy, by_xi = self._tuned.entropy(state.xi)
        tau = self.settings.entropy_weight
        by_sample = self._tuned.backward(state.xi, noise, by_log)
        return loss - tau * entropy, by_sample - tau * by_xi

    def member_logits(
        self, theta: np.ndarray, xi: np.ndarray, X: np.ndarray
    ) -> np.ndarray:
        """Return the logits of all members at the mean hyperparameters.

        Parameters
        ----------
        theta : ndarray
            Parameters; their type is that of the result.
        xi : ndarray of shape (K, m, 2)
            Distributions of the hyperparameters.
        X : ndarray of shape (n, ...)
            Inputs.

        Returns
        -------
        ndarray of shape (K, n, n_classes)
            Logits.
        """
        z = None
        if self.distribution is not None:
            mean = np.log(self.distribution.mean(xi))[:, None]
            z = self._scaled(mean).astype(theta.dtype)
        params = self.network.layout.views(theta)
        chunks = [
            self.network.forward(params, X[i : i + CHUNK][None], Signals(z))[0]
            for i in range(0, len(X), CHUNK)
        ]
        return np.concatenate(chunks, axis=1)

    def validation_loss(
        self, state: TrainingState, X: np.ndarray, y: np.ndarray
    ) -> float:
        """Return the negative log-likelihood of the ensemble at the mean lambda."""
        Z = self.member_logits(state.theta, state.xi, X)
        return ensemble_cross_entropy(Z, y)[0]

    @property
    def _tuned(self) -> HyperparameterDistribution:
        if self.distribution is None:
            raise ValueError("distribution is None: no hyperparameter is tuned.")
        return self.distribution

    def _tune_on(self, state: TrainingState, X: np.ndarray, y: np.ndarray) -> None:
        rows = state.rng.integers(len(y), size=min(self.settings.batch_size, len(y)))
        self.tuning_step(state, X[rows], y[rows])

    def _draw(self, state: TrainingState, n_samples: int) -> np.ndarray | None:
        if self.distribution is None:
            return None
        return self.distribution.sample(state.xi, n_samples, state.rng)[1]

    def _hyperparameters(
        self, xi: np.ndarray, noise: np.ndarray | None, dtype: np.dtype
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        if self.distribution is None or noise is None:
            return None, None
        log_lam = self.distribution.log_values(xi, noise)
        return np.exp(log_lam), self._scaled(log_lam).astype(dtype)

    def _scaled(self, log_lam: np.ndarray) -> np.ndarray:
        low = np.log(self._tuned.low)
        return 2.0 * (log_lam - low) / self._log_width() - 1.0

    def _log_width(self) -> np.ndarray:
        return np.log(self._tuned.high) - np.log(self._tuned.low)

    def _record_path(self, state: TrainingState) -> None:
        if self.distribution is not None:
            ranges = self.distribution.ranges(state.xi)
            mean = self.distribution.mean(state.xi)[..., None]
            state.lambda_path.append(np.concatenate([ranges, mean], axis=-1))
