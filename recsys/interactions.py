"""Interactions: who took what, with ids replaced by rows and duplicates merged.

In: events, as ``events.py`` reads them. Out: :class:`Interactions`: two vocabularies and one
history a user, oldest item first. How several events of one user and item become one entry is a
declared rule, :data:`Merge`; another rule is one more line in :func:`merge_events`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ..core import SettingError, TooFewRows
from .events import Events, read_events
from .histories import Histories, Rows
from .vocabulary import Ids, Vocabulary

Merge: TypeAlias = Literal["once", "sum", "max", "last"]
"""What several events of one pair weigh together: 1, their sum, their largest, or the latest."""


@dataclass(frozen=True, eq=False)
class Interactions:
    """Who took what.

    Attributes:
        users: Ids of the U users.
        items: Ids of the I items; those of the events first, further known ones behind.
        histories: One history a user, in the order of the latest event with each item; in the
            order of the events where they carry no moment.
        ordered: Whether the events carried moments.
    """

    users: Vocabulary
    items: Vocabulary
    histories: Histories
    ordered: bool = field(default=False)

    @classmethod
    def read(
        cls,
        native: Events,
        *,
        merge: Merge = "once",
        columns: Mapping[str, str] | None = None,
        further_items: Ids = (),
    ) -> Interactions:
        """Read events of any kind; see :func:`~likewise.recsys.read_events`.

        Args:
            native: Table, Parquet path or sparse matrix. A matrix keeps all its rows and columns,
                also the empty ones.
            merge: What several events of one user with one item become.
            columns: Our column name to yours.
            further_items: Ids of items nobody took yet; those that are known are ignored.

        Raises:
            TooFewRows: No event at all.
            SettingError: Another merge rule.
        """
        table = read_events(native, columns)
        if len(table) == 0:
            raise TooFewRows(
                "there is no event with a weight above 0; check the table that is read"
            )
        users = Vocabulary.of_column(table["user_id"])
        items = Vocabulary.of_column(table["item_id"])
        if sparse.issparse(native):
            users = Vocabulary(np.arange(native.shape[0]), "user_id")
            items = Vocabulary(np.arange(native.shape[1]), "item_id")
        if len(further_items):
            fresh = [place for place, row in enumerate(items.rows_of(further_items)) if row < 0]
            further = pl.Series("item_id", further_items).gather(fresh).unique(maintain_order=True)
            items = items.extended(further)
        histories = merge_events(table, users, items, merge)
        return cls(users, items, histories, ordered="datetime" in table.columns)

    @property
    def matrix(self) -> sparse.csr_matrix:
        """Weights as csr float32 [U, I], columns sorted."""
        return self.histories.matrix

    @property
    def item_counts(self) -> NDArray[np.int64]:
        """How many users took each item, int64 [I]."""
        return np.bincount(self.histories.items, minlength=len(self.items)).astype(np.int64)

    def __repr__(self) -> str:
        return (
            f"Interactions({len(self.users)} users, {len(self.items)} items, "
            f"{len(self.histories.items)} pairs)"
        )


def merge_events(
    table: pl.DataFrame, users: Vocabulary, items: Vocabulary, merge: Merge
) -> Histories:
    """Make one history a user of events that are all known; see :class:`Interactions`."""
    weights = {
        "once": pl.lit(1.0, dtype=pl.Float32),
        "sum": pl.col("weight").sum(),
        "max": pl.col("weight").max(),
        "last": pl.col("weight").last(),
    }
    if merge not in weights:
        raise SettingError(f"merge is {merge!r}, but the rules are {', '.join(weights)}")
    rows = pl.DataFrame(
        {
            "user": users.rows_of(table["user_id"]),
            "item": items.rows_of(table["item_id"]),
            "weight": table["weight"],
        }
    )
    # The place in the table breaks ties of time, so equal inputs give equal histories.
    moments = (
        table["datetime"]
        if "datetime" in table.columns
        else pl.Series([0]).new_from_index(0, len(table))
    )
    merged = (
        rows.with_columns(moments.alias("moment"))
        .with_row_index("place")
        .sort("user", "moment", "place")
        .with_row_index("order")
        .group_by("user", "item", maintain_order=True)
        .agg(weights[merge].alias("weight"), pl.col("order").last())
        .sort("order")
    )
    return of_pairs(
        merged["user"].to_numpy(),
        merged["item"].to_numpy(),
        merged["weight"].to_numpy(),
        (len(users), len(items)),
    )


def of_pairs(
    users: Rows, items: Rows, weights: NDArray[np.float32], shape: tuple[int, int]
) -> Histories:
    """Pack pairs that are sorted by user into histories of shape [U, I]."""
    lengths = np.bincount(users, minlength=shape[0])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    plain = np.ascontiguousarray(weights, dtype=np.float32)
    return Histories(np.ascontiguousarray(items, dtype=np.int64), offsets, plain, shape[1])
