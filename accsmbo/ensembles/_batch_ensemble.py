# SPDX-License-Identifier: BSD-3-Clause
"""Batch ensemble: K networks that share their kernels up to rank-one factors."""

from numbers import Real
from typing import Any

from accsmbo._sklearn_private import Interval
from accsmbo.ensembles._factors import FACTOR_CONSTRAINTS, factor_initializer
from accsmbo.ensembles._neural import BaseNeuralEnsemble
from accsmbo.ensembles._training._architectures import LayerOptions
from accsmbo.ensembles._training._hyperparameters import Hyperparameters
from accsmbo.ensembles._training._trainer import TrainingSettings


class BatchEnsembleClassifier(BaseNeuralEnsemble):
    """Classifier that averages K networks with shared kernels.

    Member k has the kernels W o (r_k s_k^T), equation (2) of [1]_, and its own biases.
    All members are trained at once with Adam on the same batches; the loss is the
    average of their cross entropies plus the L2 regulariser (12) divided by the number
    of training samples.

    A dense layer with r inputs and s outputs has r s + K (r + s) + K s parameters.

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(200, 200)
        Units of the hidden layers of the multi-layer perceptron.
    n_members : int, default=3
        Number of members K.
    architecture : {"mlp", "lenet"}, default="mlp"
        Network of appendix C.1: a perceptron with ReLU, or two convolutions with
        pooling and two dense layers, which needs `image_shape`.
    image_shape : tuple of int or None, default=None
        Height and width, and channels if there are several, of the images that the
        rows of `X` hold; for `architecture="lenet"`.
    alpha : float, default=1.0
        L2 strength of the kernels; `alpha / n_samples` multiplies their squared norm.
    alpha_bias : float or None, default=None
        L2 strength of the biases; None is the same as `alpha`.
    dropout : float, default=0.0
        Dropout rate before the last layer.
    label_smoothing : float, default=0.0
        Weight of the uniform distribution in the targets.
    factor_init : {"signs", "gaussian"} or None, default="signs"
        Starting values of the rank-one factors; None leaves them out (one member).
    factor_scale : float or None, default=None
        Probability of +1 ("signs", 0.75 by default) or standard deviation around one
        ("gaussian", 0.5 by default).
    factor_learning_rate : float, default=1.0
        Factor of the learning rate for the rank-one factors.
    regularize_factors : bool, default=True
        Whether the regulariser sees W o (r_k s_k^T) or only W.
    loss : {"members", "ensemble"}, default="members"
        Average cross entropy of the members, or that of their average.
    learning_rate_init : float, default=1e-3
        Learning rate of Adam.
    batch_size : int, default=256
        Samples in a step.
    max_iter : int, default=100
        Number of epochs.
    early_stopping : bool, default=False
        Hold out data, stop when the ensemble's negative log-likelihood on it no longer
        falls, and keep the best parameters.
    validation_fraction : float, default=0.2
        Part of the data held out, where `early_stopping` is True.
    n_iter_no_change : int, default=10
        Epochs without improvement before stopping.
    tol : float, default=1e-4
        Improvement that counts.
    warm_start : bool, default=False
        Whether `fit` continues where the last one ended, for `max_iter` more epochs.
    checkpoint : path-like or None, default=None
        File written after each epoch. If it exists, `fit` resumes from it, bit for bit;
        the settings other than `max_iter` and the data must be those of that run.
    verbose : int, default=0
        Show a progress bar.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the training; predictions are computed in double precision.
    random_state : int, RandomState instance or None, default=None
        Source of starting values, batches and masks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where `X` has them.
    n_iter_ : int
        Epochs trained.
    n_parameters_ : int
        Number of trained parameters.
    hyperparameter_names_ : list of str
        Names of the tuned hyperparameters: none.
    loss_curve_ : list of float
        Training loss of each epoch, regulariser included.
    validation_curve_ : list of float
        Validation negative log-likelihood of each epoch with early stopping.

    See Also
    --------
    HyperBatchEnsembleClassifier : Members that also tune their hyperparameters.
    SelfTuningClassifier : One network that tunes its hyperparameters.

    References
    ----------
    .. [1] Wenzel, Snoek, Tran, Jenatton (2020), Hyperparameter Ensembles for Robustness
       and Uncertainty Quantification, section 2.1 and appendix C.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from accsmbo.ensembles import BatchEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ensemble = BatchEnsembleClassifier((20,), max_iter=20, random_state=0)
    >>> ensemble.fit(X, y).predict_proba_members(X).shape
    (3, 150, 3)
    """

    _parameter_constraints: dict = {
        **BaseNeuralEnsemble._parameter_constraints,
        **FACTOR_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "alpha_bias": [Interval(Real, 0, None, closed="left"), None],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "label_smoothing": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        hidden_layer_sizes: Any = (200, 200),
        *,
        n_members: int = 3,
        architecture: str = "mlp",
        image_shape: Any = None,
        alpha: float = 1.0,
        alpha_bias: float | None = None,
        dropout: float = 0.0,
        label_smoothing: float = 0.0,
        factor_init: str | None = "signs",
        factor_scale: float | None = None,
        factor_learning_rate: float = 1.0,
        regularize_factors: bool = True,
        loss: str = "members",
        learning_rate_init: float = 1e-3,
        batch_size: int = 256,
        max_iter: int = 100,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        n_iter_no_change: int = 10,
        tol: float = 1e-4,
        warm_start: bool = False,
        checkpoint: Any = None,
        verbose: int = 0,
        dtype: str = "float32",
        random_state: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.n_members = n_members
        self.architecture = architecture
        self.image_shape = image_shape
        self.alpha = alpha
        self.alpha_bias = alpha_bias
        self.dropout = dropout
        self.label_smoothing = label_smoothing
        self.factor_init = factor_init
        self.factor_scale = factor_scale
        self.factor_learning_rate = factor_learning_rate
        self.regularize_factors = regularize_factors
        self.loss = loss
        self.learning_rate_init = learning_rate_init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.dtype = dtype
        self.random_state = random_state

    def _options(self, hyperparameters: Hyperparameters) -> LayerOptions:
        return LayerOptions(
            n_members=self.n_members,
            factors=factor_initializer(
                self.factor_init, self.factor_scale, self.n_members
            ),
            regularize_factors=self.regularize_factors,
        )

    def _hyperparameters(self, n_layers: int) -> Hyperparameters:
        bias = self.alpha if self.alpha_bias is None else self.alpha_bias
        return Hyperparameters(
            strengths=[(float(self.alpha), float(bias))] * n_layers,
            dropout=float(self.dropout),
            label_smoothing=float(self.label_smoothing),
        )

    def _settings(self) -> TrainingSettings:
        return TrainingSettings(
            batch_size=self.batch_size,
            learning_rate=self.learning_rate_init,
            factor_learning_rate=self.factor_learning_rate,
            loss=self.loss,
        )
