"""The scope of a search: which rows a query may see.

In: the filters as a caller gives them. Out: :class:`Scope`, checked, which hides pairs from a
tile of similarities. A filter is exact: it acts before anything is ranked, so it never costs a
neighbour. A new kind of filter is a field here and two lines in ``Scope.hide``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SettingError, ShapeError

_QUERIES = 256


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """Which rows each query may see.

    Attributes:
        eligible: Rows allowed, bool [Q, N] or [N], or None for all.
        upto: Query q sees only its first ``upto[q]`` rows, int64 [Q], or None for all.
    """

    eligible: NDArray[np.bool_] | None = None
    upto: NDArray[np.int64] | None = None

    def blocks(self, queries: int) -> list[NDArray[np.int64]]:
        """Cut the queries into blocks; those that see equally far stay together."""
        order = np.arange(queries, dtype=np.int64)
        if self.upto is not None:
            order = np.argsort(self.upto, kind="stable").astype(np.int64)
        return [order[start : start + _QUERIES] for start in range(0, queries, _QUERIES)]

    def reach(self, block: NDArray[np.int64], rows: int) -> int:
        """Give the number of rows beyond which no query of the block sees anything."""
        if self.upto is None:
            return rows
        return min(rows, int(self.upto[block].max(initial=0)))

    def hide(
        self, scores: NDArray[np.float32], block: NDArray[np.int64], start: int, stop: int
    ) -> None:
        """Set the pairs out of scope to -inf, in place."""
        if self.eligible is not None:
            scores[~self.eligible[block, start:stop]] = -np.inf
        if self.upto is not None and int(self.upto[block].min()) < stop:
            scores[np.arange(start, stop) >= self.upto[block][:, None]] = -np.inf

    def part(self, queries: NDArray[np.int64]) -> Scope:
        """Give the scope of some of the queries."""
        eligible = self.eligible
        if eligible is not None and eligible.ndim == 2:
            eligible = eligible[queries]
        return Scope(eligible, None if self.upto is None else self.upto[queries])

    def allows(self, query: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell for each pair whether the query may see the row."""
        allowed = np.ones(len(row), dtype=np.bool_)
        if self.eligible is not None:
            allowed &= self.eligible[row] if self.eligible.ndim == 1 else self.eligible[query, row]
        if self.upto is not None:
            allowed &= row < self.upto[query]
        return allowed


def make_scope(
    queries: int, rows: int, eligible: ArrayLike | None, upto: ArrayLike | None
) -> Scope:
    """Check the filters of a search.

    Raises:
        ShapeError: A filter of the wrong shape or type.
        SettingError: An ``upto`` beyond the rows there are.
    """
    mask = None if eligible is None else np.asarray(eligible)
    if mask is not None and mask.dtype != np.bool_:
        raise ShapeError(f"eligible must be bool, but is {mask.dtype}; give True where allowed")
    if mask is not None and mask.shape not in ((rows,), (queries, rows)):
        raise ShapeError(
            f"eligible has the shape {mask.shape}; give [N] = ({rows},) or "
            f"[Q, N] = ({queries}, {rows})"
        )
    reach = None if upto is None else np.asarray(upto)
    if reach is not None and (reach.shape != (queries,) or reach.dtype.kind not in "iu"):
        raise ShapeError(
            f"upto has the shape {reach.shape} and type {reach.dtype}; "
            f"give one integer a query, ({queries},)"
        )
    if reach is not None and np.any((reach < 0) | (reach > rows)):
        raise SettingError(f"upto must lie in 0 .. {rows}, the number of rows in the index")
    return Scope(mask, None if reach is None else reach.astype(np.int64))
