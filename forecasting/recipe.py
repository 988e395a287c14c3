"""The recipe of an index: how a window becomes a vector, and a summary.

In: panels and origins. Out: what every window is measured by, whether it asks or is held, so that
both are always treated alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .levels import summarise
from .matching import Match
from .model import Forecaster
from .normalisers import Normaliser, series_units
from .origins import Origins, pasts
from .panel import Panel, Values


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """How a window becomes a vector and a summary.

    Attributes:
        lookback, horizon: L and H.
        normaliser: Takes base and scale off windows before they are embedded.
        deviations: Id of each series -> its unit, from the rows that were fitted on.
        direct: A forecaster whose forecast joins the summary of every window, so that
            continuations can hang on it; None where they do not.
        match: What a window must share with the one that asks to be a candidate, beside its shape.
        company: Ids of the series whose windows are embedded together; none where each is alone.
    """

    lookback: int
    horizon: int
    normaliser: Normaliser
    deviations: Mapping[Any, float]
    direct: Forecaster | None = None
    match: Match | None = None
    company: tuple[Any, ...] = ()

    @property
    def shown(self) -> int:
        """How many numbers an embedding is shown: L, or those of the whole company, (L + 1) * C."""
        return (self.lookback + 1) * len(self.company) if self.company else self.lookback

    def show(self, panel: Panel, origins: Origins, own: Values) -> Values:
        """What an embedding is shown of the windows up to some origins, [O, shown].

        In company it is the window of every member up to the same step, each in units of its own,
        and whose window asks. A member that has no rows there counts as standing at its base.

        Args:
            panel: Holds the windows.
            origins: Where they end.
            own: The series' own windows, normalised, [O, L].
        """
        if not self.company:
            return own
        number = {series_id: place for place, series_id in enumerate(panel.ids)}
        units = self.units(panel)
        parts = [
            self._window_of(number.get(member), panel, origins, units) for member in self.company
        ]
        asking = [origins.series == number.get(member, -1) for member in self.company]
        return np.column_stack([*parts, *asking]).astype(np.float64)

    def _window_of(
        self, number: int | None, panel: Panel, origins: Origins, units: Values
    ) -> Values:
        window = np.zeros((len(origins), self.lookback))
        if number is None:
            return window
        steps = origins.steps
        there = (steps >= panel.starts[number]) & (steps <= panel.end_step(number))
        if there.any():
            member = Origins(np.full(int(there.sum()), number), steps[there])
            past = pasts(panel, member, self.lookback)
            unit = np.full(len(past), units[number])
            base, scale = self.normaliser.measure(past, unit)
            window[there] = np.nan_to_num(self.normaliser.apply(past, base, scale))
        return window

    def summarise(self, panel: Panel, origins: Origins, past: Values) -> Values:
        """Summary of the window up to each origin, in units of the target, [O, F].

        Args:
            panel: Holds the windows.
            origins: Where they end.
            past: The windows, [O, L].
        """
        summary = summarise(past)
        if self.direct is None:
            return summary
        return np.column_stack([summary, self.direct.expect(panel, origins)])

    def units(self, panel: Panel) -> Values:
        """Unit of each series of a panel, [S]; a new one is measured by its first L rows."""
        return series_units(panel, self.deviations, self.lookback)
