# SPDX-License-Identifier: BSD-3-Clause
"""Convolutional layers in the four forms of `_dense`, as products over patches."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from accsmbo.ensembles._layers._dense import Block, DenseLayer
from accsmbo.ensembles._layers._patches import (
    PADDINGS,
    extract_patches,
    output_size,
    scatter_patches,
)

BLOCK_BYTES = 1 << 21  # of patches at a time


class ConvolutionLayer(DenseLayer):
    """Two-dimensional convolution with stride 1, equations (10) and (11).

    Images are channels last; the kernel parameter has shape (l l, r, s) with r and s
    the numbers of input and output channels.

    Parameters
    ----------
    n_inputs, n_outputs : int
        Number of input and output channels.
    kernel_size : int
        Height and width l of the kernel.
    padding : {"same", "valid"}, default="same"
        Whether the image is padded with zeros to keep its size.
    **options : dict
        `n_members`, `factors`, `tuned`, `tie_factors`, `regularize_factors` as in
        `DenseLayer`.
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        *,
        kernel_size: int,
        padding: str = "same",
        **options: Any,
    ) -> None:
        super().__init__(n_inputs, n_outputs, **options)
        if padding not in PADDINGS:
            raise ValueError(
                f"padding must be one of {PADDINGS}, got {padding!r}. "
                "Use 'same' to keep the image size."
            )
        self.kernel_size = kernel_size
        self.padding = padding
        self.taps = kernel_size * kernel_size

    def _blocks(self, X: np.ndarray) -> Iterator[Block]:
        """Cut the work into blocks whose patches stay in the cache."""
        height, width = self._image(X.shape)
        n_bytes = height * width * self.taps * self.n_inputs * X.itemsize
        size = max(1, BLOCK_BYTES // n_bytes)
        for start in range(0, X.shape[1], size):
            examples = slice(start, start + size)
            for k in range(self.n_members):
                if k < len(X):
                    images = X[k, examples]
                    patches = extract_patches(images, self.kernel_size, self.padding)
                    A = patches.reshape(-1, self.taps * self.n_inputs)
                yield Block(k, examples, A)

    def _inputs(self, dA: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        patches = dA.reshape(shape[0], *self._image(shape), -1)
        return scatter_patches(patches, shape, self.kernel_size, self.padding)

    def _output_shape(self, X: np.ndarray) -> tuple[int, ...]:
        return (*self._image(X.shape), self.n_outputs)

    def _image(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        size, padding = self.kernel_size, self.padding
        return tuple(output_size(length, size, padding) for length in shape[-3:-1])
