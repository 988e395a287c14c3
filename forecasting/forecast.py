"""A forecast: what is expected after each origin, with its bounds.

In: arrays. Out: the same joined, cut short, or laid out as the long columns that users get.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from .origins import Origins
from .panel import Panel, Values

Band = tuple[Values, Values]


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What a model expects after each origin.

    Attributes:
        mean: Expected values, [O, H].
        bands: Level in percent -> lower and upper bound, each [O, H].
        quantiles: Probability -> the value that is not exceeded with it, [O, H].
    """

    mean: Values
    bands: Mapping[int, Band] = field(default_factory=dict)
    quantiles: Mapping[float, Values] = field(default_factory=dict)


def join_forecasts(pieces: Sequence[Forecast]) -> Forecast:
    """Forecasts from consecutive origins as one."""
    bands: dict[int, Band] = {
        level: (
            np.concatenate([piece.bands[level][0] for piece in pieces]),
            np.concatenate([piece.bands[level][1] for piece in pieces]),
        )
        for level in pieces[0].bands
    }
    quantiles = {
        q: np.concatenate([piece.quantiles[q] for piece in pieces]) for q in pieces[0].quantiles
    }
    return Forecast(np.concatenate([piece.mean for piece in pieces]), bands, quantiles)


def shorten(whole: Forecast, horizon: int) -> Forecast:
    """The first steps of a forecast."""
    bands = {level: (lo[:, :horizon], hi[:, :horizon]) for level, (lo, hi) in whole.bands.items()}
    quantiles = {q: values[:, :horizon] for q, values in whole.quantiles.items()}
    return Forecast(whole.mean[:, :horizon], bands, quantiles)


def forecast_columns(
    panel: Panel, origins: Origins, forecasts: Mapping[str, Forecast], horizon: int
) -> dict[str, pl.Series]:
    """Lay forecasts out as long columns: id, time, and each model with its bands."""
    series = np.repeat(origins.series, horizon)
    steps = (origins.steps[:, None] + np.arange(1, horizon + 1)).ravel()
    columns = {
        panel.schema.id_col: panel.labels(series),
        panel.schema.time_col: panel.stamps(steps),
    }
    for alias, forecast in forecasts.items():
        columns[alias] = pl.Series(alias, forecast.mean.ravel())
        for level, (low, high) in forecast.bands.items():
            columns[f"{alias}-lo-{level}"] = pl.Series(low.ravel())
            columns[f"{alias}-hi-{level}"] = pl.Series(high.ravel())
        for q, values in forecast.quantiles.items():
            columns[f"{alias}-q-{100 * q:.6g}"] = pl.Series(values.ravel())
    return columns
