"""Filters: which items a user may be shown at all.

In: who asks, what was taken, and the caller's lists. Out: for a batch of users, scores from which
items are ruled out, and for one user and item the rule that did it. Rules by pair come as a table
``user_id, item_id``, rules for everybody as a list of ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .events import to_polars
from .histories import Histories, Rows
from .vocabulary import Vocabulary

Rule: TypeAlias = Any
"""None, ids for everybody, or a table ``user_id, item_id`` (of any kind narwhals reads)."""


@dataclass(frozen=True, eq=False)
class ItemRule:
    """A rule about items: for everybody, or by user."""

    everywhere: NDArray[np.bool_] | None
    pairs: pl.DataFrame | None

    @classmethod
    def read(cls, rule: Rule, items: Vocabulary) -> ItemRule | None:
        """Read a rule; ids that are not in the catalogue have no effect."""
        if rule is None:
            return None
        if hasattr(rule, "columns") and "user_id" in list(rule.columns):
            table = to_polars(rule).select("user_id", "item_id").unique(maintain_order=True)
            rows = pl.Series("row", items.rows_of(table["item_id"]))
            return cls(None, table.with_columns(rows).filter(pl.col("row") >= 0))
        named = np.zeros(len(items), dtype=bool)
        ids = to_polars(rule)["item_id"] if hasattr(rule, "columns") else rule
        rows_known = items.rows_of(pl.Series(items.name, list(ids)))
        named[rows_known[rows_known >= 0]] = True
        return cls(named, None)

    def mark(self, asked: pl.Series, count: int) -> NDArray[np.bool_]:
        """Mark the items the rule names for each of the users ``asked``, bool [B, I]."""
        if self.everywhere is not None:
            return np.broadcast_to(self.everywhere, (len(asked), count))
        marked = np.zeros((len(asked), count), dtype=bool)
        assert self.pairs is not None
        places = pl.DataFrame({"user_id": asked, "place": np.arange(len(asked))})
        pairs = self.pairs.with_columns(pl.col("user_id").cast(asked.dtype, strict=False))
        hit = pairs.join(places, on="user_id")
        marked[hit["place"].to_numpy(), hit["row"].to_numpy()] = True
        return marked


@dataclass(frozen=True, eq=False)
class Filters:
    """All rules of one request.

    Attributes:
        answerable: bool [I], items that any source can propose.
        exclude: Items that may not be shown.
        include: The only items that may be shown.
        hide_seen: Whether what a user took is ruled out.
    """

    answerable: NDArray[np.bool_]
    exclude: ItemRule | None
    include: ItemRule | None
    hide_seen: bool

    def rule_out_(
        self, scores: NDArray[np.float32], asked: pl.Series, histories: Histories
    ) -> None:
        """Set the scores [B, I] of items that may not be proposed to -inf, in place."""
        shape = scores.shape[1]
        if not self.answerable.all():
            scores[:, ~self.answerable] = -np.inf
        if self.exclude is not None:
            scores[self.exclude.mark(asked, shape)] = -np.inf
        if self.include is not None:
            scores[~self.include.mark(asked, shape)] = -np.inf
        if self.hide_seen:
            scores[histories.owners, histories.items] = -np.inf

    def reason(self, asked: pl.Series, history: Rows, item: int) -> str | None:
        """Tell which rule keeps one user from one item; None when none does."""
        count = len(self.answerable)
        if self.hide_seen and item in history:
            return "seen: the user took it already"
        if self.exclude is not None and self.exclude.mark(asked, count)[0, item]:
            return "excluded: it is on the request's exclude list"
        if self.include is not None and not self.include.mark(asked, count)[0, item]:
            return "not included: the request's include list does not name it"
        if not self.answerable[item]:
            return "unknown: nobody took it and nothing is known of its content"
        return None
