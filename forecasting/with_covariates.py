"""A forecaster that knows what is coming: promotions, prices, holidays, closures.

In: any forecaster, and names of columns that are known ahead. Out: the same forecaster, shown the
series as they would have been without the columns' effects, with the effects of the steps to come
put on what it says. A promotion in the past is then no shape to be reminded of, and one to come is
in the forecast although no window ended before one like it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import SettingError
from .effects import choose_effects, learn_effects, places_of
from .holdout import HeldOut
from .model import Forecaster
from .origins import Origins, known_ahead
from .panel import Panel, Values
from .wrapped import Wrapped


class WithCovariates(Wrapped):
    """A forecaster of what covariates do not explain, and their effects on top.

    Effects add up and act at once: one unit of a column adds the same whenever it is on. Inside
    :class:`InLogs` they are shares: ``InLogs(WithCovariates(model, ["promo"]))``. An explanation
    and :meth:`explain_effects` add up to the forecast.

    Args:
        model: Any forecaster; it is copied, not changed.
        columns: Names of columns of numbers or flags that are known ahead.
        alias: Name of the forecast's column; None takes that of the model and ``WithCovariates``.

    Attributes:
        model_: The forecaster of what is left, fitted.
        effects_: What one unit of each column adds to each series; all zero where the validation
            tail was no better for them.

    Raises:
        SettingError: No column, or one twice.
    """

    def __init__(
        self, model: Forecaster, columns: Sequence[str], *, alias: str | None = None
    ) -> None:
        super().__init__(model, alias or f"{model.alias}WithCovariates")
        if isinstance(columns, str) or not columns or len(set(columns)) < len(columns):
            raise SettingError(f"columns takes a list of different names, found {columns!r}")
        self.columns = tuple(columns)

    @property
    def covariates(self) -> tuple[str, ...]:
        """The columns it looks at, and those of its model."""
        return tuple(dict.fromkeys((*self.columns, *self.model.covariates)))

    def change(self, panel: Panel) -> Panel:
        """The panel as it would have been without the columns' effects."""
        return self.effects_.taken_off(panel)

    def rehearse(self, panel: Panel, held: HeldOut) -> None:
        """Learn effects before the cut, and let the model learn from what they leave."""
        self.effects_ = choose_effects(held.before, panel, self.columns, self.lookback)
        self.forget()
        super().rehearse(panel, held)

    def learn(self, panel: Panel) -> None:
        """Learn effects again from every row, and let the model learn from what they leave."""
        self.effects_ = learn_effects(panel, self.effects_)
        self.forget()
        super().learn(panel)

    def ready(self, panel: Panel, origins: Origins) -> NDArray[np.bool_]:
        """Which origins the model can forecast from, the columns being known for H steps, [O]."""
        able = super().ready(panel, origins)
        ready: NDArray[np.bool_] = able & self._known(panel, origins)
        return ready

    def why_not(self, panel: Panel, origins: Origins) -> list[str]:
        """Why origins that are not ready are not: covariates that end too early, or the model."""
        known = self._known(panel, origins)
        needed = f"{', '.join(self.columns)} must be known for {self.horizon} steps ahead"
        told = super().why_not(panel, origins)
        return [why if yes else needed for yes, why in zip(known.tolist(), told, strict=True)]

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """The model's forecast of what is left, and the effects of what is coming, [O, H]."""
        return self.model_.expect(self.shown(panel), origins) + self._added(panel, origins)

    def draws(self, panel: Panel, origins: Origins, mean: Values) -> Values:
        """The model's draws, and the effects of what is coming, [O, M, H]."""
        added = self._added(panel, origins)
        drawn = self.model_.draws(self.shown(panel), origins, mean - added)
        possible: Values = drawn + added[:, None]
        return possible

    def explain_effects(self, series_id: Hashable | None = None) -> Any:
        """What each column adds to the forecast of one series.

        Args:
            series_id: Which series; None for the first.

        Returns:
            A frame of the caller's kind, one row a step ahead: time, and one column a covariate.
        """
        origin = self.explainable_origin(series_id)
        rates = self.effects_.rates(self.panel_)[origin.series[0]]
        added = self._ahead(self.panel_, origin)[0] * rates
        stamps = self.panel_.stamps(origin.steps[0] + np.arange(1, self.horizon + 1))
        parts = {name: pl.Series(part) for name, part in zip(self.columns, added.T, strict=True)}
        return self.panel_.answer({self.panel_.schema.time_col: stamps} | parts)

    def tell_effects(self) -> Any:
        """What one unit of each column adds to each series, a frame of the caller's kind."""
        told = self.effects_.tell(self.panel_)
        return self.panel_.answer({name: told[name] for name in told.columns})

    def _added(self, panel: Panel, origins: Origins) -> Values:
        rates = self.effects_.rates(panel)[origins.series]
        added: Values = (self._ahead(panel, origins) * rates[:, None]).sum(axis=2)
        return added

    def _known(self, panel: Panel, origins: Origins) -> NDArray[np.bool_]:
        ahead = self._ahead(panel, origins)
        known: NDArray[np.bool_] = np.logical_not(np.isnan(ahead).any(axis=(1, 2)))
        return known

    def _ahead(self, panel: Panel, origins: Origins) -> Values:
        columns = places_of(panel, self.columns)
        return known_ahead(panel, origins, self.horizon)[..., columns]
