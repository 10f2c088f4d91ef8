# SPDX-License-Identifier: BSD-3-Clause
"""Patches of images and their adjoint: a convolution as a matrix product.

Notation
--------
X    images, (..., h, w, c), channels last
l    kernel size; the kernel covers l x l pixels
P    patches, (..., h', w', l l c), ordered like a kernel of shape (l, l, c)
"""

import numpy as np
from numpy.lib.stride_tricks import as_strided

PADDINGS = ("same", "valid")


def output_size(size: int, kernel_size: int, padding: str) -> int:
    """Return the height or width of the result of a convolution with stride 1."""
    return size if padding == "same" else size - kernel_size + 1


def _margins(kernel_size: int, padding: str) -> tuple[int, int]:
    total = kernel_size - 1 if padding == "same" else 0
    return total // 2, total - total // 2


def extract_patches(X: np.ndarray, kernel_size: int, padding: str) -> np.ndarray:
    """Return the patch under the kernel at each position of the output.

    Parameters
    ----------
    X : ndarray of shape (..., h, w, c)
        Images.
    kernel_size : int
        Height and width of the kernel.
    padding : {"same", "valid"}
        "same" pads with zeros so that the output has the size of the input.

    Returns
    -------
    ndarray of shape (..., h', w', kernel_size * kernel_size * c)
        Contiguous patches.
    """
    margins = _margins(kernel_size, padding)
    padded = np.pad(X, [(0, 0)] * (X.ndim - 3) + [margins, margins, (0, 0)])
    *outer, height, width, channels = X.shape
    rows = output_size(height, kernel_size, padding)
    columns = output_size(width, kernel_size, padding)
    # A row of the kernel covers kernel_size * channels neighbours in memory.
    runs = (kernel_size, kernel_size * channels)
    down, right, step = padded.strides[-3:]
    view = as_strided(
        padded,
        (*outer, rows, columns, *runs),
        (*padded.strides[:-3], down, right, down, step),
        writeable=False,
    )
    return view.reshape(*outer, rows, columns, -1)


def scatter_patches(
    P: np.ndarray, shape: tuple[int, ...], kernel_size: int, padding: str
) -> np.ndarray:
    """Apply the adjoint of `extract_patches`: add each patch where it came from.

    Parameters
    ----------
    P : ndarray of shape (..., h', w', kernel_size * kernel_size * c)
        Gradient by the patches.
    shape : tuple of int
        Shape of the images, (..., h, w, c).
    kernel_size : int
        Height and width of the kernel.
    padding : {"same", "valid"}
        As in `extract_patches`.

    Returns
    -------
    ndarray of shape (..., h, w, c)
        Gradient by the images.
    """
    before, after = _margins(kernel_size, padding)
    height, width, channels = shape[-3:]
    margin = before + after
    padded = np.zeros(
        (*P.shape[:-3], height + margin, width + margin, channels), P.dtype
    )
    taps = P.reshape(*P.shape[:-1], kernel_size, kernel_size, channels)
    rows, columns = P.shape[-3:-1]
    for i in range(kernel_size):
        for j in range(kernel_size):
            padded[..., i : i + rows, j : j + columns, :] += taps[..., i, j, :]
    return padded[..., before : before + height, before : before + width, :]
