"""What every forecaster is: the face for users, and the contract the backtest drives.

A user fits on a frame and asks for the next steps. The backtest hands over panels and origins:
one fitted model answers many origins, and at each may look at rows at or before it, never later.
A new forecaster subclasses :class:`Forecaster` and fills in ``learn`` and ``expect``; intervals,
frames and the minimum length come from here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..core import NotFitted, SettingError, TooFewRows
from .bounds import at_ranks, check_quantiles
from .calibration import DRAWN, calibrate, check_levels
from .forecast import Band, Forecast, forecast_columns, join_forecasts, shorten
from .frames import Gaps, read_frame
from .frequency import Frequency
from .growth import read_ahead
from .holdout import HeldOut, batches, hold_out, slices
from .origins import Origins, complete, latest_origins, pasts
from .panel import Panel, Values
from .units import Steps

if TYPE_CHECKING:
    from .explanation import Explanation

Family = Literal["direct", "naive", "retrieval"]
# Few enough at a time for an index to weigh in double precision, as an explanation does.
_BATCH = 256


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

    family: Family = "direct"

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

    def __getattr__(self, name: str) -> Any:
        """Say so where something is asked for that only fitting gives: ``..._``."""
        if name.endswith("_") and not name.startswith("_"):
            raise NotFitted(f"{type(self).__name__} has no {name} yet; call fit(frame) first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @abstractmethod
    def learn(self, panel: Panel) -> None:
        """Learn from every row of a panel."""

    @property
    def covariates(self) -> tuple[str, ...]:
        """Names of the columns it looks at beside the target; none unless a model says so."""
        return ()

    @abstractmethod
    def expect(self, panel: Panel, origins: Origins) -> Values:
        """Expected values after each origin, [O, H], from rows at or before it.

        Every origin's last L rows are complete; callers see to that.
        """

    def rehearse(self, panel: Panel, held: HeldOut) -> None:
        """Learn from the rows before a cut, and make what choices there are on the tail behind it.

        Args:
            panel: Holds the tail.
            held: The cut.

        Between this and :meth:`learn`, the model is one that has not learned from the tail: what it
        forecasts there tells how far off it will be.
        """
        del panel
        self.learn(held.before)

    def draws(self, panel: Panel, origins: Origins, mean: Values) -> Values:
        """Equally likely futures after each origin, [O, M, H].

        What a model without any can say is its mean, M = 1: then its bands are as wide for all
        windows of one spread.
        """
        del panel, origins
        return mean[:, None]

    def ready(self, panel: Panel, origins: Origins) -> NDArray[np.bool_]:
        """Which origins can be forecast from, [O]: those whose last L rows are complete."""
        return complete(pasts(panel, origins, self.lookback))

    def settle(self, panel: Panel, origins: Origins) -> None:
        """Set how wide bands are, by how far off forecasts from held-out origins were."""
        self.calibration_ = calibrate(self.expect, panel, origins, draws=self.draws)

    def why_not(self, panel: Panel, origins: Origins) -> list[str]:
        """Why origins that are not ready are not, one sentence each."""
        del panel
        return [f"its last {self.lookback} rows are not complete"] * len(origins)

    def attach(self, panel: Panel) -> None:
        """Get ready to forecast from origins of a panel that goes on behind what was learned.

        A model with an index takes the panel's windows in, by their own time; each forecast still
        sees only those that were complete at its origin. Others have nothing to do.
        """
        del panel

    def explain_at(
        self, panel: Panel, origin: Origins, *, episodes: int = 8, min_gap: int | None = None
    ) -> Explanation | None:
        """Take the forecast from one origin apart into history; None for models without any."""
        del panel, origin, episodes, min_gap
        return None

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
            frame
            if isinstance(frame, Panel)
            else read_frame(frame, freq=self.freq, gaps=self.gaps, covariates=self.covariates)
        )
        return self.fit_panel(self.panel_)

    def fit_panel(self, panel: Panel) -> Self:
        """Fit on a panel: learn on its earlier part, calibrate on its tail, then learn on all."""
        held = hold_out(panel, self.lookback, self.horizon)
        self.rehearse(panel, held)
        self.attach(panel)
        self.settle(panel, held.origins[self.ready(panel, held.origins)])
        self.learn(panel)
        self.attach(panel)
        return self

    def forecast(
        self,
        panel: Panel,
        origins: Origins,
        levels: Sequence[int] = (),
        quantiles: Sequence[float] = (),
    ) -> Forecast:
        """Forecast from given origins of a panel, which may go on behind them.

        Args:
            panel: Rows up to (at least) every origin.
            origins: Where to start; their last L rows must be complete.
            levels: Interval levels in percent.
            quantiles: Probabilities.

        Returns:
            Means [O, H], one band a level and one array a quantile.

        Raises:
            TooFewRows: A level asks for more calibration windows than there are.
        """
        levels, quantiles = check_levels(levels), check_quantiles(quantiles)
        mean = self.expect(panel, origins)
        if not (levels or quantiles):
            return Forecast(mean)
        return join_forecasts(
            [
                self._bound(panel, origins[rows], mean[rows], levels, quantiles)
                for rows in slices(len(origins), DRAWN)
            ]
        )

    def _bound(
        self,
        panel: Panel,
        origins: Origins,
        mean: Values,
        levels: Sequence[int],
        quantiles: Sequence[float],
    ) -> Forecast:
        """Bands and quantiles: draws, read at the ranks that earlier truths stayed within."""
        draws = np.sort(self.draws(panel, origins, mean), axis=1)
        spread = self.calibration_.spread(panel, origins)
        bands: dict[int, Band] = {}
        for level in levels:
            reach = self.calibration_.half_width(level)
            low, high = at_ranks(draws, -reach, spread), at_ranks(draws, reach, spread)
            bands[level] = (np.minimum(low, mean), np.maximum(high, mean))
        return Forecast(
            mean,
            bands,
            {q: at_ranks(draws, self.calibration_.rank(q), spread) for q in quantiles},
        )

    def predict(
        self,
        level: Sequence[int] = (),
        quantiles: Sequence[float] = (),
        *,
        horizon: int | None = None,
        covariates: Any = None,
    ) -> Any:
        """Forecast the steps after the last row of every series.

        Args:
            level: Interval levels in percent, e.g. ``[80, 95]``.
            quantiles: Probabilities, e.g. ``[0.1, 0.5, 0.9]``.
            horizon: How many steps, at most H; None for all H.
            covariates: What is known of the H steps ahead, for a model that looks at covariates: a
                frame of ids, times and their columns. It is kept, so that an explanation tells of
                the same forecast. None takes what the rows behind the last targets said.

        Returns:
            A frame of the caller's kind: id, time, one column named ``alias``, ``alias-lo-80`` and
            ``alias-hi-80`` for each level, ``alias-q-10`` for the quantile 0.1. Series that cannot
            be forecast are left out and named in ``skipped_``.

        Raises:
            TooFewRows: No series can be forecast, or too few calibration windows for a level.
        """
        horizon = self.horizon if horizon is None else horizon
        if not 1 <= horizon <= self.horizon:
            raise SettingError(
                f"horizon {horizon} is not within the {self.horizon} steps that were fitted"
            )
        if covariates is not None:
            known = self.panel_.covariates.joined(read_ahead(self.panel_, covariates))
            self.panel_ = replace(self.panel_, covariates=known)
        panel, origins = self.panel_, self.predictable_origins()
        whole = join_forecasts(
            [self.forecast(panel, part, level, quantiles) for part in batches(origins, _BATCH)]
        )
        shown = shorten(whole, horizon)
        return panel.answer(forecast_columns(panel, origins, {self.alias: shown}, horizon))

    def predictable_origins(self) -> Origins:
        """The last row of each series that can be forecast; names the others."""
        origins = latest_origins(self.panel_)
        whole = self.ready(self.panel_, origins)
        left = origins[~whole]
        reasons = self.why_not(self.panel_, left)
        self.skipped_ = {
            self.panel_.ids[number]: reason
            for number, reason in zip(left.series, reasons, strict=True)
        }
        if not whole.any():
            raise TooFewRows(
                f"{self.alias} can forecast none of {len(origins)} series; of "
                f"{self.panel_.ids[0]!r}, {reasons[0]}; shorten the lookback or add it"
            )
        return origins[whole]

    def explainable_origin(self, series_id: Hashable | None) -> Origins:
        """The last row of one series, the first for None.

        Raises:
            UnknownId: No such series; names the closest.
            TooFewRows: It cannot be forecast; says why.
        """
        panel = self.panel_
        number = 0 if series_id is None else panel.number_of(series_id)
        origins = self.predictable_origins()
        origin = origins[origins.series == number]
        if not len(origin):
            name = panel.ids[number]
            raise TooFewRows(f"series {name!r} cannot be explained: {self.skipped_[name]}")
        return origin
