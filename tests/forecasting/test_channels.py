"""Series embedded together: what the others did says what this one will do."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
import pytest
from likewise.core import SettingError
from likewise.forecasting import Normaliser, RetrievalForecaster, TowerSettings, backtest, extend
from likewise.forecasting.origins import Origins, latest_origins
from likewise.forecasting.panel import Values
from likewise.forecasting.retrieval import Channels

from tests.forecasting.planted import HORIZON, LOOKBACK, learned_model, long_frame, wave


def lead_and_echo(rows: int = 700) -> pl.DataFrame:
    """``echo`` is the size of ``lead`` two rows before; nothing in its own past says so."""
    lead = np.random.default_rng(0).normal(size=rows)
    echo = np.concatenate([[0.0, 0.0], np.abs(lead[:-2])])
    return long_frame({"echo": (0, echo), "lead": (0, lead)})


def raw(**settings: object) -> RetrievalForecaster:
    return RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("embedding", ["raw", "learned"])
def test_a_series_that_follows_another_is_forecast_from_it(embedding: str) -> None:
    towers = TowerSettings(steps=150, width=16, hidden=(32,), batch_size=128, learning_rate=1e-2)
    models = [
        RetrievalForecaster(
            2,
            2,
            embedding=embedding,  # type: ignore[arg-type]
            # what happened lies in the values themselves, not in how they differ from their mean
            normaliser=Normaliser("none"),
            towers=towers,
            channels=kind,
            alias=kind,
        )
        for kind in get_args(Channels)
    ]
    result = backtest(lead_and_echo(), models, horizon=2, n_windows=60, step_size=2)
    echo = result.origins.series == 0

    def error(alias: str) -> float:
        miss: Values = result.forecasts[alias].mean[echo] - result.truth[echo]
        return float((miss**2).mean())

    assert error("joint") < 0.5 * error("apart")


def test_every_member_is_shown_in_its_own_units_and_who_asks_last() -> None:
    frame = long_frame({"a": (0, wave(90)), "b": (30, 50 + 9 * wave(60, 1))})
    model = raw(channels="joint").fit(frame)
    panel, recipe = model.panel_, model.recipe_
    origins = Origins(np.array([0, 1, 0]), np.array([80, 80, 20]))
    own = np.zeros((3, LOOKBACK))
    shown = recipe.show(panel, origins, own)
    assert shown.shape == (3, 2 * (LOOKBACK + 1))
    windows = shown[:, : 2 * LOOKBACK].reshape(3, 2, LOOKBACK)
    for number, name in enumerate(("a", "b")):
        rows = panel.series(number)
        end = 80 - int(panel.starts[number])
        past = rows[end - LOOKBACK + 1 : end + 1]
        unit = recipe.deviations[name]
        if recipe.normaliser.kind == "z":
            unit = np.clip(past.std(), 0.2 * unit, 2 * unit)
        np.testing.assert_allclose(windows[:2, number], [(past - past.mean()) / unit] * 2)
    # b had not begun at step 20
    assert not windows[2, 1].any()
    np.testing.assert_array_equal(shown[:, -2:], [[1, 0], [0, 1], [1, 0]])


def test_a_raw_company_learns_from_each_members_own_past() -> None:
    model = raw(channels="joint").fit(lead_and_echo(200))
    for origin in (latest_origins(model.panel_)[:1], latest_origins(model.panel_)[1:]):
        rows = np.flatnonzero(model.index_.weights(model.panel_, origin))
        assert set(model.index_.windows.series_of(rows)) == set(origin.series)


@pytest.mark.parametrize("build", [raw, learned_model])
def test_a_company_is_stored_explained_and_extended(build, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    frame = long_frame({"a": (0, wave(160)), "b": (0, 50 + 9 * wave(160, 1))})
    known, more = frame.filter(pl.col("ds") < 150), frame.filter(pl.col("ds") >= 150)
    model = build(channels="joint").fit(known)
    told = model.explain("b")
    np.testing.assert_allclose(
        told.total(), told.forecast, atol=1e-6 * model.recipe_.deviations["b"]
    )
    model.save(tmp_path / "bundle")
    again = RetrievalForecaster.load(tmp_path / "bundle")
    assert again.predict(level=[80]).equals(model.predict(level=[80]))
    assert extend(again, more).predict().equals(extend(model, more).predict())


def test_channels_that_cannot_work_are_refused() -> None:
    for wrong in ({"channels": "both"}, {"channels": "joint", "pairs": "augmentation"}):
        with pytest.raises(SettingError):
            raw(**wrong)
