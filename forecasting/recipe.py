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
    """

    lookback: int
    horizon: int
    normaliser: Normaliser
    deviations: Mapping[Any, float]
    direct: Forecaster | None = None
    match: Match | None = None

    def summarise(self, panel: Panel, origins: Origins) -> Values:
        """Summary of the window up to each origin, in units of the target, [O, F]."""
        summary = summarise(pasts(panel, origins, self.lookback))
        if self.direct is None:
            return summary
        return np.column_stack([summary, self.direct.expect(panel, origins)])

    def units(self, panel: Panel) -> Values:
        """Unit of each series of a panel, [S]; a new one is measured by its first L rows."""
        return series_units(panel, self.deviations, self.lookback)
