"""Hanging continuations on a direct forecaster: history says how far that one is off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from likewise.core import SettingError
from likewise.forecasting import (
    DirectRidge,
    Repeat,
    RetrievalForecaster,
    SeasonalNaive,
    WindowNeighbours,
    WindowRegressor,
    backtest,
    extend,
)
from likewise.forecasting.origins import futures, latest_origins
from sklearn.linear_model import Ridge

from tests.forecasting.planted import (
    HORIZON,
    LOOKBACK,
    forecasts_at,
    learned_model,
    long_frame,
    two_waves,
)

NAME = "RetrievalForecaster"


def corrected(**settings: object) -> RetrievalForecaster:
    ridge = DirectRidge(HORIZON, LOOKBACK)
    return RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", level=ridge, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("build", [corrected, lambda: learned_model(level=Repeat(HORIZON))])
def test_the_forecast_is_the_direct_one_plus_how_it_erred_in_windows_like_this(build) -> None:  # type: ignore[no-untyped-def]
    model = build().fit(two_waves())
    panel, origins = model.panel_, latest_origins(model.panel_)
    found = model.expect(panel, origins)
    index, direct = model.index_, model.direct_
    rows = np.arange(len(index))
    ends = type(origins)(index.windows.series_of(rows), index.windows.origin_steps(rows))
    errors = futures(panel, ends, HORIZON) - direct.expect(panel, ends)
    for place in range(len(origins)):
        weights = index.weights(panel, origins[place : place + 1])
        scale = index.ask(panel, origins[place : place + 1]).scales[0]
        told = scale * sum(w * e / s for w, e, s in zip(weights, errors, index.scales, strict=True))
        expected = direct.expect(panel, origins[place : place + 1])[0] + told
        np.testing.assert_allclose(found[place], expected, rtol=1e-5, atol=1e-5)


def test_the_explanation_begins_with_the_direct_forecast_and_adds_up() -> None:
    frame = two_waves()
    model = corrected().fit(frame)
    told = model.explain("b")
    alone = DirectRidge(HORIZON, LOOKBACK, alias="ridge").fit(frame)
    np.testing.assert_allclose(told.level, forecasts_at(alone.predict(), "b", "ridge"), rtol=1e-9)
    unit = model.recipe_.deviations["b"]
    predicted = forecasts_at(model.predict(), "b", NAME)
    np.testing.assert_allclose(told.total(), predicted, atol=1e-6 * unit)


def test_the_setting_is_left_alone_and_fitted_twice_gives_the_same() -> None:
    model = corrected()
    once = model.fit(two_waves()).predict()
    assert not hasattr(model.level, "weights_")
    assert once.equals(model.fit(two_waves()).predict())


@pytest.mark.parametrize("direct", [DirectRidge(HORIZON, 12), SeasonalNaive(HORIZON, 12)])
def test_a_bundle_answers_to_the_bit_and_grows(direct, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    frame = two_waves()
    known, more = frame.filter(frame["ds"] < 150), frame.filter(frame["ds"] >= 150)
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", level=direct).fit(known)
    model.save(tmp_path / "bundle")
    again = RetrievalForecaster.load(tmp_path / "bundle")
    assert again.predict(level=[80]).equals(model.predict(level=[80]))
    assert extend(again, more).predict().equals(extend(model, more).predict())


def test_a_curve_that_a_line_cannot_follow_is_corrected() -> None:
    # the ridge is linear; how it errs depends on where in the arch the window ends
    draw = np.random.default_rng(0)
    arch = np.abs(np.sin(np.arange(900) * np.pi / 37)) ** 3 + 0.02 * draw.normal(size=900)
    ridge = DirectRidge(4, 12, alias="ridge")
    models = [
        ridge,
        RetrievalForecaster(4, 12, embedding="raw", level=DirectRidge(4, 12), alias="corrected"),
    ]
    result = backtest(long_frame({"a": (0, arch)}), models, horizon=4, n_windows=100, step_size=2)
    error = dict(result.scores().select("model", "mse").iter_rows())
    assert error["corrected"] < 0.8 * error["ridge"]


def test_a_direct_forecaster_that_does_not_fit_is_refused() -> None:
    for wrong in (DirectRidge(HORIZON + 1, LOOKBACK), DirectRidge(HORIZON, LOOKBACK + 1)):
        with pytest.raises(SettingError, match="cannot hang on DirectRidge"):
            RetrievalForecaster(HORIZON, LOOKBACK, level=wrong)
    with pytest.raises(SettingError, match="has an index of its own"):
        RetrievalForecaster(HORIZON, LOOKBACK, level=WindowNeighbours(HORIZON, LOOKBACK))


def test_a_forecaster_that_cannot_be_stored_is_named(tmp_path: Path) -> None:
    level = WindowRegressor(HORIZON, LOOKBACK, Ridge(), outputs="joint")
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", level=level).fit(two_waves())
    with pytest.raises(SettingError, match="WindowRegressor, cannot be stored"):
        model.save(tmp_path / "bundle")
