"""Splits: disjoint, repeatable, and honest about time."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from likewise.core import ColumnError, LeakError, ProcedureWarning, SettingError
from likewise.recsys import (
    Split,
    hold_out_share,
    hold_out_users,
    leave_one_out,
    split_by_time,
)

from tests.recsys.planted import random_events


def timed() -> pl.DataFrame:
    events = random_events(3)
    moments = pl.datetime_range(
        dt.datetime(2020, 1, 1), interval="1h", eager=True, end=dt.datetime(2021, 1, 1)
    )
    return events.with_columns(datetime=moments.head(len(events)).shuffle(seed=1))


def pairs(events: pl.DataFrame) -> set[tuple[object, ...]]:
    return set(events.select("user_id", "item_id").rows())


def test_by_time_nothing_known_is_later_than_what_is_to_be_found() -> None:
    # case RecBole #620, #1649; Cornac 708
    split = split_by_time(timed(), dt.datetime(2020, 1, 10))
    assert split.train["datetime"].max() < split.test["datetime"].min()
    assert not pairs(split.train) & pairs(split.test)


def test_a_leak_is_an_error() -> None:
    later, earlier = timed().sort("datetime").tail(5), timed().sort("datetime").head(5)
    with pytest.raises(LeakError, match="last known event"):
        Split(train=later, test=earlier, protocol="by hand").check_time()


def test_time_needs_a_clock() -> None:
    with pytest.raises(ColumnError, match="datetime"):
        split_by_time(random_events(0), dt.datetime(2020, 1, 1))


def test_leave_one_out_takes_the_last_item_of_each_user_and_warns() -> None:
    events = pl.DataFrame(
        {"user_id": [1, 1, 1, 2], "item_id": ["a", "b", "c", "a"], "datetime": [3, 1, 2, 1]}
    )
    with pytest.warns(ProcedureWarning, match="split_by_time"):
        split = leave_one_out(events)
    assert pairs(split.test) == {(1, "a")}
    assert pairs(split.train) == {(1, "b"), (1, "c"), (2, "a")}


def test_one_further_back_leaves_the_last_out_of_both() -> None:
    events = pl.DataFrame({"user_id": [1, 1, 1], "item_id": ["a", "b", "c"]})
    split = leave_one_out(events, back=2)
    assert pairs(split.test) == {(1, "b")}
    assert pairs(split.train) == {(1, "a")}


def test_the_same_seed_gives_the_same_split() -> None:
    # case recsys#11
    first, second = hold_out_share(timed(), 0.3, seed=5), hold_out_share(timed(), 0.3, seed=5)
    assert first.test.equals(second.test)
    assert not first.test.equals(hold_out_share(timed(), 0.3, seed=6).test)


def test_a_share_is_rounded_down_so_short_histories_stay_whole() -> None:
    # case RecBole #1005
    split = hold_out_share(random_events(1), 0.2)
    events = random_events(1).unique()
    held = split.test.group_by("user_id").len().sort("user_id")
    whole = events.group_by("user_id").len().sort("user_id")
    joined = whole.join(held, on="user_id", how="left").fill_null(0)
    assert (joined["len_right"] == (joined["len"] * 0.2).floor()).all()
    assert pairs(split.train) | pairs(split.test) == pairs(events)


def test_users_held_out_are_unknown_to_the_model() -> None:
    split, given = hold_out_users(random_events(2), 0.25, given=0.5)
    held = set(split.test["user_id"])
    assert held
    assert not held & set(split.train["user_id"])
    assert held <= set(given["user_id"])
    assert not pairs(given) & pairs(split.test)
    with pytest.raises(SettingError, match="between 0 and 1"):
        hold_out_users(random_events(2), 1.0)
