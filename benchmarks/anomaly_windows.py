"""Windows of a labelled series for the peers: standardised, cut flat, and spread back to steps."""

from __future__ import annotations

import numpy as np
from likewise.anomaly.windows import cover, cut

from benchmarks.anomaly_series_data import Floats, LabelledSeries

COMPARED = 4096
"""Fitted windows compared with, evenly over time: as many as the detector keeps."""


def standardised(one: LabelledSeries) -> tuple[Floats, Floats]:
    """The fitted and the tested part on the scale of the fitted one."""
    centre, scale = one.fitted.mean(axis=0), one.fitted.std(axis=0)
    scale = np.where(scale > 1e-12, scale, 1.0)
    return (one.fitted - centre) / scale, (one.tested - centre) / scale


def flat_windows(values: Floats, lookback: int) -> Floats:
    """All windows as flat rows."""
    ends = np.arange(lookback - 1, len(values))
    return cut(values, lookback, ends).reshape(len(ends), -1)


def compared(windows: Floats) -> Floats:
    """At most ``COMPARED`` of them."""
    count = min(len(windows), COMPARED)
    return windows[np.linspace(0, len(windows) - 1, count).round().astype(int)]


def main_directions(windows: Floats, share: float = 0.9) -> tuple[Floats, Floats]:
    """Mean of flat windows, and the fewest directions that hold that share of their variance."""
    middle = windows.mean(axis=0)
    _, sizes, directions = np.linalg.svd(windows - middle, full_matrices=False)
    held = np.cumsum(sizes**2) / (sizes**2).sum()
    return middle, directions[: int(np.searchsorted(held, share)) + 1]


def left_over(queries: Floats, middle: Floats, directions: Floats) -> Floats:
    """What main directions cannot express of flat windows, [Q, L * C]."""
    gap = queries - middle
    return gap - (gap @ directions.T) @ directions


def spread_back(scores: Floats, lookback: int) -> Floats:
    """Give every step the mean of the windows over it."""
    at_end = np.concatenate([np.full(lookback - 1, np.nan), scores])
    return np.log(cover(np.exp(np.clip(at_end / (scores.std() + 1e-12), 0, 500)), lookback))
