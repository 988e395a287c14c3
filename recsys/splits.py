"""Splits: which events are known, and which are to be found.

In: events. Out: :class:`Split`, two disjoint tables. By one moment in calendar time for everybody
is the default that can be trusted; the others are named for the papers that use them, and
:func:`leave_one_out` warns, because the past of one user then meets the future of another. Every
draw comes from a seed, so a split can be made again.
"""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..core import ColumnError, LeakError, ProcedureWarning, SettingError
from .events import Events, read_events


@dataclass(frozen=True, eq=False)
class Split:
    """Events that are known and events to be found, both as :func:`read_events` gives them.

    Attributes:
        train: What a model may see.
        test: What it is judged by; no pair of a user and an item stands in both.
        protocol: How the two were parted, in words.
    """

    train: pl.DataFrame
    test: pl.DataFrame
    protocol: str

    def check_time(self) -> None:
        """Assert that nothing in ``train`` is later than anything in ``test``.

        Raises:
            LeakError: Something is.
        """
        if not len(self.train) or not len(self.test):
            return
        last: Any = self.train["datetime"].max()
        first: Any = self.test["datetime"].min()
        if last >= first:
            raise LeakError(
                f"{self.protocol}: the last known event is of {last} but the first to be found of "
                f"{first}; split by one moment for everybody (split_by_time)"
            )


def split_by_time(
    native: Events,
    cutoff: dt.datetime | dt.date,
    *,
    until: dt.datetime | dt.date | None = None,
    columns: Mapping[str, str] | None = None,
) -> Split:
    """Part events at one moment for everybody: before it known, from it on to be found.

    Pairs of a user and an item that are known already are not to be found again.

    Args:
        native: Events with a ``datetime``.
        cutoff: The first moment of the test part.
        until: Where the test part ends, itself left out; None for the end of the events.
        columns: Our column name to yours.
    """
    events = _ordered(native, columns, "split_by_time")
    moment = pl.col("datetime")
    later = moment >= cutoff if until is None else (moment >= cutoff) & (moment < until)
    split = Split(
        train=events.filter(moment < cutoff),
        test=_unseen(events.filter(later), events.filter(moment < cutoff)),
        protocol=f"by time at {cutoff}",
    )
    split.check_time()
    return split


def leave_one_out(
    native: Events, *, back: int = 1, columns: Mapping[str, str] | None = None
) -> Split:
    """Keep back one item of each user: the last, or an earlier one for validation.

    Args:
        native: Events; without ``datetime`` their order in the table is the order of events.
        back: 1 holds out the last item; 2 the one before, and drops the last altogether.
        columns: Our column name to yours.

    Warns:
        ProcedureWarning: Events carry moments, so users' pasts and futures overlap.
    """
    events = read_events(native, columns)
    if "datetime" in events.columns:
        warnings.warn(
            "leave_one_out lets a model see events of other users that are later than the one to "
            "be found; it compares with papers, but only split_by_time tells how it would do",
            ProcedureWarning,
            stacklevel=2,
        )
        events = events.sort("datetime", maintain_order=True)
    latest = events.unique(["user_id", "item_id"], keep="last", maintain_order=True)
    place = pl.int_range(pl.len()).reverse().over("user_id")
    placed = latest.with_columns(place=place, length=pl.len().over("user_id"))
    enough = pl.col("length") > back
    return Split(
        train=placed.filter((pl.col("place") >= back) | ~enough).drop("place", "length"),
        test=placed.filter((pl.col("place") == back - 1) & enough).drop("place", "length"),
        protocol=f"leave one out ({back} from the end)",
    )


def hold_out_share(
    native: Events, share: float, *, seed: int = 0, columns: Mapping[str, str] | None = None
) -> Split:
    """Keep back a random share of each user's items, rounded down, so short histories stay whole.

    Args:
        native: Events.
        share: Between 0 and 1.
        seed: Seed of the draw.
        columns: Our column name to yours.
    """
    _require_share(share)
    events = read_events(native, columns).unique(
        ["user_id", "item_id"], keep="last", maintain_order=True
    )
    drawn = np.random.default_rng(seed).random(len(events))
    placed = events.with_columns(pl.Series("draw", drawn)).with_columns(
        place=pl.col("draw").rank("ordinal").over("user_id"),
        held=(pl.len().over("user_id") * share).floor(),
    )
    held = pl.col("place") <= pl.col("held")
    return Split(
        train=placed.filter(~held).drop("draw", "place", "held"),
        test=placed.filter(held).drop("draw", "place", "held"),
        protocol=f"{share:g} of each user's items at random",
    )


def hold_out_users(
    native: Events,
    share: float,
    *,
    given: float = 0.5,
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
) -> tuple[Split, pl.DataFrame]:
    """Keep whole users back; a share of their items is given as history, the rest to be found.

    Args:
        native: Events.
        share: Share of the users held back, between 0 and 1.
        given: Share of a held-back user's items that is shown.
        seed: Seed of both draws.
        columns: Our column name to yours.

    Returns:
        The split (its train part holds none of the users held back), and the events given.
    """
    _require_share(share)
    events = read_events(native, columns)
    users = events["user_id"].unique().sort()
    chosen = np.random.default_rng(seed).permutation(len(users))[: int(share * len(users))]
    held = events.filter(pl.col("user_id").is_in(users.gather(np.sort(chosen)).implode()))
    parts = hold_out_share(held, 1.0 - given, seed=seed)
    known = events.join(held.select("user_id").unique(), on="user_id", how="anti")
    return Split(known, parts.test, f"{share:g} of the users held out"), parts.train


def _ordered(native: Events, columns: Mapping[str, str] | None, asker: str) -> pl.DataFrame:
    events = read_events(native, columns)
    if "datetime" not in events.columns:
        raise ColumnError(
            f"{asker} needs a column datetime, found {', '.join(events.columns)}; name it with "
            "columns={'datetime': …}, or choose hold_out_share"
        )
    return events


def _unseen(test: pl.DataFrame, train: pl.DataFrame) -> pl.DataFrame:
    return test.join(train, on=["user_id", "item_id"], how="anti", maintain_order="left")


def _require_share(share: float) -> None:
    if not 0.0 < share < 1.0:
        raise SettingError(f"share is {share}, but a share held out lies between 0 and 1")
