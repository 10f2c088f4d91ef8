# SPDX-License-Identifier: BSD-3-Clause
"""Hyper-batch ensemble: shared kernels, hyperparameters of each member's own."""

from typing import Any

from accsmbo.ensembles._factors import FACTOR_CONSTRAINTS, factor_initializer
from accsmbo.ensembles._training._architectures import LayerOptions
from accsmbo.ensembles._training._hyperparameters import Hyperparameters
from accsmbo.ensembles._tuned import BaseTunedEnsemble


class HyperBatchEnsembleClassifier(BaseTunedEnsemble):
    """Classifier that averages K networks over different hyperparameters.

    Member k has the kernels W o (r_k s_k^T) + [Delta o (u_k v_k^T)] o e(lambda_k)^T,
    equation (7) of [1]_, and its own distribution of the hyperparameters lambda_k.
    Training steps (8) move the weights for hyperparameters drawn from those
    distributions; tuning steps (9) move the distributions to lower the cross entropy
    on held-out data, less their entropy. Predictions use the means.

    A dense layer with r inputs and s outputs has 2 r s + K (2 r + 2 s) + 2 K s
    parameters, and its embedding of m hyperparameters with h units
    h (m + 1) + 2 s (h + 1).

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
    factor_init : {"signs", "gaussian"} or None, default="signs"
        Starting values of the rank-one factors; None leaves them out (one member).
    factor_scale : float or None, default=None
        Probability of +1 ("signs", 0.75 by default) or standard deviation around one
        ("gaussian", 0.5 by default).
    factor_learning_rate : float, default=1.0
        Factor of the learning rate for the rank-one factors.
    regularize_factors : bool, default=True
        Whether the regulariser sees W_k(lambda) or only W + Delta o e(lambda)^T.
    tie_factors : bool, default=False
        Use r_k and s_k also as u_k and v_k (appendix D.1).
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
    lambda_path_ : ndarray of shape (n_iter_ + 1, n_members, n_hyperparameters, 3)
        Lower end, upper end and mean of each hyperparameter's distribution, at the
        start and after each epoch.
    lambda_mean_ : ndarray of shape (n_members, n_hyperparameters)
        Hyperparameters used to predict.

    See Also
    --------
    BatchEnsembleClassifier : Members that share their kernels, fixed hyperparameters.
    SelfTuningClassifier : The same with one member.

    References
    ----------
    .. [1] Wenzel, Snoek, Tran, Jenatton (2020), Hyperparameter Ensembles for Robustness
       and Uncertainty Quantification, section 4
       and appendices B and C.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from accsmbo.ensembles import HyperBatchEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ensemble = HyperBatchEnsembleClassifier((20,), max_iter=20, random_state=0)
    >>> ensemble.fit(X, y).lambda_mean_.shape
    (3, 3)
    """

    _parameter_constraints: dict = {
        **BaseTunedEnsemble._parameter_constraints,
        **FACTOR_CONSTRAINTS,
        "tie_factors": ["boolean"],
    }

    def __init__(
        self,
        hidden_layer_sizes: Any = (200, 200),
        *,
        n_members: int = 3,
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
        factor_init: str | None = "signs",
        factor_scale: float | None = None,
        factor_learning_rate: float = 1.0,
        regularize_factors: bool = True,
        tie_factors: bool = False,
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
        self.factor_init = factor_init
        self.factor_scale = factor_scale
        self.factor_learning_rate = factor_learning_rate
        self.regularize_factors = regularize_factors
        self.tie_factors = tie_factors
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
            tie_factors=self.tie_factors,
            regularize_factors=self.regularize_factors,
            n_hyperparameters=len(hyperparameters.names),
            embedding_units=self.embedding_units,
            rank=self.rank,
        )
