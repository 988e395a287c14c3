"""The reader: what is read, what is refused, and that nothing is done silently."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import (
    ColumnError,
    DuplicateRows,
    InputError,
    NonFiniteError,
    SettingError,
    TooFewRows,
    UnknownId,
)
from likewise.forecasting.files import read_file
from likewise.forecasting.frames import Panel, read_frame

HOUR = timedelta(hours=1)
START = datetime(2024, 1, 1)


def frame(
    ids: str | list[Any], hours: list[int | float | None], y: list[Any], **kinds: Any
) -> pl.DataFrame:
    stamps = [None if hour is None else START + hour * HOUR for hour in hours]
    return pl.DataFrame({"unique_id": list(ids), "ds": stamps, "y": y}, **kinds)


def as_pandas(table: pl.DataFrame) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({name: table[name].to_list() for name in table.columns})


def same(one: Panel, other: Panel) -> bool:
    return (
        one.ids == other.ids
        and one.freq == other.freq
        and np.array_equal(one.starts, other.starts)
        and np.array_equal(one.offsets, other.offsets)
        and np.array_equal(one.values, other.values, equal_nan=True)
    )


PANELS = st.lists(
    st.tuples(
        st.integers(-50, 50),
        st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(float("nan"))), min_size=1, max_size=12),
    ),
    min_size=1,
    max_size=5,
)


def long_frame(series: list[tuple[int, list[float]]]) -> pl.DataFrame:
    rows = [
        (f"s{number}", start + place, value)
        for number, (start, values) in enumerate(series)
        for place, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema=["unique_id", "ds", "y"], orient="row")


@given(series=PANELS, seed=st.integers(0, 100))
@settings(deadline=None)
def test_every_value_keeps_its_id_and_time_whatever_the_order_of_rows(
    series: list[tuple[int, list[float]]], seed: int
) -> None:
    # case forecasting#18
    table = long_frame(series)
    if table["y"].is_nan().all():
        with pytest.raises(InputError, match="no value"):
            read_frame(table, freq=1)
        return
    panel = read_frame(table, freq=1)
    assert same(panel, read_frame(table.sample(fraction=1, shuffle=True, seed=seed), freq=1))
    given_rows = {row[:2]: row[2] for row in table.rows() if not np.isnan(row[2])}
    found_rows = {row[:2]: row[2] for row in panel.to_frame().rows() if row[2] is not None}
    assert found_rows == given_rows
    assert same(panel, read_frame(panel.to_frame(), freq=1))


@given(series=PANELS, step=st.integers(-60, 70))
@settings(deadline=None)
def test_a_cut_holds_the_rows_up_to_the_step_and_no_others(
    series: list[tuple[int, list[float]]], step: int
) -> None:
    table = long_frame(series)
    if table["y"].is_nan().all():
        return
    panel = read_frame(table, freq=1)
    rows = panel.to_frame()
    seen, rest = rows.filter(pl.col("ds") <= step), rows.filter(pl.col("ds") > step)
    for part, cut in ((seen, lambda: panel.until(step)), (rest, lambda: panel.since(step + 1))):
        if part.is_empty():
            with pytest.raises(InputError, match=r"begins by|ends before"):
                cut()
        else:
            assert cut().to_frame().equals(part)


@pytest.mark.parametrize("rows", [3, 51, 500])
def test_series_of_uneven_lengths_keep_their_places(rows: int) -> None:
    # case forecasting#18
    table = long_frame([(0, list(range(rows))), (7, list(range(51)))])
    panel = read_frame(table)
    assert panel.lengths.tolist() == [rows, 51]
    assert panel.end_steps.tolist() == [rows - 1, 57]
    assert panel.series(1)[0] == 0
    assert panel.end_step(1) == 57


class TestKinds:
    def test_pandas_and_polars_read_alike_and_answer_in_kind(self) -> None:
        pandas = pytest.importorskip("pandas")
        table = frame("aabb", [0, 1, 0, 1], [1.0, 2.0, None, 4.0])
        ours, theirs = read_frame(table), read_frame(as_pandas(table))
        assert same(ours, theirs)
        assert (ours.native, theirs.native) == ("polars", "pandas")
        back = theirs.to_frame()
        assert isinstance(back, pandas.DataFrame)
        assert back["ds"].dtype.kind == "M"
        assert same(theirs, read_frame(back))

    @pytest.mark.parametrize("native", ["polars", "pandas"])
    @pytest.mark.parametrize("unit", ["ns", "us", "ms"])
    @pytest.mark.parametrize("zone", [None, "Europe/London"])
    def test_unit_and_zone_of_the_times_come_back(
        self, native: str, unit: str, zone: str | None
    ) -> None:
        # case forecasting#23
        stamps = pl.datetime_range(
            datetime(2024, 3, 30), datetime(2024, 4, 2), "1h", time_unit="us", eager=True
        )
        if zone:
            stamps = stamps.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        table: Any = pl.DataFrame({"unique_id": "a", "ds": stamps, "y": range(len(stamps))})
        table = table.with_columns(pl.col("ds").cast(pl.Datetime(unit, zone)))  # type: ignore[arg-type]
        if native == "pandas":
            pandas = pytest.importorskip("pandas")
            column = pandas.Series(stamps.dt.replace_time_zone(None).to_numpy())
            if zone:
                utc = stamps.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy()
                column = pandas.Series(utc).dt.tz_localize("UTC").dt.tz_convert(zone)
            table = pandas.DataFrame(
                {"unique_id": "a", "ds": column.dt.as_unit(unit), "y": range(len(stamps))}
            )
        panel = read_frame(table)
        back = panel.to_frame()
        assert str(panel.freq) == "h"
        assert len(panel.values) == len(stamps)
        assert back["ds"].dtype == table["ds"].dtype
        assert list(back["ds"]) == list(table["ds"])

    @pytest.mark.parametrize(
        "kind", [pl.Float32, pl.Float64, pl.Int8, pl.Int64, pl.UInt32, pl.Decimal(12, 2)]
    )
    def test_every_kind_of_number_is_a_target(self, kind: Any) -> None:
        # case forecasting#41
        table = frame("aaa", [0, 1, 2], [1, None, 3]).with_columns(pl.col("y").cast(kind))
        np.testing.assert_array_equal(read_frame(table).values, [1, np.nan, 3])

    @pytest.mark.parametrize("kind", ["float32", "int16", "Int64", "Float32", "decimal"])
    def test_every_kind_of_number_of_pandas_is_a_target(self, kind: str) -> None:
        # case forecasting#41
        pandas = pytest.importorskip("pandas")
        numbers = [Decimal("1.5"), Decimal("2.5")] if kind == "decimal" else [1, 2]
        y = pandas.Series(numbers, dtype=object if kind == "decimal" else kind)
        table = pandas.DataFrame({"unique_id": "a", "ds": [1, 2], "y": y})
        assert read_frame(table).values.tolist() == [float(number) for number in numbers]

    @pytest.mark.parametrize("y", [[True, False], ["1", "2"], [[1], [2]]])
    def test_what_is_no_number_is_refused(self, y: list[Any]) -> None:
        with pytest.raises(ColumnError, match=r"'y' holds .* not numbers; cast it"):
            read_frame(frame("aa", [0, 1], y))

    def test_integers_too_large_to_be_exact_are_refused(self) -> None:
        with pytest.raises(ColumnError, match=r"row 1: 'y' is 9007199254740993"):
            read_frame(frame("aa", [0, 1], [1, 2**53 + 1]))

    @pytest.mark.parametrize(
        "text",
        [
            "2024-01-0{}",
            "2024/1/{}",
            "2024-01-0{} 00:00",
            "2024-01-0{}T00:00:00",
            "2024-01-0{} 00:00:00.250",
            "2024-01-0{}T00:00:00+02:00",
            "2024-01-0{}T00:00:00Z",
        ],
    )
    def test_text_that_means_one_time_everywhere_is_read(self, text: str) -> None:
        stamps = [text.format(day) for day in (1, 2, 3)]
        panel = read_frame(pl.DataFrame({"unique_id": "a", "ds": stamps, "y": [1.0, 2.0, 3.0]}))
        assert str(panel.freq) in ("D", "24h")
        assert "text in 'ds' read as timestamps" in panel.notes
        assert read_frame(panel.to_frame()).values.tolist() == [1, 2, 3]

    @pytest.mark.parametrize("stamps", [["1/2/2024", "2/2/2024"], ["monday", "tuesday"]])
    def test_text_that_could_mean_two_times_is_refused(self, stamps: list[str]) -> None:
        with pytest.raises(ColumnError, match="no timestamp, such as"):
            read_frame(pl.DataFrame({"unique_id": "a", "ds": stamps, "y": [1.0, 2.0]}))

    def test_one_unreadable_text_is_named_by_row(self) -> None:
        table = pl.DataFrame({"unique_id": "a", "ds": ["2024-01-01", "soon"], "y": [1.0, 2.0]})
        with pytest.raises(InputError, match=r"row 1 .* no readable time"):
            read_frame(table, freq="D")

    @pytest.mark.parametrize("ids", [[7, 7], ["é", "é"], [date(2024, 1, 1)] * 2, [True, True]])
    def test_ids_keep_their_kind(self, ids: list[Any]) -> None:
        panel = read_frame(frame(ids, [0, 1], [1.0, 2.0]))
        assert panel.ids == (ids[0],)
        assert panel.to_frame()["unique_id"].to_list() == ids

    def test_categories_come_back_as_categories(self) -> None:
        table = frame("baab", [1, 0, 1, 0], [1.0, 2.0, 3.0, 4.0])
        kinds = (pl.Categorical(), pl.Enum(["b", "a"]))
        for kind in kinds:
            panel = read_frame(table.with_columns(pl.col("unique_id").cast(kind)))
            assert panel.ids == ("a", "b")
            assert panel.to_frame()["unique_id"].dtype == kind
        pandas_table = as_pandas(table)
        pandas_table["unique_id"] = pandas_table["unique_id"].astype("category")
        assert read_frame(pandas_table).to_frame()["unique_id"].dtype == "category"

    def test_mixed_ids_are_refused_by_row(self) -> None:
        table = as_pandas(frame("aab", [0, 1, 0], [1.0, 2.0, 3.0]))
        table["unique_id"] = table["unique_id"].astype(object)
        table.loc[1, "unique_id"] = 3
        with pytest.raises(ColumnError, match=r"mixes str \(row 0\) and int \(row 1\)"):
            read_frame(table)

    def test_a_lazy_frame_and_a_list_are_refused_with_the_cure(self) -> None:
        table = frame("aa", [0, 1], [1.0, 2.0])
        with pytest.raises(InputError, match=r"\.collect\(\)"):
            read_frame(table.lazy())
        with pytest.raises(InputError, match="list is no data frame"):
            read_frame([1, 2])

    def test_integer_time_may_begin_anywhere(self) -> None:
        # case forecasting#27
        panels = [
            read_frame(pl.DataFrame({"unique_id": "a", "ds": range(s, s + 9), "y": range(9)}))
            for s in (0, 1, 1000)
        ]
        assert all(panel.values.tolist() == list(range(9)) for panel in panels)
        assert [panel.starts[0] for panel in panels] == [0, 1, 1000]

    def test_pandas_needs_no_pyarrow(self, tmp_path: Path) -> None:
        pytest.importorskip("pandas")
        (tmp_path / "pyarrow.py").write_text("raise ImportError('not here')")
        program = (
            "import pandas as pd\n"
            "from likewise.forecasting.frames import read_frame\n"
            "t = pd.DataFrame({'unique_id': ['a', 'a', 'a'], 'y': pd.array([1, None, 3]),\n"
            "    'ds': pd.date_range('2024-03-31', periods=3, freq='h', tz='Europe/London')})\n"
            "back = read_frame(t).to_frame()\n"
            "assert (back['ds'] == t['ds']).all() and back['ds'].dtype == t['ds'].dtype\n"
            "assert back['y'].isna().tolist() == [False, True, False]\n"
        )
        paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr


class TestFaults:
    def test_a_wrong_column_name_is_met_with_the_closest_one(self) -> None:
        table = frame("aa", [0, 1], [1.0, 2.0]).rename({"ds": "DS", "y": "target"})
        with pytest.raises(ColumnError) as caught:
            read_frame(table)
        assert "found 'unique_id', 'DS', 'target'" in str(caught.value)
        assert "did you mean time_col='DS'?" in str(caught.value)
        assert "no column 'y'" in str(caught.value)

    def test_an_id_in_the_index_is_met_with_reset_index(self) -> None:
        table = as_pandas(frame("aa", [0, 1], [1.0, 2.0])).set_index("unique_id")
        with pytest.raises(ColumnError, match=r"\.reset_index\(\)"):
            read_frame(table)

    def test_an_empty_frame_is_refused(self) -> None:
        with pytest.raises(TooFewRows, match="no rows"):
            read_frame(frame("", [], []).cast({"ds": pl.Datetime("us"), "y": pl.Float64}))

    def test_duplicates_are_named_even_when_they_agree(self) -> None:
        # case forecasting#21
        table = frame("aaab", [0, 1, 1, 0], [1.0, 2.0, 2.0, 3.0])
        with pytest.raises(DuplicateRows, match=r"row 2 \('a' at 2024-01-01 01:00:00\) repeats"):
            read_frame(table)

    def test_infinite_targets_are_refused_by_row(self) -> None:
        # case forecasting#42
        with pytest.raises(NonFiniteError, match=r"^row 1 \('a' at .*\) has an infinite target"):
            read_frame(frame("aaa", [0, 1, 2], [1.0, float("inf"), 2.0]))

    def test_nulls_among_ids_and_times_are_refused_by_row(self) -> None:
        table = frame(["a", None, "a"], [0, 1, None], [1.0, 2.0, 3.0])
        with pytest.raises(InputError) as caught:
            read_frame(table, freq="h")
        assert "row 1 (None" in str(caught.value)
        assert "row 2 ('a' at None) has no readable time" in str(caught.value)

    def test_all_faults_of_a_frame_are_told_at_once(self) -> None:
        table = frame(
            ["a", "a", "a", "a", "a", "b", None],
            [0, 1, 1, 4, 5.5, 0.5, 0],
            [1.0, 2.0, 3.0, float("inf"), 4.0, 5.0, 6.0],
        )
        with pytest.raises(InputError) as caught:
            read_frame(table, freq="h")
        assert type(caught.value) is InputError
        for part in ("repeats row", "infinite", "off the grid", "whole series", "no id"):
            assert part in str(caught.value), part

    def test_a_long_list_of_faults_is_counted(self) -> None:
        with pytest.raises(NonFiniteError) as caught:
            read_frame(frame("a" * 900, list(range(900)), [float("inf")] * 900))
        assert "895 more faults" in str(caught.value)
        assert len(str(caught.value)) < 2_000

    def test_series_of_another_phase_are_refused_once_each(self) -> None:
        table = frame("a" * 9 + "b" * 3, [*range(9), 0.5, 1.5, 2.5], [1.0] * 12)
        with pytest.raises(InputError, match=r"^the whole series of row 9 .* another phase apart$"):
            read_frame(table, freq="h")

    def test_one_off_grid_stamp_is_named_with_the_step_before(self) -> None:
        # case forecasting#19
        table = frame("aaaa", [0, 1, 2.25, 3], [1.0] * 4)
        with pytest.raises(InputError, match=r"row 2 .*before it is 2024-01-01 02:00:00"):
            read_frame(table, freq="h", gaps="missing")

    def test_times_finer_than_a_microsecond_are_refused(self) -> None:
        stamps = pl.Series([0, 1_000_000_001]).cast(pl.Datetime("ns"))
        with pytest.raises(InputError, match=r"row 1 .*finer than a microsecond"):
            read_frame(pl.DataFrame({"unique_id": "a", "ds": stamps, "y": [1.0, 2.0]}), freq="s")

    def test_a_mistyped_year_does_not_become_a_million_rows(self) -> None:
        # case forecasting#43
        stamps = [datetime(2024, 1, 1), datetime(2024, 1, 1, 1), datetime(9024, 1, 1)]
        table = pl.DataFrame({"unique_id": "a", "ds": stamps, "y": [1.0, 2.0, 3.0]})
        with pytest.raises(InputError, match="61360726 of them between row 1"):
            read_frame(table, freq="h", gaps="zero")

    @pytest.mark.parametrize("gaps", ["fill", "", None])
    def test_an_unknown_policy_is_refused(self, gaps: Any) -> None:
        with pytest.raises(SettingError, match="error, missing, zero, interpolate"):
            read_frame(frame("aa", [0, 1], [1.0, 2.0]), gaps=gaps)


class TestMissing:
    HOLED = ("aaaaabbb", [0, 1, 2, 5, 6, 0, 1, 2], [1.0, None, 3.0, 6.0, 7.0, 1.0, 1.0, 1.0])

    def test_a_gap_is_refused_unless_a_policy_is_named(self) -> None:
        # case forecasting#21
        with pytest.raises(InputError, match=r"2 rows absent between row 2 .* and row 3 .*gaps="):
            read_frame(frame(*self.HOLED))

    @pytest.mark.parametrize(
        ("gaps", "values", "done"),
        [
            ("missing", [1, np.nan, 3, np.nan, np.nan, 6, 7], "2 absent rows left missing: 'a'"),
            ("zero", [1, np.nan, 3, 0, 0, 6, 7], "2 absent rows filled with zero: 'a' (2)"),
            ("interpolate", [1, 2, 3, 4, 5, 6, 7], "2 absent rows interpolated: 'a' (2)"),
        ],
    )
    def test_a_policy_does_what_it_says_and_says_what_it_did(
        self, gaps: Any, values: list[float], done: str
    ) -> None:
        panel = read_frame(frame(*self.HOLED), gaps=gaps)
        np.testing.assert_array_equal(panel.series(0), values)
        np.testing.assert_array_equal(panel.series(1), [1, 1, 1])
        assert any(done in note for note in panel.notes)
        assert any("1 missing target " in note for note in panel.notes)

    def test_what_is_missing_before_the_first_value_is_absent_not_zero(self) -> None:
        # case forecasting#22
        table = frame("aaaab", [0, 1, 2, 3, 0], [None, float("nan"), 3.0, 4.0, 1.0])
        for gaps in ("error", "missing", "zero", "interpolate"):
            panel = read_frame(table, gaps=gaps)
            assert panel.series(0).tolist() == [3, 4]
            assert panel.starts[0] == panel.starts[1] + 2
            assert any("2 missing targets before the first value" in n for n in panel.notes)

    def test_what_is_missing_after_the_last_value_is_left_out(self) -> None:
        panel = read_frame(frame("aaa", [0, 1, 2], [1.0, 2.0, None]))
        assert panel.values.tolist() == [1, 2]
        assert any("after the last value" in note for note in panel.notes)

    def test_a_series_without_a_value_is_left_out_by_name(self) -> None:
        panel = read_frame(frame("aabb", [0, 1, 0, 1], [1.0, 2.0, None, None]))
        assert panel.ids == ("a",)
        assert "series without a single value left out: 'b'" in panel.notes

    def test_an_interpolated_value_is_missing_until_its_later_neighbour_is_known(self) -> None:
        # case forecasting#1: a cut inside a gap must not know what lies behind the gap
        panel = read_frame(frame(*self.HOLED), gaps="interpolate")
        step = panel.starts[0]
        np.testing.assert_array_equal(panel.until(step + 3).series(0), [1, 2, 3, np.nan])
        np.testing.assert_array_equal(panel.until(step + 5).series(0), [1, 2, 3, 4, 5, 6])
        assert panel.until(step + 5).interpolated.tolist() == [1, 3, 4]

    def test_a_clean_frame_is_read_without_a_word(self) -> None:
        panel = read_frame(frame("aabb", [0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0]), freq="h")
        assert panel.notes == ()

    def test_columns_that_are_not_read_are_named(self) -> None:
        table = frame("aa", [0, 1], [1.0, 2.0]).with_columns(price=pl.lit(1.0))
        assert "columns not read: 'price'" in read_frame(table).notes


class TestPanel:
    def test_times_are_found_from_text_dates_and_datetimes(self) -> None:
        table = frame("aa", [0, 1], [1.0, 2.0])
        panel = read_frame(table)
        steps = panel.steps(["2024-01-01 05:00"])
        assert panel.steps([datetime(2024, 1, 1, 5)]).tolist() == steps.tolist()
        assert panel.stamps(steps).to_list() == [datetime(2024, 1, 1, 5)]
        assert panel.steps([date(2024, 1, 1)]).tolist() == panel.starts.tolist()

    def test_text_is_local_time_in_a_panel_with_a_zone(self) -> None:
        stamps = pl.datetime_range(
            datetime(2024, 7, 1), datetime(2024, 7, 2), "1h", time_zone="Europe/London", eager=True
        )
        panel = read_frame(pl.DataFrame({"unique_id": "a", "ds": stamps, "y": 1.0}))
        assert panel.steps(["2024-07-01"]).tolist() == panel.starts.tolist()

    def test_an_unknown_series_is_met_with_the_closest(self) -> None:
        panel = read_frame(frame(["store_1", "store_2"], [0, 1], [1.0, 2.0]), freq="h")
        assert panel.number_of("store_2") == 1
        with pytest.raises(UnknownId, match="the closest is 'store_1'"):
            panel.number_of("stor_1")

    def test_nothing_is_copied_when_nothing_is_cut(self) -> None:
        panel = read_frame(frame("aa", [0, 1], [1.0, 2.0]))
        assert panel.until(panel.end_step(0)) is panel
        assert np.shares_memory(panel.series(0), panel.values)

    @pytest.mark.parametrize("native", ["polars", "pandas"])
    def test_an_answer_is_of_the_callers_kind(self, native: str) -> None:
        table = frame("ab", [0, 0], [1.0, 2.0])
        panel = read_frame(table if native == "polars" else as_pandas(table), freq="h")
        answer = panel.answer(
            {
                "unique_id": panel.labels(np.array([1, 0])),
                "ds": panel.stamps(panel.end_steps + 1),
                "model": np.array([0.5, 0.25]),
            }
        )
        assert type(answer).__module__.startswith(native)
        assert list(answer["unique_id"]) == ["b", "a"]
        assert list(answer["ds"]) == [START + HOUR] * 2
        assert list(answer["model"]) == [0.5, 0.25]


class TestFiles:
    LONG = pl.DataFrame({"unique_id": ["a", "a"], "ds": ["2024-01-01", "2024-01-02"], "y": [1, 2]})

    def test_a_long_file_is_read_whatever_its_format(self, tmp_path: Path) -> None:
        self.LONG.write_csv(tmp_path / "x.csv")
        self.LONG.write_parquet(tmp_path / "x.parquet")
        for name in ("x.csv", "x.parquet"):
            panel = read_file(tmp_path / name)
            assert panel.ids == ("a",)
            assert panel.values.tolist() == [1, 2]
            assert str(panel.freq) == "D"

    def test_a_wide_file_has_one_series_a_column(self, tmp_path: Path) -> None:
        (tmp_path / "w.csv").write_text(
            "date,OT,HULL\n2024-01-01,1,2\n2024-01-02,3,\n2024-01-03,4,5"
        )
        panel = read_file(tmp_path / "w.csv", time="date")
        assert panel.ids == ("HULL", "OT")
        np.testing.assert_array_equal(panel.series(0), [2, np.nan, 5])

    def test_a_file_without_header_and_times_counts_its_rows(self, tmp_path: Path) -> None:
        (tmp_path / "n.txt").write_text("0.5,1\n0.25,2\n")
        panel = read_file(tmp_path / "n.txt")
        assert panel.ids == ("column_1", "column_2")
        assert panel.values.tolist() == [0.5, 0.25, 1, 2]
        assert panel.starts.tolist() == [0, 0]

    @pytest.mark.parametrize(
        ("text", "time", "kind", "message"),
        [
            ("", None, TooFewRows, "x.csv is empty"),
            ("date,y1\n", "date", TooFewRows, "no rows"),
            ("date,y1\n2024-01-01,1\n", None, ColumnError, "pass time='date'"),
            ("date,y1\n2024-01-01,1\n", "Date", ColumnError, "did you mean time='date'"),
            ("date\n2024-01-01\n", "date", ColumnError, "no column besides"),
        ],
    )
    def test_what_is_wrong_with_a_file_is_told_with_its_name(
        self, tmp_path: Path, text: str, time: str | None, kind: type[InputError], message: str
    ) -> None:
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(kind, match=message):
            read_file(tmp_path / "x.csv", time=time)

    def test_a_file_that_is_not_there_or_no_table_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "x.parquet").write_bytes(b"PAR?")
        for name, message in (("y.csv", "no file"), ("x.parquet", "cannot be read")):
            with pytest.raises(InputError, match=message):
                read_file(tmp_path / name)
        (tmp_path / "x.xlsx").write_bytes(b"")
        with pytest.raises(InputError, match="no known kind"):
            read_file(tmp_path / "x.xlsx")
