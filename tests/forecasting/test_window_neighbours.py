"""Raw neighbours, against sorting every distance."""

from __future__ import annotations

import numpy as np
import pytest
from likewise.core import SettingError, TooFewRows
from likewise.forecasting import Normaliser, WindowNeighbours
from likewise.forecasting.normalisers import Kind
from likewise.forecasting.origins import origins_at, pasts

from tests.forecasting.planted import forecasts_at, long_frame, panel_of, wave
from tests.naive import naive_windows
from tests.naive_forecasting import naive_deviation, naive_neighbours

NAN = float("nan")
HOLED = [NAN if place in (30, 31) else value for place, value in enumerate(9 + 4 * wave(70, 1))]
SERIES = [(0, wave(60).tolist()), (8, HOLED)]


@pytest.mark.parametrize("k", [1, 5, 1000])
@pytest.mark.parametrize("kind", ["mean", "last", "z", "none"])
def test_forecasts_are_those_of_the_slow_twin_at_every_origin(kind: Kind, k: int) -> None:
    panel = panel_of(SERIES)
    model = WindowNeighbours(3, 6, k=k, normaliser=Normaliser(kind))
    model.learn(panel)
    model.attach(panel)
    windows = naive_windows(SERIES, 6, 3)
    units = [naive_deviation(values) for _, values in SERIES]
    origins = origins_at(panel, np.array([20, 34, 59, 77]))
    before = pasts(panel, origins, 6)
    found = model.expect(panel, origins)
    for place, (number, step) in enumerate(zip(origins.series, origins.steps, strict=True)):
        known = [window for window in windows if window[0] <= step]
        expected = naive_neighbours(known, units, kind, k, before[place].tolist(), units[number])
        np.testing.assert_allclose(found[place], expected, rtol=1e-9, atol=1e-9)


def test_fewer_windows_than_k_are_all_used() -> None:
    # case forecasting#46
    frame = long_frame({"a": (0, wave(12))})
    one = forecasts_at(
        WindowNeighbours(2, 6, k=10_000).fit(frame).predict(), "a", "WindowNeighbours"
    )
    assert np.isfinite(one).all()
    assert one == forecasts_at(
        WindowNeighbours(2, 6, k=5).fit(frame).predict(), "a", "WindowNeighbours"
    )


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_neighbours_do_not_depend_on_the_unit_of_the_data(factor: float) -> None:
    # case forecasting#39
    frame = {"a": (0, wave(90)), "b": (0, 4 * wave(90, 1))}
    scaled = {name: (start, factor * rows) for name, (start, rows) in frame.items()}
    name = "WindowNeighbours"
    plain = WindowNeighbours(4, 10).fit(long_frame(frame)).predict()[name].to_numpy()
    found = WindowNeighbours(4, 10).fit(long_frame(scaled)).predict()[name].to_numpy()
    np.testing.assert_allclose(found / factor, plain, rtol=1e-6, atol=1e-9)


def test_a_query_that_was_seen_before_is_answered_with_what_followed() -> None:
    # case forecasting#47
    season = wave(12, noise=1.0)
    frame = long_frame({"a": (0, np.tile(season, 8))})
    found = WindowNeighbours(5, 12, k=1).fit(frame).predict()["WindowNeighbours"].to_numpy()
    np.testing.assert_allclose(found, season[:5], atol=1e-12)


def test_windows_three_times_longer_than_any_learned_from_are_still_ranked_by_distance() -> None:
    calm, wild = wave(80).tolist(), (3 * wave(60, 5)).tolist()
    series = [(0, calm + wild)]
    panel = panel_of(series)
    model = WindowNeighbours(3, 6, k=4)
    model.learn(panel.until(79))
    model.attach(panel)
    origins = origins_at(panel, np.array([100, 130]))
    units = [naive_deviation(calm)]
    for place, step in enumerate(origins.steps):
        known = [window for window in naive_windows(series, 6, 3) if window[0] <= step]
        past = pasts(panel, origins, 6)[place].tolist()
        np.testing.assert_allclose(
            model.expect(panel, origins)[place],
            naive_neighbours(known, units, "mean", 4, past, units[0]),
            atol=1e-9,
        )


def test_no_window_to_learn_from_is_an_error_and_no_neighbour_a_setting() -> None:
    holes = wave(100)
    holes[7:80:7] = NAN
    with pytest.raises(TooFewRows, match="close the gaps"):
        WindowNeighbours(2, 6).fit(long_frame({"a": (0, holes)}))
    with pytest.raises(SettingError, match="k is 0"):
        WindowNeighbours(2, 6, k=0).fit(long_frame({"a": (0, wave(60))}))
