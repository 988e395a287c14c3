"""Windows: stretches of a series, cut without copying, and what they are standardised with.

In: values [T, C] of one series. Out: windows [W, L, C] that end at given steps. A window is named
by its *last* step, because that is the moment at which it can be judged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .distances import Integers

Values = NDArray[np.float64]
Windows = NDArray[np.float64]
Scores = NDArray[np.float64]

LONGEST_AUTO = 64
SHORTEST_AUTO = 16


def cut(values: Values, lookback: int, ends: Integers) -> Windows:
    """Cut windows of ``lookback`` steps that end at ``ends`` (included), [W, L, C]."""
    view = np.lib.stride_tricks.sliding_window_view(values, lookback, axis=0)
    windows: Windows = view[ends - lookback + 1].transpose(0, 2, 1)
    return windows


def whole_ends(values: Values, lookback: int) -> Integers:
    """Give the steps at which a window without a gap ends, ascending."""
    gaps = (~np.isfinite(values)).any(axis=1)
    before = np.concatenate([[0], np.cumsum(gaps)])
    ends = np.arange(lookback - 1, len(values))
    whole: Integers = ends[before[ends + 1] == before[ends + 1 - lookback]]
    return whole


def spread_out(ends: Integers, count: int) -> Integers:
    """Choose at most ``count`` ends, evenly over time."""
    if len(ends) <= count:
        return ends
    return ends[np.linspace(0, len(ends) - 1, count).round().astype(np.int64)]


def cover(at_end: Scores, lookback: int) -> Scores:
    """Give each step the geometric mean of the scores of all windows over it, [T].

    Args:
        at_end: Score of the window that ends at each step, NaN where there is none, [T].
        lookback: L.

    >>> cover(np.array([np.nan, 1.0, 4.0]), 2)
    array([1., 2., 4.])
    """
    known = np.isfinite(at_end)
    logs = np.where(known, np.log(np.where(known, at_end, 1.0) + 1e-12), 0.0)
    ahead = np.arange(len(at_end)) + lookback
    stop = np.minimum(ahead, len(at_end))
    sums = np.concatenate([[0.0], np.cumsum(logs)])
    counts = np.concatenate([[0], np.cumsum(known)])
    number = counts[stop] - counts[:-1]
    mean = (sums[stop] - sums[:-1]) / np.maximum(number, 1)
    covered: Scores = np.where(number > 0, np.exp(mean), np.nan)
    return covered


def suggest_lookback(values: Values) -> int:
    """Suggest a window length: the strongest period of the first channels, within 16 .. 64.

    Args:
        values: One series, [T, C]; gaps are read as the mean.

    Returns:
        Steps. 32 where no period stands out.
    """
    filled = np.where(np.isfinite(values), values, np.nanmean(values, axis=0))
    series = filled - filled.mean(axis=0)
    keep = series.std(axis=0) > 0
    if not keep.any():
        return 2 * SHORTEST_AUTO
    power = (np.abs(np.fft.rfft(series[:, keep] / series[:, keep].std(axis=0), axis=0)) ** 2).mean(
        axis=1
    )
    periods = len(series) / np.maximum(np.arange(len(power)), 1)
    allowed = (periods >= SHORTEST_AUTO / 2) & (periods <= 2 * LONGEST_AUTO)
    if not allowed.any() or power[allowed].max() < 8 * power[1:].mean():
        return 2 * SHORTEST_AUTO
    period = periods[allowed][power[allowed].argmax()]
    return int(np.clip(round(period), SHORTEST_AUTO, LONGEST_AUTO))
