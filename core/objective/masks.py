"""Who must not be told apart: masks over the candidates of a batch.

In: what is known about the rows of a batch (ids, groups, pairs). Out: for a slice of rows, a
boolean tile over the batch, True where the column is *not* a negative of the row. Tiles are made
as the objective asks for them, so no B x B matrix ever exists.

A mask is read both ways: if row i must not be told apart from row j, the reverse holds too. With
a pool of several ranks, the batch is the pool.
To add a rule, subclass :class:`CandidateMask` and answer ``tile`` (and ``extra_tile`` when the
rule can also speak about given negatives).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from ..errors import ShapeError


class CandidateMask(ABC):
    """A rule that takes columns out of the negatives of a row."""

    @abstractmethod
    def tile(self, rows: slice, device: torch.device) -> Tensor:
        """Columns of the batch that are no negatives of these rows, bool [T, B]."""

    def extra_tile(self, rows: slice, device: torch.device) -> Tensor | None:
        """The same over the given negatives, bool [T, M]; None when the rule is silent."""
        del rows, device
        return None


class SameId(CandidateMask):
    """Rows that carry the same id are never negatives of each other.

    Args:
        ids: Integer id of each row of the batch, [B].
        negative_ids: Integer id of each given or queued negative, [M].
    """

    def __init__(self, ids: Tensor, negative_ids: Tensor | None = None) -> None:
        for name, values in (("ids", ids), ("negative_ids", negative_ids)):
            if values is not None and (values.ndim != 1 or values.is_floating_point()):
                raise ShapeError(
                    f"{name} must be a vector of integers, found {values.dtype} of shape "
                    f"{tuple(values.shape)}; number the rows first"
                )
        self.ids = ids
        self.negative_ids = negative_ids

    def tile(self, rows: slice, device: torch.device) -> Tensor:  # noqa: D102
        ids = self.ids.to(device)
        return ids[rows][:, None] == ids[None, :]

    def extra_tile(self, rows: slice, device: torch.device) -> Tensor | None:  # noqa: D102
        if self.negative_ids is None:
            return None
        return self.ids.to(device)[rows][:, None] == self.negative_ids.to(device)[None, :]


class SameGroup(SameId):
    """Rows of one group (a class, a session, a document) are never negatives of each other."""


class GivenPairs(CandidateMask):
    """Known false negatives, as a list of pairs.

    Args:
        pairs: Row numbers within the batch that must not be told apart, int [P, 2].
        size: B, the rows of the batch.
    """

    def __init__(self, pairs: Tensor, size: int) -> None:
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ShapeError(f"pairs must be [P, 2], found {tuple(pairs.shape)}")
        if len(pairs) and not 0 <= int(pairs.min()) <= int(pairs.max()) < size:
            raise ShapeError(
                f"pairs name rows {int(pairs.min())} to {int(pairs.max())} of a batch of {size}; "
                "use row numbers within the batch"
            )
        both = torch.cat([pairs, pairs.flip(1)])
        order = both[:, 0].argsort(stable=True)
        self.left, self.right = both[order, 0].contiguous(), both[order, 1]
        self.size = size

    def tile(self, rows: slice, device: torch.device) -> Tensor:  # noqa: D102
        bounds = torch.tensor([rows.start, rows.stop], device=self.left.device)
        first, last = torch.searchsorted(self.left, bounds).tolist()
        tile = torch.zeros(rows.stop - rows.start, self.size, dtype=torch.bool, device=device)
        tile[self.left[first:last] - rows.start, self.right[first:last]] = True
        return tile
