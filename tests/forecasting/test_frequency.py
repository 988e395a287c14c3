"""Steps and stamps: one grid, exact both ways."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import InputError, SettingError
from likewise.forecasting.frequency import ALIASES, Frequency
from likewise.forecasting.inference import infer_frequency

PANDAS_ALIASES = [
    "us",
    "ms",
    "s",
    "min",
    "15min",
    "h",
    "6h",
    "D",
    "3D",
    "B",
    "2B",
    "W-SUN",
    "W-WED",
    "2W-SUN",
    "MS",
    "2MS",
    "ME",
    "QS",
    "QS-FEB",
    "QE",
    "QE-JAN",
    "YS",
    "YS-APR",
    "YE",
    "YE-MAR",
]


def stamps_of(freq: str, periods: int = 40, start: str = "2019-12-28 00:00") -> pl.Series:
    pandas = pytest.importorskip("pandas")
    found = pandas.date_range(start, periods=periods, freq=freq)
    return pl.Series("ds", found.to_numpy().astype("M8[us]"))


@pytest.mark.parametrize("freq", PANDAS_ALIASES)
def test_the_stamps_of_pandas_are_consecutive_steps_and_come_back(freq: str) -> None:
    stamps = stamps_of(freq)
    asked = freq.replace("2W-SUN", "2W")
    grid = Frequency.parse(asked).aligned(stamps)
    steps = grid.steps(stamps)
    assert (np.diff(steps) == 1).all()
    assert grid.stamps(steps, stamps.dtype).to_list() == stamps.to_list()


@pytest.mark.parametrize("freq", PANDAS_ALIASES)
def test_the_frequency_of_regular_stamps_is_found(freq: str) -> None:
    stamps = stamps_of(freq)
    grid = infer_frequency(stamps)
    assert (np.diff(grid.steps(stamps)) == 1).all()
    wanted = Frequency.parse(freq.replace("2W-SUN", "2W"))
    assert (grid.unit, grid.multiple) == (wanted.unit, wanted.multiple)


@pytest.mark.parametrize(
    ("spelt", "canonical"),
    [
        ("1h", "h"),
        ("H", "h"),
        ("15T", "15min"),
        ("30m", "30min"),
        ("1d", "D"),
        ("1mo", "mo"),
        ("1w", "W"),
        ("M", "ME"),
        (1, "1"),
        ("W-SUN", "W-SUN"),
    ],
)
def test_every_spelling_has_one_canonical_alias(spelt: str | int, canonical: str) -> None:
    assert str(Frequency.parse(spelt)) == canonical
    assert Frequency.parse(Frequency.parse(spelt)) == Frequency.parse(spelt)


@pytest.mark.parametrize("alias", ALIASES)
def test_every_alias_parses_to_itself_again(alias: str) -> None:
    once = Frequency.parse(alias)
    assert Frequency.parse(str(once)) == once


@pytest.mark.parametrize(
    "freq", ["", "fortnight", "1.5h", "0h", "h1", 0, -1, True, "W-JAN", "2W-SUN", "MS-JAN", "B-MON"]
)
def test_what_is_no_frequency_is_refused_with_the_value(freq: str | int) -> None:
    with pytest.raises(SettingError, match=repr(freq) if isinstance(freq, str) else str(freq)):
        Frequency.parse(freq)


def test_steps_are_hours_and_months_since_1970() -> None:
    hour = pl.Series([datetime(1970, 1, 2, 3)])
    month = pl.Series([date(1971, 3, 1)])
    assert Frequency.parse("h").aligned(hour).steps(hour).tolist() == [27]
    assert Frequency.parse("MS").aligned(month).steps(month).tolist() == [14]


def test_a_grid_that_starts_off_the_hour_stays_where_it_is() -> None:
    # case forecasting#19
    stamps = pl.datetime_range(
        datetime(2024, 1, 1, 17, 34), datetime(2024, 1, 1, 19), "5m", eager=True
    )
    grid = infer_frequency(stamps)
    ahead = grid.stamps(grid.steps(stamps)[-1:] + np.arange(1, 4), stamps.dtype)
    assert str(grid) == "5min"
    assert ahead.to_list() == [
        datetime(2024, 1, 1, 18, 59) + i * timedelta(minutes=5) for i in (1, 2, 3)
    ]


@pytest.mark.parametrize(("month", "day"), [(3, 30), (10, 26)])
def test_hours_run_on_through_clock_changes_and_keep_their_zone(month: int, day: int) -> None:
    # case forecasting#23
    zone = "Europe/London"
    first = datetime(2024, month, day, tzinfo=ZoneInfo(zone))
    stamps = pl.datetime_range(first, first + timedelta(days=4), "1h", eager=True)
    assert stamps.dtype == pl.Datetime("us", zone)
    grid = infer_frequency(stamps)
    steps = grid.steps(stamps)
    assert str(grid) == "h"
    assert (np.diff(steps) == 1).all()
    assert grid.stamps(steps, stamps.dtype).equals(stamps)


@pytest.mark.parametrize("zone", ["Europe/London", "America/Sao_Paulo", "Pacific/Apia", "UTC"])
def test_days_follow_the_clocks_of_the_zone(zone: str) -> None:
    # Sao Paulo turned its clocks at midnight until 2019, so some days there began at one.
    days = pl.date_range(date(2017, 3, 1), date(2018, 12, 31), eager=True).cast(pl.Datetime("us"))
    walls = days.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    late = days.dt.offset_by("1h").dt.replace_time_zone(
        zone, ambiguous="earliest", non_existent="null"
    )
    stamps = walls.fill_null(late)
    grid = Frequency.parse("D").aligned(stamps)
    steps = grid.steps(stamps)
    assert (np.diff(steps) == 1).all()
    assert grid.stamps(steps, stamps.dtype).equals(stamps)


def test_months_are_months_of_the_calendar() -> None:
    # case forecasting#25
    start = pl.Series([date(2024, 1, 31)])
    ends = Frequency.parse("ME").aligned(start)
    ahead = ends.stamps(ends.steps(start)[0] + np.arange(4), pl.Date())
    assert ahead.to_list() == [
        date(2024, 1, 31),
        date(2024, 2, 29),
        date(2024, 3, 31),
        date(2024, 4, 30),
    ]
    middle = pl.Series([datetime(2024, 1, 15, 6), datetime(2024, 2, 15, 6)])
    grid = infer_frequency(middle)
    assert str(grid) == "mo"
    assert grid.stamps(np.array([650]), middle.dtype)[0] == datetime(2024, 3, 15, 6)


@pytest.mark.parametrize("minutes", [10, 15, 20, 30, 90])
def test_multiples_of_a_unit_are_steps_of_one(minutes: int) -> None:
    # case forecasting#26
    first = datetime(2024, 3, 1, 0, 5)
    stamps = pl.Series([first + i * timedelta(minutes=minutes) for i in range(50)])
    grid = Frequency.parse(f"{minutes}min").aligned(stamps)
    assert (np.diff(grid.steps(stamps)) == 1).all()
    assert infer_frequency(stamps) == grid


@given(start=st.integers(-(10**6), 10**6), step=st.integers(1, 50), length=st.integers(2, 30))
@settings(deadline=None)
def test_integer_time_may_begin_anywhere(start: int, step: int, length: int) -> None:
    # case forecasting#27
    stamps = pl.Series([start + step * i for i in range(length)])
    grid = infer_frequency(stamps)
    steps = grid.steps(stamps)
    assert grid.multiple == step
    assert (np.diff(steps) == 1).all()
    assert grid.stamps(steps + 1, stamps.dtype).to_list() == [v + step for v in stamps]


@given(
    unit=st.sampled_from(["h", "15min", "D", "B", "W", "MS", "ME", "QS", "YE"]),
    steps=st.lists(st.integers(-3_000, 3_000), min_size=1, max_size=20),
    clock=st.integers(0, 86_399),
)
@settings(deadline=None)
def test_steps_and_stamps_are_each_others_reverse(unit: str, steps: list[int], clock: int) -> None:
    stamps = pl.Series([datetime(2024, 7, 31) + timedelta(seconds=clock)])
    grid = Frequency.parse(unit).aligned(stamps)
    given_steps = np.array(steps) // (30 if unit == "YE" else 1)
    there = grid.stamps(given_steps, pl.Datetime("us"))
    assert grid.steps(there).tolist() == given_steps.tolist()
    assert (np.argsort(given_steps, kind="stable") == there.arg_sort().to_numpy()).all() or (
        len(set(given_steps.tolist())) < len(steps)
    )


def test_a_stamp_between_two_steps_is_refused_with_the_step_before() -> None:
    grid = Frequency.parse("h").aligned(pl.Series([datetime(2024, 1, 1)]))
    with pytest.raises(
        InputError, match=r"10:30:00 is off the grid.*before it is 2024-01-01 10:00"
    ):
        grid.steps(pl.Series([datetime(2024, 1, 1, 10, 30)]))


def test_a_weekend_is_no_business_day() -> None:
    grid = Frequency.parse("B").aligned(pl.Series([date(2024, 1, 5)]))
    assert grid.locate(pl.Series([date(2024, 1, 5), date(2024, 1, 6)])).on_grid.tolist() == [
        True,
        False,
    ]
    friday, monday = grid.steps(pl.Series([date(2024, 1, 5), date(2024, 1, 8)]))
    assert monday == friday + 1


def test_ambiguous_stamps_are_refused_with_their_distances() -> None:
    stamps = pl.Series([datetime(2024, 1, 1, hour) for hour in (0, 2, 5)])
    with pytest.raises(InputError, match=r"2:00:00 \(1 times\), 3:00:00 \(1 times\).*pass freq="):
        infer_frequency(stamps)
    with pytest.raises(InputError, match="never follow one another"):
        infer_frequency(stamps[:1])


def test_a_few_gaps_do_not_hide_the_step() -> None:
    stamps = pl.Series([datetime(2024, 1, 1, hour) for hour in (0, 1, 2, 3, 7, 8)])
    assert str(infer_frequency(stamps)) == "h"


def test_the_distance_between_two_series_is_no_step() -> None:
    stamps = pl.Series([10, 12, 14, 3, 5, 7])
    assert infer_frequency(stamps, np.array([0, 3, 6])).multiple == 2


def test_kinds_of_time_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="freq=1"):
        Frequency.parse("h").aligned(pl.Series([1]))
    with pytest.raises(InputError, match="alias"):
        Frequency.parse(1).aligned(pl.Series([date(2024, 1, 1)]))
    with pytest.raises(InputError, match="shorter than a day"):
        Frequency.parse("h").aligned(pl.Series([date(2024, 1, 1)]))
    with pytest.raises(SettingError, match="aligned"):
        Frequency.parse("h").steps(pl.Series([datetime(2024, 1, 1)]))
