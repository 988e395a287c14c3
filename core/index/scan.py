"""The exact scan: every query against every row, most pairs dismissed by one comparison.

In: unit vectors of queries [Q, D] and of rows [N, D], and a :class:`Scope` that says which rows a
query may see. Out: :class:`Hits`. Rows come in tiles that fit the L2 cache; each query carries
the worst similarity that could still be among its k best, and only pairs at or above it are kept.
That bar rises whenever the rows seen have doubled, so about k log2(N) pairs a query survive.

The matrix product of a batch is not the same to the last bit as that of one query. So its results
only *choose*, with slack for the worst rounding error; what is answered is computed anew for each
pair in float64. Ids and similarities therefore do not depend on what else is in the batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from .scope import Scope

# A forked child has none of OpenMP's threads but believes it has, and waits for them for ever.
os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

_FIRST_TILE = 1024
_TILE = 4096  # with 256 queries a tile of similarities is 4 MiB
_PAIRS = 512  # pairs scored at once: in float64 they still fit the L2 cache
_FLOOR = np.float32(-2.0)  # below every cosine, above the -inf of a pair out of scope


class Hits(NamedTuple):
    """Rows found for each query: the answer of a scan, before ids."""

    offsets: Rows
    rows: Rows
    similarity: Floats


def top_hits(queries: Floats, vectors: Floats, rank: Rows | None, k: int, scope: Scope) -> Hits:
    """Find the k nearest rows of each query.

    Args:
        queries: Unit vectors, float32 [Q, D].
        vectors: Unit vectors, float32 [N, D].
        rank: Place of each row in the order of ids, [N]; it decides between equal similarities.
            None when the rows are in that order already.
        k: How many, at least 1.
        scope: The rows each query may see.

    Returns:
        The hits, nearest first; fewer than k where a query sees fewer rows.
    """
    blocks = scope.blocks(len(queries))
    found = []
    for block in blocks:
        pool = _Pool(queries[block], vectors, rank, k)
        for start, scores in _tiles(queries, vectors, block, scope):
            pool.offer(scores, start)
        found.append(pool.settle())
    return _gather(blocks, found, len(queries))


def hits_within(
    queries: Floats, vectors: Floats, rank: Rows | None, at_least: float, scope: Scope
) -> Hits:
    """Find every row whose similarity is at least ``at_least``, nearest first."""
    blocks = scope.blocks(len(queries))
    found = []
    bar = np.float32(at_least)
    for block in blocks:
        pool = _Pool(queries[block], vectors, rank, k=None)
        pool.bar[:] = max(bar - pool.slack, _FLOOR)
        for start, scores in _tiles(queries, vectors, block, scope):
            pool.offer(scores, start)
        pairs = pool.settle()
        found.append(pairs.keep(pairs.score >= bar))
    return _gather(blocks, found, len(queries))


def score_pairs(queries: Floats, vectors: Floats, query: Rows, row: Rows) -> Floats:
    """Give the similarity of pairs, each by itself: float64 sum, float32 answer in [-1, 1]."""
    out = np.empty(len(query), dtype=np.float32)
    wide = queries.astype(np.float64)
    for start in range(0, len(query), _PAIRS):
        piece = slice(start, start + _PAIRS)
        left = wide.take(query[piece], axis=0)
        right = vectors.take(row[piece], axis=0).astype(np.float64)
        out[piece] = np.einsum("pd,pd->p", left, right)
    return np.clip(out, -1.0, 1.0, out=out)


def nearest_first(query: Rows, score: Floats, tie: Rows) -> Rows:
    """Order pairs by query, then falling score, then rising tie; give the permutation.

    One float64 key sorts fifteen times faster than three columns; the few queries with scores too
    close for it are sorted again by the columns.
    """
    order = np.argsort(query * 4.0 - score)
    query, score, tie = query[order], score[order], tie[order]
    rises = (score[1:] > score[:-1]) | ((score[1:] == score[:-1]) & (tie[1:] < tie[:-1]))
    wrong = query[1:][rises & (query[1:] == query[:-1])]
    if len(wrong):
        again = np.flatnonzero(np.isin(query, wrong))
        order[again] = order[again[np.lexsort((tie[again], -score[again], query[again]))]]
    return order


def rounding_error(width: int) -> float:
    """Bound the error of one float32 product of unit vectors (Higham 2002, eq. 3.5).

    Where torch was allowed to multiply in bfloat16 or TF32, that rounding comes on top.
    """
    error = (width + 2) * 2.0**-24
    if torch.get_float32_matmul_precision() != "highest":
        error += 2.0**-7
    return error


class _Pairs(NamedTuple):
    """Pairs of a block: parallel arrays."""

    query: Rows
    row: Rows
    score: Floats

    def keep(self, chosen: NDArray[np.bool_] | Rows) -> _Pairs:
        return _Pairs(self.query[chosen], self.row[chosen], self.score[chosen])


class _Pool:
    """The pairs of one block of queries that may still be among the best."""

    def __init__(self, queries: Floats, vectors: Floats, rank: Rows | None, k: int | None) -> None:
        self._queries, self._vectors, self._rank, self._k = queries, vectors, rank, k
        # Two roundings in the product, one in the answer, and the answer's cut at 1.
        self.slack = np.float32(2.0 * rounding_error(vectors.shape[1]) + 2.0**-20)
        self.bar = np.full(len(queries), _FLOOR, dtype=np.float32)
        self._parts: list[_Pairs] = []
        self._held = 0
        self._seen = 0
        self._next_raise = 2 * _FIRST_TILE
        self._room = len(queries) * 4 * (k or 0) + (1 << 16)

    def offer(self, scores: Floats, start: int) -> None:
        """Take the pairs of a tile that reach the bar."""
        width = scores.shape[1]
        if self._seen == 0 and self._k is not None and width > self._k:
            kth = np.partition(scores, width - self._k, axis=1)[:, width - self._k]
            np.maximum(self.bar, kth - self.slack, out=self.bar)
        place = np.flatnonzero(scores >= self.bar[:, None])
        query, column = np.divmod(place, width)
        self._parts.append(_Pairs(query, column + start, scores.reshape(-1)[place]))
        self._held += len(place)
        self._seen += width
        if self._k is not None and (self._seen >= self._next_raise or self._held > self._room):
            self._raise_bar(self._k)
            self._next_raise = 2 * self._seen

    def _raise_bar(self, k: int) -> None:
        """Lift each query's bar to its k-th best pair so far, and drop what falls below."""
        pairs = self._merged()
        # One float64 key sorts by query, then score; it is exact to 2^-40, the slack is 2^-20.
        pairs = pairs.keep(np.argsort(pairs.query * 4.0 - pairs.score))
        first = np.searchsorted(pairs.query, np.arange(len(self.bar) + 1))
        full = np.flatnonzero(np.diff(first) >= k)
        kth = pairs.score[first[full] + k - 1]
        self.bar[full] = np.maximum(self.bar[full], kth - self.slack)
        pairs = pairs.keep(pairs.score >= self.bar[pairs.query])
        self._parts, self._held = [pairs], len(pairs.query)
        if self._held > self._room:  # many rows alike: only exact scores and ids tell them apart
            pairs = self.settle()
            self._parts, self._held = [pairs], len(pairs.query)

    def settle(self) -> _Pairs:
        """Score the pairs exactly, order them, and keep the k best of each query."""
        query, row, _ = self._merged()
        score = score_pairs(self._queries, self._vectors, query, row)
        tie = row if self._rank is None else self._rank[row]
        pairs = _Pairs(query, row, score).keep(nearest_first(query, score, tie))
        if self._k is None:
            return pairs
        first = np.searchsorted(pairs.query, np.arange(len(self.bar)))
        return pairs.keep(np.arange(len(pairs.query)) - first[pairs.query] < self._k)

    def _merged(self) -> _Pairs:
        if not self._parts:
            none = np.empty(0, dtype=np.int64)
            return _Pairs(none, none, np.empty(0, dtype=np.float32))
        return _Pairs(*(np.concatenate(columns) for columns in zip(*self._parts, strict=True)))


