# SPDX-License-Identifier: BSD-3-Clause
"""What batch, self-tuning and hyper-batch ensembles share: fitting and predicting."""

from abc import ABCMeta, abstractmethod
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from accsmbo._digest import digest
from accsmbo._sklearn_private import Interval, StrOptions, fit_context
from accsmbo._validation import root_seed
from accsmbo.ensembles._layers._distributions import HyperparameterDistribution
from accsmbo.ensembles._layers._losses import log_softmax
from accsmbo.ensembles._layers._network import Network
from accsmbo.ensembles._training._architectures import (
    LayerOptions,
    lenet,
    multi_layer_perceptron,
)
from accsmbo.ensembles._training._hyperparameters import Hyperparameters
from accsmbo.ensembles._training._progress import progress_bar
from accsmbo.ensembles._training._state import (
    TrainingState,
    check_place,
    load_state,
    save_state,
)
from accsmbo.ensembles._training._trainer import Trainer, TrainingSettings

Data = tuple[np.ndarray, np.ndarray]

# Parameters that may change between two runs that share a checkpoint.
NOT_IN_FINGERPRINT = ("checkpoint", "max_iter", "verbose", "warm_start")


class BaseNeuralEnsemble(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Fit and predict for the estimators that train with `Trainer`."""

    classes_: np.ndarray
    _trainer: Trainer
    _state: TrainingState

    _parameter_constraints: dict = {
        "hidden_layer_sizes": [
            "array-like",
            Interval(Integral, 1, None, closed="left"),
        ],
        "architecture": [StrOptions({"mlp", "lenet"})],
        "image_shape": ["array-like", None],
        "loss": [StrOptions({"members", "ensemble"})],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "checkpoint": [str, Path, None],
        "verbose": ["verbose"],
        "dtype": [StrOptions({"float32", "float64"})],
        "random_state": ["random_state"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Train the ensemble.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If the data have one class only, contain NaN, do not have the number of
            features that `image_shape` asks for, or if a range is reversed.
        """
        continues = self.warm_start and hasattr(self, "_state")
        X, y = self._validate(X, y, reset=not continues)
        self._prepare(unique_labels(y), continues=continues)
        X, codes = self._encode(X, y)
        state = self._state if continues else None
        mark = None
        if self.checkpoint is not None:
            mark = self._fingerprint(X, codes)
            check_place(self.checkpoint)
            if state is None and Path(self.checkpoint).exists():
                state = load_state(self.checkpoint, mark)
        if state is None:
            state = self._trainer.start(root_seed(self.random_state), self.dtype)
        target = self.max_iter + (state.epoch if continues else 0)
        self._train(state, (X, codes), target, mark)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None):
        """Train for one epoch on the given data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that may ever come; needed in the first call only.

        Returns
        -------
        self
            The estimator.
        """
        first = not hasattr(self, "_state")
        X, y = self._validate(X, y, reset=first)
        labels = unique_labels(y)
        if classes is not None:
            labels = np.union1d(labels, unique_labels(classes))
        self._prepare(labels, continues=not first)
        X, codes = self._encode(X, y)
        if first:
            self._state = self._trainer.start(root_seed(self.random_state), self.dtype)
        training, validation = self._split((X, codes), self._state.split_seed)
        self._trainer.run_epoch(self._state, training, validation)
        self._check_loss(self._state)
        self._finish(self._state)
        return self

    def predict_proba_members(self, X):
        """Return the class probabilities of each member.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_members, n_samples, n_classes)
            Probabilities at the mean hyperparameters of each member.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        # In double precision a prediction does not depend on the rows beside it.
        theta = self._parameters[0].astype(np.float64)
        Z = self._trainer.member_logits(theta, self._parameters[1], self._shaped(X))
        return np.exp(log_softmax(Z))

    def predict_proba(self, X):
        """Return the class probabilities, averaged over the members.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return self.predict_proba_members(X).mean(axis=0)

    def predict(self, X):
        """Return the most probable class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    @abstractmethod
    def _options(self, hyperparameters: Hyperparameters) -> LayerOptions:
        """Return the form of the layers."""

    @abstractmethod
    def _hyperparameters(self, n_layers: int) -> Hyperparameters:
        """Return the fixed and the tuned hyperparameters."""

    def _distribution(
        self, hyperparameters: Hyperparameters
    ) -> HyperparameterDistribution | None:
        return None

    @abstractmethod
    def _settings(self) -> TrainingSettings:
        """Return the settings of the training."""

    def _validate(self, X: Any, y: Any, *, reset: bool) -> Data:
        X, y = validate_data(self, X, y, dtype=self.dtype, order="C", reset=reset)
        check_classification_targets(y)
        return X, y

    def _prepare(self, labels: np.ndarray, *, continues: bool) -> None:
        """Build the network for these labels, or check that they are the old ones."""
        if continues:
            unknown = np.setdiff1d(labels, self.classes_)
            if len(unknown):
                raise ValueError(
                    f"y has labels {unknown.tolist()} that were not there at first: "
                    f"classes_ is {self.classes_.tolist()}. Pass all labels as "
                    "`classes` to the first partial_fit, or fit without warm_start."
                )
            self._trainer.settings = self._settings()
            return
        if len(labels) < 2:
            raise ValueError(
                f"y must have at least 2 classes, got 1 class: {labels.tolist()}. "
                "Give data that contain another class."
            )
        self.classes_ = labels
        n_layers = 4 if self.architecture == "lenet" else len(self._hidden()) + 1
        hyperparameters = self._hyperparameters(n_layers)
        network = self._network(self._options(hyperparameters))
        self.hyperparameter_names_ = list(hyperparameters.names)
        self.n_parameters_ = network.layout.size
        distribution = self._distribution(hyperparameters)
        settings = self._settings()
        self._trainer = Trainer(network, hyperparameters, distribution, settings)

    def _network(self, options: LayerOptions) -> Network:
        if self.architecture == "lenet":
            return lenet(self._image_shape(), len(self.classes_), options)
        return multi_layer_perceptron(
            self.n_features_in_, self._hidden(), len(self.classes_), options
        )

    def _hidden(self) -> tuple[int, ...]:
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=object))
        for size in sizes:
            if not isinstance(size, Integral) or size < 1:
                raise ValueError(
                    "hidden_layer_sizes must be integers >= 1, got "
                    f"{self.hidden_layer_sizes!r}. Give for example (200, 200)."
                )
        return tuple(int(size) for size in sizes)

    def _image_shape(self) -> tuple[int, int, int]:
        shape = () if self.image_shape is None else tuple(self.image_shape)
        whole = all(isinstance(n, Integral) and int(n) > 0 for n in shape)
        if len(shape) not in (2, 3) or not whole:
            raise ValueError(
                "image_shape must be (height, width) or (height, width, channels), "
                "integers >= 1, with architecture='lenet', got "
                f"{self.image_shape!r}. Give for example (28, 28)."
            )
        height, width, channels = (*shape, 1)[:3]
        if height * width * channels != self.n_features_in_:
            raise ValueError(
                f"image_shape={self.image_shape!r} needs {height * width * channels} "
                f"features, but X has {self.n_features_in_}. Give the shape of the "
                "images before they were flattened."
            )
        if min(height, width) < 4:
            raise ValueError(
                f"image_shape={self.image_shape!r} is too small: LeNet halves height "
                "and width twice and needs at least 4 x 4. Use architecture='mlp'."
            )
        return height, width, channels

    def _shaped(self, X: np.ndarray) -> np.ndarray:
        if self.architecture == "lenet":
            return X.reshape(len(X), *self._image_shape())
        return X

    def _encode(self, X: np.ndarray, y: np.ndarray) -> Data:
        return self._shaped(X), np.searchsorted(self.classes_, y)

    @property
    def _needs_validation(self) -> bool:
        return self.early_stopping or self._trainer.distribution is not None

    def _split(self, data: Data, seed: int) -> tuple[Data, Data | None]:
        """Return training and validation part; the same for the same seed."""
        X, y = data
        if not self._needs_validation:
            return data, None
        n_validation = max(1, round(self.validation_fraction * len(y)))
        if n_validation >= len(y):
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of n_samples={len(y)} "
                "leaves no sample to train on. Give more data or a smaller fraction."
            )
        order = np.random.default_rng(seed).permutation(len(y))
        held, kept = order[:n_validation], order[n_validation:]
        return (X[kept], y[kept]), (X[held], y[held])

    def _train(
        self, state: TrainingState, data: Data, target: int, mark: str | None
    ) -> None:
        training, validation = self._split(data, state.split_seed)
        with progress_bar(target, state.epoch, verbose=self.verbose) as bar:
            while state.epoch < target and not self._stops(state):
                self._trainer.run_epoch(state, training, validation)
                self._check_loss(state)
                if self.early_stopping and validation is not None:
                    self._watch(state, validation)
                if mark is not None and self.checkpoint is not None:
                    save_state(self.checkpoint, state, mark)
                bar(state.loss_curve[-1])
        self._finish(state)

    def _check_loss(self, state: TrainingState) -> None:
        if not np.isfinite(state.loss_curve[-1]):
            raise ValueError(
                f"The training loss is {state.loss_curve[-1]} after epoch "
                f"{state.epoch}. Scale X to about unit size, or give a smaller "
                "learning_rate_init."
            )

    def _watch(self, state: TrainingState, validation: Data) -> None:
        """Record the validation loss and keep the best parameters."""
        loss = self._trainer.validation_loss(state, *validation)
        state.validation_curve.append(loss)
        state.n_stale = 0 if loss < state.best_loss - self.tol else state.n_stale + 1
        if loss < state.best_loss:
            state.best_loss = loss
            state.best = state.theta.copy(), state.xi.copy()

    def _stops(self, state: TrainingState) -> bool:
        return self.early_stopping and state.n_stale >= self.n_iter_no_change

    def _finish(self, state: TrainingState) -> None:
        self._state = state
        self._parameters = (state.theta, state.xi)
        if self.early_stopping and state.best is not None:
            self._parameters = state.best
        self.n_iter_ = state.epoch
        self.loss_curve_ = list(state.loss_curve)
        self.validation_curve_ = list(state.validation_curve)
        if self._trainer.distribution is not None:
            self.lambda_path_ = np.array(state.lambda_path)
            self.lambda_mean_ = self._trainer.distribution.mean(self._parameters[1])

    def _fingerprint(self, X: np.ndarray, codes: np.ndarray) -> str:
        settings = self.get_params(deep=False)
        kept = {k: v for k, v in settings.items() if k not in NOT_IN_FINGERPRINT}
        return digest([type(self), kept, X, codes])
