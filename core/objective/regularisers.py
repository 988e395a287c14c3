"""Penalties and a transform that hold an embedding open when negatives alone do not.

In: unnormalised embeddings [B, D]. Out: a scalar penalty on the graph, or whitened embeddings.
Off by default; the objective adds them by weight (see ``ObjectiveConfig``).
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import TooFewRows


def variance_penalty(x: Tensor, *, target: float = 1.0) -> Tensor:
    """How far each dimension's deviation falls short of a target.

    Args:
        x: Embeddings, [B, D].
        target: Deviation asked of every dimension.

    Returns:
        Mean shortfall, a scalar in [0, target] (VICReg, arXiv 2105.04906, eq. 1).
    """
    deviation = (x.var(dim=0) + 1e-4).sqrt()
    return torch.relu(target - deviation).mean()


def covariance_penalty(x: Tensor) -> Tensor:
    """How much the dimensions repeat each other.

    Args:
        x: Embeddings, [B, D].

    Returns:
        Sum of squared off-diagonal covariances over D (VICReg, eq. 3-4).
    """
    centred = x - x.mean(dim=0)
    covariance = centred.T @ centred / (len(x) - 1)
    off_diagonal = covariance.square().sum() - covariance.diagonal().square().sum()
    return off_diagonal / x.shape[1]


def whiten(x: Tensor) -> Tensor:
    """Rotate and scale a batch so that its covariance is the identity.

    Args:
        x: Embeddings, [B, D] with B > D, or the covariance has no inverse.

    Returns:
        Whitened embeddings, [B, D] (Cholesky whitening; W-MSE, arXiv 2007.06346).

    Raises:
        TooFewRows: B is not larger than D.
    """
    rows, width = x.shape
    if rows <= width:
        raise TooFewRows(
            f"whitening a width of {width} needs more than {width} rows, found {rows}; use a "
            "larger batch or a narrower embedding"
        )
    centred = x - x.mean(dim=0)
    covariance = centred.T @ centred / (rows - 1)
    shrunk = covariance + 1e-5 * torch.eye(width, dtype=x.dtype, device=x.device)
    lower = torch.linalg.cholesky(shrunk)
    whitened: Tensor = torch.linalg.solve_triangular(lower, centred.T, upper=False)
    return whitened.T
