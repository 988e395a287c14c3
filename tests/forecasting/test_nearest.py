from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import NonFiniteError, SettingError, ShapeError, TooFewRows
from likewise.forecasting import (
    cut_stretch,
    describe_quality,
    find_duplicates,
    find_similar,
    nearest_stretches,
    read_frame,
)
from likewise.forecasting.inspection import nearest as module

from tests.forecasting.planted import as_pandas, long_frame, panel_of, wave
from tests.naive_inspection import naive_nearest, naive_shape_distance

NAN = float("nan")


def check(series: list[list[float]], length: int, apart: int | None = None) -> None:
    panel = panel_of([(0, values) for values in series])
    expected = naive_nearest(
        [panel.series(n).tolist() for n in range(len(panel))],
        length,
        -(-length // 4) + 1 if apart is None else apart,
    )
    if not expected:
        with pytest.raises(TooFewRows):
            nearest_stretches(panel, length, apart=apart)
        return
    found = nearest_stretches(panel, length, apart=apart)

    def place(row: int) -> tuple[int, int]:
        number = int(np.searchsorted(panel.offsets[1:], row, side="right"))
        return number, row - int(panel.offsets[number])

    assert [place(int(row)) for row in found.starts] == list(expected)
    for start, nearest, distance in zip(found.starts, found.nearest, found.distance, strict=True):
        least, ties = expected[place(int(start))]
        assert distance == pytest.approx(least, abs=1e-6)
        assert place(int(nearest)) in ties


@pytest.mark.parametrize("length", [3, 8, 15])
@pytest.mark.parametrize("tile", [4, 7, 1024])
def test_the_nearest_are_those_of_the_slow_twin(
    monkeypatch: pytest.MonkeyPatch, length: int, tile: int
) -> None:
    # case forecasting#43
    monkeypatch.setattr(module, "TILE", tile)
    monkeypatch.setattr(module, "GROUP", 2)
    rng = np.random.default_rng(length)
    check([rng.normal(size=40).tolist(), np.cumsum(rng.normal(size=25)).tolist()], length)
    check([wave(60).tolist()], length, apart=20)


SERIES = st.lists(
    st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0, NAN]), min_size=6, max_size=24),
    min_size=1,
    max_size=3,
).filter(lambda series: all(np.isfinite(values).sum() > 3 for values in series))


@settings(max_examples=60, deadline=None)
@given(SERIES, st.integers(3, 6), st.sampled_from([None, 1, 4, 30]))
def test_flat_missing_and_tied_stretches_are_those_of_the_slow_twin(
    series: list[list[float]], length: int, apart: int | None
) -> None:
    # case forecasting#38
    panel = panel_of([(0, values) for values in series])
    if all(
        np.isnan(np.lib.stride_tricks.sliding_window_view(values, length)).any(axis=1).all()
        for values in map(panel.series, range(len(panel)))
        if len(values) >= length
    ):
        with pytest.raises(TooFewRows):
            nearest_stretches(panel, length, apart=apart)
        return
    check(series, length, apart)


def test_constants_are_at_distance_zero_and_a_fixed_one_from_the_rest() -> None:
    # case forecasting#38
    panel = panel_of([(0, [5.0] * 12), (0, [7.0] * 9), (0, wave(12).tolist())])
    found = nearest_stretches(panel, 8)
    constant = found.starts < 21
    assert (found.distance[constant] == 0).all()
    assert np.isfinite(found.distance).all()
    alone = nearest_stretches(panel_of([(0, [5.0] * 9), (0, wave(8).tolist())]), 8, apart=9)
    assert alone.distance == pytest.approx(np.full(3, np.sqrt(8)))


@pytest.mark.parametrize("scale", [1e-8, 1e8, 1e-100, 1e100])
def test_units_do_not_matter(scale: float) -> None:
    # case forecasting#39
    values = wave(80)
    one = nearest_stretches(panel_of([(0, values.tolist())]), 10)
    other = nearest_stretches(panel_of([(0, (values * scale).tolist())]), 10)
    assert np.array_equal(one.nearest, other.nearest)
    assert np.allclose(one.distance, other.distance, atol=1e-6)


def test_the_frame_names_both_places() -> None:
    frame = long_frame({"x": (100, wave(40)), "y": (7, wave(30, 1))})
    table = nearest_stretches(frame, 8).to_frame()
    assert table.columns == ["unique_id", "ds", "nearest_unique_id", "nearest_ds", "distance"]
    assert table["ds"][0] == 100
    assert len(table) == 33 + 23


