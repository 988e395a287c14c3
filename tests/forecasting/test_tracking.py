"""Bands that learn from what earlier cutoffs missed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from likewise.forecasting import (
    Backtest,
    DirectRidge,
    Forecast,
    Repeat,
    RetrievalForecaster,
    backtest,
    track_intervals,
)
from likewise.forecasting.tracking import COMMON, FASTEST, REACTION

from tests.forecasting.planted import HORIZON, LOOKBACK, long_frame, two_waves, wave


def run(frame: pl.DataFrame, **settings: object) -> Backtest:
    chosen: dict[str, object] = {"horizon": HORIZON, "n_windows": 60, "step_size": 1}
    models = [Repeat(HORIZON), DirectRidge(HORIZON, LOOKBACK)]
    return backtest(frame, models, level=[50, 80], **(chosen | settings))  # type: ignore[arg-type]


def naive_factors(result: Backtest, alias: str, level: int) -> list[list[float]]:
    """Factors of the half-width by cutoff and step, from the definition."""
    low, high = result.forecasts[alias].bands[level]
    cutoffs = sorted(set(result.origins.steps.tolist()))
    apart = cutoffs[1] - cutoffs[0] if len(cutoffs) > 1 else 1
    factors: list[list[float]] = []
    surprise: dict[tuple[int, int], float] = {}
    told: set[tuple[int, int]] = set()
    own, common = [0.0] * HORIZON, 0.0
    for cutoff in cutoffs:
        news = [0.0] * HORIZON
        for (earlier, step), size in surprise.items():
            if earlier + step + 1 <= cutoff and (earlier, step) not in told:
                told.add((earlier, step))
                news[step] += size
        common += COMMON * sum(news) / HORIZON
        for step in range(HORIZON):
            late = math.ceil((step + 1) / apart)
            own[step] += min(FASTEST, REACTION / (late + REACTION / FASTEST)) * news[step]
        factors.append([math.exp(factor + common) for factor in own])
        rows = [r for r, s in enumerate(result.origins.steps.tolist()) if s == cutoff]
        for step in range(HORIZON):
            missed = 0
            for row in rows:
                centre = (low[row, step] + high[row, step]) / 2
                half = (high[row, step] - low[row, step]) / 2 * factors[-1][step]
                missed += abs(result.truth[row, step] - centre) > half
            surprise[cutoff, step] = missed / len(rows) - (1 - level / 100)
    return factors


@pytest.mark.parametrize("step_size", [1, 3, HORIZON])
def test_tracked_bands_are_those_of_the_slow_twin(step_size: int) -> None:
    result = run(two_waves(240), n_windows=20, step_size=step_size)
    tracked = track_intervals(result)
    # Of the lowest level, so that holding the bands below it changes nothing.
    low, high = result.forecasts["DirectRidge"].bands[50]
    factors = np.repeat(naive_factors(result, "DirectRidge", 50), 2, axis=0)
    centre, half = (low + high) / 2, (high - low) / 2 * factors
    mean = result.forecasts["DirectRidge"].mean
    found = tracked.forecasts["DirectRidge"].bands[50]
    np.testing.assert_allclose(found[0], np.minimum(centre - half, mean))
    np.testing.assert_allclose(found[1], np.maximum(centre + half, mean))


@pytest.mark.parametrize("wrong", [0.4, 1.0, 2.5])
def test_coverage_comes_back_however_wrong_the_bands_began(wrong: float) -> None:
    frame = long_frame({f"s{i}": (0, wave(600, i)) for i in range(4)})
    result = run(frame, n_windows=200)
    stretched = {
        alias: Forecast(
            one.mean,
            {
                level: (one.mean - wrong * (one.mean - lo), one.mean + wrong * (hi - one.mean))
                for level, (lo, hi) in one.bands.items()
            },
        )
        for alias, one in result.forecasts.items()
    }
    scores = track_intervals(replace(result, forecasts=stretched)).scores()
    assert scores["coverage-80"].is_between(0.77, 0.83).all(), scores
    assert scores["coverage-50"].is_between(0.46, 0.54).all(), scores


def test_a_drift_that_fixed_bands_miss_is_followed() -> None:
    quiet = wave(700, 3)
    quiet[400:] += np.random.default_rng(0).normal(size=300)
    result = run(long_frame({"a": (0, quiet)}), n_windows=300)
    fixed, tracked = result.scores(), track_intervals(result).scores()
    assert fixed["coverage-80"].min() < 0.7
    assert tracked["coverage-80"].is_between(0.77, 0.83).all()


def test_the_future_changes_no_band() -> None:
    frame = two_waves(240)
    later = frame.with_columns(
        y=pl.when(pl.col("ds") > 200).then(pl.col("y") * 9 - 40).otherwise("y")
    )
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw")
    tables = [
        track_intervals(
            backtest(one, [model], horizon=HORIZON, start=180, step_size=1, level=[50, 80], freq=1)
        )
        .to_frame()
        .filter(pl.col("cutoff") <= 200)
        .drop("y")
        for one in (frame, later)
    ]
    assert tables[0].equals(tables[1])
    assert len(tables[0]) == 2 * 21 * HORIZON


def test_means_stay_and_bands_contain_one_another() -> None:
    result = run(two_waves(240))
    tracked = track_intervals(result)
    for alias, one in tracked.forecasts.items():
        assert np.array_equal(one.mean, result.forecasts[alias].mean)
        (low50, high50), (low80, high80) = one.bands[50], one.bands[80]
        assert (low80 <= low50).all()
        assert (low50 <= one.mean).all()
        assert (one.mean <= high50).all()
        assert (high50 <= high80).all()


def test_one_cutoff_teaches_nothing() -> None:
    result = run(two_waves(240), n_windows=1)
    tracked = track_intervals(result)
    for alias, one in result.forecasts.items():
        for level, (low, high) in one.bands.items():
            np.testing.assert_allclose(tracked.forecasts[alias].bands[level][0], low)
            np.testing.assert_allclose(tracked.forecasts[alias].bands[level][1], high)
