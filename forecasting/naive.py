"""Two forecasts that anybody can make, and that everything else has to beat.

In: the rows before an origin. Out: the last value, or the last season, again.
"""

from __future__ import annotations

import numpy as np

from ..core import SettingError
from .frames import Gaps
from .frequency import Frequency
from .model import Forecaster
from .origins import Origins, pasts
from .panel import Panel, Values


class Repeat(Forecaster):
    """The last value, repeated: the best forecast of a random walk.

    Args:
        horizon: Steps to forecast, H.
        freq, gaps, alias: As in :class:`Forecaster`.
    """

    family = "naive"

    def __init__(
        self,
        horizon: int,
        *,
        freq: str | int | Frequency | None = None,
        gaps: Gaps = "error",
        alias: str | None = None,
    ) -> None:
        super().__init__(horizon, lookback=1, freq=freq, gaps=gaps, alias=alias)

    def learn(self, panel: Panel) -> None:
        """Nothing to learn."""

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """The origin's own value at every step, [O, H]."""
        return np.repeat(pasts(panel, origins, 1), self.horizon, axis=1)


class SeasonalNaive(Forecaster):
    """The last season, repeated.

    Args:
        horizon: Steps to forecast, H.
        season: Rows in a season (24 for hours in a day, 168 for hours in a week).
        freq, gaps, alias: As in :class:`Forecaster`.

    Raises:
        SettingError: A season shorter than one row.
    """

    family = "naive"

    def __init__(
        self,
        horizon: int,
        season: int,
        *,
        freq: str | int | Frequency | None = None,
        gaps: Gaps = "error",
        alias: str | None = None,
    ) -> None:
        if season < 1:
            raise SettingError(f"season must be at least one row, found {season}")
        super().__init__(horizon, lookback=season, freq=freq, gaps=gaps, alias=alias)
        self.season = season

    def learn(self, panel: Panel) -> None:
        """Nothing to learn."""

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """The value one season (or as many as needed) earlier, [O, H]."""
        last = pasts(panel, origins, self.season)
        return last[:, np.arange(self.horizon) % self.season]
