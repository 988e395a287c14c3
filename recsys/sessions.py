"""Sessions: recent sequences that belong to no stored user, read as histories.

In: lists of item ids, or a table of events in order. Out: one name a session and its history, which
everything that answers a stored user answers as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from .histories import Histories
from .vocabulary import Vocabulary


def read_sessions(
    sessions: Sequence[Sequence[object]] | pl.DataFrame, items: Vocabulary
) -> tuple[pl.Series, Histories]:
    """Read sessions against a catalogue; items that were never seen are passed over.

    Args:
        sessions: Lists of item ids, oldest first, which are numbered from 0; or a table
            ``session_id, item_id`` in the order of events.
        items: Ids of the catalogue.

    Returns:
        The name of each session, under ``session_id``, and its history.
    """
    if isinstance(sessions, pl.DataFrame):
        grouped = sessions.group_by("session_id", maintain_order=True).agg("item_id")
        named, lists = grouped["session_id"], grouped["item_id"].to_list()
    else:
        named = pl.Series("session_id", range(len(sessions)), dtype=pl.Int64)
        lists = [list(one) for one in sessions]
    found = [items.rows_of(pl.Series("item_id", one)) for one in lists]
    return named, Histories.of([rows[rows >= 0] for rows in found], width=len(items))
