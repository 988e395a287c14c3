"""Models of Nixtla's shape in the backtest: ``fit(df)``, then ``predict(h)``.

In: statsforecast, mlforecast, neuralforecast, or anything that is used like them. Out: a
:class:`Forecaster`. Such a model speaks from the end of what it was fitted on, so at every cutoff
a fresh copy is fitted on a frame that ends there: the rows behind a cutoff are not in its hands.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import narwhals as nw
import numpy as np

from ..core import ColumnError, InputError, SettingError
from .calibration import calibrate
from .columns import open_frame, to_polars
from .forecast import Forecast
from .frames import Gaps
from .frequency import Frequency
from .holdout import hold_out
from .model import Forecaster
from .origins import Origins
from .panel import Panel, Values

ID, TIME, TARGET = "unique_id", "ds", "y"


class NixtlaModel(Forecaster):
    """A model with ``fit(df)`` and ``predict(h)``, fitted anew at every cutoff.

    Args:
        horizon: Steps to forecast, H.
        model: Anything with the two methods; ``df`` is the caller's kind of frame with the columns
            ``unique_id, ds, y``, and the answer has ``unique_id, ds`` and the forecast. A
            ``predict`` without ``h`` is called without.
        column: Which column of its answer is the forecast; None takes the only one there is.
        calibration_cutoffs: Cutoffs in the validation tail at which it is fitted once more when
            intervals are asked for.
        freq, gaps, alias: As in :class:`Forecaster`; the alias is the model's class by default.

    Raises:
        SettingError: A model without the two methods.
    """

    def __init__(
        self,
        horizon: int,
        model: Any,
        *,
        column: str | None = None,
        calibration_cutoffs: int = 16,
        freq: str | int | Frequency | None = None,
        gaps: Gaps = "error",
        alias: str | None = None,
    ) -> None:
        if not all(callable(getattr(model, name, None)) for name in ("fit", "predict")):
            raise SettingError(f"model {type(model).__name__} lacks fit(df) and predict(h)")
        if calibration_cutoffs < 1:
            raise SettingError(f"calibration_cutoffs starts at 1, found {calibration_cutoffs}")
        alias = alias or type(model).__name__
        super().__init__(horizon, lookback=1, freq=freq, gaps=gaps, alias=alias)
        self.model = model
        self.column = column
        self.calibration_cutoffs = calibration_cutoffs

    def fit_panel(self, panel: Panel) -> Self:
        """Remember the rows; the model itself is fitted at the cutoffs it is asked at."""
        self._fitted_on = panel
        self.__dict__.pop("calibration_", None)
        return self

    def learn(self, panel: Panel) -> None:
        """Nothing that would outlive a cutoff."""

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """Fit at each cutoff on the rows up to it, and forecast from there, [O, H]."""
        said = np.full((len(origins), self.horizon), np.nan)
        for cutoff in np.unique(origins.steps).tolist():
            rows = np.flatnonzero(origins.steps == cutoff)
            said[rows] = self._forecast_at(panel, origins[rows], cutoff)
        return said

    def forecast(
        self,
        panel: Panel,
        origins: Origins,
        levels: Sequence[int] = (),
        quantiles: Sequence[float] = (),
    ) -> Forecast:
        """As in :class:`Forecaster`; calibrates first when bounds are asked for."""
        if (len(levels) or len(quantiles)) and not hasattr(self, "calibration_"):
            self._calibrate(self._fitted_on)
        return super().forecast(panel, origins, levels, quantiles)

    def _calibrate(self, panel: Panel) -> None:
        held = hold_out(panel, self.lookback, self.horizon)
        steps = np.unique(held.origins.steps)
        chosen = steps[np.linspace(0, len(steps) - 1, self.calibration_cutoffs).astype(np.int64)]
        origins = held.origins[np.isin(held.origins.steps, chosen)]
        self.calibration_ = calibrate(self.expect, panel, origins, draws=self.draws)

    def _forecast_at(self, panel: Panel, origins: Origins, cutoff: int) -> Values:
        known = panel.until(cutoff)
        known = replace(
            known, schema=replace(known.schema, id_col=ID, time_col=TIME, target_col=TARGET)
        )
        model = copy.deepcopy(self.model)
        model.fit(known.to_frame())
        takes_h = "h" in inspect.signature(model.predict).parameters
        answer = model.predict(h=self.horizon) if takes_h else model.predict()
        return self._read(answer, panel, origins)

    def _read(self, answer: Any, panel: Panel, origins: Origins) -> Values:
        """The rows of an answer that were asked for, [O, H]."""
        frame = open_frame(answer)
        missing = [name for name in (ID, TIME) if name not in frame.columns]
        if missing:
            raise ColumnError(
                f"{self.alias} answered without {' and '.join(missing)} (found "
                f"{', '.join(frame.columns)}); it must return them beside its forecast"
            )
        ids, values = to_polars(frame[ID]).to_list(), to_polars(frame[self._forecast_of(frame)])
        steps = panel.steps(to_polars(frame[TIME])).tolist()
        said = dict(
            zip(
                zip(ids, steps, strict=True),
                values.cast(float).fill_null(np.nan).to_list(),
                strict=True,
            )
        )
        wanted = [
            (panel.ids[number], step + ahead)
            for number, step in zip(origins.series.tolist(), origins.steps.tolist(), strict=True)
            for ahead in range(1, self.horizon + 1)
        ]
        absent = [key for key in wanted if key not in said]
        if absent:
            name, step = absent[0]
            raise InputError(
                f"{self.alias} did not forecast {len(absent)} of {len(wanted)} steps, first "
                f"{name!r} at {panel.stamps(np.array([step]))[0]}; it must answer {self.horizon} "
                "steps after the last row of every series"
            )
        return np.array([said[key] for key in wanted]).reshape(len(origins), self.horizon)

    def _forecast_of(self, frame: nw.DataFrame[Any]) -> str:
        if self.column is not None and self.column in frame.columns:
            return self.column
        found = [name for name in frame.columns if name not in (ID, TIME, "index")]
        plain = [name for name in found if "-lo-" not in name and "-hi-" not in name]
        if self.column is not None or len(plain) != 1:
            raise ColumnError(
                f"{self.alias} answered the columns {', '.join(found) or 'none'}; pass column= to "
                "say which one is the forecast"
            )
        return plain[0]
