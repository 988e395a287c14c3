"""Windows with holes: answered by donors that are named, and never filled in."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from likewise.core import SettingError, TooFewRows
from likewise.forecasting import Blend, DirectRidge, RetrievalForecaster, read_frame
from likewise.forecasting.cold import DONORS, LEAST_KNOWN, find_donors, startable
from likewise.forecasting.origins import Origins, latest_origins

from tests.forecasting.planted import SEASON, forecasts_at, long_frame, wave
from tests.naive_forecasting import naive_deviation

HORIZON, LOOKBACK = 12, 48
FIRST_OF_NEW = 180


def panel_with(new: object, *, rows: int = 200) -> pl.DataFrame:
    """Four old series, and a new one whose rows end where theirs end."""
    old = {f"s{i}": (0, 10 * i + (1 + i) * wave(rows, i, noise=0.1)) for i in range(4)}
    values = np.asarray(new)
    return long_frame(old | {"new": (rows - len(values), values)})


def season_from(step: int, rows: int) -> np.ndarray:
    return 500 + 40 * np.sin(2 * np.pi * np.arange(step, step + rows) / SEASON)


@pytest.fixture(scope="module")
def model() -> RetrievalForecaster:
    frame = panel_with(season_from(FIRST_OF_NEW, 20))
    return RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", freq=1).fit(frame)


def test_a_new_series_with_20_points_gets_a_forecast_from_others(
    model: RetrievalForecaster,
) -> None:
    # case forecasting#2
    table = model.predict(level=[80], quantiles=[0.5])
    assert model.skipped_ == {}
    forecast = np.array(forecasts_at(table, "new", "RetrievalForecaster"))
    truth = season_from(200, HORIZON)
    assert np.abs(forecast - truth).max() < 20
    assert np.abs(forecast - truth).mean() < 0.3 * np.abs(truth - season_from(199, 1)).mean()
    story = model.explain("new", episodes=3)
    assert {episode.series_id for episode in story.episodes} <= {"s0", "s1", "s2", "s3"}
    assert np.isnan(story.past[: LOOKBACK - 20]).all()
    assert not np.isnan(story.past[LOOKBACK - 20 :]).any()
    np.testing.assert_allclose(story.forecast, forecast, rtol=1e-9)
    np.testing.assert_allclose(story.total(), forecast, rtol=1e-9)
    weights = [episode.weight for episode in story.episodes]
    assert sum(weights) + story.rest_weight == pytest.approx(1)
    assert weights == sorted(weights, reverse=True)
    for episode in story.episodes:
        assert -1 <= episode.similarity <= 1 + 1e-9
        assert not np.isnan(episode.past).any()


@pytest.mark.parametrize("episodes", [0, 1, 99])
def test_what_is_not_told_stands_in_the_rest(model: RetrievalForecaster, episodes: int) -> None:
    story = model.explain("new", episodes=episodes)
    assert len(story.episodes) <= episodes
    np.testing.assert_allclose(story.total(), story.forecast, rtol=1e-9)
    assert np.isfinite(story.rest_contribution).all()
    with pytest.raises(SettingError, match="episodes start at 0"):
        model.explain("new", episodes=-1)


def test_donors_are_those_of_the_slow_twin(model: RetrievalForecaster) -> None:
    panel = model.panel_
    number = panel.number_of("new")
    origin = latest_origins(panel)[number : number + 1]
    found = find_donors(model.index_, panel, origin)
    asked = panel.series(number).tolist()
    known = len(asked)

    def units(values: list[float], unit: float) -> tuple[list[float], float, float]:
        mean = sum(values) / len(values)
        spread = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
        scale = min(max(spread, 0.2 * unit), 2 * unit)
        return [(v - mean) / scale for v in values], mean, scale

    mine, base, scale = units(asked, naive_deviation(asked))
    windows, distances, futures = model.index_.windows, [], []
    for row in range(len(windows)):
        past = windows.pasts([row])[0].tolist()[-known:]
        theirs, mean, spread = units(past, float(model.index_.units[windows.series_of([row])[0]]))
        distances.append(sum((a - b) ** 2 for a, b in zip(mine, theirs, strict=True)))
        futures.append([(v - mean) / spread for v in windows.futures([row])[0].tolist()])
    nearest = sorted(range(len(windows)), key=distances.__getitem__)[:DONORS]
    assert sorted(found.rows.tolist()) == sorted(nearest)
    expected = base + scale * np.mean([futures[row] for row in nearest], axis=0)
    np.testing.assert_allclose(found.mean(), expected, rtol=1e-9)


def test_a_gap_in_the_asking_window_is_masked_and_never_zero() -> None:
    # case forecasting#22
    values = season_from(0, 200)
    values[[160, 161, 162, 175]] = np.nan
    frame = panel_with(values)
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", gaps="missing", freq=1)
    forecast = forecasts_at(model.fit(frame).predict(), "new", "RetrievalForecaster")
    assert np.abs(np.array(forecast) - season_from(200, HORIZON)).max() < 20
    # far from what a zero in the hole would have made of it
    assert min(forecast) > 440


def test_a_window_that_holds_its_last_row_only_is_skipped_by_name() -> None:
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", freq=1)
    model.fit(panel_with(season_from(0, LEAST_KNOWN - 1)))
    assert "new" not in model.predict()["unique_id"].to_list()
    assert list(model.skipped_) == ["new"]
    with pytest.raises(TooFewRows, match="'new' cannot be explained"):
        model.explain("new")
    model.fit(panel_with(season_from(0, LEAST_KNOWN)))
    assert "new" in model.predict()["unique_id"].to_list()
    assert model.skipped_ == {}


def test_the_last_row_must_be_there() -> None:
    values = season_from(0, 30)
    panel = read_frame(panel_with(values, rows=60), freq=1)
    number = panel.number_of("new")
    steps = np.array([40, 59])
    assert startable(panel, Origins(np.full(2, number), steps), LOOKBACK).tolist() == [True, True]
    panel.values[panel.offsets[number] + 10] = np.nan
    assert startable(panel, Origins(np.full(2, number), steps), LOOKBACK).tolist() == [False, True]


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_unit_of_a_new_series_does_not_matter(model: RetrievalForecaster, scale: float) -> None:
    # case forecasting#39
    frame = panel_with(scale * season_from(FIRST_OF_NEW, 20))
    other = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", freq=1).fit(frame)
    name = "RetrievalForecaster"
    before, after = (forecasts_at(one.predict(), "new", name) for one in (model, other))
    np.testing.assert_allclose(np.array(after) / scale, before, rtol=1e-6)


def test_a_new_flat_series_is_forecast_finitely() -> None:
    # case forecasting#38, case forecasting#53
    for level in (0.0, 7.0):
        model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", freq=1)
        table = model.fit(panel_with(np.full(20, level))).predict(level=[80])
        new = table.filter(pl.col("unique_id") == "new").select(pl.exclude("unique_id", "ds"))
        assert np.isfinite(new.to_numpy()).all()
        assert np.abs(new["RetrievalForecaster"] - level).max() <= 10 * max(level, 1)


def test_donors_of_an_origin_are_complete_at_it(model: RetrievalForecaster) -> None:
    panel = model.panel_
    number = panel.number_of("new")
    for step in (FIRST_OF_NEW + 10, FIRST_OF_NEW + 19):
        donors = find_donors(model.index_, panel, Origins(np.array([number]), np.array([step])))
        assert (model.index_.windows.end_steps[donors.rows] <= step).all()


def test_rows_behind_an_origin_change_nothing(model: RetrievalForecaster) -> None:
    # case forecasting#1
    values = season_from(FIRST_OF_NEW, 20)
    values[12:] = -1e6
    panel = read_frame(panel_with(values), freq=1)
    origin = Origins(np.array([panel.number_of("new")]), np.array([FIRST_OF_NEW + 11]))
    before = model.expect(model.panel_, origin)
    np.testing.assert_array_equal(model.expect(panel, origin), before)


def test_complete_windows_beside_a_new_series_are_forecast_as_ever(
    model: RetrievalForecaster,
) -> None:
    origins = latest_origins(model.panel_)
    mixed = model.expect(model.panel_, origins)
    for number, name in enumerate(model.panel_.ids):
        alone = model.expect(model.panel_, origins[number : number + 1])
        np.testing.assert_allclose(mixed[number], alone[0], rtol=1e-9, err_msg=str(name))


def test_a_blend_lets_those_speak_who_can() -> None:
    frame = panel_with(season_from(FIRST_OF_NEW, 20))
    members = [
        RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw"),
        DirectRidge(HORIZON, LOOKBACK),
    ]
    blend = Blend(members, freq=1).fit(frame)
    table = blend.predict(level=[80])
    assert blend.skipped_ == {}
    assert np.isfinite(table.select(pl.exclude("unique_id", "ds")).to_numpy()).all()
    story = blend.explain("new")
    assert story.shares()["direct"] == 0
    assert sum(story.shares().values()) == pytest.approx(1)
    np.testing.assert_allclose(story.total(), forecasts_at(table, "new", "Blend"), rtol=1e-9)
    assert story.episodes["RetrievalForecaster"].episodes


def test_a_loaded_forecaster_answers_new_series_to_the_bit(
    model: RetrievalForecaster, tmp_path: object
) -> None:
    model.save(f"{tmp_path}/m")
    loaded = RetrievalForecaster.load(f"{tmp_path}/m")
    assert model.predict(level=[80]).equals(loaded.predict(level=[80]))
