"""Forecasters of logarithms: positive answers, in the target's own units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from likewise.core import InputError, SettingError
from likewise.forecasting import (
    Blend,
    DirectRidge,
    InLogs,
    Repeat,
    RetrievalForecaster,
    backtest,
    read_frame,
)
from likewise.forecasting.origins import latest_origins

from tests.forecasting.planted import HORIZON, LOOKBACK, forecasts_at, long_frame, two_waves, wave


def growing(rows: int = 200) -> pl.DataFrame:
    """Two positive series whose swings grow with their level."""
    trend = 0.01 * np.arange(rows)
    return long_frame(
        {"a": (0, np.exp(wave(rows) + trend)), "b": (0, 1e3 * np.exp(0.5 * wave(rows, 1) - trend))}
    )


def raw() -> RetrievalForecaster:
    return RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw")


@pytest.mark.parametrize("build", [raw, lambda: DirectRidge(HORIZON, LOOKBACK)])
def test_it_is_the_model_of_the_logarithms(build) -> None:  # type: ignore[no-untyped-def]
    frame = growing()
    table = InLogs(build(), alias="M").fit(frame).predict(level=[80])
    alone = build().fit(frame.with_columns(pl.col("y").log()))
    expected = np.exp(alone.predict()[alone.alias].to_numpy())
    np.testing.assert_allclose(table["M"], expected, rtol=1e-9)
    assert (table["M-lo-80"] <= table["M"]).all()
    assert (table["M"] <= table["M-hi-80"]).all()
    assert table["M"].min() > 0


def test_repeating_in_logs_is_repeating() -> None:
    frame = growing()
    models = [Repeat(HORIZON), InLogs(Repeat(HORIZON))]
    result = backtest(frame, models, horizon=HORIZON, n_windows=3, level=[80])
    means = [forecast.mean for forecast in result.forecasts.values()]
    np.testing.assert_allclose(means[0], means[1], rtol=1e-12)


def test_swings_that_grow_with_the_level_are_forecast_better() -> None:
    frame = long_frame({"a": (0, np.exp(1.5 * wave(400, noise=0.05) + 0.01 * np.arange(400)))})
    models = [DirectRidge(12, 24, alias="plain"), InLogs(DirectRidge(12, 24), alias="logs")]
    result = backtest(frame, models, horizon=12, n_windows=12, step_size=3)
    error = dict(result.scores().select("model", "mae").iter_rows())
    assert error["logs"] < 0.8 * error["plain"]


def test_the_explanation_is_in_logs_and_adds_up_to_the_log_of_the_forecast() -> None:
    model = InLogs(raw(), alias="M").fit(growing())
    told = model.explain("b")
    forecast = forecasts_at(model.predict(), "b", "M")
    np.testing.assert_allclose(np.exp(told.total()), forecast, rtol=1e-6)
    with pytest.raises(SettingError, match="DirectRidge has no index"):
        InLogs(DirectRidge(HORIZON, LOOKBACK)).fit(growing()).explain("b")


def test_a_blend_with_it_is_explained_and_stored(tmp_path: Path) -> None:
    blend = Blend([InLogs(raw()), DirectRidge(HORIZON, LOOKBACK)]).fit(growing())
    told = blend.explain("a")
    np.testing.assert_allclose(told.total(), told.forecast, rtol=1e-9)
    if told.weights["RetrievalForecasterInLogs"].any():
        assert "RetrievalForecasterInLogs" in told.episodes
    blend.save(tmp_path / "bundle")
    again = Blend.load(tmp_path / "bundle")
    assert again.predict(level=[80]).equals(blend.predict(level=[80]))


def test_what_has_no_logarithm_is_named() -> None:
    with pytest.raises(InputError, match=r"have no logarithm, the first .* of series 'a' at"):
        InLogs(raw()).fit(two_waves())


def test_bands_are_those_of_the_logarithms_and_never_reach_zero() -> None:
    frame = growing()
    table = InLogs(raw(), alias="M").fit(frame).predict(level=[80, 95], quantiles=[0.1, 0.9])
    alone = raw()
    alone.alias = "M"
    logs = alone.fit(frame.with_columns(pl.col("y").log())).predict([80, 95], [0.1, 0.9])
    for column in table.columns[2:]:
        np.testing.assert_allclose(table[column], np.exp(logs[column].to_numpy()), rtol=1e-9)
        assert table[column].min() > 0


@pytest.mark.parametrize(
    "build", [lambda: InLogs(raw(), alias="M"), lambda: Blend([InLogs(raw())], alias="M")]
)
def test_nothing_behind_a_cutoff_changes_what_is_said_at_it(build) -> None:  # type: ignore[no-untyped-def]
    frame, cutoff = growing(), 150
    later = growing().with_columns(
        pl.when(pl.col("ds") > cutoff).then(pl.col("ds") * 7.0).otherwise("y").alias("y")
    )

    def said(changed: pl.DataFrame) -> list[np.ndarray]:
        panel = read_frame(changed)
        model = build().fit_panel(panel.until(140))
        known = panel.until(cutoff)
        model.attach(known)
        told = model.forecast(known, latest_origins(known), [80], [0.3])
        return [told.mean, *told.bands[80], told.quantiles[0.3]]

    for one, other in zip(said(frame), said(later), strict=True):
        np.testing.assert_array_equal(one, other)
