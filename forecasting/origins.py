"""Where forecasts start: pairs of a series and the last step it may know.

In: a panel and cutoffs in calendar time. Out: :class:`Origins`, two aligned arrays, and the rows
of the panel before and after each. Everything that looks at the truth behind an origin goes
through :func:`futures`, so that a leak has one door, and only the backtest, fitting and
calibration use it. What is known ahead comes in through :func:`known_ahead`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .panel import Panel, Values
from .units import Steps
from .windows import windows_at


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """Points to forecast from.

    Attributes:
        series: Number of the series in its panel, [O].
        steps: Calendar step of the last known row, [O].
    """

    series: Steps
    steps: Steps

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, part: slice | NDArray[np.bool_] | Steps) -> Origins:
        return Origins(self.series[part], self.steps[part])

    def rows(self, panel: Panel) -> Steps:
        """Row of each origin in ``panel.values``, [O]."""
        return panel.offsets[self.series] + self.steps - panel.starts[self.series]


def latest_origins(panel: Panel) -> Origins:
    """The last row of every series."""
    return Origins(np.arange(len(panel)), panel.end_steps)


def origins_at(panel: Panel, cutoffs: Steps) -> Origins:
    """Every series at every cutoff that falls inside it, ordered by cutoff, then series."""
    step, series = np.meshgrid(cutoffs, np.arange(len(panel)), indexing="ij")
    inside = (step >= panel.starts[series]) & (step <= panel.end_steps[series])
    return Origins(series[inside], step[inside])


def pasts(panel: Panel, origins: Origins, lookback: int) -> Values:
    """The rows up to and with each origin, [O, L].

    NaN where a value is missing, where the series had not begun, and where a value was drawn
    towards one that lay ahead of the origin.
    """
    positions = origins.steps - panel.starts[origins.series]
    return windows_at(panel, origins.series, positions, lookback)


def futures(panel: Panel, origins: Origins, horizon: int) -> Values:
    """The rows after each origin, [O, H].

    NaN where a value is missing, has not happened yet, or was drawn between two known ones: no
    model is judged on, or learns from, a value that nobody observed.
    """
    rows = origins.rows(panel)[:, None] + np.arange(1, horizon + 1)
    inside = rows < panel.offsets[origins.series + 1][:, None]
    rows = np.where(inside, rows, 0)
    known = inside & ~np.isin(rows, panel.interpolated)
    return np.where(known, panel.values[rows], np.nan)


def known_ahead(panel: Panel, origins: Origins, horizon: int) -> Values:
    """The covariates at the H steps after each origin, [O, H, F]; NaN where they are not known."""
    found = np.empty((len(origins), horizon, len(panel.covariates.names)))
    starts = zip(origins.series.tolist(), (origins.steps + 1).tolist(), strict=True)
    for place, (number, first) in enumerate(starts):
        found[place] = panel.covariates.between(panel.ids[number], first, horizon)
    return found


def complete(windows: Values) -> NDArray[np.bool_]:
    """Which windows hold no missing value, [O]."""
    whole: NDArray[np.bool_] = np.logical_not(np.isnan(windows).any(axis=1))
    return whole
