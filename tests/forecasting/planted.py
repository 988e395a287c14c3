"""Small made-up histories, and the forecasters they are given to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from likewise.forecasting import (
    DirectRidge,
    Forecaster,
    Repeat,
    RetrievalForecaster,
    SeasonalNaive,
    TowerSettings,
    WindowNeighbours,
)
from likewise.forecasting.frames import Panel, read_frame

Series = list[tuple[int, list[float]]]

SEASON = 12
HORIZON = 4
LOOKBACK = 16
SMALL = TowerSettings(steps=40, width=16, hidden=(32,), batch_size=128)


def wave(rows: int, seed: int = 0, *, noise: float = 0.3, season: int = SEASON) -> np.ndarray:
    """A season whose strength drifts, with noise."""
    time = np.arange(rows)
    noises = noise * np.random.default_rng(seed).normal(size=rows)
    return np.sin(2 * np.pi * time / season) * (1 + 0.3 * np.sin(time / 40 + seed)) + noises


def long_frame(series: Mapping[Any, tuple[int, Any]]) -> pl.DataFrame:
    """Id -> first step and values, as a long frame."""
    return pl.concat(
        pl.DataFrame(
            {
                "unique_id": [name] * len(values),
                "ds": np.arange(start, start + len(values)),
                "y": np.asarray(values, dtype=np.float64),
            }
        )
        for name, (start, values) in series.items()
    )


def panel_of(series: Series, gaps: Any = "missing") -> Panel:
    """Series by number, as a panel on a grid of whole numbers."""
    frame = long_frame({f"s{i}": rows for i, rows in enumerate(series)})
    return read_frame(frame, freq=1, gaps=gaps)


def two_waves(rows: int = 160) -> pl.DataFrame:
    """Two series of the same kind at different levels and units."""
    return long_frame({"a": (0, wave(rows)), "b": (0, 50 + 3 * wave(rows, 1))})


def cheap_models(horizon: int = HORIZON, lookback: int = LOOKBACK) -> list[Forecaster]:
    """Every kind of forecaster that needs no training."""
    return [
        Repeat(horizon),
        SeasonalNaive(horizon, SEASON),
        DirectRidge(horizon, lookback),
        WindowNeighbours(horizon, lookback, k=5),
        RetrievalForecaster(horizon, lookback, embedding="raw", alias="Raw"),
    ]


def learned_model(**settings: Any) -> RetrievalForecaster:
    """A learned forecaster, trained for a moment."""
    chosen = {"embedding": "learned", "towers": SMALL, "alias": "Learned"} | settings
    return RetrievalForecaster(HORIZON, LOOKBACK, **chosen)


def as_pandas(frame: pl.DataFrame) -> Any:
    """The same frame for pandas, without pyarrow."""
    import pandas as pd

    return pd.DataFrame({name: frame[name].to_list() for name in frame.columns})


def forecasts_at(frame: Any, name: Any, column: str) -> Sequence[float]:
    """One model's forecasts of one series, in order of time."""
    table = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame.to_dict("list"))
    return table.filter(pl.col("unique_id") == name).sort("ds")[column].to_list()


def answer_of(model: RetrievalForecaster) -> str:
    """Fingerprint of the encoder, and a hash of every byte that is forecast."""
    columns = [model.alias, f"{model.alias}-lo-80", f"{model.alias}-hi-80"]
    forecast = model.predict(level=[80]).select(columns).to_numpy().tobytes()
    return f"{model.embedding_.fingerprint} {hashlib.sha256(forecast).hexdigest()}"
