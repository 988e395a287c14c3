"""Intervals: the error that so many earlier forecasts stayed within."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from likewise.core import SettingError, TooFewRows
from likewise.forecasting import DirectRidge, Repeat, RetrievalForecaster, SeasonalNaive, backtest
from likewise.forecasting.calibration import Calibration, calibrate, check_levels, window_spread
from likewise.forecasting.holdout import hold_out
from likewise.forecasting.origins import Origins, futures, origins_at, pasts

from tests.forecasting.planted import cheap_models, long_frame, panel_of, two_waves, wave
from tests.naive_forecasting import naive_deviation, naive_half_width, naive_past


@given(
    errors=st.lists(st.floats(0, 100), min_size=1, max_size=60),
    level=st.integers(1, 99),
)
def test_half_widths_are_those_of_the_slow_twin(errors: list[float], level: int) -> None:
    calibration = Calibration(np.sort(np.array(errors))[:, None], {}, 1)
    expected = naive_half_width(errors, level)
    if expected is None:
        with pytest.raises(TooFewRows):
            calibration.half_width(level)
    else:
        assert calibration.half_width(level).tolist() == [expected]


@pytest.mark.parametrize(("level", "needed"), [(50, 1), (80, 4), (90, 9), (95, 19), (99, 99)])
def test_a_level_needs_exactly_the_windows_it_names(level: int, needed: int) -> None:
    # case forecasting#31
    Calibration(np.ones((needed, 1)), {}, 1).half_width(level)
    few = Calibration(np.ones((needed - 1, 1)), {}, 1)
    with pytest.raises(TooFewRows, match=f"at least {needed} calibration windows, found"):
        few.half_width(level)


def test_a_level_beyond_the_calibration_windows_fails_at_predict() -> None:
    # case forecasting#33
    model = Repeat(5).fit(long_frame({"a": (0, wave(60))}))
    model.predict(level=[80])
    with pytest.raises(TooFewRows, match="99 % interval needs at least 99"):
        model.predict(level=[99])


def test_errors_are_over_the_spread_of_each_window() -> None:
    series = [(0, wave(80).tolist()), (3, (1000 + 50 * wave(70, 1)).tolist())]
    panel = panel_of(series)
    model = Repeat(3)
    origins = hold_out(panel, 1, 3).origins
    calibration = calibrate(model.expect, panel, origins, draws=model.draws)
    errors = []
    for number, step in zip(origins.series.tolist(), origins.steps.tolist(), strict=True):
        past = naive_past(series, number, step, 3)
        mean = sum(past) / 3
        spread = math.sqrt(sum((value - mean) ** 2 for value in past) / 3)
        spread = max(spread, 0.1 * naive_deviation(series[number][1]))
        start, values = series[number]
        errors.append([abs(values[step - start + h] - past[-1]) / spread for h in (1, 2, 3)])
    np.testing.assert_allclose(calibration.errors, np.sort(errors, axis=0), rtol=1e-9)


def test_a_flat_stretch_does_not_promise_a_perfect_forecast() -> None:
    values = [*wave(80).tolist(), *[0.5] * 20]
    panel = panel_of([(0, values)])
    origin = origins_at(panel, np.array([99]))
    usual = {"s0": naive_deviation(values)}
    assert window_spread(panel, origin, 5, usual)[0] == pytest.approx(0.1 * usual["s0"])


def test_a_constant_series_has_finite_bands() -> None:
    # case forecasting#38
    table = Repeat(4).fit(long_frame({"a": (0, np.full(60, 3.0))})).predict(level=[80])
    assert table["Repeat-lo-80"].to_list() == table["Repeat-hi-80"].to_list() == [3.0] * 4


def test_the_spread_of_a_series_that_begins_later_is_its_own() -> None:
    # 'A' sorts before the series that were fitted on, and begins behind the fit.
    early = {"b": (0, wave(120)), "c": (0, 1000 * wave(120, 1))}
    late = {"A": (100, 7 + 0.01 * wave(20, 2))}
    models = [Repeat(2), SeasonalNaive(2, 3), DirectRidge(2, 6)]
    settings = {"horizon": 2, "n_windows": 12, "step_size": 2, "level": [80]}
    with_it = backtest(long_frame(early | late), models, **settings).to_frame()
    without = backtest(long_frame(early), models, **settings).to_frame()
    both = with_it.filter(pl.col("unique_id") != "A")
    assert both.equals(without.filter(pl.col("cutoff").is_in(both["cutoff"].implode())))
    added = with_it.filter(pl.col("unique_id") == "A")
    assert len(added)
    for model in models:
        width = added[f"{model.alias}-hi-80"] - added[f"{model.alias}-lo-80"]
        assert 0 < width.min() < width.max() < 1


@pytest.mark.parametrize("model", cheap_models(), ids=lambda model: model.alias)
def test_bands_hold_the_mean_and_contain_one_another(model: Repeat) -> None:
    table = model.fit(two_waves()).predict(level=[50, 80, 95])
    name = model.alias
    order = [f"{name}-lo-95", f"{name}-lo-80", f"{name}-lo-50", name]
    order += [f"{name}-hi-50", f"{name}-hi-80", f"{name}-hi-95"]
    for lower, upper in pairwise(order):
        assert (table[lower] <= table[upper]).all(), (lower, upper)
    assert set(table.columns) == {"unique_id", "ds", *order}


def test_an_80_percent_band_covers_about_80_percent() -> None:
    rng = np.random.default_rng(7)
    frame = long_frame({f"s{i}": (0, rng.normal(size=400)) for i in range(3)})
    models = [
        Repeat(4),
        DirectRidge(4, 12),
        RetrievalForecaster(4, 12, embedding="raw"),
    ]
    scores = backtest(frame, models, horizon=4, n_windows=40, level=[80]).scores()
    assert scores["coverage-80"].is_between(0.72, 0.88).all(), scores


def test_levels_are_whole_percents() -> None:
    assert check_levels([95, 80, 80]) == [80, 95]
    for wrong in ([0], [100], [80, 101], [12.5]):
        with pytest.raises(SettingError, match="whole percents"):
            check_levels(wrong)  # type: ignore[arg-type]


def test_calibration_sees_no_origin_without_a_known_future() -> None:
    panel = panel_of([(0, wave(60).tolist())])
    model = Repeat(3).fit_panel(panel)
    held = hold_out(panel, 1, 3)
    assert model.calibration_.errors.shape == (len(held.origins), 3)
    assert not np.isnan(model.calibration_.errors).any()
    assert not np.isnan(futures(panel, held.origins, 3)).any()
    assert not np.isnan(pasts(panel, Origins(np.array([0]), np.array([59])), 1)).any()
