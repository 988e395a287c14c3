"""Scores: the field's definitions, and no way for a missing answer to win."""

from __future__ import annotations

import math
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import ProcedureWarning
from likewise.forecasting import Forecast, mape, score_table
from likewise.forecasting.origins import Origins, futures, origins_at
from likewise.forecasting.scores import naive_scale, scaled_crps

from tests.forecasting.planted import panel_of, wave
from tests.naive_forecasting import (
    naive_coverage,
    naive_crps,
    naive_mase,
    naive_past,
)
from tests.naive_forecasting import (
    naive_scale as slow_scale,
)

NAN = float("nan")
SERIES = [(0, wave(60).tolist()), (5, (1e6 * wave(50, 1)).tolist())]


@given(
    values=st.lists(
        st.one_of(st.integers(-50, 50).map(float), st.just(NAN)), min_size=1, max_size=40
    ),
    season=st.integers(1, 8),
)
@settings(deadline=None)
def test_scales_are_those_of_the_slow_twin(values: list[float], season: int) -> None:
    values = [1.0, *values, 3.0]
    panel = panel_of([(4, values), (0, (1e9 * wave(30)).tolist())])
    steps = np.arange(4, 4 + len(values))
    found = naive_scale(panel, Origins(np.zeros_like(steps), steps), season)
    expected = [slow_scale(values[: place + 1], season) for place in range(len(values))]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_two_cutoffs_have_two_scales_and_none_knows_what_comes() -> None:
    # case forecasting#15
    panel = panel_of(SERIES)
    origins = origins_at(panel, np.array([20, 40]))
    found = naive_scale(panel, origins, 3)
    assert len(set(found.tolist())) == 4
    later = [
        (start, [v if start + i <= 40 else 1e5 * i for i, v in enumerate(values)])
        for start, values in SERIES
    ]
    np.testing.assert_allclose(naive_scale(panel_of(later), origins, 3), found, rtol=1e-9)


def test_the_table_is_that_of_the_slow_twins() -> None:
    panel = panel_of(SERIES)
    origins = origins_at(panel, np.array([20, 33, 46]))
    truth = futures(panel, origins, 3)
    rng = np.random.default_rng(0)
    size = np.abs(truth).mean(axis=1, keepdims=True)
    mean = truth + size * rng.normal(size=truth.shape)
    bands = {
        level: (mean - wide * size, mean + wide * size) for level, wide in ((50, 0.5), (80, 1.2))
    }
    season = 4
    table = score_table(panel, origins, truth, {"m": Forecast(mean, bands)}, season=season)
    scales = [
        slow_scale(naive_past(SERIES, number, step, step - SERIES[number][0] + 1), season)
        for number, step in zip(origins.series, origins.steps, strict=True)
    ]
    row = table.row(0, named=True)
    assert row["mase"] == pytest.approx(naive_mase(truth.tolist(), mean.tolist(), scales))
    errors = [abs(a - b) for a, b in zip(truth.ravel(), mean.ravel(), strict=True)]
    assert row["mae"] == pytest.approx(sum(errors) / len(errors))
    assert row["mse"] == pytest.approx(sum(e * e for e in errors) / len(errors))
    assert row["rmse"] == pytest.approx(math.sqrt(row["mse"]))
    quantiles = {0.5: mean.tolist()}
    for level, (low, high) in bands.items():
        cover = naive_coverage(truth.tolist(), low.tolist(), high.tolist())
        assert row[f"coverage-{level}"] == pytest.approx(cover)
        wide = np.mean((high - low).mean(axis=1) / scales)
        assert row[f"width-{level}"] == pytest.approx(wide)
        quantiles |= {(100 - level) / 200: low.tolist(), (100 + level) / 200: high.tolist()}
    assert row["scaled_crps"] == pytest.approx(naive_crps(truth.tolist(), quantiles))


def test_a_model_that_answered_nan_is_never_best() -> None:
    # case forecasting#14
    panel = panel_of([(0, wave(60).tolist()), (0, [1.0] * 60)])
    origins = origins_at(panel, np.array([30, 40]))
    truth = futures(panel, origins, 2)
    band = {80: (truth - 1, truth + 1)}
    for place in range(len(origins)):
        holed = truth.copy()
        holed[place, 1] = NAN
        models = {
            "holed": Forecast(holed, band),
            "holed band": Forecast(truth, {80: (holed, truth + 1)}),
            "poor": Forecast(truth + 100, {80: (truth - 1, truth)}),
        }
        with pytest.warns(ProcedureWarning):
            table = score_table(panel, origins, truth, models)
        assert table["model"][0] == "poor"
        assert table[1:].select(pl.exclude("model").is_nan().all()).row(0) == (True,) * 7


@pytest.mark.parametrize(
    ("values", "season"),
    [
        ([4.0] * 60, 1),
        ([0.0] * 60, 12),
        (wave(12).tolist() * 5, 12),
        (np.sin(2 * np.pi * np.arange(60) / 12).tolist(), 12),
        (wave(60).tolist(), 59),
    ],
    ids=["constant", "zeros", "repeats", "repeats but for rounding", "shorter than a season"],
)
def test_a_history_without_scale_is_nan_with_one_warning(values: list[float], season: int) -> None:
    # case forecasting#11
    panel = panel_of([(0, values)])
    origins = origins_at(panel, np.array([50, 55]))
    truth = futures(panel, origins, 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = score_table(
            panel,
            origins,
            truth,
            {"right": Forecast(truth), "m": Forecast(truth + 1)},
            season=season,
        )
    assert [warning.category for warning in caught] == [ProcedureWarning]
    assert "2 of 2 windows" in str(caught[0].message)
    assert table["mase"].is_nan().all()
    assert table["model"].to_list() == ["right", "m"]
    assert table["mae"].to_list() == pytest.approx([0.0, 1.0])


def test_windows_without_scale_are_left_out_and_the_rest_scored() -> None:
    panel = panel_of([(0, wave(60).tolist()), (0, [4.0] * 60)])
    origins = origins_at(panel, np.array([40]))
    truth = futures(panel, origins, 2)
    with pytest.warns(ProcedureWarning, match="1 of 2 windows"):
        table = score_table(panel, origins, truth, {"m": Forecast(truth + 1)})
    assert table["mase"][0] == pytest.approx(1 / slow_scale(wave(60)[:41].tolist(), 1))


def test_percentages_leave_zeros_out_and_count_the_rest() -> None:
    # case forecasting#13
    assert mape(np.array([[0.0, 0.0, 74.0]]), np.array([[5.0, 5.0, 37.0]])) == (0.5, 1)
    share, count = mape(np.zeros((1, 3)), np.ones((1, 3)))
    assert math.isnan(share)
    assert count == 0


def test_no_size_to_scale_by_is_nan() -> None:
    assert math.isnan(scaled_crps(np.zeros((2, 2)), Forecast(np.ones((2, 2)))))


def test_a_metric_is_a_mean_over_elements_not_over_batches() -> None:
    # case forecasting#7
    panel = panel_of([(0, wave(60).tolist())])
    origins = origins_at(panel, np.arange(30, 41))
    truth = futures(panel, origins, 3)
    off = np.arange(truth.size, dtype=np.float64).reshape(truth.shape)
    table = score_table(panel, origins, truth, {"m": Forecast(truth + off)})
    assert table["mae"][0] == pytest.approx(off.mean())
