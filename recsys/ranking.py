"""Ranking: the k best items of each row of scores, ties by row, nothing that was ruled out.

In: float32 scores [B, I] in which ruled-out items are -inf. Out: :class:`Ranked`, packed flat and
never padded. Sorting a whole row would be most of the work, so a bar is found first: the k-th
largest of the maxima of short runs is a score that at least k items reach, and few others do. Those
are sorted by one whole number each, row and score together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

_RUN = 64
_FIRST_RUNS = 4  # below so many runs a k, the bar would let everything through


class Ranked(NamedTuple):
    """The best items of B rows, best first.

    ``offsets`` int64 [B + 1], ``items`` int64 [M], ``scores`` float32 [M].
    """

    offsets: NDArray[np.int64]
    items: NDArray[np.int64]
    scores: NDArray[np.float32]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many items each row has, int64 [B]."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The row each item belongs to, int64 [M]."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Rank of each item in its row, from 1, int64 [M]."""
        return np.arange(len(self.items)) - self.offsets[self.owners] + 1


def rank_rows(scores: NDArray[np.float32], k: int) -> Ranked:
    """Find the k best items of each row.

    Args:
        scores: float32 [B, I]; -inf rules an item out.
        k: At least 1.

    Returns:
        At most k items a row, best first; of equal scores the smaller item row comes first, and
        the k best are the first of the k + 1 best.

    >>> ranked = rank_rows(np.array([[0.1, 0.9, -np.inf]], dtype=np.float32), k=5)
    >>> ranked.items.tolist(), ranked.counts.tolist()
    ([1, 0], [2])
    """
    owners, items = _promising(scores, k)
    values = scores[owners, items]
    kept = values > -np.inf
    owners, items, values = owners[kept], items[kept], values[kept]
    order = _best_first(owners, values)
    owners, items, values = owners[order], items[order], values[order]
    starts = np.searchsorted(owners, np.arange(len(scores)))
    first = np.arange(len(owners)) - starts[owners] < k
    counts = np.bincount(owners[first], minlength=len(scores))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Ranked(offsets, items[first].astype(np.int64), values[first])


def _best_first(owners: NDArray[np.int64], values: NDArray[np.float32]) -> NDArray[np.int64]:
    """Order entries by row, then by falling score; equal ones stay as they stand."""
    bits = values.view(np.int32).astype(np.int64)
    # The bits of a float rise with it; those of a negative one fall.
    rising = np.where(bits < 0, -(1 << 31) - bits, bits)
    return np.argsort((owners << 32) - rising, kind="stable")


def _promising(scores: NDArray[np.float32], k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of all scores that can be among the k best of their row.

    Within a row the columns rise, so that equal scores come out in the order of the items.
    """
    rows, width = scores.shape
    runs = width // _RUN
    if width <= k:
        return _places(np.isfinite(scores))
    if runs < _FIRST_RUNS * k:
        return _places(scores >= _kth_largest(scores, k))
    whole = torch.from_numpy(scores[:, : runs * _RUN]).view(rows, runs, _RUN)
    peaks = whole.amax(dim=2).numpy()
    bars = _kth_largest(peaks, k)
    # Only a run whose peak reaches the bar can hold anything that does.
    owners, run = _places(peaks >= bars)
    at, column = _places(whole.numpy()[owners, run] >= bars[owners])
    rest_owners, rest = _places(scores[:, runs * _RUN :] >= bars)
    return (
        np.concatenate([owners[at], rest_owners]),
        np.concatenate([run[at] * _RUN + column, rest + runs * _RUN]),
    )


def _kth_largest(values: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """The k-th largest value of each row, [B, 1]."""
    place = values.shape[1] - k
    return np.partition(values, place, axis=1)[:, place : place + 1]


def _places(marked: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows, columns = np.nonzero(marked)
    return rows.astype(np.int64), columns.astype(np.int64)
