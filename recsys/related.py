"""Related items: what is like an item, and what goes with it.

In: fitted sources and item ids. Out: a table of related items, the item itself left out. Alike is
near on the tower's sphere, so a new item with content has neighbours too; together is taken by the
same users, which is what a basket wants.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from ..core import SettingError
from .fitting import Fitted
from .histories import Rows
from .ranking import Ranked, rank_rows
from .tower import Tower
from .vocabulary import Ids, Vocabulary


def items_alike(fitted: Fitted, tower: Tower, items: Ids, k: int) -> pl.DataFrame:
    """Give the items nearest to each item on the tower's sphere.

    Args:
        fitted: What was learned.
        tower: Its tower.
        items: Item ids.
        k: Related items each at most.

    Returns:
        ``item_id, related_id, score, rank, source``.

    Raises:
        UnknownId: An item that was never seen.
    """
    rows = fitted.interactions.items.known_rows(items)
    scores = tower.item_vectors[rows] @ tower.item_vectors.T
    scores[:, ~fitted.answerable] = -np.inf
    scores[np.arange(len(rows)), rows] = -np.inf
    return _tell(fitted.interactions.items, rows, rank_rows(scores, k), tower.name)


def items_together(fitted: Fitted, items: Ids, k: int) -> pl.DataFrame:
    """Give the items that the users of each item took as well; see :func:`items_alike`.

    Raises:
        SettingError: There is no co-occurrence source.
        UnknownId: An item that was never seen.
    """
    source = fitted.cooccurrence
    if source is None:
        raise SettingError("complementary items come from the co-occurrence source; build with it")
    rows = fitted.interactions.items.known_rows(items)
    ranked = rank_rows(source.related(rows), k)
    return _tell(fitted.interactions.items, rows, ranked, source.name)


def _tell(items: Vocabulary, rows: Rows, ranked: Ranked, source: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "item_id": items.ids_of(rows[ranked.owners]),
            "related_id": items.ids_of(ranked.items).alias("related_id"),
            "score": ranked.scores,
            "rank": ranked.ranks.astype(np.int32),
            "source": pl.Series([source] * len(ranked.items), dtype=pl.String),
        }
    )
