"""Bags: several weighted lists of rows packed into three flat tensors.

A history of items is a bag; so is a single item. Bags are indexed like the first dimension of a
tensor, so code that cuts batches and chunks does not ask which of the two it holds. Nothing is
padded: a bag is as long as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor

from ..errors import ShapeError


class Rows(Protocol):
    """What an encoder accepts: a tensor ``[B, ...]`` or :class:`Bags`, both cut by row."""

    def __len__(self) -> int:
        """Count the rows, B."""

    def __getitem__(self, rows: slice | Tensor, /) -> Self:
        """Cut rows by slice, or pick them by an int64 tensor."""

    def to(self, device: torch.device, /) -> Self:
        """Move to a device."""


@dataclass(frozen=True, eq=False)
class Bags:
    """B weighted bags of indices.

    Attributes:
        indices: int64 [M], all bags behind one another.
        offsets: int64 [B + 1], bag ``b`` is ``indices[offsets[b]:offsets[b + 1]]``.
        weights: float32 [M], any sign, usually positive.

    Raises:
        ShapeError: The three tensors do not describe bags.

    >>> bags = Bags.of([[3, 1], [2]])
    >>> len(bags), bags[torch.tensor([1])].indices.tolist()
    (2, [2])
    """

    indices: Tensor
    offsets: Tensor
    weights: Tensor

    def __post_init__(self) -> None:
        if self.indices.shape != self.weights.shape or self.indices.dim() != 1:
            raise ShapeError(
                f"bags need one weight an index, found {tuple(self.indices.shape)} indices and "
                f"{tuple(self.weights.shape)} weights; pass two flat tensors of one length"
            )
        if self.offsets.dim() != 1 or len(self.offsets) == 0:
            raise ShapeError(
                f"offsets of bags have shape {tuple(self.offsets.shape)}; pass [B + 1], from 0 up"
            )
        steps = self.offsets.diff()
        whole = self.offsets[0] == 0 and self.offsets[-1] == len(self.indices)
        if not whole or bool((steps < 0).any()):
            raise ShapeError(
                f"offsets of bags must climb from 0 to {len(self.indices)}, the number of indices; "
                f"found {int(self.offsets[0])} to {int(self.offsets[-1])}; "
                "pass [B + 1] running totals of the bag lengths"
            )

    @classmethod
    def of(
        cls, lists: Sequence[Sequence[int]], weights: Sequence[Sequence[float]] | None = None
    ) -> Bags:
        """Pack lists of indices; without ``weights`` each index weighs 1."""
        flat = [index for one in lists for index in one]
        lengths = torch.tensor([0, *(len(one) for one in lists)], dtype=torch.int64)
        heavy = [1.0] * len(flat) if weights is None else [w for one in weights for w in one]
        return cls(
            torch.tensor(flat, dtype=torch.int64),
            lengths.cumsum(0),
            torch.tensor(heavy, dtype=torch.float32),
        )

    @classmethod
    def singles(cls, indices: Tensor) -> Bags:
        """Make one bag of weight 1 an index; ``indices`` int64 [B]."""
        return cls(
            indices,
            torch.arange(len(indices) + 1, device=indices.device),
            torch.ones(len(indices), device=indices.device),
        )

    @property
    def lengths(self) -> Tensor:
        """Length of each bag, int64 [B]."""
        return self.offsets.diff()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Bags]:
        return (self[row : row + 1] for row in range(len(self)))

    def __getitem__(self, rows: slice | Tensor) -> Bags:
        if isinstance(rows, slice):
            rows = torch.arange(len(self), device=self.offsets.device)[rows]
        starts, lengths = self.offsets[rows], self.lengths[rows]
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        shift = torch.repeat_interleave(starts - offsets[:-1], lengths)
        taken = torch.arange(len(shift), device=shift.device) + shift
        return Bags(self.indices[taken], offsets, self.weights[taken])

    def to(self, device: torch.device) -> Bags:
        """Move the three tensors to ``device``."""
        return Bags(self.indices.to(device), self.offsets.to(device), self.weights.to(device))
