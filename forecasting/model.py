"""What every forecaster is: the face for users, and the contract the backtest drives.

A user fits on a frame and asks for the next steps. The backtest hands over panels and origins:
one fitted model answers many origins, and at each may look at rows at or before it, never later.
A new forecaster subclasses :class:`Forecaster` and fills in ``learn`` and ``expect``; intervals,
frames and the minimum length come from here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl

from ..core import SettingError, TooFewRows
from .calibration import calibrate, check_levels
from .frames import Gaps, read_frame
from .frequency import Frequency
from .holdout import batches, hold_out
from .origins import Origins, complete, latest_origins, pasts
from .panel import Panel, Values
from .units import Steps

Band = tuple[Values, Values]
# Few enough at a time for an index to weigh in double precision, as an explanation does.
_BATCH = 256


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What a model expects after each origin.

    Attributes:
        mean: Expected values, [O, H].
        bands: Level in percent -> lower and upper bound, each [O, H].
    """

    mean: Values
    bands: Mapping[int, Band] = field(default_factory=dict)


class Forecaster(ABC):
    """Base of all forecasters.

    Args:
        horizon: Steps to forecast, H.
        lookback: Rows before an origin that a forecast is made from, L.
        freq: The step of time (``"h"``, ``"15min"``, ``"MS"``, an integer ...); None reads it from
            the stamps.
        gaps: What absent rows become, as in :func:`read_frame`.
        alias: Name of the model's column; None takes the class name.
    """

    def __init__(
        self,
        horizon: int,
        *,
        lookback: int = 1,
        freq: str | int | Frequency | None = None,
        gaps: Gaps = "error",
        alias: str | None = None,
    ) -> None:
        if horizon < 1 or lookback < 1:
            raise SettingError(
                f"horizon and lookback must be at least 1 row, found {horizon} and {lookback}"
            )
        self.horizon = horizon
        self.lookback = lookback
        self.freq = freq
        self.gaps: Gaps = gaps
        self.alias = alias or type(self).__name__

    @abstractmethod
    def learn(self, panel: Panel) -> None:
        """Learn from every row of a panel."""

    @abstractmethod
    def expect(self, panel: Panel, origins: Origins) -> Values:
        """Expected values after each origin, [O, H], from rows at or before it.

        Every origin's last L rows are complete; callers see to that.
        """

    def attach(self, panel: Panel) -> None:
        """Get ready to forecast from origins of a panel that goes on behind what was learned.

        A model with an index takes the panel's windows in, by their own time; each forecast still
        sees only those that were complete at its origin. Others have nothing to do.
        """
        del panel

    def latest_candidates(self, steps: Steps) -> list[int | None] | None:
        """Latest row that the index could show at each step; None for models without an index."""
        del steps
        return None

    def fit(self, frame: Any) -> Self:
        """Fit on a long frame ``unique_id, ds, y``.

        Args:
            frame: polars, pandas or any eager frame, rows in any order; or a :class:`Panel`.

        Returns:
            The fitted forecaster.

        Raises:
            InputError: With every fault of the frame.
            TooFewRows: No series is long enough to learn from.
        """
        self.panel_ = (
            frame if isinstance(frame, Panel) else read_frame(frame, freq=self.freq, gaps=self.gaps)
        )
        return self.fit_panel(self.panel_)

    def fit_panel(self, panel: Panel) -> Self:
        """Fit on a panel: learn on its earlier part, calibrate on its tail, then learn on all."""
        held = hold_out(panel, self.lookback, self.horizon)
        self.learn(held.before)
        self.attach(panel)
        self.calibration_ = calibrate(self.expect, panel, held.origins, self.horizon)
        self.learn(panel)
        self.attach(panel)
        return self

    def forecast(self, panel: Panel, origins: Origins, levels: Sequence[int] = ()) -> Forecast:
        """Forecast from given origins of a panel, which may go on behind them.

        Args:
            panel: Rows up to (at least) every origin.
            origins: Where to start; their last L rows must be complete.
            levels: Interval levels in percent.

        Returns:
            Means [O, H] and one band a level.

        Raises:
            TooFewRows: A level asks for more calibration windows than there are.
        """
        mean = self.expect(panel, origins)
        if not levels:
            return Forecast(mean)
        spread = self.calibration_.spread(panel, origins)
        bands: dict[int, Band] = {}
        for level in check_levels(levels):
            half = self.calibration_.half_width(level) * spread[:, None]
            bands[level] = (mean - half, mean + half)
        return Forecast(mean, bands)

    def predict(self, level: Sequence[int] = ()) -> Any:
        """Forecast the H steps after the last row of every series.

        Args:
            level: Interval levels in percent, e.g. ``[80, 95]``.

        Returns:
            A frame of the caller's kind: id, time, one column named ``alias``, and
            ``alias-lo-80``, ``alias-hi-80`` for each level. Series without a complete last window
            are left out and named in ``skipped_``.

        Raises:
            TooFewRows: No series has a complete last window.
        """
        panel, origins = self.panel_, self.predictable_origins()
        forecast = join_forecasts(
            [self.forecast(panel, part, level) for part in batches(origins, _BATCH)]
        )
        return panel.answer(forecast_columns(panel, origins, {self.alias: forecast}, self.horizon))

    def predictable_origins(self) -> Origins:
        """The last row of each series whose last L rows are complete; names the others."""
        origins = latest_origins(self.panel_)
        whole = complete(pasts(self.panel_, origins, self.lookback))
        self.skipped_ = {
            self.panel_.ids[number]: f"its last {self.lookback} rows are not complete"
            for number in origins.series[~whole]
        }
        if not whole.any():
            raise TooFewRows(
                f"{self.alias} needs the last {self.lookback} rows of a series to be complete, "
                f"and none of {len(origins)} series has them; shorten the lookback or close gaps"
            )
        return origins[whole]


def join_forecasts(pieces: Sequence[Forecast]) -> Forecast:
    """Forecasts from consecutive origins as one."""
    bands: dict[int, Band] = {
        level: (
            np.concatenate([piece.bands[level][0] for piece in pieces]),
            np.concatenate([piece.bands[level][1] for piece in pieces]),
        )
        for level in pieces[0].bands
    }
    return Forecast(np.concatenate([piece.mean for piece in pieces]), bands)


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
    return columns
