"""A forecaster that is shown its series in another way, and whose answers are brought back.

In: any forecaster. Out: another one. What a wrapper does to a panel, and how it brings an answer
back, is all that a subclass says; see ``logs`` and ``with_covariates``.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..core import SettingError
from .explanation import Explanation
from .holdout import HeldOut
from .model import Forecaster
from .origins import Origins
from .panel import Panel
from .units import Steps


class Wrapped(Forecaster):
    """Base of the forecasters that change what another one is shown.

    Args:
        model: Any forecaster; it is copied, not changed.
        alias: Name of the forecast's column.

    Attributes:
        model_: The forecaster of what it is shown, fitted.
    """

    def __init__(self, model: Forecaster, alias: str) -> None:
        super().__init__(
            model.horizon, lookback=model.lookback, freq=model.freq, gaps=model.gaps, alias=alias
        )
        self.model = model
        self.family = model.family
        self._last: tuple[Panel, Panel] | None = None

    @abstractmethod
    def change(self, panel: Panel) -> Panel:
        """The panel as the model is shown it."""

    def shown(self, panel: Panel) -> Panel:
        """The same; that of the last panel is kept."""
        if self._last is None or self._last[0] is not panel:
            self._last = (panel, self.change(panel))
        return self._last[1]

    def forget(self) -> None:
        """Change the next panel anew, because the way to do so has changed."""
        self._last = None

    @property
    def covariates(self) -> tuple[str, ...]:
        """What the model looks at beside the target."""
        return self.model.covariates

    def rehearse(self, panel: Panel, held: HeldOut) -> None:
        """Let the model learn from what it is shown before the cut, and choose behind it."""
        self.model_ = copy.deepcopy(self.model)
        before = self.change(held.before)
        self.model_.rehearse(self.shown(panel), replace(held, before=before))

    def learn(self, panel: Panel) -> None:
        """Let the model learn from every row, as it is shown it."""
        self.model_.learn(self.shown(panel))

    def attach(self, panel: Panel) -> None:
        """Let the model get ready for origins of the panel."""
        self.model_.attach(self.shown(panel))

    def latest_candidates(self, steps: Steps) -> list[int | None] | None:
        """Latest row that the model's index could show at each step."""
        return self.model_.latest_candidates(steps)

    def ready(self, panel: Panel, origins: Origins) -> NDArray[np.bool_]:
        """Which origins the model can forecast from, [O]."""
        return self.model_.ready(self.shown(panel), origins)

    def why_not(self, panel: Panel, origins: Origins) -> list[str]:
        """Why the model cannot forecast from origins."""
        return self.model_.why_not(self.shown(panel), origins)

    def explain(
        self, series_id: Hashable | None = None, *, episodes: int = 8, min_gap: int | None = None
    ) -> Explanation:
        """Take the forecast of one series apart, in terms of what the model is shown.

        Args:
            series_id: Which series; None for the first.
            episodes: How many episodes are told one by one.
            min_gap: As in :meth:`RetrievalForecaster.explain`.

        Returns:
            The explanation; its parts add up to the model's forecast, before that is brought back.

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
        """The model's own explanation."""
        shown = self.shown(panel)
        return self.model_.explain_at(shown, origin, episodes=episodes, min_gap=min_gap)
