"""Histories: what each of B users took, in order, packed flat.

In: lists of item rows, one a user. Out: :class:`Histories`, which sources read as a csr matrix
where order does not matter and as lists where it does. A stored user and a session that was never
stored look the same here, so everything that answers the one answers the other. Nothing is padded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Histories:
    """B histories over I items.

    Attributes:
        items: int64 [M], rows of items, oldest first within a history.
        offsets: int64 [B + 1], history ``b`` is ``items[offsets[b]:offsets[b + 1]]``.
        weights: float32 [M], each > 0.
        width: I, how many items there are.

    >>> histories = Histories.of([[2, 0], []], width=3)
    >>> histories.matrix.toarray().tolist(), histories.lengths.tolist()
    ([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]], [2, 0])
    """

    items: Rows
    offsets: Rows
    weights: NDArray[np.float32]
    width: int

    @classmethod
    def of(cls, lists: Sequence[Sequence[int] | Rows], *, width: int) -> Histories:
        """Pack lists of item rows; each item weighs 1."""
        lengths = np.fromiter((len(one) for one in lists), np.int64, len(lists))
        items = np.concatenate([np.asarray(one, dtype=np.int64) for one in (*lists, [])])
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return cls(items, offsets, np.ones(len(items), dtype=np.float32), width)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Rows]:
        for start, stop in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            yield self.items[start:stop]

    @property
    def lengths(self) -> Rows:
        """Length of each history, int64 [B]."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> Rows:
        """The history each entry belongs to, int64 [M]."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def matrix(self) -> sparse.csr_matrix:
        """The histories as csr [B, I], columns sorted; an item that stands twice weighs its sum."""
        shape = (len(self), self.width)
        matrix = sparse.csr_matrix((self.weights, self.items, self.offsets), shape=shape, copy=True)
        matrix.sum_duplicates()
        return matrix

    def take(self, rows: Rows | slice) -> Histories:
        """Pick histories by row, in the order asked."""
        rows = np.arange(len(self))[rows]
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Histories(self.items[places], offsets, self.weights[places], self.width)

    def keep(self, kept: NDArray[np.bool_]) -> Histories:
        """Keep the entries marked in ``kept`` [M]; histories may become shorter or empty."""
        left = np.bincount(self.owners[kept], minlength=len(self))
        offsets = np.concatenate([[0], np.cumsum(left)]).astype(np.int64)
        return Histories(self.items[kept], offsets, self.weights[kept], self.width)

    def recent(self, length: int) -> Histories:
        """Keep the last ``length`` entries of each history."""
        place = np.arange(len(self.items)) - np.repeat(self.offsets[1:], self.lengths)
        return self.keep(place >= -length)

    def widened(self, width: int) -> Histories:
        """Give the same histories over more items."""
        return Histories(self.items, self.offsets, self.weights, width)