def test_lengths_that_have_no_shape_are_refused() -> None:
    with pytest.raises(SettingError, match="no shape"):
        nearest_stretches(panel_of([(0, [1.0, 2.0, 3.0])]), 2)
    with pytest.raises(SettingError, match="apart starts at 1"):
        nearest_stretches(panel_of([(0, wave(30).tolist())]), 5, apart=0)
    with pytest.raises(TooFewRows, match="the longest has 12 rows"):
        nearest_stretches(panel_of([(0, wave(12).tolist())]), 20)


def library() -> pl.DataFrame:
    return long_frame({"x": (0, wave(90)), "y": (50, 4 + 2 * wave(70, 1)), "z": (0, wave(60, 2))})


def test_the_most_similar_are_those_of_the_slow_twin() -> None:
    frame, stretch = library(), wave(12, 5)
    found = find_similar(frame, stretch, k=6, apart=1)
    panel = read_frame(frame)
    every = sorted(
        naive_shape_distance(panel.series(n)[s : s + 12].tolist(), stretch.tolist())
        for n in range(3)
        for s in range(panel.length(n) - 11)
    )
    assert found["distance"].to_numpy() == pytest.approx(every[:6], abs=1e-6)
    assert (found["end"] - found["ds"]).unique().to_list() == [11]


def test_a_stretch_of_the_library_finds_itself_and_then_others_apart() -> None:
    panel = read_frame(library())
    stretch = cut_stretch(panel, "y", 60, 15)
    found = find_similar(panel, 100 - 3 * -stretch, k=8)
    first = found.row(0, named=True)
    assert (first["unique_id"], first["ds"], first["end"]) == ("y", 60, 74)
    assert first["distance"] == pytest.approx(0, abs=1e-6)
    for name in "xyz":
        starts = found.filter(unique_id=name)["ds"].sort()
        assert (np.diff(starts.to_numpy()) >= 15).all()


def test_fewer_are_answered_where_there_are_fewer_and_pandas_gets_pandas() -> None:
    found = find_similar(as_pandas(library()), wave(40), k=50)
    assert type(found).__module__.startswith("pandas")
    assert len(found) < 7


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_other_kinds_of_numbers_are_looked_for_too(kind: type) -> None:
    # case forecasting#41
    assert len(find_similar(library(), np.arange(9).astype(kind), k=1)) == 1


def test_what_cannot_be_looked_for_is_refused() -> None:
    frame = library()
    with pytest.raises(NonFiniteError, match="row 1 of the stretch is nan"):
        find_similar(frame, [1.0, NAN, 2.0])
    with pytest.raises(ShapeError, match="one row of numbers"):
        find_similar(frame, np.ones((2, 3)))
    with pytest.raises(SettingError, match="start at 1"):
        find_similar(frame, wave(9), k=0)
    with pytest.raises(SettingError, match="do not hold 15 rows from 110"):
        cut_stretch(read_frame(frame), "y", 110, 15)


def test_copies_are_found_in_their_full_length_whatever_their_level() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=120), rng.normal(size=100)
    y[40:75] = 10 + 3 * x[20:55]
    found = find_duplicates(long_frame({"x": (0, x), "y": (1000, y)}), 20)
    assert found.rows() == [("x", 20, "y", 1040, 35, pytest.approx(1.0))]
    assert not len(find_duplicates(long_frame({"x": (0, x), "y": (0, x[::-1] ** 2)}), 20))
    flat = long_frame({"x": (0, np.ones(50)), "y": (0, np.ones(50))})
    assert not len(find_duplicates(flat, 20))


def test_the_quality_of_a_series_is_told_in_numbers() -> None:
    values = wave(60).tolist()
    values[10:13] = [NAN] * 3
    values[20:27] = [4.0] * 7
    values[40] = 500.0
    table = describe_quality(long_frame({"x": (0, values), "y": (0, [1.0] * 9)}))
    assert table.columns == [
        "unique_id", "rows", "missing", "longest_gap", "longest_stuck", "values", "spikes",
    ]  # fmt: skip
    assert table.row(0) == ("x", 60, 3, 3, 7, 51, 1)
    assert table.row(1) == ("y", 9, 0, 0, 9, 1, 0)
