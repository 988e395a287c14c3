"""Exact Euclidean neighbours: fast in float32, decided in float64.

In: queries and reference rows, already on one scale. Out: the k nearest rows of each query with
their distances. A matrix product in float32 nominates candidates; their distances are then taken
again from differences in float64, so twins are exactly 0, a far origin costs no digits, and an
answer does not depend on the batch it came in. Where the nominations could have missed a nearer
row, that query is scanned in full.

The directions that vectors point in are the business of core's index; here lengths count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from ..core import SettingError, TooFewRows

Matrix = NDArray[np.float64]
Vectors = NDArray[np.floating[Any]]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Light = NDArray[np.float32]
_Real = TypeVar("_Real", np.float32, np.float64)

QUERY_TILE = 128
MOST_QUERIES = 512
ROW_TILE = 16_384
"""A tile of queries by rows is 8 MB: small enough to be read again from the cache. Where there are
few and narrow rows, more queries share a tile."""

GROUP = 16
"""Rows of which only the nearest is ranked first: ranking groups is cheaper than ranking rows."""

MOST_PASSES = 48
"""Values wanted up to which a pass for each is cheaper than ranking them."""

SLACK = 4
"""Candidates nominated beyond k, so that rounding rarely forces a full scan."""


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The k nearest reference rows of Q queries, nearest first.

    Attributes:
        distances: [Q, K], >= 0.
        rows: Row numbers of the reference, [Q, K].
    """

    distances: Floats
    rows: Integers

    @property
    def mean(self) -> Floats:
        """Mean distance to the k neighbours of each query, [Q]."""
        mean: Floats = self.distances.mean(axis=1)
        return mean


