"""How far off: errors of many forecasts, one row a model.

In: truth and forecasts as arrays [O, H]. Out: a polars table, best first. A scale uses only rows
at or before each origin; a model that answered NaN anywhere scores NaN and is never best.
Definitions are those of the field (Hyndman & Koehler 2006 for MASE; Gneiting & Raftery 2007 for
the CRPS through quantiles) and are checked against utilsforecast in the tests.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ..core import ProcedureWarning
from .normalisers import training_deviations
from .origins import Origins
from .panel import Panel, Values

if TYPE_CHECKING:
    from .forecast import Forecast

# A season that repeats to a trillionth of its level repeats; the rest is rounding.
ROUNDING = 1e-12


def score_table(
    panel: Panel,
    origins: Origins,
    truth: Values,
    forecasts: Mapping[str, Forecast],
    *,
    season: int = 1,
) -> pl.DataFrame:
    """Score every model on the same windows.

    Args:
        panel: Where the scale of each origin is taken from.
        origins: Of the forecasts, [O].
        truth: What happened, [O, H].
        forecasts: Alias -> forecast.
        season: Rows in a season, for the seasonal naive error that MASE divides by.

    Returns:
        Columns ``model, mase, mae, mse, rmse``, and per level ``coverage-80`` (share of truths
        inside), ``width-80`` (mean width over the scale) and ``scaled_crps`` over all levels.
        A history that never moved from season to season, or is no longer than one, has no
        scale; its windows are left out of ``mase`` with one warning. A model that answered NaN
        anywhere scores NaN in every column.

    Warns:
        ProcedureWarning: Some windows have no scale.
    """
    scale = naive_scale(panel, origins, season)
    scale = np.where(scale == 0, np.nan, scale)
    without = int(np.isnan(scale).sum())
    if without:
        warnings.warn(
            f"{without} of {len(scale)} windows follow a history that never moved from season to "
            f"season of {season}, or is no longer than one; they have no scale and are left out "
            "of mase",
            ProcedureWarning,
            stacklevel=3,
        )
    rows = [
        {"model": alias, **_score(truth, forecast, scale)} for alias, forecast in forecasts.items()
    ]
    return pl.DataFrame(rows).sort("mase", "mae", nulls_last=True, maintain_order=True)


def naive_scale(panel: Panel, origins: Origins, season: int) -> Values:
    """Mean absolute seasonal difference of each series up to each origin, [O].

    A history no longer than one season has the scale NaN; one that never moves, 0.
    """
    # In units of each series, or a large one would drown the running sum of a small one.
    unit = training_deviations(panel)
    values = panel.values / np.repeat(unit, panel.lengths)
    moved = np.full(len(values), np.nan)
    moved[season:] = np.abs(values[season:] - values[:-season])
    first = np.repeat(panel.offsets[:-1], panel.lengths)
    moved[np.arange(len(moved)) - first < season] = np.nan
    known = ~np.isnan(moved)
    total = np.concatenate([[0.0], np.cumsum(np.where(known, moved, 0.0))])
    count = np.concatenate([[0], np.cumsum(known)])
    start, stop = panel.offsets[origins.series], origins.rows(panel) + 1
    size = np.concatenate([[0.0], np.cumsum(np.abs(np.nan_to_num(values)))])
    level = (size[stop] - size[start]) / (stop - start)
    with np.errstate(invalid="ignore"):
        mean = (total[stop] - total[start]) / (count[stop] - count[start])
    return np.where(mean <= ROUNDING * level, 0.0, mean * unit[origins.series])


def _score(truth: Values, forecast: Forecast, scale: Values) -> dict[str, float]:
    error = forecast.mean - truth
    absolute = np.abs(error)
    mse = float(np.mean(error**2))
    scaled = absolute.mean(axis=1) / scale
    table = {
        "mase": _mean_of_scaled(scaled, scale),
        "mae": float(absolute.mean()),
        "mse": mse,
        "rmse": mse**0.5,
    }
    for level, (low, high) in forecast.bands.items():
        table[f"coverage-{level}"] = float(np.mean((truth >= low) & (truth <= high)))
        table[f"width-{level}"] = _mean_of_scaled((high - low).mean(axis=1) / scale, scale)
    if forecast.bands:
        table["scaled_crps"] = scaled_crps(truth, forecast)
    edges = [edge for band in forecast.bands.values() for edge in band]
    if any(np.isnan(part).any() for part in (forecast.mean, *edges)):
        # Otherwise a NaN could hide: in a window without a scale, or as a truth outside a band.
        return dict.fromkeys(table, float("nan"))
    return table


def _mean_of_scaled(values: Values, scale: Values) -> float:
    """Mean over the windows that have a scale; NaN when none has."""
    with_scale = ~np.isnan(scale)
    return float(values[with_scale].mean()) if with_scale.any() else float("nan")


def scaled_crps(truth: Values, forecast: Forecast) -> float:
    """Mean pinball loss over the quantiles of all bands and the mean, over the mean |truth|.

    The point forecast stands for the median. 0 truth everywhere gives NaN.
    """
    quantiles: list[tuple[float, Values]] = [(0.5, forecast.mean)]
    for level, (low, high) in forecast.bands.items():
        quantiles += [((100 - level) / 200, low), ((100 + level) / 200, high)]
    loss = sum(
        float(np.mean(np.maximum(q * (truth - bound), (q - 1) * (truth - bound))))
        for q, bound in quantiles
    )
    size = float(np.abs(truth).mean())
    return 2 * loss / len(quantiles) / size if size > 0 else float("nan")


def mape(truth: Values, mean: Values) -> tuple[float, int]:
    """Mean absolute percentage error over the rows whose truth is not zero.

    Returns:
        The error as a share (NaN when every truth is zero), and how many rows it is a mean of.

    >>> mape(np.array([[0.0, 0.0, 74.0]]), np.array([[1.0, 2.0, 37.0]]))
    (0.5, 1)
    """
    there = truth != 0
    if not there.any():
        return float("nan"), 0
    share = np.abs(mean[there] - truth[there]) / np.abs(truth[there])
    return float(share.mean()), int(there.sum())
