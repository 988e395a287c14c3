"""The M4 competition's yardstick: Naive2 and the overall weighted average (OWA).

In: a backtest from one origin a series. Out: the forecast of Naive2 (the last value of the
seasonally adjusted series, where a test of the autocorrelation says it is seasonal, with the
season put back) and the mean of sMAPE and MASE over those of Naive2. Definitions are those of
Makridakis, Spiliotis and Assimakopoulos 2020 and of the competition's R code.
"""

from __future__ import annotations

import numpy as np
from likewise.forecasting import Backtest
from numpy.typing import NDArray

Values = NDArray[np.float64]
# Two-sided 90 %: the competition's test of seasonality.
CRITICAL = 1.645


def naive2(result: Backtest, season: int) -> Values:
    """Naive2 for every origin, [O, H]."""
    return np.stack([_naive2(known, result.horizon, season) for known in _histories(result)])


def overall_weighted_average(
    result: Backtest, mean: Values, baseline: Values, season: int
) -> float:
    """OWA of forecasts against those of Naive2."""
    smape, mase = _smape_mase(result, mean, season)
    other_smape, other_mase = _smape_mase(result, baseline, season)
    return (smape / other_smape + mase / other_mase) / 2


def _histories(result: Backtest) -> list[Values]:
    rows = result.origins.rows(result.panel)
    firsts = result.panel.offsets[result.origins.series]
    return [result.panel.values[first : row + 1] for first, row in zip(firsts, rows, strict=True)]


def _smape_mase(result: Backtest, mean: Values, season: int) -> tuple[float, float]:
    miss = np.abs(mean - result.truth)
    smape = float(np.mean(2 * miss / (np.abs(mean) + np.abs(result.truth))))
    scale = [np.abs(known[season:] - known[:-season]).mean() for known in _histories(result)]
    return smape, float(np.mean(miss.mean(axis=1) / np.array(scale)))


def _naive2(known: Values, horizon: int, season: int) -> Values:
    if not _is_seasonal(known, season):
        return np.full(horizon, known[-1])
    indices = _seasonal_indices(known, season)
    places = np.arange(len(known) + horizon) % season
    return known[-1] / indices[places[len(known) - 1]] * indices[places[len(known) :]]


def _is_seasonal(known: Values, season: int) -> bool:
    centred = known - known.mean()
    power = float((centred**2).sum())
    if power == 0 or len(known) < 3 * season:
        return False
    lags = [float(centred[lag:] @ centred[:-lag]) / power for lag in range(1, season + 1)]
    limit = CRITICAL * np.sqrt((1 + 2 * np.square(lags[:-1]).sum()) / len(known))
    return bool(abs(lags[-1]) > limit)


def _seasonal_indices(known: Values, season: int) -> Values:
    """Classical multiplicative decomposition: ratios to a centred moving average."""
    ends = [0.5] if season % 2 == 0 else []
    window = np.array([*ends, *[1.0] * (season - len(ends)), *ends]) / season
    trend = np.convolve(known, window, mode="valid")
    skipped = (len(known) - len(trend)) // 2
    ratios = known[skipped : skipped + len(trend)] / trend
    places = (np.arange(len(trend)) + skipped) % season
    means = np.array([ratios[places == place].mean() for place in range(season)])
    return means / means.mean()
