# SPDX-License-Identifier: BSD-3-Clause
"""The networks of appendix C.1: multi-layer perceptron and LeNet."""

from dataclasses import dataclass
from itertools import pairwise

from accsmbo.ensembles._layers._convolutional import ConvolutionLayer
from accsmbo.ensembles._layers._dense import DenseLayer
from accsmbo.ensembles._layers._embedding import Embedding
from accsmbo.ensembles._layers._initializers import FactorInitializer
from accsmbo.ensembles._layers._low_rank import LowRankDenseLayer
from accsmbo.ensembles._layers._network import Network
from accsmbo.ensembles._layers._stages import (
    DropoutStage,
    FlattenStage,
    LinearStage,
    MaxPoolStage,
    ReLUStage,
    Stage,
)

LENET_CHANNELS = (32, 64)
LENET_UNITS = 512
LENET_KERNEL = 5  # the paper gives no size; 5 x 5 is that of the original LeNet


@dataclass(frozen=True)
class LayerOptions:
    """What all linear layers of a network have in common.

    Attributes
    ----------
    n_members : int
        Number of members.
    factors : FactorInitializer or None
        Starting values of the rank-one factors, if there are any.
    tie_factors, regularize_factors : bool
        See `DenseLayer`.
    n_hyperparameters : int
        Number of hyperparameters in the embeddings; 0 for none.
    embedding_units : int
        Hidden units of the embeddings.
    rank : int or None
        Rank of the form (15) for dense layers; None for the full Delta.
    """

    n_members: int = 1
    factors: FactorInitializer | None = None
    tie_factors: bool = False
    regularize_factors: bool = True
    n_hyperparameters: int = 0
    embedding_units: int = 64
    rank: int | None = None

    def dense(self, n_inputs: int, n_outputs: int, index: int) -> LinearStage:
        """Return a dense layer with its embedding."""
        if self.n_hyperparameters and self.rank is not None:
            low_rank = LowRankDenseLayer(
                n_inputs,
                n_outputs,
                rank=self.rank,
                n_members=self.n_members,
                factors=self.factors,
                regularize_factors=self.regularize_factors,
            )
            return self._with_embedding(low_rank, index)
        layer = DenseLayer(n_inputs, n_outputs, **self._options())
        return self._with_embedding(layer, index)

    def convolution(self, n_inputs: int, n_outputs: int, index: int) -> LinearStage:
        """Return a convolutional layer with its embedding."""
        layer = ConvolutionLayer(
            n_inputs, n_outputs, kernel_size=LENET_KERNEL, **self._options()
        )
        return self._with_embedding(layer, index)

    def _options(self) -> dict:
        return {
            "n_members": self.n_members,
            "factors": self.factors,
            "tuned": self.n_hyperparameters > 0,
            "tie_factors": self.tie_factors,
            "regularize_factors": self.regularize_factors,
        }

    def _with_embedding(self, layer: DenseLayer, index: int) -> LinearStage:
        if not self.n_hyperparameters:
            return LinearStage(layer, None, index)
        embedding = Embedding(
            self.n_hyperparameters, layer.embedding_widths, units=self.embedding_units
        )
        return LinearStage(layer, embedding, index)


def multi_layer_perceptron(
    n_features: int,
    hidden_layer_sizes: tuple[int, ...],
    n_classes: int,
    options: LayerOptions,
) -> Network:
    """Return dense layers with ReLU between them and dropout before the last.

    Parameters
    ----------
    n_features : int
        Number of inputs.
    hidden_layer_sizes : tuple of int
        Units of the hidden layers.
    n_classes : int
        Number of outputs.
    options : LayerOptions
        Form of the layers.

    Returns
    -------
    Network
        The network.
    """
    stages: list[Stage] = []
    sizes = (n_features, *hidden_layer_sizes)
    for i, (n_inputs, n_outputs) in enumerate(pairwise(sizes)):
        stages += [options.dense(n_inputs, n_outputs, i), ReLUStage()]
    stages += [DropoutStage(), options.dense(sizes[-1], n_classes, len(sizes) - 1)]
    return Network(stages, options.n_members)


def lenet(
    image_shape: tuple[int, int, int], n_classes: int, options: LayerOptions
) -> Network:
    """Return two convolutions with pooling and two dense layers (appendix C.1).

    Parameters
    ----------
    image_shape : tuple of int
        Height, width and channels of the images.
    n_classes : int
        Number of outputs.
    options : LayerOptions
        Form of the layers.

    Returns
    -------
    Network
        The network.
    """
    height, width, channels = image_shape
    stages: list[Stage] = []
    for i, n_outputs in enumerate(LENET_CHANNELS):
        convolution = options.convolution(channels, n_outputs, i)
        # Pooling first gives the same outputs and a quarter of the work to ReLU.
        stages += [convolution, MaxPoolStage(), ReLUStage()]
        height, width, channels = height // 2, width // 2, n_outputs
    flat = height * width * channels
    stages += [FlattenStage(), options.dense(flat, LENET_UNITS, 2), ReLUStage()]
    stages += [DropoutStage(), options.dense(LENET_UNITS, n_classes, 3)]
    return Network(stages, options.n_members)
