"""A forecaster of logarithms: for series that grow by shares, not by amounts.

In: any forecaster, and series that are positive everywhere. Out: the same forecaster, shown the
logarithms and answering in the target's own units. A low series is then as important as a high
one, no forecast and no band reaches zero, and bands are as lopsided as the series are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..core import InputError
from .forecast import Forecast
from .model import Forecaster
from .origins import Origins
from .panel import Panel, Values
from .wrapped import Wrapped


class InLogs(Wrapped):
    """A forecaster that works on logarithms.

    What it expects is the median of the target where the model expects the mean of the logarithm.
    Explanations are in logarithms: their parts add up to the logarithm of the forecast.

    Args:
        model: Any forecaster; it is copied, not changed.
        alias: Name of the column; None takes that of the model and ``InLogs``.

    Attributes:
        model_: The forecaster of logarithms, fitted.

    Raises:
        InputError: When fitting or forecasting meets a value of zero or below; names it.
    """

    def __init__(self, model: Forecaster, *, alias: str | None = None) -> None:
        super().__init__(model, alias or f"{model.alias}InLogs")

    def change(self, panel: Panel) -> Panel:
        """The logarithms of a panel."""
        return log_panel(panel)

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """The model's forecast of the logarithm, as a value of the target, [O, H]."""
        expected: Values = np.exp(self.model_.expect(self.shown(panel), origins))
        return expected

    def draws(self, panel: Panel, origins: Origins, mean: Values) -> Values:
        """The model's draws of the logarithm, as values of the target, [O, M, H]."""
        # A blend with other forecasters may have pulled a mean to zero or below.
        around = np.log(np.maximum(mean, np.nanmin(panel.values)))
        possible: Values = np.exp(self.model_.draws(self.shown(panel), origins, around))
        return possible

    def settle(self, panel: Panel, origins: Origins) -> None:
        """Let the model set its bands by how far off its logarithms were."""
        self.model_.settle(self.shown(panel), origins)
        self.calibration_ = self.model_.calibration_

    def forecast(
        self,
        panel: Panel,
        origins: Origins,
        levels: Sequence[int] = (),
        quantiles: Sequence[float] = (),
    ) -> Forecast:
        """The model's forecast of the logarithm, its bands and quantiles, as values of the target.

        An order does not change by taking logarithms, so bands cover as much as the model's do.
        """
        told = self.model_.forecast(self.shown(panel), origins, levels, quantiles)
        return Forecast(
            np.exp(told.mean),
            {level: (np.exp(low), np.exp(high)) for level, (low, high) in told.bands.items()},
            {quantile: np.exp(values) for quantile, values in told.quantiles.items()},
        )


def log_panel(panel: Panel) -> Panel:
    """A panel of the logarithms of another.

    Raises:
        InputError: A value of zero or below, by series and time.
    """
    wrong = np.flatnonzero(panel.values <= 0)
    if len(wrong):
        raise InputError(
            f"{len(wrong)} values are zero or below and have no logarithm, the first "
            f"{panel.values[wrong[0]]:g} of {panel.tell_row(int(wrong[0]))}; forecast the values "
            "themselves"
        )
    return replace(panel, values=np.log(panel.values))
