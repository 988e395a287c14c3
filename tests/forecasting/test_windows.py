"""Windows: cut lazily, complete, in the order they became known."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import SettingError
from likewise.forecasting.frames import Panel, read_frame
from likewise.forecasting.moments import window_moments
from likewise.forecasting.windows import OverlapMask, Windows, too_short

from tests.naive import naive_moments, naive_overlap, naive_windows

Series = list[tuple[int, list[float]]]
NAN = float("nan")
SERIES = st.lists(
    st.tuples(
        st.integers(-10, 10),
        st.lists(st.one_of(st.integers(-9, 9).map(float), st.just(NAN)), max_size=25).map(
            lambda inner: [1.0, *inner, 2.0]
        ),
    ),
    min_size=1,
    max_size=4,
)
SIZES = {"lookback": st.integers(1, 6), "horizon": st.integers(1, 4)}


def panel_of(series: Series) -> Panel:
    rows = [
        (f"s{number}", start + place, value)
        for number, (start, values) in enumerate(series)
        for place, value in enumerate(values)
    ]
    table = pl.DataFrame(rows, schema=["unique_id", "ds", "y"], orient="row")
    return read_frame(table, freq=1)


@given(series=SERIES, **SIZES)
@settings(deadline=None)
def test_windows_are_those_of_the_slow_twin(series: Series, lookback: int, horizon: int) -> None:
    windows = Windows(panel_of(series), lookback, horizon)
    everything = slice(None)
    found = list(
        zip(
            windows.end_steps.tolist(),
            windows.series_of(everything).tolist(),
            windows.pasts(everything).tolist(),
            windows.futures(everything).tolist(),
            strict=True,
        )
    )
    assert found == naive_windows(series, lookback, horizon)
    assert (windows.origin_steps(everything) + horizon == windows.end_steps).all()


@given(series=SERIES, step=st.integers(-12, 40), **SIZES)
@settings(deadline=None)
def test_what_is_known_at_a_step_is_a_prefix_and_nothing_later_enters_it(
    series: Series, step: int, lookback: int, horizon: int
) -> None:
    # cases forecasting#2 and #5: no window known at a step shares a row with what follows it
    panel = panel_of(series)
    windows = Windows(panel, lookback, horizon)
    known = slice(0, int(windows.upto(np.array([step]))[0]))
    if step < panel.starts.min():
        assert known.stop == 0
        return
    earlier = Windows(panel.until(step), lookback, horizon)
    assert windows.end_steps[known].tolist() == earlier.end_steps.tolist()
    np.testing.assert_array_equal(windows.pasts(known), earlier.pasts(slice(None)))
    np.testing.assert_array_equal(windows.futures(known), earlier.futures(slice(None)))


@given(series=SERIES, stride=st.integers(1, 5), **SIZES)
@settings(deadline=None)
def test_a_stride_keeps_windows_by_the_calendar(
    series: Series, stride: int, lookback: int, horizon: int
) -> None:
    panel = panel_of(series)
    whole = Windows(panel, lookback, horizon).end_steps
    kept = Windows(panel, lookback, horizon, stride=stride).end_steps
    assert kept.tolist() == [step for step in whole.tolist() if step % stride == 0]


@given(series=SERIES, **SIZES)
@settings(deadline=None)
def test_moments_are_those_of_each_past(series: Series, lookback: int, horizon: int) -> None:
    windows = Windows(panel_of(series), lookback, horizon)
    means, deviations = windows.moments(slice(None))
    for row, past in enumerate(windows.pasts(slice(None)).tolist()):
        assert (means[row], deviations[row]) == pytest.approx(naive_moments(past), abs=1e-12)


@pytest.mark.parametrize("length", [1, 2, 7, 64, 301])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_moments_lose_nothing_far_from_zero_or_after_a_jump(length: int, scale: float) -> None:
    # case forecasting#39
    rng = np.random.default_rng(3)
    values = 1e8 + 1e-3 * rng.normal(size=300)
    values[120:200] = 1e-6 * rng.normal(size=80)
    values[250:] = 5.0
    values *= scale
    means, deviations = window_moments(values, length)
    for end in range(length - 1, 300, 11):
        mean, deviation = naive_moments(values[end - length + 1 : end + 1].tolist())
        assert means[end] == pytest.approx(mean, rel=1e-12, abs=1e-12 * scale)
        assert deviations[end] == pytest.approx(deviation, rel=1e-6, abs=1e-14 * scale)


def test_the_deviation_of_a_constant_window_is_zero() -> None:
    # case forecasting#38
    assert (window_moments(np.full(50, 0.1), 7)[1][6:] == 0).all()
    assert np.isnan(window_moments(np.full(50, np.nan), 7)[1]).all()


def test_moments_do_not_depend_on_where_the_pieces_end(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=1_000)
    whole = window_moments(values, 5)
    monkeypatch.setattr("likewise.forecasting.moments.PIECE", 1)
    for one, other in zip(whole, window_moments(values, 5), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_the_minimum_length_that_is_stated_works_exactly() -> None:
    # case forecasting#17
    long, exact, short = [1.0] * 40, [1.0] * 12, [1.0] * 11
    panel = panel_of([(0, long), (0, exact), (0, short), (5, [*short, NAN, *short])])
    named = too_short(panel, 8, 4)
    assert [(entry.series_id, entry.longest, entry.minimum) for entry in named] == [
        ("s2", 11, 12),
        ("s3", 11, 12),
    ]
    assert "'s2' has at most 11 rows" in str(named[0])
    counts = np.bincount(Windows(panel, 8, 4).series_of(slice(None)), minlength=4)
    assert counts.tolist() == [29, 1, 0, 0]
    assert too_short(panel, 7, 4) == ()


def test_a_panel_too_short_for_any_window_gives_none() -> None:
    windows = Windows(panel_of([(0, [1.0, 2.0])]), 3, 2)
    assert len(windows) == 0
    assert windows.pasts(slice(None)).shape == (0, 3)
    assert windows.futures(np.zeros(0, dtype=int)).shape == (0, 2)
    assert windows.upto(np.array([100])).tolist() == [0]


@pytest.mark.parametrize(("lookback", "horizon", "name"), [(0, 1, "lookback"), (1, 0, "horizon")])
def test_windows_of_no_rows_are_refused(lookback: int, horizon: int, name: str) -> None:
    with pytest.raises(SettingError, match=f"{name}=0"):
        Windows(panel_of([(0, [1.0])]), lookback, horizon)


@given(series=SERIES, lookback=st.integers(1, 8))
@settings(deadline=None)
def test_queries_never_fill_what_is_not_there(series: Series, lookback: int) -> None:
    # case forecasting#2
    panel = panel_of(series)
    windows = Windows(panel, lookback, 1)
    for number, (_, values) in enumerate(series):
        positions = np.arange(len(values))
        found = windows.queries(np.full(len(values), number), positions)
        padded = [NAN] * (lookback - 1) + values
        wanted = [padded[place : place + lookback] for place in range(len(values))]
        np.testing.assert_array_equal(found, wanted)


def test_a_position_outside_its_series_is_refused_by_name() -> None:
    windows = Windows(panel_of([(0, [1.0, 2.0]), (0, [1.0])]), 1, 1)
    with pytest.raises(SettingError, match=r"position 1 is outside series 's1'"):
        windows.queries(np.array([0, 1]), np.array([1, 1]))


def test_no_window_and_no_query_ends_on_a_value_drawn_from_the_future() -> None:
    # case forecasting#1
    table = pl.DataFrame({"unique_id": "a", "ds": [0, 1, 2, 3, 6, 7, 8], "y": range(7)})
    panel = read_frame(table.cast({"y": pl.Float64}), freq=1, gaps="interpolate")
    windows = Windows(panel, 2, 2)
    assert (windows.anchors + 2).tolist() == [3, 8]
    query = windows.queries(np.zeros(3, dtype=int), np.array([4, 5, 6]))
    np.testing.assert_array_equal(query[0], [3, np.nan])
    np.testing.assert_array_equal(query[1], [np.nan, np.nan])
    assert query[2].tolist() == pytest.approx([11 / 3, 4])
    for step in range(9):
        seen = panel.until(step)
        last = np.array([len(seen.values) - 1])
        one, other = (Windows(known, 3, 1).queries(np.array([0]), last) for known in (seen, panel))
        np.testing.assert_array_equal(one, other)


@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30)), min_size=1, max_size=12),
    span=st.integers(1, 12),
)
@settings(deadline=None)
def test_the_overlap_mask_is_true_where_windows_share_a_row(
    rows: list[tuple[int, int]], span: int
) -> None:
    series, ends = torch.tensor(rows).T
    mask = OverlapMask(series, ends, span)
    half = len(rows) // 2
    device = torch.device("cpu")
    tiles = [mask.tile(part, device) for part in (slice(0, half), slice(half, len(rows)))]
    assert torch.cat(tiles).tolist() == naive_overlap(rows, span)


def test_the_overlap_of_windows_counts_lookback_and_horizon() -> None:
    windows = Windows(panel_of([(0, [1.0] * 30), (0, [1.0] * 30)]), 4, 3)
    rows = np.arange(len(windows))
    tile = windows.overlaps(rows).tile(slice(0, 1), torch.device("cpu"))[0].numpy()
    near = windows.origin_steps(rows) - windows.origin_steps(rows)[0] < 7
    assert tile.tolist() == (near & (windows.series_of(rows) == 0)).tolist()


def test_memory_of_a_million_windows_stays_beside_the_data() -> None:
    # case forecasting#34
    values = np.random.default_rng(0).normal(size=1_100_000)
    table = pl.DataFrame({"unique_id": "a", "ds": np.arange(len(values)), "y": values})
    panel = read_frame(table, freq=1)
    # The frame's own time and target columns.
    raw = 2 * values.nbytes
    tracemalloc.start()
    windows = Windows(panel, 336, 96)
    windows.moments(slice(0, 1))
    windows.pasts(np.arange(256))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(windows) == len(values) - 336 - 96 + 1
    assert peak < 3 * raw + 2 * windows.anchors.nbytes


def test_the_panel_is_read_where_it_lies() -> None:
    windows = Windows(panel_of([(0, [float(value) for value in range(20)])]), 4, 2)
    held = [value for value in vars(windows).values() if isinstance(value, np.ndarray)]
    assert sum(array.nbytes for array in held) == 16 * len(windows)
    assert math.prod(windows.pasts([0, 3]).shape) == 8
    assert repr(windows) == "Windows(15 of lookback 4 and horizon 2, from 1 series)"
