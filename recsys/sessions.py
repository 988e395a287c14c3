"""Sessions and visitors: recent sequences that belong to no stored user, read as histories.

In: lists of item ids, or a table of events. Out: one name a session or visitor and its history,
which everything that answers a stored user answers as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from .events import Events, read_events
from .histories import Histories
from .interactions import Merge, merge_events
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


def read_visitors(
    events: Events, items: Vocabulary, merge: Merge, columns: Mapping[str, str] | None
) -> tuple[pl.Series, Histories]:
    """Read the users of some events against a catalogue; items never seen are passed over.

    Args:
        events: Of any kind that a generator is fitted on.
        items: Ids of the catalogue.
        merge: What several events of one user with one item become.
        columns: Our column name to yours.

    Returns:
        The id of each user, also of those left with nothing, and their histories.
    """
    table = read_events(events, columns)
    users = Vocabulary.of_column(table["user_id"])
    known = table.filter(pl.Series(items.rows_of(table["item_id"]) >= 0))
    return users.ids, merge_events(known, users, items, merge)
