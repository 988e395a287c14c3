"""Strata: head, torso, tail and cold, so that an average cannot hide what happens to rare items.

In: training events. Out: the stratum of each item. Items are laid in order of popularity and cut
where a third and two thirds of the *interactions* are reached, so each of the three carries the
same traffic; an item of the test part that nobody took before is cold.
"""

from __future__ import annotations

import polars as pl

STRATA = ("head", "torso", "tail", "cold")


def item_strata(train: pl.DataFrame) -> pl.DataFrame:
    """Cut the catalogue in thirds of training interactions.

    Args:
        train: Events with ``user_id`` and ``item_id``.

    Returns:
        ``item_id, users, stratum``, the most popular first; equal counts in order of the id. The
        item on which a third is reached still belongs to it.

    >>> train = pl.DataFrame({"user_id": [1, 2, 3, 4], "item_id": ["a", "a", "b", "c"]})
    >>> item_strata(train)["stratum"].to_list()
    ['head', 'torso', 'tail']
    """
    counted = (
        train.group_by("item_id")
        .agg(users=pl.col("user_id").n_unique())
        .sort(["users", "item_id"], descending=[True, False])
    )
    # What stood before the item decides, so the head is never empty.
    before = (pl.col("users").cum_sum() - pl.col("users")) / pl.col("users").sum()
    stratum = (
        pl.when(before < 1 / 3)
        .then(pl.lit("head"))
        .when(before < 2 / 3)
        .then(pl.lit("torso"))
        .otherwise(pl.lit("tail"))
    )
    return counted.with_columns(stratum=stratum)
