"""A forecaster of logarithms: for series that grow by shares, not by amounts.

In: any forecaster, and series that are positive everywhere. Out: the same forecaster, shown the
logarithms and answering in the target's own units. A low series is then as important as a high
one, a forecast is never zero or below, and bands are as lopsided as the series are.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..core import InputError, SettingError
from .explanation import Explanation
from .forecast import Forecast
from .holdout import HeldOut
from .model import Forecaster
from .origins import Origins
from .panel import Panel, Values
from .units import Steps


class InLogs(Forecaster):
    """A forecaster that works on logarithms.

    What it expects is the median of the target where the model expects the mean of the logarithm.

    Args:
        model: Any forecaster; it is copied, not changed.
        alias: Name of the column; None takes that of the model and ``InLogs``.

    Attributes:
        model_: The forecaster of logarithms, fitted.

    Raises:
        InputError: When fitting or forecasting meets a value of zero or below; names it.
    """

    def __init__(self, model: Forecaster, *, alias: str | None = None) -> None:
        super().__init__(
            model.horizon,
            lookback=model.lookback,
            freq=model.freq,
            gaps=model.gaps,
            alias=alias or f"{model.alias}InLogs",
        )
        self.model = model
        self.family = model.family
        self._known: tuple[Panel, Panel] | None = None

    @property
    def covariates(self) -> tuple[str, ...]:
        """What the model looks at beside the target; effects on it are then shares."""
        return self.model.covariates

    def rehearse(self, panel: Panel, held: HeldOut) -> None:
        """Let the model learn from logarithms before the cut, and choose behind it."""
        self.model_ = copy.deepcopy(self.model)
        self.model_.rehearse(self.logs(panel), replace(held, before=log_panel(held.before)))

    def learn(self, panel: Panel) -> None:
        """Let the model learn from the logarithm of every row."""
        self.model_.learn(self.logs(panel))

    def attach(self, panel: Panel) -> None:
        """Let the model get ready for origins of the panel."""
        self.model_.attach(self.logs(panel))

    def latest_candidates(self, steps: Steps) -> list[int | None] | None:
        """Latest row that the model's index could show at each step."""
        return self.model_.latest_candidates(steps)

    def ready(self, panel: Panel, origins: Origins) -> NDArray[np.bool_]:
        """Which origins the model can forecast from, [O]."""
        return self.model_.ready(self.logs(panel), origins)

    def why_not(self, panel: Panel, origins: Origins) -> list[str]:
        """Why the model cannot forecast from origins."""
        return self.model_.why_not(self.logs(panel), origins)

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """The model's forecast of the logarithm, as a value of the target, [O, H]."""
        expected: Values = np.exp(self.model_.expect(self.logs(panel), origins))
        return expected

    def draws(self, panel: Panel, origins: Origins, mean: Values) -> Values:
        """The model's draws of the logarithm, as values of the target, [O, M, H]."""
        # A blend with other forecasters may have pulled a mean to zero or below.
        around = np.log(np.maximum(mean, np.nanmin(panel.values)))
        possible: Values = np.exp(self.model_.draws(self.logs(panel), origins, around))
        return possible

    def settle(self, panel: Panel, origins: Origins) -> None:
        """Let the model set its bands by how far off its logarithms were."""
        self.model_.settle(self.logs(panel), origins)
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
        told = self.model_.forecast(self.logs(panel), origins, levels, quantiles)
        return Forecast(
            np.exp(told.mean),
            {level: (np.exp(low), np.exp(high)) for level, (low, high) in told.bands.items()},
            {quantile: np.exp(values) for quantile, values in told.quantiles.items()},
        )

    def explain(
        self, series_id: Hashable | None = None, *, episodes: int = 8, min_gap: int | None = None
    ) -> Explanation:
        """Take the forecast of one series apart, in logarithms.

        Args:
            series_id: Which series; None for the first.
            episodes: How many episodes are told one by one.
            min_gap: As in :meth:`RetrievalForecaster.explain`.

        Returns:
            The explanation; its parts add up to the logarithm of the forecast.

        Raises:
            SettingError: A model without a history to show.
        """
        origin = self.explainable_origin(series_id)
        told = self.explain_at(self.panel_, origin, episodes=episodes, min_gap=min_gap)
        if told is None:
            raise SettingError(f"{self.model.alias} has no index, so there are no episodes to show")
        return told

    def explain_at(
        self, panel: Panel, origin: Origins, *, episodes: int = 8, min_gap: int | None = None
    ) -> Explanation | None:
        """The model's own explanation, in logarithms."""
        return self.model_.explain_at(self.logs(panel), origin, episodes=episodes, min_gap=min_gap)

    def logs(self, panel: Panel) -> Panel:
        """The panel of logarithms; that of the last panel is kept."""
        if self._known is None or self._known[0] is not panel:
            self._known = (panel, log_panel(panel))
        return self._known[1]


def log_panel(panel: Panel) -> Panel:
    """A panel of the logarithms of another.

    Raises:
        InputError: A value of zero or below, by series and time.
    """
    wrong = np.flatnonzero(panel.values <= 0)
    if len(wrong):
        number = int(np.searchsorted(panel.offsets, wrong[0], side="right")) - 1
        step = panel.starts[number] + wrong[0] - panel.offsets[number]
        raise InputError(
            f"{len(wrong)} values are zero or below and have no logarithm, the first "
            f"{panel.values[wrong[0]]:g} of series {panel.ids[number]!r} at "
            f"{panel.stamps(np.array([step]))[0]}; forecast the values themselves"
        )
    return replace(panel, values=np.log(panel.values))