def _tiles(
    queries: Floats, vectors: Floats, block: Rows, scope: Scope
) -> Iterator[tuple[int, Floats]]:
    """Give (first row, similarities [block, tile]); the array is used again for the next tile."""
    reach = scope.reach(block, len(vectors))
    left = torch.from_numpy(queries[block])
    right = torch.from_numpy(vectors)
    buffer = torch.empty(len(block) * min(_TILE, max(reach, 1)))
    start, width = 0, _FIRST_TILE
    while start < reach:
        stop = min(start + width, reach)
        scores = buffer[: len(block) * (stop - start)].view(len(block), stop - start)
        torch.mm(left, right[start:stop].T, out=scores)
        tile = scores.numpy()
        scope.hide(tile, block, start, stop)
        yield start, tile
        # 1024, 1024, 2048, 4096, ...: each early tile doubles what was seen, as the bar likes it.
        start, width = stop, min(stop, _TILE)


def _gather(blocks: list[Rows], found: list[_Pairs], queries: int) -> Hits:
    """Put the blocks back into the order of the queries."""
    query = _joined([block[pairs.query] for block, pairs in zip(blocks, found, strict=True)])
    row = _joined([pairs.row for pairs in found])
    score = np.concatenate([np.empty(0, dtype=np.float32), *(pairs.score for pairs in found)])
    if np.any(query[1:] < query[:-1]):
        order = np.argsort(query, kind="stable")
        query, row, score = query[order], row[order], score[order]
    return Hits(np.searchsorted(query, np.arange(queries + 1)), row, score)


def _joined(parts: list[Rows]) -> Rows:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])
