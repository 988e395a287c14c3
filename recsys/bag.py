"""The bag encoder: a history is the weighted mean of the vectors of its items.

In: histories as sets. Out: their vectors, and a vector an item to meet them. Each item has two
vectors, one for what it says in a history and one for being found, and a weight in histories that
starts low for popular items. Both start from the singular vectors of the normalised matrix, so a
few epochs are enough.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ..core import normalize, seeded
from .encoder import Asked, HistoryEncoder, as_tensor
from .histories import Histories
from .softmax import Targets
from .spectrum import leading_directions, normalised_matrix

_POPULAR_DISCOUNT = 0.5


class BagEncoder(HistoryEncoder):
    """Weighted mean of item vectors.

    Args:
        items: I.
        width: D.
        seed: Seed of the first weights.
    """

    by_item = ("said", "found", "log_weight")

    def __init__(self, items: int, width: int, *, seed: int = 0) -> None:
        super().__init__()
        self.seed = seed
        with seeded(seed):
            first = torch.randn(items, width) / width**0.5
        self.said = nn.Parameter(first.clone())
        self.found = nn.Parameter(first.clone())
        self.log_weight = nn.Parameter(torch.zeros(items))

    def begin_(self, histories: Histories, counts: NDArray[np.int64]) -> None:
        """Start from the singular vectors of the degree-normalised matrix."""
        width = self.found.shape[1]
        found, values = leading_directions(normalised_matrix(histories), width, seed=self.seed)
        known = torch.from_numpy(counts > 0)
        with torch.no_grad():
            vectors = normalize(torch.from_numpy(found * np.sqrt(values)))
            for kept in (self.said, self.found):
                kept[:, : vectors.shape[1]][known] = vectors[known]
                kept[:, vectors.shape[1] :] *= 0.1
            usual = torch.from_numpy(np.log(np.maximum(counts, 1))).float()
            self.log_weight.copy_(-_POPULAR_DISCOUNT * usual)

    @torch.no_grad()
    def finish_(self, histories: Histories, smoothing: float) -> None:
        """Let each item take on some of the vectors of the items it was taken with.

        Source: one layer of LightGCN (arXiv 2002.02126, eq. 7) after the training.
        """
        if smoothing == 0:
            return
        plain = normalised_matrix(histories)
        for kept in (self.said, self.found):
            unit = normalize(kept).numpy()
            near = plain.T @ (plain @ unit)
            kept.copy_(torch.from_numpy(unit + np.float32(smoothing) * near))

    def ask(
        self, histories: Histories, generator: np.random.Generator, shares: NDArray[np.float64]
    ) -> Asked:
        """Show a random share of each history, at least one item, and ask for the others."""
        owners, lengths = histories.owners, histories.lengths
        order = np.lexsort((generator.random(len(owners)), owners))
        place = np.arange(len(owners)) - histories.offsets[:-1][owners]
        shown = place < np.maximum(1, np.floor(shares * lengths))[owners]
        items = histories.items[order]
        half = np.bincount(owners[shown], minlength=len(histories))
        offsets = np.concatenate([[0], np.cumsum(half)])[:-1]
        asked = ~shown
        targets = Targets(
            owners=as_tensor(owners[asked]),
            columns=as_tensor(items[asked]),
            weights=torch.from_numpy((1.0 / (lengths - half)[owners[asked]]).astype(np.float32)),
            hidden_owners=as_tensor(owners[shown]),
            hidden_columns=as_tensor(items[shown]),
        )
        return Asked(self._pool(as_tensor(items[shown]), as_tensor(offsets)), targets)

    def encode(self, histories: Histories) -> Tensor:
        """Encode whole histories as [B, D], not normalised."""
        weights = torch.from_numpy(histories.weights)
        return self._pool(as_tensor(histories.items), as_tensor(histories.offsets[:-1]), weights)

    def item_vectors(self, rows: Tensor | None = None) -> Tensor:
        """Give the vectors that are found, [N, D], not normalised."""
        return self.found if rows is None else F.embedding(rows, self.found)

    def _pool(self, items: Tensor, offsets: Tensor, weights: Tensor | None = None) -> Tensor:
        heavy = self.log_weight[items].exp()
        heavy = heavy if weights is None else heavy * weights
        return F.embedding_bag(items, self.said, offsets, mode="sum", per_sample_weights=heavy)
