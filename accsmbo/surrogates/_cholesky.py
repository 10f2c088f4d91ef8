# SPDX-License-Identifier: BSD-3-Clause
"""Cholesky factors that survive ill-conditioning and grow by rows.

Notation
--------
R       (n, n)  symmetric positive semi-definite matrix
L       (n, n)  lower triangular, L L' = R + jitter I
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dtrtrs

from accsmbo.surrogates._base import FloatArray

__all__ = [
    "extend_cholesky",
    "inverse_from_cholesky",
    "jittered_cholesky",
    "solve_lower",
]

JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)


def jittered_cholesky(R: FloatArray) -> tuple[FloatArray, float]:
    """Return L and the jitter that it took, relative to the mean diagonal.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where no jitter up to 1e-2 of the mean diagonal makes `R` positive definite.
    """
    for jitter in JITTERS:
        if jitter:
            scale = float(np.mean(np.diagonal(R)))
            R = R + jitter * scale * np.eye(len(R))
        L, info = dpotrf(R, lower=1, clean=1)
        if info == 0:
            return L, jitter
    raise np.linalg.LinAlgError(
        "the covariance matrix of the surrogate must be positive definite, and is "
        f"not after adding {JITTERS[-1]:g} of its mean diagonal; check the points "
        "and the losses for values that are not finite"
    )


def solve_lower(
    L: FloatArray, rhs: FloatArray, *, transposed: bool = False
) -> FloatArray:
    """Return L^-1 rhs or L^-T rhs; LAPACK itself, for its lack of overhead."""
    return np.asarray(dtrtrs(L, rhs, lower=1, trans=int(transposed))[0])


def inverse_from_cholesky(L: FloatArray) -> FloatArray:
    """Return (L L')^-1, both triangles filled in."""
    # LAPACK leaves the other triangle as it was, which is zero
    inverse, _ = dpotri(L, lower=1)
    full = np.ascontiguousarray(inverse + inverse.T)
    full.ravel()[:: len(full) + 1] *= 0.5
    return full


def extend_cholesky(L: FloatArray, cross: FloatArray, corner: FloatArray) -> FloatArray:
    """Return the factor after m rows and columns were added to R.

    With R' = [[R, C'], [C, D]] the new rows are B = C L^-T and the new corner is
    the factor of D - B B'; the old factor stays as it is, so the cost is O(m n^2).

    Parameters
    ----------
    L : ndarray of shape (n, n)
        Factor of the old matrix.
    cross : ndarray of shape (m, n)
        C, covariances of the new with the old points.
    corner : ndarray of shape (m, m)
        D, covariances among the new points, with the noise on its diagonal.

    Returns
    -------
    L : ndarray of shape (n + m, n + m)
    """
    n, m = len(L), len(cross)
    B = solve_lower(L, cross.T).T
    extended = np.zeros((n + m, n + m), order="F")
    extended[:n, :n] = L
    extended[n:, :n] = B
    # jitter is relative to D, not to the tiny Schur complement of a repeated point
    schur = corner - B @ B.T
    floor = 1e-10 * float(np.mean(np.diagonal(corner)))
    schur[np.diag_indices(m)] = np.maximum(np.diagonal(schur), floor)
    extended[n:, n:] = jittered_cholesky(schur)[0]
    return extended
