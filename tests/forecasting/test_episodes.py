"""Episodes: a forecast taken apart, and put together again."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import SettingError, UnknownId
from likewise.forecasting import Normaliser, RetrievalForecaster
from likewise.forecasting.continuations import ContinuationIndex
from likewise.forecasting.embeddings import RawEmbedding
from likewise.forecasting.episodes import gather_episodes
from likewise.forecasting.recipe import Recipe

from tests.forecasting.planted import (
    HORIZON,
    LOOKBACK,
    forecasts_at,
    long_frame,
    panel_of,
    two_waves,
    wave,
)
from tests.naive_forecasting import naive_episodes


@cache
def small_index() -> ContinuationIndex:
    panel = panel_of([(0, wave(30).tolist()), (4, wave(26, 1).tolist())])
    recipe = Recipe(4, 2, Normaliser("mean"), {"s0": 1.0, "s1": 1.0})
    return ContinuationIndex(panel, recipe, RawEmbedding(unit=0.1))


@given(
    data=st.data(),
    count=st.integers(0, 60),
    gap=st.integers(1, 40),
)
@settings(deadline=None)
def test_episodes_are_those_of_the_slow_twin(data: st.DataObject, count: int, gap: int) -> None:
    index = small_index()
    rows = len(index)
    raw = data.draw(st.lists(st.integers(0, 50), min_size=rows, max_size=rows))
    weights = np.array(raw, dtype=np.float64) / max(sum(raw), 1)
    groups, rest = gather_episodes(index, weights, count, gap)
    series = index.windows.series_of(slice(None)).tolist()
    ends = index.windows.end_steps.tolist()
    expected, left = naive_episodes(weights.tolist(), series, ends, count, gap)
    assert rest.tolist() == left
    key = [(-round(sum(weights[group]), 12), sorted(group)) for group in expected]
    found = [(-round(float(weights[group].sum()), 12), group.tolist()) for group in groups]
    assert sorted(found) == sorted(key)


@pytest.mark.parametrize("episodes", [0, 1, 8, 10_000])
@pytest.mark.parametrize("series_id", ["a", "b", None])
def test_the_weighted_sum_is_the_forecast(
    fitted: RetrievalForecaster, series_id: str | None, episodes: int
) -> None:
    told = fitted.explain(series_id, episodes=episodes)
    forecast = forecasts_at(fitted.predict(), series_id or "a", fitted.alias)
    unit = fitted.recipe_.deviations[series_id or "a"]
    np.testing.assert_allclose(told.total(), forecast, atol=1e-6 * unit)
    np.testing.assert_allclose(told.forecast, forecast, atol=1e-6 * unit)
    shares = [episode.weight for episode in told.episodes]
    assert sum(shares) + told.rest_weight == pytest.approx(1, abs=1e-12)
    assert shares == sorted(shares, reverse=True)
    assert all(0 < share <= 1 for share in shares)
    gathered = sum(episode.windows for episode in told.episodes) + told.rest_windows
    assert gathered <= len(fitted.index_)
    assert 1 <= told.effective <= len(fitted.index_)
    assert told.rest_windows == 0 if episodes == 10_000 else told.rest_windows > 0


def test_the_explanation_holds_in_a_panel_of_many_series() -> None:
    # more series than are weighed in double precision at once
    frame = long_frame({i: (0, 10.0 ** (i % 5) * wave(36, i, noise=0.01)) for i in range(260)})
    model = RetrievalForecaster(2, 8, embedding="raw", stride=6).fit(frame)
    table = model.predict(level=[50])
    for series_id in (0, 7, 259):
        told = model.explain(series_id)
        forecast = forecasts_at(table, series_id, "RetrievalForecaster")
        unit = model.recipe_.deviations[series_id]
        np.testing.assert_allclose(told.total(), forecast, atol=1e-6 * unit)


def test_episodes_are_stretches_of_the_data(fitted: RetrievalForecaster) -> None:
    told = fitted.explain("b", episodes=20, min_gap=5)
    values = {key[0]: part["y"].to_list() for key, part in two_waves().group_by("unique_id")}
    for episode in told.episodes:
        whole = values[episode.series_id]
        assert episode.end - episode.start == LOOKBACK - 1
        assert episode.past.tolist() == whole[episode.start : episode.end + 1]
        followed = whole[episode.end + 1 : episode.end + 1 + HORIZON]
        assert episode.continuation.tolist() == followed
        assert -1.000001 <= episode.similarity <= 1.000001
        units = fitted.recipe_.deviations
        assert episode.scale == pytest.approx(units["b"] / units[episode.series_id])
    assert told.past.tolist() == values["b"][-LOOKBACK:]
    assert told.cutoff == 159


def test_heaviest_windows_of_one_series_are_apart_by_the_gap(fitted: RetrievalForecaster) -> None:
    for gap in (1, 5, 30):
        told = fitted.explain("a", episodes=50, min_gap=gap)
        ends = [(episode.series_id, episode.end) for episode in told.episodes]
        for place, (name, end) in enumerate(ends):
            for other, later in ends[place + 1 :]:
                assert name != other or abs(end - later) >= gap


def test_an_explanation_is_a_table_with_the_callers_times() -> None:
    start = datetime(2024, 1, 1)
    frame = two_waves().with_columns(
        ds=pl.Series([start + timedelta(hours=hour) for hour in two_waves()["ds"]])
    )
    told = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw").fit(frame).explain("a")
    table = told.to_frame()
    assert table["rank"].to_list() == list(range(1, len(table) + 1))
    assert table["start"].dtype == pl.Datetime
    assert (table["end"] - table["start"]).unique().to_list() == [timedelta(hours=LOOKBACK - 1)]
    assert told.cutoff == start + timedelta(hours=159)
    assert table["continuation"].list.len().unique().to_list() == [HORIZON]


def test_what_cannot_be_explained_says_why(fitted: RetrievalForecaster) -> None:
    with pytest.raises(UnknownId, match="no series 'aa'"):
        fitted.explain("aa")
    for wrong in ({"min_gap": 0}, {"episodes": -1}):
        with pytest.raises(SettingError, match="min_gap"):
            fitted.explain("a", **wrong)  # type: ignore[arg-type]
    frame = pl.concat([two_waves(), long_frame({"short": (150, wave(10))})])
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw").fit(frame)
    told = model.explain("short")
    assert {episode.series_id for episode in told.episodes} == {"a", "b"}
    np.testing.assert_allclose(told.total(), told.forecast, atol=1e-9)