class Lengths:
    """Reference rows prepared for search.

    Args:
        rows: [N, D], finite.

    >>> Lengths(np.array([[0.0, 0.0], [3.0, 4.0]])).nearest(np.array([[3.0, 4.0]]), k=2)
    Nearest(distances=array([[0., 5.]]), rows=array([[1, 0]]))
    """

    def __init__(self, rows: Vectors) -> None:
        self.rows = np.ascontiguousarray(rows, dtype=np.float64)
        self._centre = self.rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])
        self._light = torch.from_numpy((self.rows - self._centre).astype(np.float32))
        self._squares = self._light.square().sum(dim=1)

    def __len__(self) -> int:
        return len(self.rows)

    def nearest(self, queries: Vectors, k: int, *, leave_out: Integers | None = None) -> Nearest:
        """Find the k nearest rows of each query; equal distances in the order of rows.

        Args:
            queries: [Q, D], finite.
            k: Neighbours, at least 1.
            leave_out: One row number a query that must not be answered (itself, usually), [Q];
                -1 where nothing is left out.

        Raises:
            SettingError: k below 1.
            TooFewRows: Fewer than k rows may be answered.
        """
        available = len(self) - (leave_out is not None)
        if k < 1:
            raise SettingError(f"k is {k}; a distance needs at least 1 neighbour")
        if k > available:
            raise TooFewRows(
                f"k={k} neighbours asked for and {available} reference rows to choose from; "
                "lower k or add normal rows"
            )
        out = -np.ones(len(queries), dtype=np.int64) if leave_out is None else leave_out
        distances = np.empty((len(queries), k))
        rows = np.empty((len(queries), k), dtype=np.int64)
        longest = max(len(self), (k + 1 + SLACK) * self.rows.shape[1])
        step = int(np.clip(QUERY_TILE * ROW_TILE // longest, QUERY_TILE, MOST_QUERIES))
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            tile = np.asarray(queries[part], dtype=np.float64)
            distances[part], rows[part] = self._tile(tile, k, out[part])
        return Nearest(distances, rows)

    def leave_one_out(self, k: int) -> Nearest:
        """Find the k nearest *other* rows of every row."""
        return self.nearest(self.rows, k, leave_out=np.arange(len(self), dtype=np.int64))

    def _tile(self, queries: Matrix, k: int, out: Integers) -> tuple[Floats, Integers]:
        wanted = min(len(self), k + 1 + SLACK)
        light = torch.from_numpy((queries - self._centre).astype(np.float32))
        worst, nominated = self._nominate(light, wanted)
        exact = self._measure(queries, nominated, out)
        order = np.lexsort((nominated, exact), axis=1)[:, :k]
        distances = np.take_along_axis(exact, order, axis=1)
        rows = np.take_along_axis(nominated, order, axis=1)
        if wanted < len(self):
            norms = light.norm(dim=1).double().numpy()
            for doubtful in np.flatnonzero(~self._proven(distances[:, -1], worst, norms)):
                one = slice(doubtful, doubtful + 1)
                distances[one], rows[one] = self._scan(queries[one], k, out[one])
        return distances, rows

    def _nominate(self, light: torch.Tensor, wanted: int) -> tuple[Floats, Integers]:
        """The rows that look nearest in float32, and the squared distance of the last of them."""
        best: list[tuple[Light, Integers]] = []
        for start in range(0, len(self), ROW_TILE):
            rows = self._light[start : start + ROW_TILE]
            tile = torch.addmm(self._squares[start : start + ROW_TILE], light, rows.T, alpha=-2)
            value, place = _smallest(tile, min(wanted, len(rows)))
            best.append((value, place + start))
        values, places = best[0]
        if len(best) > 1:
            every = np.concatenate([value for value, _ in best], axis=1)
            values, order = take_least(every, wanted)
            places = np.take_along_axis(
                np.concatenate([place for _, place in best], axis=1), order, axis=1
            )
        return values[:, -1].astype(np.float64) + light.square().sum(dim=1).numpy(), places

    def _measure(self, queries: Matrix, nominated: Integers, out: Integers) -> Floats:
        difference = self.rows[nominated] - queries[:, None, :]
        exact: Floats = np.sqrt(np.einsum("qkd,qkd->qk", difference, difference))
        exact[nominated == out[:, None]] = np.inf
        return exact

    def _proven(self, kth: Floats, worst: Floats, norms: Floats) -> NDArray[np.bool_]:
        """Whether no row left out of the nomination can be nearer than the k-th answer.

        A row nearer than that has a norm below ``norm + kth``, which bounds the rounding error of
        its float32 distance.
        """
        error = (self.rows.shape[1] + 4) * np.finfo(np.float32).eps * (2 * norms + kth) ** 2
        proven: NDArray[np.bool_] = (kth == 0) | (worst - error >= kth**2)
        return proven

    def _scan(self, query: Matrix, k: int, out: Integers) -> tuple[Floats, Integers]:
        difference = self.rows - query
        exact = np.sqrt(np.einsum("nd,nd->n", difference, difference))
        if out[0] >= 0:
            exact[out[0]] = np.inf
        kth = np.partition(exact, k - 1)[k - 1]
        within = np.flatnonzero(exact <= kth)
        order = within[np.lexsort((within, exact[within]))][:k]
        return exact[order][None], order[None].astype(np.int64)


def _smallest(tile: torch.Tensor, count: int) -> tuple[Light, Integers]:
    """The ``count`` smallest values of each row [Q, N], ascending, and their columns.

    The groups with the smallest minima hold the smallest values, so only their members are ranked.
    """
    groups = tile.shape[1] // GROUP
    if groups <= 2 * count:
        return take_least(tile.numpy(), count)
    whole = groups * GROUP
    # A group is every groups-th column, so that its minimum is taken over long stretches.
    least = tile[:, :whole].view(len(tile), GROUP, groups).amin(dim=1)
    _, chosen = take_least(least.numpy(), count)
    members = (chosen[:, None, :] + groups * np.arange(GROUP)[:, None]).reshape(len(tile), -1)
    left_over = np.broadcast_to(np.arange(whole, tile.shape[1]), (len(tile), tile.shape[1] - whole))
    members = np.concatenate([members, left_over], axis=1)
    values, order = take_least(tile.gather(1, torch.from_numpy(members)).numpy(), count)
    return values, np.take_along_axis(members, order, axis=1)


def take_least(values: NDArray[_Real], count: int) -> tuple[NDArray[_Real], Integers]:
    """The ``count`` smallest values of each row [Q, N], ascending, and their columns.

    Taking the least again and again beats ranking as long as few are wanted.
    """
    if count > MOST_PASSES:
        found = torch.from_numpy(values).topk(count, dim=1, largest=False)
        return found.values.numpy(), found.indices.numpy()
    left, every = values.copy(), np.arange(len(values))
    smallest = np.empty((len(values), count), dtype=values.dtype)
    columns = np.empty((len(values), count), dtype=np.int64)
    for place in range(count):
        at = left.argmin(axis=1)
        columns[:, place], smallest[:, place] = at, left[every, at]
        left[every, at] = np.inf
    return smallest, columns
