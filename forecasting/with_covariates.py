"""A forecaster that knows what is coming: promotions, prices, holidays, closures.

In: any forecaster, and names of columns that are known ahead. Out: the same forecaster, shown the
series as they would have been without the columns' effects, with the effects of the steps to come
put on what it says. A promotion in the past is then no shape to be reminded of, and one to come is
in the forecast although no window ended before one like it.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import SettingError
from .effects import Effects, choose_effects, learn_effects, places_of
from .explanation import Explanation
from .holdout import HeldOut
from .model import Forecaster
from .origins import Origins, known_ahead
from .panel import Panel, Values
from .units import Steps


class WithCovariates(Forecaster):
    """A forecaster of what covariates do not explain, and their effects on top.

    Effects add up and act at once: one unit of a column adds the same whenever it is on. Inside
    :class:`InLogs` they are shares: ``InLogs(WithCovariates(model, ["promo"]))``.

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
        super().__init__(
            model.horizon,
            lookback=model.lookback,
            freq=model.freq,
            gaps=model.gaps,
            alias=alias or f"{model.alias}WithCovariates",
        )
        if isinstance(columns, str) or not columns or len(set(columns)) < len(columns):
            raise SettingError(f"columns takes a list of different names, found {columns!r}")
        self.model = model
        self.columns = tuple(columns)
        self.family = model.family
        self._cleaned: tuple[Panel, Effects, Panel] | None = None

    @property
    def covariates(self) -> tuple[str, ...]:
        """The columns it looks at, and those of its model."""
        return tuple(dict.fromkeys((*self.columns, *self.model.covariates)))

    def rehearse(self, panel: Panel, held: HeldOut) -> None:
        """Learn effects before the cut, and let the model learn from what they leave."""
        self.effects_ = choose_effects(held.before, panel, self.columns, self.lookback)
        self.model_ = copy.deepcopy(self.model)
        before = self.effects_.taken_off(held.before)
        self.model_.rehearse(self.cleaned(panel), replace(held, before=before))

    def learn(self, panel: Panel) -> None:
        """Learn effects again from every row, and let the model learn from what they leave."""
        self.effects_ = learn_effects(panel, self.effects_)
        self.model_.learn(self.cleaned(panel))

    def attach(self, panel: Panel) -> None:
        """Let the model get ready for origins of the panel."""
        self.model_.attach(self.cleaned(panel))

    def latest_candidates(self, steps: Steps) -> list[int | None] | None:
        """Latest row that the model's index could show at each step."""
        return self.model_.latest_candidates(steps)

    def ready(self, panel: Panel, origins: Origins) -> NDArray[np.bool_]:
        """Which origins the model can forecast from, the columns being known for H steps, [O]."""
        able = self.model_.ready(self.cleaned(panel), origins)
        ready: NDArray[np.bool_] = able & self._known(panel, origins)
        return ready

    def why_not(self, panel: Panel, origins: Origins) -> list[str]:
        """Why origins that are not ready are not: covariates that end too early, or the model."""
        known = self._known(panel, origins)
        needed = f"{', '.join(self.columns)} must be known for {self.horizon} steps ahead"
        told = self.model_.why_not(self.cleaned(panel), origins)
        return [why if yes else needed for yes, why in zip(known.tolist(), told, strict=True)]

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """The model's forecast of what is left, and the effects of what is coming, [O, H]."""
        return self.model_.expect(self.cleaned(panel), origins) + self._added(panel, origins)

    def draws(self, panel: Panel, origins: Origins, mean: Values) -> Values:
        """The model's draws, and the effects of what is coming, [O, M, H]."""
        added = self._added(panel, origins)
        drawn = self.model_.draws(self.cleaned(panel), origins, mean - added)
        possible: Values = drawn + added[:, None]
        return possible

    def explain(
        self, series_id: Hashable | None = None, *, episodes: int = 8, min_gap: int | None = None
    ) -> Explanation:
        """Take the forecast of one series apart, less the effects of what is coming.

        Args:
            series_id: Which series; None for the first.
            episodes: How many episodes are told one by one.
            min_gap: As in :meth:`RetrievalForecaster.explain`.

        Returns:
            The explanation; its parts and those of :meth:`explain_effects` add up to the forecast.

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
        """The model's own explanation, less the effects of what is coming."""
        cleaned = self.cleaned(panel)
        return self.model_.explain_at(cleaned, origin, episodes=episodes, min_gap=min_gap)

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

    def cleaned(self, panel: Panel) -> Panel:
        """The panel without the effects; that of the last panel is kept while they stay."""
        known = self._cleaned
        if known is None or known[0] is not panel or known[1] is not self.effects_:
            known = (panel, self.effects_, self.effects_.taken_off(panel))
            self._cleaned = known
        return known[2]

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
