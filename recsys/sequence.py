"""The sequence encoder: a history is read in order, by causal self-attention.

In: histories, oldest item first. Out: a vector after each item, which is to find the next one. For
catalogues where the last things taken say what comes next; where order says little, the bag of
``bag.py`` is quicker and as good.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ..core import seeded
from .encoder import Asked, HistoryEncoder, as_tensor
from .histories import Histories
from .softmax import Targets


class SequenceEncoder(HistoryEncoder):
    """Causal self-attention over the most recent items.

    Args:
        items: I.
        width: D.
        longest: Most recent items that are read.
        blocks: Layers of attention.
        dropout: Share of units dropped while training.
        seed: Seed of the first weights.

    Source: SASRec (Kang and McAuley, ICDM 2018), with a softmax over items instead of one sampled
    negative (arXiv 2309.07602).
    """

    by_item = ("items",)

    def __init__(
        self,
        items: int,
        width: int,
        *,
        longest: int,
        blocks: int,
        dropout: float,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.longest = longest
        with seeded(seed):
            self.items = nn.Parameter(0.02 * torch.randn(items, width))
            self.places = nn.Parameter(0.02 * torch.randn(longest, width))
            self.dropout = nn.Dropout(dropout)
            self.blocks = nn.ModuleList(_Block(width, dropout) for _ in range(blocks))
            self.last_norm = nn.LayerNorm(width)

    def begin_(self, histories: Histories, counts: NDArray[np.int64]) -> None:
        """Keep the random start: attention learns from it quicker than from singular vectors."""
        del histories, counts

    def ask(
        self, histories: Histories, generator: np.random.Generator, shares: NDArray[np.float64]
    ) -> Asked:
        """Ask after every item of a history for the one that followed."""
        del generator, shares
        recent = histories.recent(self.longest + 1)
        lengths = recent.lengths - 1
        first = np.ones(len(recent.items), dtype=bool)
        last = first.copy()
        last[recent.offsets[1:] - 1] = False
        first[recent.offsets[:-1]] = False
        shown = recent.keep(last)
        states = self._read(shown)
        users = np.repeat(np.arange(len(lengths)), lengths)
        place = np.arange(len(users)) - np.repeat(shown.offsets[:-1], lengths)
        vectors = states[as_tensor(users), as_tensor(place)]
        count = len(users)
        none = torch.zeros(0, dtype=torch.int64)
        targets = Targets(
            owners=torch.arange(count),
            columns=as_tensor(recent.items[first]),
            weights=torch.ones(count),
            hidden_owners=none,
            hidden_columns=none,
        )
        return Asked(vectors, targets)

    def encode(self, histories: Histories) -> Tensor:
        """Encode histories by the state after their last item, [B, D], not normalised."""
        recent = histories.recent(self.longest)
        states = self._read(recent)
        return states[torch.arange(len(recent)), as_tensor(recent.lengths - 1)]

    def item_vectors(self, rows: Tensor | None = None) -> Tensor:
        """Give the item vectors, [N, D], not normalised; histories are made of the same ones."""
        return self.items if rows is None else F.embedding(rows, self.items)

    def _read(self, histories: Histories) -> Tensor:
        """Give the state after each place, [B, L, D]; places behind a history's end are unused."""
        lengths = histories.lengths
        longest = int(lengths.max())
        owners = histories.owners
        place = np.arange(len(owners)) - histories.offsets[:-1][owners]
        laid = torch.zeros(len(lengths), longest, dtype=torch.int64)
        laid[as_tensor(owners), as_tensor(place)] = as_tensor(histories.items)
        states = F.embedding(laid, self.items) * self.items.shape[1] ** 0.5
        states = self.dropout(states + self.places[:longest])
        for block in self.blocks:
            states = block(states)
        out: Tensor = self.last_norm(states)
        return out


class _Block(nn.Module):
    """One layer: attention to earlier places, then a small network, each with a way around it."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.first_norm = nn.LayerNorm(width)
        self.second_norm = nn.LayerNorm(width)
        self.mixed = nn.Linear(width, 3 * width)
        self.joined = nn.Linear(width, width)
        self.body = nn.Sequential(
            nn.Linear(width, width), nn.GELU(), nn.Dropout(dropout), nn.Linear(width, width)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor) -> Tensor:
        """Read [B, L, D] as [B, L, D]."""
        query, key, value = self.mixed(self.first_norm(states)).chunk(3, dim=-1)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        states = states + self.dropout(self.joined(attended))
        out: Tensor = states + self.dropout(self.body(self.second_norm(states)))
        return out
