"""How candidates are laid side by side for one pass.

In: blocks of the batch, given negatives, and their sampling corrections. Out: the
:class:`~.tiling.Columns` of a pass. A new candidate layout is a new list of parts in
``ContrastiveObjective``; this file only joins parts, biases and padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .tiling import Columns


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates gathered from all ranks; this rank's rows stand at ``offset``.

    Attributes:
        anchors, positives: Embeddings of every rank, [G, D].
        offset: Where this rank's batch starts.
        padding: Rows that only fill up a short batch, bool [G] or None.
    """

    anchors: Tensor
    positives: Tensor
    offset: int
    padding: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """How the column parts of one pass are laid side by side."""

    blocks: int
    offset: int
    batch: int
    bias: Tensor | None
    given_bias: Tensor | None
    padding: Tensor | None

    def columns(self, parts: Sequence[Tensor]) -> Columns:
        """Join the parts, with one bias and one padding flag a column."""
        vectors = parts[0] if len(parts) == 1 else torch.cat(list(parts))
        given = len(vectors) - self.blocks * self.batch
        return Columns(
            vectors=vectors,
            batch=self.batch,
            blocks=self.blocks,
            offset=self.offset,
            bias=self._spread(vectors, given),
            padding=None
            if self.padding is None
            else torch.cat(
                [self.padding.repeat(self.blocks), self.padding.new_zeros(given, dtype=torch.bool)]
            ),
        )

    def positive_bias(self, rows: int) -> Tensor | None:
        """The correction of each row's own positive."""
        return None if self.bias is None else self.bias[self.offset : self.offset + rows]

    def _spread(self, vectors: Tensor, given: int) -> Tensor | None:
        if self.bias is None and self.given_bias is None:
            return None
        bias = vectors.new_zeros(len(vectors))
        if self.bias is not None and self.blocks:
            bias[: self.batch] = self.bias
        if self.given_bias is not None and given:
            bias[-given:] = self.given_bias
        return bias
