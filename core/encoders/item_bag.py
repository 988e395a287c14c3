"""Bags: a weighted set of items as one vector.

In comes a :class:`~likewise.core.Bags` of item numbers, out goes float32 ``[B, D]``. Items and the
histories that hold them share one table of vectors, so they meet on one sphere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import ShapeError, TooFewRows
from ..seeds import seeded
from .bags import Bags
from .encoding import Encoder, EncoderConfig


@dataclass(frozen=True, kw_only=True)
class ItemBagEncoderConfig(EncoderConfig):
    """Settings of :class:`ItemBagEncoder`."""

    kind: str = field(default="item-bag", init=False)
    items: int
    width: int
    content: int
    spread: float


class ItemBagEncoder(Encoder):
    """Encode a weighted bag of items as the weighted mean of their vectors.

    An item is a bag of one, so histories and items can share this module. Content columns, where
    given, pass through one linear map and are added: an item never seen in training still has
    what its content says.

    Args:
        items: I, number of items.
        width: D, length of an output vector.
        content: float32 [I, F] content of each item, saved with the weights; None for none.
        spread: Standard deviation of the first item vectors.
        seed: Seed of the first weights.
    """

    config_type = ItemBagEncoderConfig
    config: ItemBagEncoderConfig

    def __init__(
        self,
        items: int,
        width: int,
        *,
        content: Tensor | None = None,
        spread: float = 0.1,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.require_positive(items=items, width=width)
        if content is not None and (content.dim() != 2 or len(content) != items):
            raise ShapeError(
                f"content of {items} items must be [{items}, F], found {list(content.shape)}; "
                "give one row of content an item, in the order of the item numbers"
            )
        columns = 0 if content is None else content.shape[1]
        self.config = ItemBagEncoderConfig(
            items=items, width=width, content=columns, spread=spread, seed=seed
        )
        self.width = width
        with seeded(seed):
            self.vectors = nn.Parameter(spread * torch.randn(items, width))
            self.project = nn.Linear(columns, width, bias=False) if columns else None
        self.register_buffer("content", content)

    def forward(self, bags: Bags) -> Tensor:
        """Encode B bags as [B, D].

        Raises:
            TooFewRows: A bag is empty or its weights add up to zero, so it has no mean.
        """
        starts = bags.offsets[:-1]
        total = torch.zeros(len(bags), device=starts.device)
        owner = torch.repeat_interleave(torch.arange(len(bags), device=starts.device), bags.lengths)
        total.index_add_(0, owner, bags.weights)
        if bool((total == 0).any()):
            empty = torch.nonzero(total == 0).flatten().tolist()
            raise TooFewRows(
                f"{len(empty)} of {len(bags)} bags hold no weight (rows {empty[:8]}), so they have "
                "no mean; leave them out or answer them without an encoder"
            )
        share = bags.weights / total[owner]
        pooled = F.embedding_bag(
            bags.indices, self.vectors, starts, mode="sum", per_sample_weights=share
        )
        if self.project is None:
            return pooled
        content = self.get_buffer("content")
        described = F.embedding_bag(
            bags.indices, content, starts, mode="sum", per_sample_weights=share
        )
        out: Tensor = pooled + self.project(described)
        return out
