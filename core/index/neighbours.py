"""What a search answers: neighbours, as many as there are, in flat arrays.

In: the hits of a search. Out: :class:`Neighbours`, one record for a whole batch of queries. The
arrays are flat and ragged on purpose: a query with fewer neighbours than were asked for has a
shorter piece, and nothing is ever padded with an id that does not exist.

To offer another view of an answer (a frame, say), add a method here; it needs no engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ShapeError

IdArray = NDArray[Any]
"""Ids of rows: int64 or str, one dimension."""


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The neighbours of Q queries, nearest first; equal similarities in the order of their ids.

    Attributes:
        ids: External ids, shape [M], M the neighbours of all queries together.
        rows: Rows of the index (insertion order, from 0), int64, shape [M].
        similarity: Cosine, float32 in [-1, 1], larger = nearer, shape [M].
        offsets: Query q owns the piece ``offsets[q]:offsets[q + 1]``, int64, shape [Q + 1].

    >>> nearest = Neighbours(
    ...     ids=np.array(["a", "b", "a"]),
    ...     rows=np.array([0, 1, 0]),
    ...     similarity=np.array([0.9, 0.2, 0.7], dtype=np.float32),
    ...     offsets=np.array([0, 2, 3]),
    ... )
    >>> nearest.counts.tolist()
    [2, 1]
    >>> ids, similarity = nearest[1]
    >>> ids.tolist()
    ['a']
    """

    ids: IdArray
    rows: NDArray[np.int64]
    similarity: NDArray[np.float32]
    offsets: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many neighbours each query has, shape [Q]."""
        return np.diff(self.offsets)

    @property
    def queries(self) -> NDArray[np.int64]:
        """The query each neighbour belongs to, shape [M]: the long form of ``offsets``."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.counts)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> tuple[IdArray, NDArray[np.float32]]:
        if not -len(self) <= query < len(self):
            raise IndexError(f"query {query} of {len(self)}")
        query %= len(self)
        piece = slice(self.offsets[query], self.offsets[query + 1])
        return self.ids[piece], self.similarity[piece]

    def __iter__(self) -> Iterator[tuple[IdArray, NDArray[np.float32]]]:
        return (self[query] for query in range(len(self)))

    def as_matrix(self) -> tuple[IdArray, NDArray[np.float32]]:
        """Give ids and similarities as two [Q, K] matrices.

        Raises:
            ShapeError: The queries have different numbers of neighbours; a matrix would need
                padding, which would be ids that do not exist.
        """
        counts = self.counts
        if len(counts) and counts.min() != counts.max():
            raise ShapeError(
                f"the queries have between {counts.min()} and {counts.max()} neighbours, so there "
                "is no matrix of them; iterate over the queries, or ask for a smaller k"
            )
        shape = (len(counts), int(counts[0]) if len(counts) else 0)
        return self.ids.reshape(shape), self.similarity.reshape(shape)
