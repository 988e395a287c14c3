"""Evidence: why an item is, or is not, among the candidates of a user.

In: a fitted generator, a user and an item. Out: one line that names the rule or the rank, or the
items of the history that brought the candidate. For people who ask "why is this here" and "why is
the filter not working".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ..core import SettingError
from .filters import Rule

if TYPE_CHECKING:
    from .generator import CandidateGenerator


def explain(
    generator: CandidateGenerator,
    user: object,
    item: object,
    k: int = 100,
    *,
    exclude: Rule = None,
    include: Rule = None,
) -> str:
    """Tell why an item is, or is not, among the k candidates of a user.

    Args:
        generator: Fitted.
        user: Id of a known user.
        item: Id of an item, known or not.
        k: Candidates of the request.
        exclude: The request's rule.
        include: The request's rule.

    Returns:
        The rule that keeps the item out, or its rank and source.
    """
    (row,) = generator.interactions_.items.rows_of([item])
    if row < 0:
        return "unknown: the item is not in the catalogue"
    asked = pl.Series("user_id", [user], dtype=generator.interactions_.users.ids.dtype)
    filters = generator.filters(exclude, include, hide_seen=True)
    (history,) = generator.histories_of(asked)
    if reason := filters.reason(asked, history, int(row)):
        return reason
    everything = len(generator.interactions_.items)
    frame = generator.recommend([user], everything, exclude=exclude, include=include)
    place = [str(one) for one in frame["item_id"]].index(str(item))
    rank, source = int(list(frame["rank"])[place]), list(frame["source"])[place]
    return f"rank {rank} by {source}: {'among' if rank <= k else 'behind'} the first {k}"


def brought_by(
    generator: CandidateGenerator, user: object, item: object, k: int = 3
) -> pl.DataFrame:
    """Give the items of a user's history that speak most for a candidate, by co-occurrence.

    Args:
        generator: Fitted, with the co-occurrence source.
        user: Id of a known user.
        item: Id of a known item.
        k: Items of the history at most.

    Returns:
        ``item_id, share``, the strongest first; the shares of the whole history add up to 1.
    """
    source = generator.fitted_.cooccurrence
    if source is None:
        raise SettingError("what brought a candidate is told by co-occurrence; build with it")
    (row,) = generator.interactions_.items.known_rows([item])
    asked = pl.Series("user_id", [user], dtype=generator.interactions_.users.ids.dtype)
    (history,) = generator.histories_of(asked)
    said = source.brought_by(history, int(row))
    order = np.argsort(-said, kind="stable")[:k]
    order = order[said[order] > 0]
    share = said[order] / max(float(said.sum()), 1e-12)
    return pl.DataFrame(
        {"item_id": generator.interactions_.items.ids_of(history[order]), "share": share}
    )
