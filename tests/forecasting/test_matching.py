"""Candidates that share more than their shape with the window that asks."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from likewise.core import SettingError, TooFewRows, UnknownId
from likewise.forecasting import RetrievalForecaster
from likewise.forecasting.draws import draw_windows
from likewise.forecasting.kernels import Kernel, Relative, Softmax
from likewise.forecasting.matching import Match
from likewise.forecasting.origins import Origins, latest_origins, origins_at

from tests.forecasting.planted import HORIZON, LOOKBACK, long_frame, two_waves, wave


def raw(**settings: object) -> RetrievalForecaster:
    return RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("kernel", [Softmax(), Relative(1.0, neighbours=9)])
def test_only_windows_a_whole_number_of_periods_away_weigh_anything(kernel: Kernel) -> None:
    model = raw(match=[5]).fit(two_waves())
    index, panel = model.index_, model.panel_
    index.kernel = kernel
    free = raw().fit(two_waves()).index_
    free.kernel = Softmax()
    origins = origins_at(panel, np.arange(100, 118))
    ends = index.windows.origin_steps(np.arange(len(index)))
    for place in range(len(origins)):
        origin = origins[place : place + 1]
        weights = index.weights(panel, origin)
        alike = (origin.steps[0] - ends) % 5 == 0
        assert (weights[~alike] == 0).all()
        assert weights.sum() == pytest.approx(1)
        if isinstance(kernel, Softmax):
            kept = np.where(alike, free.weights(panel, origin), 0.0)
            np.testing.assert_allclose(weights, kept / kept.sum(), rtol=1e-6, atol=1e-12)
        told = weights @ index.futures(np.arange(len(index)))
        recalled = index.recall(panel, origin).future[0]
        scale = index.ask(panel, origin).scales[0]
        np.testing.assert_allclose(recalled / scale, told, atol=1e-6)
    rows, _ = draw_windows(index, panel, origins, 30)
    assert ((origins.steps[:, None] - ends[rows]) % 5 == 0).all()


def test_hours_are_those_of_the_clock_through_its_change() -> None:
    # case forecasting#23
    hours = [datetime(2024, 3, 20) + timedelta(hours=place) for place in range(24 * 20)]
    stamps = pl.Series(hours, dtype=pl.Datetime("us"))
    stamps = stamps.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/London")
    frame = pl.DataFrame({"unique_id": "a", "ds": stamps, "y": wave(480, season=24)})
    model = raw(match=["hour"]).fit(frame)
    windows = model.index_.windows
    origin = latest_origins(model.panel_)
    seen = model.index_.weights(model.panel_, origin) > 0
    shown = model.panel_.stamps(windows.origin_steps(np.flatnonzero(seen))).dt.hour()
    assert shown.unique().to_list() == [model.panel_.stamps(origin.steps).dt.hour()[0]]
    assert len(set((origin.steps[0] - windows.origin_steps(np.flatnonzero(seen))) % 24)) == 2


def test_series_learn_from_series_of_their_label_alone() -> None:
    frame = long_frame({name: (0, wave(120, seed)) for seed, name in enumerate("abcd")})
    kinds = {"a": "town", "b": "city", "c": "town", "d": "city"}
    told = raw(match=[kinds]).fit(frame).explain("a", episodes=50)
    assert {episode.series_id for episode in told.episodes} == {"a", "c"}
    with pytest.raises(UnknownId, match="no label for 1 of 4 series, the first 'd'"):
        raw(match=[{name: kinds[name] for name in "abc"}]).fit(frame)


def test_a_series_may_be_kept_to_its_own_past() -> None:
    frame = long_frame({name: (0, wave(120, seed)) for seed, name in enumerate("abc")})
    told = raw(match=["series"]).fit(frame).explain("b", episodes=50)
    assert {episode.series_id for episode in told.episodes} == {"b"}


def test_rules_hold_together_and_survive_a_bundle(tmp_path: Path) -> None:
    model = raw(match=[4, {"a": 1, "b": 2}]).fit(two_waves())
    origin = latest_origins(model.panel_)[:1]
    windows, seen = model.index_.windows, model.index_.weights(model.panel_, origin) > 0
    rows = np.flatnonzero(seen)
    assert set(windows.series_of(rows)) == {0}
    assert ((origin.steps[0] - windows.origin_steps(rows)) % 4 == 0).all()
    model.save(tmp_path / "bundle")
    again = RetrievalForecaster.load(tmp_path / "bundle")
    assert again.predict(level=[80]).equals(model.predict(level=[80]))


def test_an_origin_that_nothing_matches_is_named() -> None:
    model = raw(match=[50]).fit(two_waves())
    first = int(model.index_.windows.end_steps.min())
    late = Origins(np.array([0]), np.array([first + 10]))
    with pytest.raises(TooFewRows, match=r"1 of 1 origins .* matches by \[50\]"):
        model.index_.recall(model.panel_, late)


def test_rules_that_cannot_work_are_refused() -> None:
    for wrong in (["minute"], [1], [True], [2.5], "hour", 24):
        with pytest.raises(SettingError):
            Match(wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="there is no hour"):
        raw(match=["hour"]).fit(two_waves())
