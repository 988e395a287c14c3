"""Spectrum: the leading directions of who took what, found by a few passes over the events.

In: histories, and how much busy users and popular items count. Out: the singular vectors of the
items and their values. A tower starts from them, and the spectral source is made of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .histories import Histories

_FURTHER = 16  # directions beyond those asked for, for the accuracy of the last ones
_PASSES = 3


def normalised_matrix(
    histories: Histories, *, user_exponent: float = 0.5, item_exponent: float = 0.5
) -> sparse.csr_matrix:
    """Give the matrix of what was taken, float32 csr [B, I], each 1 divided by both degrees.

    Args:
        histories: B of them.
        user_exponent: A history of n items divides by ``n ** user_exponent``.
        item_exponent: An item of n histories divides by ``n ** item_exponent``.
    """
    matrix = histories.matrix
    matrix.data[:] = 1.0
    users = np.maximum(np.diff(matrix.indptr), 1) ** -user_exponent
    counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
    items = np.maximum(counts, 1) ** -item_exponent
    return (sparse.diags(users) @ matrix @ sparse.diags(items)).tocsr().astype(np.float32)


def leading_directions(
    matrix: sparse.csr_matrix, rank: int, *, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Find the leading right singular vectors of a matrix and their values.

    Args:
        matrix: float32 csr [B, I].
        rank: How many; fewer come back where the matrix has fewer.
        seed: Seed of the randomised search.

    Returns:
        Orthonormal directions, float32 [I, R], and their singular values, falling, float32 [R].

    Source: randomised subspace iteration (Halko et al. 2011, algorithm 4.4).
    """
    wide = min(rank + _FURTHER, *matrix.shape)
    basis = np.random.default_rng(seed).standard_normal((matrix.shape[1], wide), dtype=np.float32)
    turned = matrix.T.tocsr()
    for _ in range(_PASSES):
        basis = _orthonormal(turned @ (matrix @ basis))
    squares, right = _symmetric(matrix @ basis)
    kept = min(rank, len(squares))
    directions = basis @ right[:, :kept]
    # The sign of a singular vector is arbitrary: settle it, so that equal data look alike.
    directions *= np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(kept)])
    return directions, np.sqrt(np.maximum(squares[:kept], 0.0)).astype(np.float32)


def _orthonormal(columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Make columns orthonormal by their Gram matrix: much quicker than QR when they are long."""
    values, vectors = _symmetric(columns)
    kept = values > 1e-7 * values[0]
    scaled = vectors[:, kept] / np.sqrt(values[kept])
    turned: NDArray[np.float32] = columns @ scaled.astype(np.float32)
    return turned


def _symmetric(columns: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Eigenvalues, largest first, and eigenvectors of the Gram matrix of some columns."""
    values, vectors = np.linalg.eigh((columns.T @ columns).astype(np.float64))
    return values[::-1], vectors[:, ::-1].astype(np.float32)
