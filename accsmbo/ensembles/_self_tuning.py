# SPDX-License-Identifier: BSD-3-Clause
"""Self-tuning network: one network that learns its hyperparameters in one run."""

from typing import Any

from accsmbo.ensembles._training._architectures import LayerOptions
from accsmbo.ensembles._training._hyperparameters import Hyperparameters
from accsmbo.ensembles._tuned import BaseTunedEnsemble


class SelfTuningClassifier(BaseTunedEnsemble):
    """One network that learns its hyperparameters while it trains.

    Its kernels are W + Delta o e(lambda)^T, equation (3) of [1]_, with an embedding e
    of the hyperparameters lambda. Training steps move the weights for hyperparameters
    drawn from a distribution; tuning steps move the distribution to lower the cross
    entropy on held-out data, less its entropy. Predictions use the mean of the
    distribution.

    A dense layer with r inputs and s outputs has 2 r s + 2 s parameters, and its
    embedding of m hyperparameters with h units h (m + 1) + 2 s (h + 1).

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default=(200, 200)
        Units of the hidden layers of the multi-layer perceptron.
    architecture : {"mlp", "lenet"}, default="mlp"
        Network of appendix C.1: a perceptron with ReLU, or two convolutions with
        pooling and two dense layers, which needs `image_shape`.
    image_shape : tuple of int or None, default=None
        Height and width, and channels if there are several, of the images that the
        rows of `X` hold; for `architecture="lenet"`.
    l2_bounds : tuple of float, default=(1e-3, 1e3)
        Bounds of the L2 strengths; a strength over `n_samples` multiplies a squared
        norm.
    dropout_bounds : tuple of float or None, default=(1e-3, 0.9)
        Bounds of the dropout rate before the last layer; None for no dropout.
    label_smoothing_bounds : tuple of float or None, default=None
        Bounds of the label smoothing; None for none.
    tuning : {"global", "layerwise"}, default="global"
        Tuning setting (i) or (ii) of appendix C.1: one L2 strength for all kernels and
        one for all biases, or both for each layer.
    distribution : {"log_uniform", "sigmoid_normal"}, default="log_uniform"
        Distribution of the hyperparameters: log-uniform with learned bounds, or the
        earlier form (13).
    entropy_weight : float, default=1e-3
        Weight tau of the entropy in (9); larger keeps the ranges wider.
    warmup_epochs : int, default=5
        Epochs before the first tuning step.
    training_steps : int, default=2
        Training steps before each tuning step.
    tuning_learning_rate : float, default=5e-4
        Learning rate of Adam for the distributions.
    embedding_units : int, default=64
        Units of the tanh layer of the embeddings; 0 for linear ones.
    rank : int or None, default=None
        Use the low-rank form (15) of this rank in dense layers.
    loss : {"members", "ensemble"}, default="members"
        Average cross entropy of the members, or that of their average.
    learning_rate_init : float, default=1e-3
        Learning rate of Adam.
    batch_size : int, default=256
        Samples in a step.
    max_iter : int, default=100
        Number of epochs.
    early_stopping : bool, default=False
        Stop when the ensemble's negative log-likelihood on the held-out data no longer
        falls, and keep the best parameters.
    validation_fraction : float, default=0.2
        Part of the data held out, for tuning steps and early stopping.
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
        Names of the tuned hyperparameters.
    loss_curve_ : list of float
        Training loss of each epoch, regulariser included.
    validation_curve_ : list of float
        Validation negative log-likelihood of each epoch with early stopping.
    lambda_path_ : ndarray of shape (n_iter_ + 1, 1, n_hyperparameters, 3)
        Lower end, upper end and mean of each hyperparameter's distribution, at the
        start and after each epoch.
    lambda_mean_ : ndarray of shape (1, n_hyperparameters)
        Hyperparameters used to predict.

    See Also
    --------
    BatchEnsembleClassifier : Members that share their kernels, fixed hyperparameters.
    HyperBatchEnsembleClassifier : Several members with hyperparameters of their own.

    References
    ----------
    .. [1] Wenzel, Snoek, Tran, Jenatton (2020), Hyperparameter Ensembles for Robustness
       and Uncertainty Quantification, section 2.2
       and appendix C.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from accsmbo.ensembles import SelfTuningClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> network = SelfTuningClassifier((20,), max_iter=20, random_state=0).fit(X, y)
    >>> network.hyperparameter_names_
    ['l2_kernel', 'l2_bias', 'dropout']
    """

    def __init__(
        self,
        hidden_layer_sizes: Any = (200, 200),
        *,
        architecture: str = "mlp",
        image_shape: Any = None,
        l2_bounds: Any = (1e-3, 1e3),
        dropout_bounds: Any = (1e-3, 0.9),
        label_smoothing_bounds: Any = None,
        tuning: str = "global",
        distribution: str = "log_uniform",
        entropy_weight: float = 1e-3,
        warmup_epochs: int = 5,
        training_steps: int = 2,
        tuning_learning_rate: float = 5e-4,
        embedding_units: int = 64,
        rank: int | None = None,
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
        self.architecture = architecture
        self.image_shape = image_shape
        self.l2_bounds = l2_bounds
        self.dropout_bounds = dropout_bounds
        self.label_smoothing_bounds = label_smoothing_bounds
        self.tuning = tuning
        self.distribution = distribution
        self.entropy_weight = entropy_weight
        self.warmup_epochs = warmup_epochs
        self.training_steps = training_steps
        self.tuning_learning_rate = tuning_learning_rate
        self.embedding_units = embedding_units
        self.rank = rank
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
            n_hyperparameters=len(hyperparameters.names),
            embedding_units=self.embedding_units,
            rank=self.rank,
        )
