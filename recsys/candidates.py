"""Candidates: the answer to a request, and what each user got of it.

In: lists packed flat. Out: :class:`Candidates`, a table with one row a candidate and, beside it,
one status a user. A list may be short, even empty; it is never padded, and its status says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

OK, SHORT, EXHAUSTED, COLD = "ok", "short", "exhausted", "cold"
STATUSES = (OK, SHORT, EXHAUSTED, COLD)


@dataclass(frozen=True, eq=False)
class Candidates:
    """What was asked for and what came of it.

    Attributes:
        frame: ``user_id, item_id, score, rank, source``, in the order of the users asked, rank
            from 1; of the kind the events came in.
        statuses: ``user_id, status, candidates``, one row a user asked. ``ok``: k candidates;
            ``short``: fewer were eligible; ``exhausted``: none was; ``cold``: nothing is known of
            the user, who got what the policy for unknown users says.
        k: Candidates asked for a user.
    """

    frame: Any
    statuses: pl.DataFrame
    k: int

    @property
    def fill_rate(self) -> float:
        """Share of the places asked for that hold a candidate, in [0, 1]; 1 for no user."""
        if len(self.statuses) == 0:
            return 1.0
        return float(self.statuses["candidates"].sum()) / (self.k * len(self.statuses))


def name_status(count: int, k: int, *, known: bool) -> str:
    """Name what a user got.

    >>> name_status(3, 10, known=True), name_status(0, 10, known=True)
    ('short', 'exhausted')
    """
    if not known:
        return COLD
    if count == 0:
        return EXHAUSTED
    return OK if count >= k else SHORT


def empty_frame(user: pl.DataType | type[pl.DataType], item: Any, id_name: str) -> pl.DataFrame:
    """Give the table of candidates without a row, with its types."""
    schema: Sequence[tuple[str, Any]] = (
        (id_name, user),
        ("item_id", item),
        ("score", pl.Float32),
        ("rank", pl.Int32),
        ("source", pl.String),
    )
    return pl.DataFrame(schema=list(schema))
