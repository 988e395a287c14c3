"""The cold tower: where an item would lie, told from its content alone.

In: content of all items, and a tower trained on those that were taken. Out: a linear map from
content to the tower's sphere, so an item nobody took yet can be found by any history today. The map
is a ridge regression on the vectors of warm items, popular ones counting more because their vectors
are better known; how strongly it is held back is chosen on warm items kept out of the fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from ..core import TooFewRows, normalize
from .histories import Histories
from .tower import Tower

_RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0)
_KEPT_OUT = 0.2
_LEAST_ITEMS = 10


@dataclass(frozen=True, eq=False)
class ContentMap:
    """A linear map from content [F] to vectors [D].

    Attributes:
        weights: float32 [F, D].
        ridge: Strength of the regularisation that was chosen.
        agreement: Mean cosine of predicted and learned vectors of the warm items kept out.
    """

    weights: NDArray[np.float32]
    ridge: float
    agreement: float

    @classmethod
    def fit(
        cls,
        content: sparse.csr_matrix,
        vectors: NDArray[np.float32],
        counts: NDArray[np.int64],
        *,
        seed: int = 0,
    ) -> ContentMap:
        """Fit the map on the items that were taken.

        Args:
            content: csr [I, F], rows of length 1.
            vectors: The tower's item vectors, float32 [I, D].
            counts: How many users took each item, [I].
            seed: Seed of the choice of the items kept out.

        Raises:
            TooFewRows: Fewer than ten items were taken.
        """
        warm = np.flatnonzero(counts > 0)
        if len(warm) < _LEAST_ITEMS:
            raise TooFewRows(
                f"content can be learned from {_LEAST_ITEMS} items that were taken or more, found "
                f"{len(warm)}; add events, or leave the item table out"
            )
        shuffled = np.random.default_rng(seed).permutation(warm)
        kept_out, inner = np.split(shuffled, [max(1, int(_KEPT_OUT * len(warm)))])
        agreements = [
            _agreement(content[kept_out] @ weights, vectors[kept_out])
            for weights in _solve(content[inner], vectors[inner], counts[inner], _RIDGES)
        ]
        best = int(np.argmax(agreements))
        (weights,) = _solve(content[warm], vectors[warm], counts[warm], (_RIDGES[best],))
        return cls(weights, _RIDGES[best], agreements[best])

    def place(self, content: sparse.csr_matrix) -> NDArray[np.float32]:
        """Give unit vectors of items by content, float32 [I, D]; zeros where there is none."""
        return _unit(np.asarray(content @ self.weights, dtype=np.float32))


class ColdTower:
    """The content source: all items are placed by content, whether taken or not.

    Args:
        tower: Encodes the histories.
        vectors: Unit vectors of all items by content, float32 [I, D].
    """

    name = "content"

    def __init__(self, tower: Tower, vectors: NDArray[np.float32]) -> None:
        self.tower = tower
        self.vectors = vectors

    def score(self, histories: Histories) -> NDArray[np.float32]:
        """Give the cosine of every history with every item's content, float32 [B, I]."""
        scores: NDArray[np.float32] = self.tower.encode(histories) @ self.vectors.T
        return scores


def _solve(
    content: sparse.csr_matrix,
    vectors: NDArray[np.float32],
    counts: NDArray[np.int64],
    ridges: tuple[float, ...],
) -> list[NDArray[np.float32]]:
    weights = np.log1p(counts).astype(np.float64)
    heavy = sparse.diags(weights) @ content
    gram = np.asarray((content.T @ heavy).todense(), dtype=np.float64)
    right = np.asarray(heavy.T @ vectors, dtype=np.float64)
    scale = weights.mean()
    eye = np.eye(len(gram))
    return [
        np.linalg.solve(gram + ridge * scale * eye, right).astype(np.float32) for ridge in ridges
    ]


def _agreement(predicted: NDArray[np.float32], vectors: NDArray[np.float32]) -> float:
    return float((_unit(np.asarray(predicted)) * vectors).sum(axis=1).mean())


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = normalize(torch.from_numpy(vectors.astype(np.float32))).numpy()
    return unit
